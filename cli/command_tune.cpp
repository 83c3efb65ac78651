// mollify tune: measures which options are fastest on a device, and stores them in the user's cache folder.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <vector>

#include "atomic_file.h"
#include "bench/tune.h"
#include "cases/filter.h"
#include "commands.h"
#include "interrupt.h"
#include "mollify/experimental/auto_device.h"
#include "progress.h"

namespace mollify::cli {
namespace {

/// Predicted to take so many times as long as the planner's choice: no measurement will make it the choice.
constexpr double kHopeless = 8.0;

struct TuneCommand {
  DeviceArgs device;
  std::string size = "3840x2160";
  std::optional<std::string> filter;
  double seconds = 0.2;
  double budget = 300.0;
  bool dry_run = false;
  bool print = false;
  bool list = false;
  bool reset = false;
};

/// The time that there is, and how it is spent.
class Budget {
 public:
  explicit Budget(double seconds) : seconds_(seconds) {}
  [[nodiscard]] bool spent() const { return seconds_ > 0.0 && elapsed() >= seconds_; }
  /// "at most 120 s more: ", or nothing without a limit.
  [[nodiscard]] std::string left() const {
    return seconds_ > 0.0 ? fmt::format("at most {:.0f} s more: ", std::max(0.0, seconds_ - elapsed())) : "";
  }
  [[nodiscard]] double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  double seconds_;
  Clock::time_point start_ = Clock::now();
};

std::vector<bench::TuneTask> select(const TuneCommand& args, const DeviceInfo& device) {
  const PerAxis<std::int32_t> size = parse_size(args.size, "--size");
  if (size.x < 1 || size.y < 1 || size.x > (1 << 16) || size.y > (1 << 16)) {
    fail(fmt::format("--size {}: each side has 1 to 65536 pixels", args.size));
  }
  std::vector<bench::TuneTask> tasks = bench::tune_tasks(device, size);
  if (!args.filter) {
    std::erase_if(tasks, [](const bench::TuneTask& task) { return task.predicted_ratio > kHopeless; });
    return tasks;
  }
  std::erase_if(tasks, [&](const bench::TuneTask& t) { return !cases::matches(*args.filter, cases::name(t.request)); });
  if (tasks.empty()) fail(fmt::format("--filter \"{}\": there is nothing of such a name to tune", *args.filter));
  return tasks;
}

std::string result_line(const bench::TuneResult& result) {
  const TuningRow& row = result.row;
  const std::string options = row.options.empty() ? "its own choice is fastest" : to_string(AlgorithmChoice{"", row.options}).substr(1);
  return fmt::format("{:<26} {:>2} bytes, {:>2}-{:<2} taps  {:>9.4g} ms  x{:<5.3g} {} (of {})", row.algorithm, row.pixel_bytes,
                     row.min_taps, row.max_taps, result.after.median * 1e-6, row.gain, options, result.tried + 1);
}

/// The new rows, before those of earlier runs that they do not replace.
std::vector<TuningRow> merged(std::vector<TuningRow> rows, const std::vector<TuningRow>& before) {
  const auto kind = [](const TuningRow& r) { return std::tie(r.algorithm, r.pixel_bytes, r.min_taps, r.max_taps); };
  const std::size_t fresh = rows.size();
  for (const TuningRow& old : before) {
    const auto end = rows.begin() + static_cast<std::ptrdiff_t>(fresh);
    if (std::none_of(rows.begin(), end, [&](const TuningRow& row) { return kind(row) == kind(old); })) rows.push_back(old);
  }
  return rows;
}

struct Outcome {
  std::vector<TuningRow> rows;
  int wrong = 0;
  bool interrupted = false;
};

/// As many of the tasks as the budget and the user allow.
Outcome measure(const TuneCommand& args, const Device& device, const std::vector<bench::TuneTask>& tasks) {
  Outcome outcome;
  const std::atomic<bool>& stop_asked = stop_on_interrupt();
  const Budget budget(args.budget);
  bench::Contest contest(device);
  ProgressBar progress(tasks.size(), true);
  const auto say = [&](std::FILE* where, const std::string& line) {
    progress.clear();
    fmt::print(where, "{}\n", line);
    std::fflush(where);
  };
  const bench::TuneOptions options{.seconds = args.seconds, .stop = [&] { return stop_asked || budget.spent(); }};
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (options.stop()) {
      say(stderr, fmt::format("mollify: stopped after {} of {} measurements, {:.0f} s{}", i, tasks.size(), budget.elapsed(),
                              stop_asked ? "" : "; --budget 0 measures them all"));
      break;
    }
    const std::string name = cases::name(tasks[i].request);
    progress.show(i, budget.left() + name.substr(0, 60));
    const Result<bench::TuneResult> result = bench::tune(contest, tasks[i], options);
    if (!result) {
      say(stderr, fmt::format("mollify: {}: {}", name.substr(0, 160), one_line(result.error())));
      if (result.error().code == ErrorCode::internal) ++outcome.wrong;
      if (result.error().code == ErrorCode::device_lost) break;
      continue;
    }
    for (const std::string& wrong : result->wrong) say(stderr, fmt::format("mollify: wrong here, left out: {}", wrong));
    outcome.wrong += static_cast<int>(result->wrong.size());
    outcome.rows.push_back(result->row);
    if (!args.print) say(stdout, result_line(*result));
  }
  outcome.interrupted = stop_asked;
  return outcome;
}

void list_rows(const DeviceInfo& device) {
  const auto print_last_line = [](const char* origin, const TuningTable& table) {
    const std::string text = to_text(table);
    fmt::print("{:<8}{}", origin, text.substr(text.rfind('\n', text.size() - 2) + 1));
  };
  const auto print = [&](const char* origin, const std::vector<TuningRow>& rows) {
    for (const TuningRow& row : rows) print_last_line(origin, {{}, {}, {}, {row}});
  };
  const std::vector<TuningRow> shipped = shipped_tuning(device);
  if (device.gpu.measured != GpuRates{}) print_last_line("here", {{}, {}, {}, {}, device.gpu.measured});
  print("here", device.tuning);
  print("shipped", shipped);
  if (device.tuning.empty() && shipped.empty()) fmt::print("no rows for {}: plans go by cost models alone\n", device.name);
}

void reset(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) fail(fmt::format("{}: is a folder", path));
  const bool was_there = std::filesystem::remove(path, error);
  if (error) fail(fmt::format("{}: {}", path, error.message()));
  fmt::print("{}: {}\n", path, was_there ? "removed" : "there was none");
}

