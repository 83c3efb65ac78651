#include "bench/time_group.h"

#include <tbb/blocked_range.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <string>
#include <utility>

#include "bench/turns.h"

namespace mollify::bench {
namespace {

/// Other libraries are left out of a case that they take longer for: a suite has minutes for all of its cases.
constexpr double kMostPeerSeconds = 2.0;

Error stopped() {
  return {ErrorCode::internal, "stopped", {}};
}

bool is_stopped(const GroupOptions& options) {
  return options.stop && options.stop();
}

void report(const GroupOptions& options, std::string_view what, std::size_t done, std::size_t total) {
  if (options.progress) options.progress(what, done, total);
}

struct Verified {
  CaseTiming timing{.record = stopped()};
  std::optional<Contender> contender;
};

Verified verify(const Device& device, cases::Judge& judge, const cases::Case& c, int batch) {
  constexpr int kRuns = 1;
  cases::CaseResult result = judge.judge(device, c, kRuns, batch);
  const auto give_up = [&](ErrorCode code, const std::string& why) {
    return Verified{{Error{code, why + result.message, {}}, result.plan}, std::nullopt};
  };
  if (result.outcome == cases::Outcome::refused) return give_up(ErrorCode::unsupported, "not timed: ");
  if (result.outcome == cases::Outcome::failed) return give_up(ErrorCode::internal, "not timed, since it is wrong: ");
  const Result<Executable> executable = device.prepare(*result.plan);
  if (!executable) return {{executable.error(), result.plan}, std::nullopt};
  return {{Record{}, result.plan}, Contender{*executable, result.max_error}};
}

/// How many can be verified at once. A GPU leaves most of the work to the host: compiling shaders, moving and comparing pixels.
int verifiers(const DeviceInfo& device, const cases::Case& c) {
  if (device.backend == Backend::cpu) return 1;
  constexpr std::int64_t kMostBytes = std::int64_t{8} << 30;
  const std::int64_t bytes_each = 4 * (c.src.payload_bytes() + c.dst.payload_bytes());
  return static_cast<int>(std::clamp<std::int64_t>(kMostBytes / bytes_each, 1, tbb::info::default_concurrency()));
}

Result<std::vector<Verified>> verify_all(const Device& device, std::span<const cases::Case> group, const GroupOptions& options) {
  report(options, "verifying", 0, group.size());
  cases::Judge judge(group.front(), tbb::info::default_concurrency());
  std::vector<Verified> verified(group.size());
  std::mutex reporting;
  std::size_t done = 0;
  tbb::task_arena arena(verifiers(device.info(), group.front()));
  arena.execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<std::size_t>(0, group.size(), 1),
        [&](const tbb::blocked_range<std::size_t>& range) {
          for (std::size_t i = range.begin(); i < range.end(); ++i) {
            if (is_stopped(options)) return;
            verified[i] = verify(device, judge, group[i], options.batch);
            const std::scoped_lock lock(reporting);
            report(options, "verifying", ++done, group.size());
          }
        },
        tbb::simple_partitioner());
  });
  if (is_stopped(options)) return stopped();
  return verified;
}

std::vector<PreparedPeer> prepare_peers(const cases::Case& c, const DeviceInfo& device, const GroupOptions& options,
                                        std::vector<std::string>& notes) {
  std::vector<PreparedPeer> prepared;
  std::size_t done = 0;
  for (const Peer& peer : options.peers) {
    report(options, "verifying peers", done++, options.peers.size());
    if (peer.on_gpu == (device.backend == Backend::cpu) || device.gpu.is_software) continue;
    const auto leave_out = [&](const Error& why) { notes.push_back(peer.name + " left out: " + why.message); };
    if (c.spec.stride != PerAxis<Stride>{}) {
      leave_out({ErrorCode::unsupported, "other libraries are asked for every pixel of a blur", {}});
      continue;
    }
    Result<PeerRun> run = peer.prepare(c, device.threads);
    if (!run) {
      leave_out(run.error());
      continue;
    }
    const Result<PeerCheck> check = check_peer(peer, *run, c, device.threads);
    if (!check) {
      leave_out(check.error());
      continue;
    }
    double seconds = check->seconds;
    if (run->turn) {  // its first turn may find that there is no memory for it, which must not end those of others
      const Result<PeerTurn> first = run->turn();
      if (!first) {
        leave_out(first.error());
        continue;
      }
      seconds = *std::ranges::min_element(first->blur_ns) * 1e-9;
    }
    if (seconds > kMostPeerSeconds) {
      leave_out({ErrorCode::unsupported, "a run takes " + std::to_string(std::lround(seconds)) + " s", {}});
      continue;
    }
    if (!run->note.empty()) notes.push_back(peer.name + ": " + run->note);
    prepared.push_back({peer.name, std::move(run).value(), *check});
  }
  return prepared;
}

