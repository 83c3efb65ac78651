// mollify lab auto: blurs of images in host memory by the CPU and by the GPU, with all that goes to the GPU and back, beside the choice.
#include "lab_auto.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "auto_device.h"
#include "bench/buffers.h"
#include "bench/measure.h"
#include "cases/filter.h"
#include "interrupt.h"
#include "json/json.h"
#include "lab/suite.h"

namespace mollify::cli {
namespace {

struct AutoCommand {
  DeviceArgs device{.device = kAutoDevice};
  std::string suite = "scale";
  std::string filter;
  double seconds = 0.2;
  std::optional<double> limit{};
  double most = 1.3;
  double median = 1.05;
  bool json = false;
};

/// What one case took on both, in seconds.
struct Compared {
  std::string case_name;
  double cpu = 0.0;
  double gpu = 0.0;
  DeviceChoice choice;

  [[nodiscard]] bool is_on_gpu() const { return choice.device != kCpuDevice; }
  /// Of the chosen one to the better one.
  [[nodiscard]] double ratio() const { return (is_on_gpu() ? gpu : cpu) / std::min(cpu, gpu); }
};

void check(const AutoCommand& args) {
  if (!(args.seconds > 0.0 && std::isfinite(args.seconds))) fail_usage(fmt::format("--seconds {}: not a length of time", args.seconds));
  if (args.limit && !(*args.limit >= 0.0)) fail_usage(fmt::format("--limit {}: not a length of time", *args.limit));
  if (!(args.most >= 1.0 && args.median >= 1.0)) fail_usage("--most and --median are ratios from 1 on");
  if (args.device.probe == "off") fail_usage("--probe off: auto is the CPU then, and there is nothing to compare");
}

/// One of each problem, as it is planned where nobody names an algorithm.
std::vector<cases::Case> problems(const AutoCommand& args, const DeviceInfo& device) {
  const lab::Suite* suite = lab::find_suite(args.suite);
  if (suite == nullptr) {
    std::string names;
    for (const lab::Suite& each : lab::suites()) names += (names.empty() ? "" : ", ") + std::string(each.name);
    fail_usage(fmt::format("--suite {}: there is no such suite; there are {}", args.suite, names));
  }
  std::vector<cases::Case> all;
  for (const lab::Group& group : suite->groups(device)) {
    cases::Case problem = group.cases.front();
    problem.algorithm = {};
    problem.spec.accuracy = {};
    if (args.filter.empty() || cases::matches(args.filter, cases::name(problem))) all.push_back(std::move(problem));
  }
  if (all.empty()) fail(fmt::format("--filter {}: no case of suite {} has such a name here", args.filter, args.suite));
  return all;
}

/// A case that is ready to run on one device.
struct Ready {
  Executable executable;
  Workspace workspace;
};

Result<Ready> ready_on(const Device& device, const Plan& plan) {
  Result<Executable> executable = device.prepare(plan);
  if (!executable) return executable.error();
  Result<Workspace> workspace = executable->make_workspace(Batches::no);
  if (!workspace) return workspace.error();
  return Ready{*std::move(executable), *std::move(workspace)};
}

class Comparison {
 public:
  explicit Comparison(const AutoCommand& args)
      : args_(args), devices_(args.device), cpu_(value_or_fail(devices_.open(kCpuDevice))), stop_asked_(stop_on_interrupt()) {}

  [[nodiscard]] const Device& cpu() const { return cpu_; }

  /// The error says why the case is left out.
  Result<Compared> compare(const cases::Case& problem) {
    const Result<Plan> on_cpu = plan(problem, cpu_.info());
    if (!on_cpu) return on_cpu.error();
    std::optional<Plan> on_gpu;
    const DeviceChooser::OnGpu open_and_plan = [&](const GpuAndCpu& machine) -> std::optional<GpuWork> {
      if (!gpu_) gpu_ = value_or_fail(devices_.open(machine.gpu));
      Result<Plan> planned = plan(problem, gpu_->info());
      if (!planned) return std::nullopt;
      on_gpu = *std::move(planned);
      return gpu_work({&*on_gpu, 1});
    };
    open_gpu(open_and_plan);
    DeviceChoice choice = devices_.choose(mollify::expected_seconds(*on_cpu), open_and_plan);
    if (!on_gpu) return Error{ErrorCode::unsupported, choice.why, {}};
    Result<Compared> times = measure(*on_cpu, *on_gpu, problem);
    if (!times) return times;
    times->choice = std::move(choice);
    return times;
  }

 private:
  static Result<Plan> plan(const cases::Case& problem, const DeviceInfo& device) {
    return make_plan(problem.spec, problem.src, problem.dst, device);
  }

  /// What opening takes is no part of the comparison.
  void open_gpu(const DeviceChooser::OnGpu& open_and_plan) {
    constexpr double kLong = 1e9;
    if (gpu_) return;
    const DeviceChoice choice = devices_.choose(kLong, open_and_plan);
    if (!gpu_) fail(choice.why);
  }

