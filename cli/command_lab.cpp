// mollify lab: suites of measurements, what they look like, and what changed between two of them.
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "atomic_file.h"
#include "commands.h"
#include "interrupt.h"
#include "lab/compare.h"
#include "lab/peers/python.h"
#include "lab/report.h"
#include "lab/run.h"
#include "lab_auto.h"
#include "lab_contest.h"
#include "lab_plans.h"

namespace mollify::cli {
namespace {

std::string duration_text(double seconds) {
  const auto whole = static_cast<long>(std::lround(seconds));
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

// One line that is rewritten, on terminals only.
class StatusLine {
 public:
  void show(const std::string& text) const {
    if (live_) fmt::print(stderr, "\r\033[K{}", text.substr(0, 110));
    std::fflush(stderr);
  }
  void clear() const {
    if (live_) fmt::print(stderr, "\r\033[K");
    std::fflush(stderr);
  }

 private:
  bool live_ = isatty(STDERR_FILENO) != 0;
};

struct RunCommand {
  DeviceArgs device;
  std::string suite = "quick";
  std::string output;
  bool resume = false;
  bool no_peers = false;
  std::optional<std::string> python;
  std::optional<double> seconds;
  std::optional<double> limit;
  std::string filter;
  bool defaults = false;
};

std::string suite_names() {
  std::string names;
  for (const lab::Suite& suite : lab::suites()) names += (names.empty() ? "" : ", ") + std::string(suite.name);
  return names;
}

void check_seconds(const std::optional<double>& seconds, std::string_view option) {
  if (seconds && !(*seconds >= 0.0 && std::isfinite(*seconds))) {
    fail_usage(fmt::format("{} {}: not a length of time", option, *seconds));
  }
}

/// The name of a group in at most `width` characters: numbers with four digits, and dots where there is more.
std::string short_label(const lab::Group& group, std::size_t width) {
  static const std::regex number("[0-9]+\\.[0-9]+");
  std::string text;
  auto rest = group.label.cbegin();
  for (std::sregex_iterator match(group.label.begin(), group.label.end(), number); match != std::sregex_iterator(); ++match) {
    text.append(rest, (*match)[0].first).append(fmt::format("{:.4g}", std::stod(match->str())));
    rest = (*match)[0].second;
  }
  text.append(rest, group.label.cend());
  return text.size() <= width ? text : text.substr(0, width - 3) + "...";
}

lab::Observer observer_of(const StatusLine& line) {
  lab::Observer observer;
  observer.working = [&line](const lab::Group& group, std::string_view what, std::size_t done, std::size_t total) {
    line.show(fmt::format("{}: {} {} of {}", short_label(group, 70), what, std::min(done + 1, total), total));
  };
  observer.finished = [&line](const lab::Group& group, const Json& fastest, const lab::Tally& tally, double left) {
    line.clear();
    std::string best = "none could run";
    if (!fastest.is_null()) {
      best = fmt::format("{:<26} {:>9.3f} ms {:>7.2f} of a copy", fastest["algorithm"].get<std::string>(),
                         fastest["time_ns"]["median"].get<double>() / 1e6, fastest["copy_ratio"].get<double>());
    }
    fmt::print("{:<52} {}   {} timed, {} left\n", short_label(group, 52), best, tally.timed, duration_text(left));
    std::fflush(stdout);
  };
  observer.note = [&line](const std::string& note) {
    line.clear();
    fmt::print("note: {}\n", note.substr(0, 300));
  };
  return observer;
}

/// As a shell takes them.
std::string device_flags(const DeviceArgs& args) {
  std::string flags;
  if (args.threads != 0) flags += fmt::format(" --threads {}", args.threads);
  if (!args.cpu_target.empty()) flags += " --cpu-target " + args.cpu_target;
  if (args.probe == "off") flags += " --probe off";
  return flags;
}

void run(const RunCommand& args) {
  check_seconds(args.seconds, "--seconds");
  check_seconds(args.limit, "--limit");
  require_name(args.output, "-o");
  const lab::Suite* suite = lab::find_suite(args.suite);
  if (suite == nullptr) fail_usage(fmt::format("--suite {}: there is no such suite; there are {}", args.suite, suite_names()));
  const Device device = open_device(args.device);
  std::vector<bench::Peer> peers;
  const DeviceInfo& info = device.info();
  if (!args.no_peers) peers.assign(bench::peers().begin(), bench::peers().end());
  if (args.python) {
    for (bench::Peer& peer : value_or_fail(lab::python_peers(*args.python, info), "--python")) peers.push_back(std::move(peer));
  }
  lab::Results results = value_or_fail(lab::Results::open(args.output, args.resume ? lab::Resume::yes : lab::Resume::no));
  fmt::print("suite {} on {}: {}, {}\n", suite->name, name(info.backend), info.name, info.driver);
  std::fflush(stdout);

  const std::atomic<bool>& stop_asked = stop_on_interrupt();
  const StatusLine line;
  const lab::Observer observer = observer_of(line);
  const lab::Tally tally = value_or_fail(lab::run_suite(device, *suite, results,
                                                        {.device_name = args.device.device,
                                                         .device_flags = device_flags(args.device),
                                                         .seconds = args.seconds,
                                                         .limit_seconds = args.limit,
                                                         .filter = args.filter,
                                                         .choices = args.defaults ? lab::Choices::defaults : lab::Choices::all,
                                                         .peers = peers,
                                                         .stop = &stop_asked},
                                                        observer));
  line.clear();
  if (tally.timed + tally.refused + tally.wrong + tally.done_before + tally.left == 0) {
    fail(fmt::format("--filter {}: no case of suite {} has such a name here", args.filter, suite->name));
  }
  fmt::print("{}: {} timed ({} unstable), {} by peers, {} refused, {} wrong", args.output, tally.timed, tally.unstable, tally.peers,
             tally.refused, tally.wrong);
  if (tally.done_before > 0) fmt::print(", {} done before", tally.done_before);
  fmt::print("\n");
  if (tally.left > 0) {
    fmt::print("{}; {} cases are left, --resume goes on with them\n", tally.stopped ? "stopped" : "the suite's time is up", tally.left);
  }
  std::fflush(stdout);
  if (tally.stopped) throw Failure{kExitInterrupted, ""};
  if (tally.wrong > 0) throw Failure{kExitFailure, ""};
}

std::string suites_help() {
  std::string text = "Suites:\n";
  for (const lab::Suite& suite : lab::suites()) text += fmt::format("  {:<8} {}\n", suite.name, suite.summary);
  return text + R"(Examples:
  mollify lab run --suite quick --device cpu -o results.jsonl
  mollify lab run --suite blurs --device vulkan:0 -o results.jsonl --resume
  mollify lab run --suite blurs --device vulkan:0 -o results.jsonl --defaults --filter '*/4096x4096/*' --limit 60)";
}

void add_run(Command& lab) {
  const auto args = std::make_shared<RunCommand>();
  Command command = lab.add_command("run", "Measure a suite of cases; Ctrl-C keeps what is done");
  command.add_option("--suite", args->suite, "What to measure, see below").type_name("NAME").show_default();
  add_device_options(command, args->device);
  command.add_option("-o,--output", args->output, "Add one JSON object a line to this file").type_name("FILE").required();
  command.add_flag("--resume", args->resume, "Go on with the file: leave out what it holds");
  command.add_flag("--no-peers", args->no_peers, "Leave other libraries out");
  command.add_option("--python", args->python, "Also measure the Python libraries that this interpreter has").type_name("PYTHON");
  command.add_option("--seconds", args->seconds, "To spend on each thing that is timed [by suite]").type_name("S");
  command.add_option("--limit", args->limit, "Begin no group that would end after so many seconds, but for the first [by suite]")
      .type_name("S");
  command.add_option("--filter", args->filter, "Only cases whose names match: * any text, ? a character").type_name("PATTERN");
  command.add_flag("--defaults", args->defaults, "Every algorithm, but none with options that are not its own");
  command.set_footer(suites_help());
  command.on_run([args] { run(*args); });
}

// --- report ------------------------------------------------------------------------------------------------------------

struct ReportCommand {
  std::vector<std::string> results;
  std::string output = "report";
};

// A report may be replaced by a newer one; a page of somebody else's may not.
void refuse_foreign_page(const std::string& path) {
  constexpr std::string_view kTitle = "<title>mollify lab report</title>";
  std::ifstream file(path);
  if (!file) return;
  std::string begin(4096, '\0');
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  if (begin.find(kTitle) == std::string::npos) fail(fmt::format("{}: is no report of mollify's; name another folder with -o", path));
}

void report(const ReportCommand& args) {
  require_name(args.output, "-o");
  const std::string page = args.output + "/index.html";
  refuse_foreign_page(page);
  std::vector<Json> records;
  for (const std::string& path : args.results) {
    std::vector<Json> some = value_or_fail(lab::read_results(path));
    records.insert(records.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
  }
  if (records.empty()) fail(fmt::format("{}: holds no records", args.results.front()));
  write_text_file(page, lab::report_page(records));
  fmt::print("{}: {} records\n", page, records.size());
}

void add_report(Command& lab) {
  const auto args = std::make_shared<ReportCommand>();
  Command command = lab.add_command("report", "Make a page with charts of results; it needs no network");
  command.add_option("results", args->results, "Files of 'lab run' or 'bench --json'").type_name("FILE").required();
  command.add_option("-o,--output", args->output, "Folder for index.html, made if need be").type_name("FOLDER").show_default();
  command.on_run([args] { report(*args); });
}

// --- compare -----------------------------------------------------------------------------------------------------------

struct CompareCommand {
  std::vector<std::string> results;
  std::vector<std::string> before;
  std::vector<std::string> after;
  double threshold = 5.0;
  bool in_copies = false;
  bool json = false;
};

Json to_json(const std::vector<lab::Change>& changes) {
  Json list = Json::array();
  for (const lab::Change& change : changes) {
    list.push_back({{"case", change.case_name},
                    {"device", change.device},
                    {"before", change.before},
                    {"after", change.after},
                    {"factor", change.factor()}});
  }
  return list;
}

void print(std::string_view verdict, const std::vector<lab::Change>& changes, bool in_copies) {
  for (const lab::Change& change : changes) {
    const auto text = [&](double value) { return in_copies ? fmt::format("{:.3f}", value) : fmt::format("{:.4f} ms", value / 1e6); };
    fmt::print("{} {:6.3f}x  {} -> {}  {}\n", verdict, change.factor(), text(change.before), text(change.after),
               change.case_name.substr(0, 160));
  }
}

std::vector<lab::Records> read_runs(const std::vector<std::string>& paths) {
  std::vector<lab::Records> runs;
  for (const std::string& path : paths) runs.push_back(value_or_fail(lab::read_results(path)));
  return runs;
}

/// Two files, or --before and --after.
void settle_sides(CompareCommand& args) {
  const bool has_options = !args.before.empty() || !args.after.empty();
  if (has_options ? !args.results.empty() || args.before.empty() || args.after.empty() : args.results.size() != 2) {
    fail_usage("compare takes two files, or --before FILE... and --after FILE...");
  }
  if (has_options) return;
  args.before = {args.results[0]};
  args.after = {args.results[1]};
}

void print_drift(const lab::Drift& drift) {
  if (drift.cases == 0) {
    fmt::print("one run a side: how far runs of one build differ is not known, see --help\n");
  } else {
    fmt::print("runs of one side differ by {:.1f} % in the median case, by {:.1f} % at most\n", 100.0 * drift.median, 100.0 * drift.most);
  }
}

void compare(CompareCommand args) {
  if (!(args.threshold >= 0.0 && std::isfinite(args.threshold))) {
    fail_usage(fmt::format("--threshold {}: not a part in percent", args.threshold));
  }
  settle_sides(args);
  const lab::Changes changes =
      lab::compare(read_runs(args.before), read_runs(args.after),
                   {.threshold = args.threshold / 100.0, .unit = args.in_copies ? lab::Unit::copies : lab::Unit::time});
  const std::string &before = args.before.front(), &after = args.after.front();
  if (changes.compared() + changes.wrong.size() == 0) fail(fmt::format("{} and {} have no case in common on one device", before, after));
  if (args.json) {
    fmt::print("{}\n", Json{{"wrong", changes.wrong},
                            {"slower", to_json(changes.slower)},
                            {"faster", to_json(changes.faster)},
                            {"same", changes.same},
                            {"only_before", changes.only_before},
                            {"only_after", changes.only_after},
                            {"drift", {{"cases", changes.drift.cases}, {"median", changes.drift.median}, {"most", changes.drift.most}}}}
                           .dump(2));
  } else {
    print("slower", changes.slower, args.in_copies);
    print("faster", changes.faster, args.in_copies);
    for (const std::string& wrong : changes.wrong) fmt::print("wrong now {}\n", wrong.substr(0, 160));
    fmt::print("{} compared: {} slower, {} faster, {} the same; only in {}: {}, only in {}: {}\n", changes.compared(),
               changes.slower.size(), changes.faster.size(), changes.same, before, changes.only_before, after, changes.only_after);
    print_drift(changes.drift);
  }
  std::fflush(stdout);
  if (!changes.slower.empty() || !changes.wrong.empty()) throw Failure{kExitFailure, ""};
}

constexpr const char* kCompareFooter =
    R"(What it cannot know: whether a change is the program's. Runs at different times see different clocks, neighbours and
places in memory, and two runs of one build differ in some cases by more than the threshold. Several files a side show how
far; a change must lie beyond all of them. 'mollify lab contest' runs two builds in turns and decides by pairs.
Examples:
  mollify lab compare then.jsonl now.jsonl
  mollify lab compare --before then1.jsonl then2.jsonl --after now1.jsonl now2.jsonl)";

void add_compare(Command& lab) {
  const auto args = std::make_shared<CompareCommand>();
  Command command = lab.add_command("compare", "Which cases became slower or faster beyond noise; fails if one is slower, or wrong");
  command.add_option("results", args->results, "Results of then, and results of now").type_name("FILE");
  command.add_option("--before", args->before, "Results of then, one file a run").type_name("FILE");
  command.add_option("--after", args->after, "Results of now, one file a run").type_name("FILE");
  command.add_option("--threshold", args->threshold, "Smaller changes count as none").type_name("PERCENT").show_default();
  command.add_flag("--in-copies", args->in_copies, "Compare times in copies of the same bytes, where the machine was busier once");
  add_json_flag(command, args->json);
  command.set_footer(kCompareFooter);
  command.on_run([args] { compare(*args); });
}

}  // namespace

void add_lab(Command& app) {
  Command lab = app.add_command("lab", "Measure every technique, see and compare the results");
  lab.require_command();
  add_run(lab);
  add_report(lab);
  add_compare(lab);
  add_contest(lab);
  add_auto(lab);
  add_plans(lab);
}

}  // namespace mollify::cli