Record record_of(const cases::Case& c, const Plan& plan, const Figures& figures, int batch = 1) {
  return {.case_name = cases::name(c),
          .algorithm = plan.algorithm.id,
          .options = plan.algorithm.options,
          .backend = std::string(name(plan.device.backend)),
          .device = plan.device.name,
          .spec = plan.spec,
          .src = plan.src,
          .dst = plan.dst,
          .batch = batch,
          .threads = plan.device.backend == Backend::cpu ? plan.device.threads : 1,
          .time_ns = figures.time_ns,
          .copy_ns = figures.copy_ns(),
          .copy_before_ns = figures.copy_before_ns,
          .copy_after_ns = figures.copy_after_ns,
          .submit_ns = figures.submit_ns,
          .end_to_end_ns = figures.end_to_end_ns,
          .dispatch_ns = figures.dispatch_ns,
          .nothing_ns = figures.nothing_ns,
          .unstable = figures.unstable,
          .attempts = figures.attempts,
          .min_bytes = batch * plan.min_bytes,
          .max_error = std::nullopt,
          .predicted_error = plan.predicted_error,
          .peer = std::nullopt};
}

Record record_of(const cases::Case& c, const Plan& plan, const Figures& figures, const PreparedPeer& peer) {
  Record record = record_of(c, plan, figures);
  record.algorithm = peer.run.function;
  record.options = peer.run.options;
  record.max_error = peer.check.max_error;
  record.predicted_error = std::nullopt;
  record.peer = peer.name;
  if (peer.run.border) record.spec.border = *peer.run.border;
  record.realized_sigma = peer.check.realized_sigma;
  record.note = peer.run.note;
  return record;
}

}  // namespace

Result<GroupTiming> time_group(const Device& device, std::span<const cases::Case> group, const GroupOptions& options) {
  GroupTiming timing;
  std::vector<Contender> contenders;
  std::vector<std::size_t> positions;  // of the contenders among the cases
  Result<std::vector<Verified>> verified = verify_all(device, group, options);
  if (!verified) return verified.error();
  for (std::size_t i = 0; i < group.size(); ++i) {
    Verified& one = (*verified)[i];
    if (one.contender) {
      contenders.push_back(*std::move(one.contender));
      positions.push_back(i);
    }
    timing.cases.push_back(std::move(one.timing));
  }
  if (contenders.empty()) return timing;
  cases::Case problem = group.front();  // which is all that peers know of
  problem.algorithm = {};
  problem.spec.accuracy = {};
  const std::vector<PreparedPeer> peers = prepare_peers(problem, device.info(), options, timing.notes);

  report(options, "timing", 0, contenders.size());
  const auto time = device.info().backend == Backend::cpu ? time_on_cpu : time_on_gpu;
  const Result<std::vector<Figures>> figures = time(contenders, peers, problem, options);
  if (!figures) return figures.error();
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    CaseTiming& done = timing.cases[positions[i]];
    Record record = record_of(group[positions[i]], *done.plan, (*figures)[i], options.batch);
    record.max_error = contenders[i].max_error;
    done.record = std::move(record);
  }
  const Plan& plan = *timing.cases[positions.front()].plan;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    timing.peers.push_back(record_of(problem, plan, (*figures)[contenders.size() + i], peers[i]));
  }
  return timing;
}

}  // namespace mollify::bench
