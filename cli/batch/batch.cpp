#include "batch/batch.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "batch/owner_process.h"
#include "batch/signal_watch.h"
#include "failure.h"
#include "message.h"
#include "temporary_files.h"

namespace mollify::cli {
namespace {

using Clock = std::chrono::steady_clock;
// One worker and what it is at.
struct Slot {
  WorkerSettings settings;
  std::unique_ptr<WorkerProcess> process;
  bool is_ready = false;
  pid_t owner = -1;  ///< of the GPU, that the process is connected to, or was
  const FileJob* job = nullptr;
  std::optional<Clock::time_point> deadline;
  std::string ended_because;  ///< set where the batch has ended the process itself
  bool for_memory = false;    ///< and that was the reason
};

class Batch {
 public:
  Batch(const BatchOptions& options, Journal* journal, Reporter& reporter) : options_(options), journal_(journal), reporter_(reporter) {}

  void run(const std::vector<FileJob>& jobs) {
    for (const FileJob& job : jobs) waiting_.push_back(&job);
    work(std::min(options_.jobs, static_cast<int>(jobs.size())));
    if (again_.empty()) return;
    // Alone, they have all memory, and whatever the system was short of.
    is_last_try_ = true;
    for (const FileJob* job : std::exchange(again_, {})) {
      // One that was killed may have been complete just before.
      const bool is_done = job->in_place && journal_ != nullptr && journal_->is_done(job->place, job->in);
      is_done ? reporter_.done_before() : waiting_.push_back(job);
    }
    work(1);
  }

 private:
  void work(int workers) {
    make_slots(workers);
    while (true) {
      for (Slot& slot : slots_) feed(slot);
      if (waiting_.empty() && std::ranges::none_of(slots_, [](const Slot& slot) { return slot.job != nullptr; })) break;
      wait_for_events();
      watch();
    }
    slots_.clear();
  }

  void make_slots(int workers) {
    slots_.clear();
    for (int i = 0; i < workers; ++i) {
      WorkerSettings settings;
      settings.threads = std::max(options_.threads / workers + (i < options_.threads % workers ? 1 : 0), 1);
      settings.all_threads = options_.threads;
      settings.memory_bytes = std::max<std::int64_t>(options_.memory_bytes / workers, 1);
      settings.journal = journal_ != nullptr ? journal_->descriptor() : -1;
      settings.blur = journal_ != nullptr ? journal_->blur() : 0;
      settings.kernel_file = options_.kernel_file;
      slots_.push_back({.settings = settings, .process = nullptr, .deadline = std::nullopt, .ended_because = {}});
    }
  }

  // A worker for each file that waits, and a file for each worker that is ready.
  void feed(Slot& slot) {
    if (waiting_.empty() || slot.job != nullptr) return;
    if (options_.on_gpu && !owner_) start_owner();
    if (options_.on_gpu && slot.owner != owner_->pid()) slot.process.reset();  // it is of no use without its owner
    if (!slot.process) start_worker(slot);
    if (!slot.is_ready || (options_.on_gpu && !owner_->is_ready())) return;
    slot.job = waiting_.front();
    waiting_.pop_front();
    slot.deadline.reset();
    slot.ended_because.clear();
    slot.for_memory = false;
    reporter_.begin(*slot.job);
    send_job(slot);  // where it has ended meanwhile, the end of its messages comes next
  }

  void send_job(Slot& slot) {
    const FileJob& job = *slot.job;
    Json message{{"in", name_of_source(job)}, {"out", name_of_result(job)}};
    if (job.in_place) message["place"] = job.place;
    if (job.format) message["format"] = *job.format;
    if (options_.dry_run) message["dry_run"] = true;
    std::vector<int> open_files;
    for (const auto& [name, file] : {std::pair{"source", job.source}, std::pair{"result", job.result}}) {
      if (file < 0) continue;
      message[name] = open_files.size();
      open_files.push_back(file);
    }
    std::optional<Wire> to_owner;
    if (options_.chooses_device && owner_ && slot.owner != owner_->pid()) {
      to_owner = connect_to_owner(slot);
      message["owner"] = open_files.size();
      open_files.push_back(to_owner->descriptor());
    }
    slot.process->send(message, open_files);
  }

