#include "lab_contest.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "interrupt.h"
#include "lab/contest.h"
#include "lab/results.h"

extern "C" char** environ;

namespace mollify::cli {
namespace {

namespace fs = std::filesystem;

struct ContestCommand {
  std::string first;
  std::string second;
  std::vector<std::string> cases;
  DeviceArgs device;
  int pairs = 15;
  double seconds = 0.2;
  double tolerance = 2.0;
  bool json = false;
};

/// A folder that ends with its owner.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "mollify_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) fail(fmt::format("{}: {}", name, std::strerror(errno)));
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

/// Runs a program to its end, with all that it says in a file. Its exit code, or none where a signal ended it.
std::optional<int> run_program(std::vector<std::string> words, const std::string& said) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, said.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t pid = -1;
  const int failed = posix_spawn(&pid, words.front().c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) fail(fmt::format("{}: {}", words.front(), std::strerror(failed)));
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) ? std::optional(WEXITSTATUS(status)) : std::nullopt;
}

/// The last line that a program said, without its name in front.
std::string last_line(const std::string& path) {
  std::ifstream file(path);
  std::string last;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) last = line;
  }
  constexpr std::string_view kName = "mollify: ";
  return last.starts_with(kName) ? last.substr(kName.size()) : last;
}

/// Times by case, nanoseconds. The tenth percentile: what disturbs a run only ever makes it longer.
using Times = std::map<std::string, double>;

Times times_of(const std::string& program, const ContestCommand& args, const TemporaryFolder& folder) {
  const std::string results = folder.file("results.jsonl"), said = folder.file("said.txt");
  std::error_code ignored;
  fs::remove(results, ignored);
  std::vector<std::string> words{
      program, "bench", "--no-peers", "--device", args.device.device, "--seconds", fmt::format("{}", args.seconds), "--json", results};
  if (args.device.threads != 0) words.insert(words.end(), {"--threads", std::to_string(args.device.threads)});
  if (!args.device.cpu_target.empty()) words.insert(words.end(), {"--cpu-target", args.device.cpu_target});
  if (args.device.probe == "off") words.insert(words.end(), {"--probe", "off"});
  for (const std::string& one : args.cases) words.insert(words.end(), {"--case", one});
  if (run_program(words, said) != 0) {
    if (stop_on_interrupt()) return {};
    fail(fmt::format("{}: {}", program, last_line(said)));
  }
  Times times;
  for (const Json& record : value_or_fail(lab::read_results(results))) {
    const Json* time = record.find("time_ns");
    if (time != nullptr && time->is_object()) times[record.value("case", "")] = time->value("p10", 0.0);
  }
  return times;
}

using PairsOfCases = std::map<std::string, std::vector<lab::PairOfTimes>>;

/// The first program runs first in every other pair, so that a drift of the machine favours none.
PairsOfCases run_pairs(const ContestCommand& args) {
  const std::atomic<bool>& stop_asked = stop_on_interrupt();
  const TemporaryFolder folder;
  PairsOfCases pairs;
  for (int pair = 0; pair < args.pairs && !stop_asked; ++pair) {
    std::array<Times, 2> times;
    for (const int turn : {0, 1}) {
      const auto program = static_cast<std::size_t>((pair + turn) % 2);
      times[program] = times_of(program == 0 ? args.first : args.second, args, folder);
    }
    if (stop_asked) break;
    for (const auto& [case_name, first] : times[0]) {
      const auto second = times[1].find(case_name);
      if (second != times[1].end()) pairs[case_name].push_back({first, second->second});
    }
    if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\033[Kpair {} of {}{}", pair + 1, args.pairs, pair + 1 < args.pairs ? "" : "\n");
  }
  return pairs;
}

void check(const ContestCommand& args) {
  require_device_name(args.device);
  if (args.pairs < 2) fail_usage(fmt::format("--pairs {}: at least 2 have an interval", args.pairs));
  if (!(args.seconds > 0.0 && std::isfinite(args.seconds))) fail_usage(fmt::format("--seconds {}: not a length of time", args.seconds));
  if (!(args.tolerance >= 0.0 && std::isfinite(args.tolerance)))
    fail_usage(fmt::format("--tolerance {}: not a part in percent", args.tolerance));
  for (const std::string& program : {args.first, args.second}) {
    if (::access(program.c_str(), X_OK) != 0) fail(fmt::format("{}: {}", program, std::strerror(errno)));
  }
}

void contest(ContestCommand args) {
  check(args);
  if (args.cases.empty()) args.cases = lab::usual_contest_cases(args.device.device != kCpuDevice);
  const PairsOfCases pairs = run_pairs(args);
  Json records = Json::array();
  std::map<lab::Verdict, int> counts;
  for (const auto& [case_name, times] : pairs) {
    const auto ratio = lab::ratio_of(times);
    if (!ratio) continue;
    const lab::Verdict verdict = lab::verdict_of(*ratio, args.tolerance / 100.0);
    ++counts[verdict];
    if (args.json) {
      records.push_back({{"case", case_name},
                         {"verdict", std::string(lab::name(verdict))},
                         {"ratio", ratio->mean},
                         {"least", ratio->least},
                         {"most", ratio->most},
                         {"pairs", times.size()}});
    } else {
      fmt::print("{:<10} {:6.3f} [{:.3f}, {:.3f}]  {} pairs  {}\n", lab::name(verdict), ratio->mean, ratio->least, ratio->most,
                 times.size(), case_name);
    }
  }
  if (pairs.size() < args.cases.size()) {
    fmt::print(stderr, "mollify: {} of {} cases were not timed by both programs\n", args.cases.size() - pairs.size(), args.cases.size());
  }
  if (args.json) {
    fmt::print("{}\n", records.dump(2));
  } else {
    fmt::print("{} slower, {} faster, {} the same, {} undecided\n", counts[lab::Verdict::slower], counts[lab::Verdict::faster],
               counts[lab::Verdict::same], counts[lab::Verdict::undecided]);
  }
  std::fflush(stdout);
  if (stop_on_interrupt()) throw Failure{kExitInterrupted, ""};
  if (counts[lab::Verdict::slower] > 0 || counts.empty()) throw Failure{kExitFailure, ""};
}

constexpr const char* kContestFooter = R"(A line is the second program's time divided by the first's, with the 95 % interval over the pairs.
"slower" and "faster" are outside the tolerance with all of the interval, "same" is within it, "undecided" needs more pairs.
Exit code 1 where a case is slower.
Example:
  mollify lab contest old/mollify new/mollify --threads 1 --case auto/512x512/rgba8/gaussian:sigma=3/clamp)";

}  // namespace

void add_contest(Command& lab) {
  const auto args = std::make_shared<ContestCommand>();
  Command command = lab.add_command("contest", "Which of two builds of this tool is faster, by runs in turns");
  command.add_option("first", args->first, "The tool of then").type_name("PROGRAM").required();
  command.add_option("second", args->second, "The tool of now").type_name("PROGRAM").required();
  command
      .add_option("--case", args->cases, "A case, as 'bench --case' takes it; several may be given [Gaussians and boxes of three formats]")
      .type_name("CASE");
  add_device_options(command, args->device);
  command.add_option("--pairs", args->pairs, "How often both run").type_name("N").show_default();
  command.add_option("--seconds", args->seconds, "To spend on each case in each run").type_name("S").show_default();
  command.add_option("--tolerance", args->tolerance, "Ratios within so much of 1 count as the same").type_name("PERCENT").show_default();
  add_json_flag(command, args->json);
  command.set_footer(kContestFooter);
  command.on_run([args] { contest(*args); });
}

}  // namespace mollify::cli