/// What was stored for the device; of the way to a GPU and back as well, if there is that.
void reset(const std::string& folder, const DeviceInfo& device) {
  reset(tuning_path(folder, device));
  std::error_code error;
  const std::string way = host_figures_path(folder, device);
  if (std::filesystem::exists(way, error)) reset(way);
}

void run(const TuneCommand& args) {
  for (const auto& [name, value] : {std::pair("--seconds", args.seconds), std::pair("--budget", args.budget)}) {
    if (!(value >= 0.0 && std::isfinite(value))) fail_usage(fmt::format("{} {}: not a length of time", name, value));
  }
  const std::string folder = cache_folder();
  const bool stores = !args.dry_run && !args.list;
  if (stores && folder.empty()) fail("there is no cache folder: neither XDG_CACHE_HOME nor HOME names one; see --dry-run");
  DeviceArgs device_args = args.device;
  if (args.reset) device_args.probe = "off";  // rates that are forgotten at once
  const Device device = args.list ? open_device(device_args) : open_device_quietly(device_args);
  if (args.list) return list_rows(device.info());
  const std::string path = tuning_path(folder, device.info());
  if (args.reset) return reset(folder, device.info());

  const std::vector<bench::TuneTask> tasks = select(args, device.info());
  if (stores) require_writable(path);
  const Outcome outcome = measure(args, device, tasks);
  TuningTable table = empty_tuning(device.info());
  table.rows = outcome.rows;
  if (args.print) fmt::print("{}", to_text(table));
  std::fflush(stdout);
  if (stores && !outcome.rows.empty()) {
    table.rows = merged(std::move(table.rows), device.info().tuning);
    write_text_file(path, to_text(table));
    fmt::print(stderr, "mollify: stored {} rows in {}\n", table.rows.size(), path);
  }
  if (outcome.interrupted) throw Failure{kExitInterrupted, ""};
  if (outcome.wrong > 0 || outcome.rows.empty()) throw Failure{kExitFailure, ""};
}

}  // namespace

void add_tune(Command& app) {
  const auto args = std::make_shared<TuneCommand>();
  Command command = app.add_command("tune", "Measure which options are fastest on a device, and keep them");
  add_device_options(command, args->device);
  command.add_option("--size", args->size, "Image size to measure with; rows hold from a tenth of its pixels on")
      .type_name("WxH")
      .show_default();
  Option filter = command.add_option("--filter", args->filter, "Only what has this in its name; or with * and ?");
  filter.type_name("PATTERN");
  command.add_option("--seconds", args->seconds, "To spend on each decision; 15 runs at least").type_name("S").show_default();
  command.add_option("--budget", args->budget, "Stop after so many seconds, the most promising done first; 0: never")
      .type_name("S")
      .show_default();
  Option dry_run = command.add_flag("--dry-run", args->dry_run, "Store nothing");
  Option print = command.add_flag("--print", args->print, "Print the rows in the form in which they are stored");
  Option list = command.add_flag("--list", args->list, "Show the rows in use for the device, and measure nothing");
  Option reset = command.add_flag("--reset", args->reset, "Remove what was stored for the device, and measure nothing");
  list.excludes(dry_run).excludes(print).excludes(reset).excludes(filter);
  reset.excludes(dry_run).excludes(print).excludes(filter);
  command.set_footer(R"(Examples:
  mollify tune --device vulkan:0                     the most promising algorithms, five minutes at most
  mollify tune --device vulkan:0 --filter 'sep.inline*rgba8*' --budget 0
  mollify tune --device vulkan:0 --list              what plans will go by)");
  command.on_run([args] { run(*args); });
}

}  // namespace mollify::cli