  Wire connect_to_owner(Slot& slot) {
    slot.owner = owner_->pid();
    return owner_->connect();
  }

  // Of a worker that waits for it.
  void send_owner(Slot& slot) {
    if (!owner_) start_owner();
    const Wire to_owner = connect_to_owner(slot);
    slot.process->send({{"owner", 0}}, std::array{to_owner.descriptor()});
  }

  void start_owner() {
    WorkerSettings settings;
    settings.owns_device = true;
    settings.threads = settings.all_threads = options_.threads;
    settings.kernel_file = options_.kernel_file;
    owner_.emplace(settings);
  }

  void start_worker(Slot& slot) {
    WorkerSettings settings = slot.settings;
    slot.owner = -1;
    const Wire to_owner = options_.on_gpu ? connect_to_owner(slot) : Wire(-1);
    settings.device = to_owner.descriptor();
    slot.process = std::make_unique<WorkerProcess>(settings);
    slot.is_ready = false;
  }

  void wait_for_events() {
    constexpr int kLookEvery = 20;  // milliseconds, at the memory and the progress of the workers
    std::vector<pollfd> events{{signals_.descriptor(), POLLIN, 0}};
    for (const Slot& slot : slots_) {
      if (slot.process) events.push_back({slot.process->descriptor(), POLLIN, 0});
    }
    if (owner_) events.push_back({owner_->descriptor(), POLLIN, 0});
    ::poll(events.data(), events.size(), kLookEvery);
    if (events[0].revents != 0) end_by_signal();
    std::size_t i = 1;
    for (Slot& slot : slots_) {
      if (slot.process && events[i++].revents != 0) take_message(slot);
    }
    if (owner_ && i < events.size() && events[i].revents != 0) take_owner_message();
  }

  void take_owner_message() {
    const OwnerProcess::Said said = owner_->receive();
    if (said.has_ended) return take_owner_end();
    warn(said.warning);
  }

  // The next file starts another one.
  void take_owner_end() {
    owner_end_ = owner_->end();
    owner_.reset();
  }

  void take_device_gone(Slot& slot, const FileJob& job, std::string reason) {
    if (owner_ && owner_->pid() == slot.owner) take_owner_end();
    slot.process.reset();
    if (reason.empty()) reason = fmt::format("{}: {}", name_of_source(job), owner_end_);
    fail_job(job, reason, true);
  }

  void take_message(Slot& slot) {
    const std::optional<Json> message = slot.process->receive();
    if (!message) return take_end(slot);
    if (message->contains("wants_owner")) return send_owner(slot);
    if (message->contains("stage")) return take_stage(slot, *message);
    if (message->contains("progress")) {
      if (slot.job != nullptr) reporter_.progress(*slot.job, (*message)["progress"], (*message)["of"]);
      return;
    }
    if (message->contains("ready")) return take_ready(slot, *message);
    if (slot.job == nullptr) throw Failure{message->value("exit_code", kExitFailure), message->value("failed", "a worker is out of order")};
    const FileJob& job = *std::exchange(slot.job, nullptr);
    slot.deadline.reset();
    if (message->contains("device_gone")) return take_device_gone(slot, job, (*message)["failed"]);
    if (message->contains("report")) {
      reporter_.done(job, report_of((*message)["report"]));
    } else {
      fail_job(job, (*message)["failed"], (*message)["for_memory"]);
    }
  }

  void take_ready(Slot& slot, const Json& message) {
    slot.is_ready = true;
    warn(message["ready"]);
  }

  void warn(const std::string& warning) {
    if (warning.empty() || has_warned_) return;
    has_warned_ = true;
    reporter_.note(warning + "; not used, 'mollify tune' makes it anew");
  }

