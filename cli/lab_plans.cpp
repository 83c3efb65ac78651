#include "lab_plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure.h"
#include "cases/filter.h"
#include "interrupt.h"
#include "lab/plans.h"

namespace mollify::cli {
namespace {

struct PlansCommand {
  DeviceArgs device;
  std::string suite = "quick";
  std::string formats;
  std::string filter;
  int longest = 0;
  double seconds = 0.2;
  double tuning_seconds = 30.0;
  double limit = 900.0;
};

std::vector<PixelFormat> formats_of(const std::string& list) {
  std::vector<PixelFormat> formats;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    formats.push_back(parse_format_name(list.substr(begin, end - begin)));
    begin = end + 1;
  }
  return formats;
}

std::vector<cases::Case> select(const PlansCommand& args, const DeviceInfo& device) {
  const lab::Suite* suite = lab::find_suite(args.suite);
  if (suite == nullptr) fail_usage(fmt::format("--suite {}: there is no such suite", in_quotes(args.suite)));
  std::vector<cases::Case> requests = lab::requests_of(*suite, device, formats_of(args.formats), args.longest);
  std::erase_if(requests, [&](const cases::Case& request) { return !cases::matches(args.filter, cases::name(request)); });
  if (requests.empty()) fail(fmt::format("--filter \"{}\": no request of suite {} has such a name here", args.filter, suite->name));
  return requests;
}

/// Without where pixels lie, which no option of tuning changes.
std::string text_of(AlgorithmChoice choice) {
  choice.options.erase("storage");
  return to_string(choice);
}

void print(const cases::Case& request, const lab::PlanGap& gap) {
  fmt::print("{:6.3f}  {}\n        planned {:>10.4g} ms  {}\n", gap.ratio(), cases::name(request).substr(0, 100),
             gap.planned.nanoseconds * 1e-6, text_of(gap.planned.choice));
  if (gap.best.choice == gap.planned.choice) {
    fmt::print("        is the best of {}", gap.timed);
  } else {
    fmt::print("        best    {:>10.4g} ms  {} (of {})", gap.best.nanoseconds * 1e-6, text_of(gap.best.choice), gap.timed);
  }
  fmt::print("{}\n", gap.untuned > 0 ? fmt::format(", {} algorithms untuned", gap.untuned) : "");
  for (const std::string& wrong : gap.wrong) fmt::print("        wrong here, left out: {}\n", wrong.substr(0, 200));
  std::fflush(stdout);
}

void run(const PlansCommand& args) {
  for (const auto& [name, value] :
       {std::pair("--seconds", args.seconds), std::pair("--tuning-seconds", args.tuning_seconds), std::pair("--limit", args.limit)}) {
    if (!(value >= 0.0 && std::isfinite(value))) fail_usage(fmt::format("{} {}: not a length of time", name, value));
  }
  const Device device = open_device(args.device);
  const DeviceInfo& info = device.info();
  const std::vector<cases::Case> requests = select(args, info);
  fmt::print("{} requests of suite {} on {}: {}, {}\n", requests.size(), args.suite, name(info.backend), info.name, info.driver);
  if (args.longest > 0) fmt::print("no side is longer than {} pixels\n", args.longest);
  std::fflush(stdout);

  const std::atomic<bool>& stop_asked = stop_on_interrupt();
  const auto start = std::chrono::steady_clock::now();
  const auto is_late = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() >= args.limit; };
  bench::Contest contest(device);
  std::vector<double> ratios;
  std::size_t refused = 0;
  std::size_t done = 0;
  for (const cases::Case& request : requests) {
    if (stop_asked || (done > 0 && is_late())) break;
    const Result<lab::PlanGap> gap = lab::gap_of_plan(
        contest, request, {.seconds = args.seconds, .tuning_seconds = args.tuning_seconds, .stop = [&] { return stop_asked.load(); }});
    if (stop_asked) break;
    ++done;
    if (gap) {
      print(request, *gap);
      ratios.push_back(gap->ratio());
      continue;
    }
    if (gap.error().code == ErrorCode::device_lost) fail(one_line(gap.error()));
    fmt::print(stderr, "mollify: {}: {}\n", cases::name(request).substr(0, 160), one_line(gap.error()));
    ++refused;
  }
  const bench::Statistics all = bench::summarize(ratios);
  fmt::print("{} of {} requests", ratios.size(), requests.size());
  if (!ratios.empty()) fmt::print(": plans take {:.3f} times the best in the median, {:.3f} at the 90th percentile", all.median, all.p90);
  if (refused > 0) fmt::print("; {} could not be compared", refused);
  if (done < requests.size()) fmt::print("; {} were not reached in {} s", requests.size() - done, args.limit);
  fmt::print("\n");
  std::fflush(stdout);
  if (stop_asked) throw Failure{kExitInterrupted, ""};
  if (ratios.empty()) throw Failure{kExitFailure, ""};
}

constexpr const char* kPlansFooter =
    R"(Of each request the planner's choice and every algorithm that keeps the default error take turns once. What is slower than 4
times the fastest is dropped, of the rest options are tuned as 'mollify tune' does, and then all of them take turns again.
A line is the planner's time divided by that of the fastest. The last line has the median and the 90th percentile.
Examples:
  mollify lab plans --device vulkan:0
  mollify lab plans --device vulkan:0 --formats r8,rgba8,rgba16f,rgba32f --longest 128 --limit 3600)";

}  // namespace

void add_plans(Command& lab) {
  const auto args = std::make_shared<PlansCommand>();
  Command command = lab.add_command("plans", "How many times as long as the best of tuning the planner's choices take");
  command.add_option("--suite", args->suite, "Whose requests").type_name("NAME").show_default();
  add_device_options(command, args->device);
  command.add_option("--formats", args->formats, "Each request in these formats [its own]").type_name("FORMAT,...");
  command.add_option("--filter", args->filter, "Only requests whose names match: * any text, ? a character").type_name("PATTERN");
  command.add_option("--longest", args->longest, "Cut longer sides to so many pixels; 0: as they are")
      .type_name("PIXELS")
      .in_range(0, 1 << 16)
      .show_default();
  command.add_option("--seconds", args->seconds, "To spend on each decision of tuning").type_name("S").show_default();
  command.add_option("--tuning-seconds", args->tuning_seconds, "To spend on tuning the algorithms of a request, the fastest first")
      .type_name("S")
      .show_default();
  command.add_option("--limit", args->limit, "Begin no request after so many seconds, but for the first").type_name("S").show_default();
  command.set_footer(kPlansFooter);
  command.on_run([args] { run(*args); });
}

}  // namespace mollify::cli
