// Differential fuzz: every algorithm that has a plan for a random case, and what plans take on GPUs of other kinds, agrees
// with the reference within the error that it promises, hence with every other algorithm within the sum of both.
//
//   mollify_fuzz [--device NAME] [--seconds N] [--seed S]
//
// Each round has a seed of its own, so a failure needs no replay of those before it; `mollify verify --case NAME` runs
// it.
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cases/axes.h"
#include "fuzz/random_case.h"

namespace mollify::cases {
namespace {

struct Arguments {
  std::string device = "cpu";
  std::uint64_t seconds = 20;
  std::uint64_t seed = 1;
};

bool parse(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i < argc; i += 2) {
    const std::string_view key = argv[i];
    if (key == "--device" && i + 1 < argc) {
      arguments.device = argv[i + 1];
      continue;
    }
    std::uint64_t* value = key == "--seconds" ? &arguments.seconds : key == "--seed" ? &arguments.seed : nullptr;
    if (value == nullptr || i + 1 == argc) return false;
    const char* end = argv[i + 1] + std::strlen(argv[i + 1]);
    const auto [rest, error] = std::from_chars(argv[i + 1], end, *value);
    if (error != std::errc{} || rest != end) return false;
  }
  return true;
}

/// What plans take for the case, and for it on a large image, on a GPU like this one that does not run on the processor. Drivers that
/// do are given most forms only where they are asked for.
std::vector<AlgorithmChoice> choices_of_hardware(const DeviceInfo& software, const Case& c) {
  DeviceInfo hardware = software;
  hardware.gpu.is_software = false;
  std::vector<AlgorithmChoice> choices;
  const auto add = [&](const BlurSpec& spec, const ImageDesc& src) {
    const Result<Plan> plan = make_plan(spec, src, destination_desc(spec, src, c.dst.format), hardware);
    if (!plan) return;
    choices.push_back(plan->algorithm);
    choices.back().options.erase("chunks");  // as many as the large image needs
  };
  add(c.spec, c.src);
  BlurSpec everywhere = c.spec;
  everywhere.roi.reset();
  add(everywhere, {2048, 2048, c.src.format});
  return choices;
}

struct Tally {
  std::int64_t passed = 0;
  std::int64_t refused = 0;
  std::int64_t failed = 0;
};

/// A software GPU would spend the time on a few large kernels.
bool takes_long(const Device& device, const Case& c) {
  if (!device.info().gpu.is_software) return false;
  constexpr double kMostSeconds = 0.5;
  PlanOptions options;
  if (!c.algorithm.id.empty()) options.algorithm = c.algorithm;
  const Result<Plan> plan = make_plan(c.spec, c.src, c.dst, device.info(), options);
  return plan && plan->predicted_seconds > kMostSeconds;
}

void run(const Device& device, const Case& c, Tally& tally) {
  if (takes_long(device, c)) return;
  if (const Result<Plan> plan = plan_of(c, device.info()); plan && !is_held_to(device.info(), *plan, c.content)) return;
  const CaseResult result = run_case(device, c);
  if (result.outcome == Outcome::pass) ++tally.passed;
  // On the CPU the planner's own choice must always exist: every blur within the default accuracy has an algorithm. Of wide formats not
  // where sums of many doubles, or curves of colours, round more than that.
  const bool is_wide = info(c.src.format).is_wide() || info(c.dst.format).is_wide();
  const bool must_run = c.algorithm.id.empty() && device.info().backend == Backend::cpu && !is_wide;
  if (result.outcome == Outcome::refused && !must_run) ++tally.refused;
  if (result.outcome == Outcome::failed || (result.outcome == Outcome::refused && must_run)) {
    ++tally.failed;
    std::printf("FAILED %s\n  %s\n", name(c).c_str(), result.message.c_str());
    std::fflush(stdout);
  }
}

int main_of(const Arguments& arguments) {
  const Result<Device> device = Device::open(arguments.device, {2});
  if (!device) {
    std::fprintf(stderr, "mollify_fuzz: %s\n", device.error().message.c_str());
    return 1;
  }
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::seconds(arguments.seconds);
  Tally tally;
  std::uint64_t rounds = 0;
  for (; Clock::now() < end && tally.failed < 20; ++rounds) {
    Random random(arguments.seed * 1'000'003 + rounds);
    Case c = random_case(random);
    run(*device, c, tally);
    if (device->info().gpu.is_software) {
      for (AlgorithmChoice& choice : choices_of_hardware(device->info(), c)) {
        c.algorithm = std::move(choice);
        run(*device, c, tally);
      }
    }
    for (const AlgorithmInfo& algorithm : algorithms()) {
      c.algorithm = {std::string(algorithm.id), {}};
      for (const OptionInfo& option : algorithm.options) {
        if (!option.values.empty() && random.one_in(2)) {
          c.algorithm.options[std::string(option.name)] = std::string(random.pick(option.values));
        }
      }
      run(*device, c, tally);
    }
  }
  std::printf("%llu rounds from seed %llu: %lld passed, %lld refused, %lld failed\n", static_cast<unsigned long long>(rounds),
              static_cast<unsigned long long>(arguments.seed), static_cast<long long>(tally.passed), static_cast<long long>(tally.refused),
              static_cast<long long>(tally.failed));
  return tally.failed == 0 && tally.passed > 0 ? 0 : 1;
}

}  // namespace
}  // namespace mollify::cases

int main(int argc, char** argv) {
  mollify::cases::Arguments arguments;
  if (!mollify::cases::parse(argc, argv, arguments)) {
    std::fprintf(stderr, "usage: mollify_fuzz [--device NAME] [--seconds N] [--seed S]\n");
    return 2;
  }
  return mollify::cases::main_of(arguments);
}