  // However slow the machine is, a megabyte of pixels takes no second. Blurs may take hours.
  void take_stage(Slot& slot, const Json& message) {
    constexpr double kSecondsForByte = 1e-6;
    slot.deadline.reset();
    if (message["stage"].get<BlurStage>() == BlurStage::blurring) return;
    const double seconds = options_.patience_seconds + message["bytes"].get<double>() * kSecondsForByte;
    slot.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

  void take_end(Slot& slot) {
    const std::unique_ptr<WorkerProcess> process = std::move(slot.process);
    const pid_t pid = process->pid();
    const std::string end = process->wait();
    if (slot.job == nullptr) {
      if (!slot.is_ready) fail(fmt::format("a worker process {} before it could work", end));
      return;  // while it waited; the next file gets another
    }
    const FileJob& job = *std::exchange(slot.job, nullptr);
    remove_temporary(pid, job);
    if (!slot.ended_because.empty()) return fail_job(job, fmt::format("{}: {}", name_of_source(job), slot.ended_because), slot.for_memory);
    const bool was_killed = process->was_killed();  // as the system does where memory is short
    const std::string what = was_killed ? "the process that worked on it" : "its codec";
    fail_job(job, fmt::format("{}: {} {}", name_of_source(job), what, end), was_killed);
  }

  // What a process that has ended had begun.
  static void remove_temporary(pid_t process, const FileJob& job) {
    if (job.result < 0) remove_temporaries_of(process, folder_of(job.out));
  }

  void fail_job(const FileJob& job, const std::string& reason, bool may_work_alone) {
    if (may_work_alone && !is_last_try_ && slots_.size() > 1) {
      again_.push_back(&job);
      return;
    }
    reporter_.failed(job, reason);
  }

  void watch() {
    const Clock::time_point now = Clock::now();
    for (Slot& slot : slots_) {
      if (slot.job == nullptr || !slot.process || !slot.ended_because.empty()) continue;
      const std::int64_t limit = slot.settings.memory_bytes;
      if (slot.process->resident_bytes() > limit) {
        slot.for_memory = true;
        end(slot, fmt::format("needed more than the {} of memory that it may use; --memory sets that", bytes_text(limit)));
      } else if (slot.deadline && now > *slot.deadline) {
        end(slot, fmt::format("its codec has made no progress for {:.0f} s; --timeout sets how long to wait", options_.patience_seconds));
      }
    }
  }

  static void end(Slot& slot, std::string reason) {
    slot.ended_because = std::move(reason);
    slot.process->kill();
  }

  [[noreturn]] void end_by_signal() {
    for (Slot& slot : slots_) {
      if (slot.process) slot.process->ask_to_end();
    }
    if (owner_) owner_->ask_to_end();
    const auto deadline = Clock::now() + std::chrono::seconds(2);
    for (Slot& slot : slots_) {
      if (!slot.process) continue;
      pollfd end{slot.process->descriptor(), POLLHUP, 0};
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      ::poll(&end, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
      if (end.revents == 0) slot.process->kill();
      const pid_t pid = slot.process->pid();
      static_cast<void>(slot.process->wait());
      if (slot.job != nullptr) remove_temporary(pid, *slot.job);
    }
    if (journal_ != nullptr) journal_->remove_if_empty();
    signals_.end_program();
  }

  const BatchOptions& options_;
  Journal* journal_;
  Reporter& reporter_;
  SignalWatch signals_;
  std::optional<OwnerProcess> owner_;  ///< outlives its workers
  std::string owner_end_;              ///< what became of the last one
  std::vector<Slot> slots_;
  std::deque<const FileJob*> waiting_;
  std::deque<const FileJob*> again_;  ///< files that are to be tried alone
  bool is_last_try_ = false;
  bool has_warned_ = false;
};

}  // namespace

void run_batch(const std::vector<FileJob>& jobs, const BatchOptions& options, Journal* journal, Reporter& reporter) {
  if (jobs.empty()) return;
  Batch(options, journal, reporter).run(jobs);
}

}  // namespace mollify::cli