  Result<Compared> measure(const Plan& on_cpu, const Plan& on_gpu, const cases::Case& problem) {
    Result<Ready> cpu = ready_on(cpu_, on_cpu);
    if (!cpu) return cpu.error();
    Result<Ready> gpu = ready_on(*gpu_, on_gpu);
    if (!gpu) return gpu.error();
    const Result<bench::BufferRing> ring =
        bench::BufferRing::create(problem.src, problem.dst, bench::Sharing::separate, cpu_.info().llc_bytes);
    if (!ring) return ring.error();
    const auto run = [&](Ready& ready) {
      return [&](std::size_t pair) { return ready.executable.run((*ring)[pair].src, (*ring)[pair].dst, ready.workspace); };
    };
    const std::array<bench::Candidate, 2> both{{{"cpu", run(*cpu)}, {"gpu", run(*gpu)}}};
    const auto times =
        bench::measure(both, {.seconds = args_.seconds, .min_runs = 5, .pairs = ring->size(), .stop = [&] { return stop_asked_.load(); }});
    if (!times) return times.error();
    constexpr double kNanosecond = 1e-9;
    return Compared{cases::name(problem), (*times)[0].median * kNanosecond, (*times)[1].median * kNanosecond, {}};
  }

  const AutoCommand& args_;
  AutoDevice devices_;
  Device cpu_;
  std::optional<Device> gpu_;
  const std::atomic<bool>& stop_asked_;
};

double median_of(std::vector<double> values) {
  return bench::summarize(std::move(values)).median;
}

Json to_json(const Compared& each) {
  return {{"case", each.case_name},       {"cpu_seconds", each.cpu}, {"gpu_seconds", each.gpu},
          {"device", each.choice.device}, {"why", each.choice.why},  {"ratio", each.ratio()}};
}

void print(const Compared& each) {
  constexpr double kMilliseconds = 1e3;
  fmt::print("{:6.3f}  cpu {:10.4f} ms  gpu {:10.4f} ms  {:<8}  {}\n", each.ratio(), each.cpu * kMilliseconds, each.gpu * kMilliseconds,
             each.choice.device, each.case_name);
  std::fflush(stdout);
}

void run(const AutoCommand& args) {
  check(args);
  Comparison comparison(args);
  std::vector<double> ratios;
  Json records = Json::array();
  const auto start = std::chrono::steady_clock::now();
  const std::vector<cases::Case> all = problems(args, comparison.cpu().info());
  for (const cases::Case& problem : all) {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (args.limit && !ratios.empty() && taken.count() > *args.limit) {
      fmt::print(stderr, "mollify: {} cases are left at the time limit\n", all.end() - std::ranges::find(all, problem));
      break;
    }
    const Result<Compared> each = comparison.compare(problem);
    if (stop_on_interrupt()) break;
    if (!each) {
      fmt::print(stderr, "mollify: left out: {}: {}\n", cases::name(problem).substr(0, 160), one_line(each.error()));
      continue;
    }
    ratios.push_back(each->ratio());
    args.json ? records.push_back(to_json(*each)) : print(*each);
  }
  if (stop_on_interrupt()) throw Failure{kExitInterrupted, ""};
  if (ratios.empty()) fail("no case could run on both devices");
  const double most = std::ranges::max(ratios), median = median_of(ratios);
  if (args.json) {
    fmt::print("{}\n", Json{{"cases", std::move(records)}, {"most", most}, {"median", median}}.dump(2));
  } else {
    fmt::print("{} cases: auto takes {:.3f} times as long as the better device in the median, {:.3f} at most\n", ratios.size(), median,
               most);
  }
  std::fflush(stdout);
  if (most > args.most || median > args.median) throw Failure{kExitFailure, ""};
}

constexpr const char* kAutoFooter =
    R"(Each case is an image in host memory, blurred by the CPU and by the GPU in turns, with the transfers. Both are ready: opening
the GPU and planning are not timed. A line has the time on the chosen device divided by that on the better one, both times,
and the choice. Exit code 1 where the largest ratio or the median is above what is allowed.
Example:
  mollify lab auto --suite scale --limit 240)";

}  // namespace

void add_auto(Command& lab) {
  const auto args = std::make_shared<AutoCommand>();
  Command command = lab.add_command("auto", "How often --device auto takes the slower of the CPU and the GPU, and how much slower that is");
  command.add_option("--suite", args->suite, "Whose problems to blur, see 'mollify lab run --help'").type_name("NAME").show_default();
  command.add_option("--filter", args->filter, "Only cases whose names match: * any text, ? a character").type_name("PATTERN");
  command.add_option("--threads", args->device.threads, "As for 'mollify blur'").type_name("N").show_default();
  command.add_option("--probe", args->device.probe, "As for 'mollify blur'").one_of({"on", "off"}).show_default();
  command.add_option("--seconds", args->seconds, "To spend on each case and device").type_name("S").show_default();
  command.add_option("--limit", args->limit, "Begin no case after so many seconds, but for the first [no limit]").type_name("S");
  command.add_option("--most", args->most, "The largest ratio that is allowed").type_name("RATIO").show_default();
  command.add_option("--median", args->median, "The largest median that is allowed").type_name("RATIO").show_default();
  add_json_flag(command, args->json);
  command.set_footer(kAutoFooter);
  command.on_run([args] { run(*args); });
}

}  // namespace mollify::cli
