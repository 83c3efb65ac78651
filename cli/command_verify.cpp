// mollify verify: every algorithm against the reference, on this machine.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cases/cases.h"
#include "cases/filter.h"
#include "cases/side_by_side.h"
#include "commands.h"
#include "json/json.h"

namespace mollify::cli {
namespace {

struct VerifyCommand {
  DeviceArgs device;
  std::optional<std::string> filter;
  std::optional<std::string> case_name;
  bool full = false;
  int repeat = 1;
  bool json = false;
};

struct Finding {
  std::string case_name;
  cases::Outcome outcome = cases::Outcome::pass;
  std::string message;
  double max_error = 0.0;
  double predicted_error = 0.0;
};

std::vector<cases::Case> select(const VerifyCommand& args, const DeviceInfo& device) {
  if (args.case_name) {
    if (args.filter || args.full) fail_usage("--case names one case; leave --filter and --full out");
    return {value_or_fail(cases::parse_case(*args.case_name))};
  }
  std::vector<cases::Case> selected = args.full ? cases::all_cases(device) : cases::pairwise_cases(device);
  if (args.filter) {
    std::erase_if(selected, [&](const cases::Case& c) { return !cases::matches(*args.filter, cases::name(c)); });
    if (selected.empty()) fail(fmt::format("--filter \"{}\": no case has such a name", *args.filter));
  }
  return selected;
}

std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string reproduce(const VerifyCommand& args, const std::string& case_name) {
  std::string command = "mollify verify --case " + shell_word(case_name);
  if (args.device.device != kCpuDevice) command += " --device " + shell_word(args.device.device);
  if (args.device.threads != 0) command += fmt::format(" --threads {}", args.device.threads);
  return command;
}

// What has been found so far; any thread may add to it.
class Findings {
 public:
  Findings(const VerifyCommand& args, std::size_t total) : args_(args), total_(total), live_(isatty(STDERR_FILENO) != 0 && total > 1) {}

  void add(Finding finding) {
    const std::scoped_lock lock(mutex_);
    ++done_;
    ++counts_[static_cast<std::size_t>(finding.outcome)];
    if (finding.outcome == cases::Outcome::failed) {
      if (!args_.json) print_failure(finding);
      failures_.push_back(std::move(finding));
    } else if (finding.outcome == cases::Outcome::refused && total_ == 1 && !args_.json) {
      fmt::print("refused  {}\n  {}\n", finding.case_name, finding.message);
    }
    show_progress();
  }

  [[nodiscard]] std::size_t count(cases::Outcome outcome) const { return counts_[static_cast<std::size_t>(outcome)]; }
  [[nodiscard]] const std::vector<Finding>& failures() const { return failures_; }

  void clear_progress() const {
    if (live_) fmt::print(stderr, "\r\033[K");
  }

 private:
  void print_failure(const Finding& finding) const {
    clear_progress();
    fmt::print("FAILED   {}\n  {}\n  {}\n", finding.case_name, finding.message, reproduce(args_, finding.case_name));
    std::fflush(stdout);
  }

  void show_progress() const {
    if (!live_) return;
    fmt::print(stderr, "\r\033[K{} of {} cases, {} failed", done_, total_, failures_.size());
    std::fflush(stderr);
  }

  const VerifyCommand& args_;
  std::size_t total_;
  bool live_;
  std::mutex mutex_;
  std::size_t done_ = 0;
  std::size_t counts_[3] = {};
  std::vector<Finding> failures_;
};

Finding check(const Device& device, const cases::Case& c, int runs) {
  try {
    cases::CaseResult result = cases::run_case(device, c, runs);
    return {cases::name(c), result.outcome, std::move(result.message), result.max_error, result.predicted_error};
  } catch (const std::exception& error) {
    return {cases::name(c), cases::Outcome::failed, std::string("threw ") + error.what(), 0.0, 0.0};
  }
}

// The reference is most of the work and runs on one thread, so the cases run side by side.
void run_all(const Device& device, const std::vector<cases::Case>& selected, int runs, Findings& findings) {
  cases::side_by_side(selected.size(), std::thread::hardware_concurrency(), [&](std::size_t i) {
    findings.add(check(device, selected[i], runs));
    return true;
  });
}

Json to_json(const VerifyCommand& args, const DeviceInfo& device, const Findings& findings) {
  Json failures = Json::array();
  for (const Finding& failure : findings.failures()) {
    failures.push_back({{"case", failure.case_name},
                        {"message", failure.message},
                        {"max_error", failure.max_error},
                        {"predicted_error", failure.predicted_error},
                        {"command", reproduce(args, failure.case_name)}});
  }
  return {{"backend", name(device.backend)},
          {"device", device.name},
          {"driver", device.driver},
          {"threads", device.threads},
          {"passed", findings.count(cases::Outcome::pass)},
          {"refused", findings.count(cases::Outcome::refused)},
          {"failed", findings.count(cases::Outcome::failed)},
          {"failures", std::move(failures)}};
}

void run(const VerifyCommand& args) {
  const Device device = open_device(args.device);
  const DeviceInfo& info = device.info();
  const std::vector<cases::Case> selected = select(args, info);
  if (!args.json) fmt::print("{}: {}, {}, threads: {}\n", name(info.backend), info.name, info.driver, info.threads);
  std::fflush(stdout);

  Findings findings(args, selected.size());
  run_all(device, selected, args.repeat, findings);
  findings.clear_progress();

  if (args.json) {
    fmt::print("{}\n", to_json(args, info, findings).dump(2));
  } else {
    fmt::print("{} case{}: {} passed, {} refused, {} failed\n", selected.size(), selected.size() == 1 ? "" : "s",
               findings.count(cases::Outcome::pass), findings.count(cases::Outcome::refused), findings.count(cases::Outcome::failed));
  }
  std::fflush(stdout);
  const bool nothing_was_checked = findings.count(cases::Outcome::pass) == 0;
  if (nothing_was_checked || !findings.failures().empty()) throw Failure{kExitFailure, ""};
}

}  // namespace

void add_verify(Command& app) {
  const auto args = std::make_shared<VerifyCommand>();
  Command command = app.add_command("verify", "Check every algorithm against the reference on this machine");
  command.add_option("--filter", args->filter, "Only cases with this in their name; * and ? match the whole name").type_name("PATTERN");
  command.add_option("--case", args->case_name, "This one, as a failure names it").type_name("NAME");
  command.add_flag("--full", args->full, "Every combination instead of every pair: hours");
  command.add_option("--repeat", args->repeat, "Run each so often; all runs must leave the same bits")
      .type_name("N")
      .in_range(1, 1'000'000)
      .show_default();
  add_device_options(command, args->device);
  add_json_flag(command, args->json);
  command.set_footer(R"(Examples:
  mollify verify
  mollify verify --filter 'box.*rgba16f*'
  mollify verify --case auto/127x33/rgba8/gaussian:sigma=1.5/clamp)");
  command.on_run([args] { run(*args); });
}

}  // namespace mollify::cli
