#include "backends/vulkan/probe.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include "backends/vulkan/timestamps.h"

namespace mollify::vulkan {

Result<ProbeTimes> probe_times(const std::shared_ptr<const Prepared>& prepared, double seconds) {
  using Clock = std::chrono::steady_clock;
  const ImageDesc& desc = prepared->plan().src;
  std::vector<std::uint32_t> pixels(static_cast<std::size_t>(desc.payload_bytes()) / sizeof(std::uint32_t) + 1);
  std::minstd_rand random;
  for (std::uint32_t& four : pixels) four = static_cast<std::uint32_t>(random());
  const auto noise = DeviceNoise::create(prepared->context(), {desc, pixels.data(), desc.row_payload_bytes()});
  if (!noise) return noise.error();
  const auto timer = DeviceTimer::create(prepared, **noise, 1);
  if (!timer) return timer.error();

  constexpr int kRuns = 4;
  constexpr double kNanosecond = 1e-9;
  ProbeTimes least{HUGE_VAL, HUGE_VAL, HUGE_VAL};
  const auto take = [](double& least_of, const std::vector<double>& times) {
    for (const double ns : times) least_of = std::min(least_of, ns * kNanosecond);
  };
  double nothing = HUGE_VAL;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  do {
    const Result<DeviceSamples> some = (*timer)->measure(kRuns);
    if (!some) return some.error();
    take(least.copy_seconds, some->driver_copy);
    take(least.copy_seconds, some->kernel_copy);
    take(least.blur_seconds, some->blur);
    take(least.launch_seconds, some->dispatch);
    take(nothing, some->nothing);
  } while (Clock::now() < end);
  for (double* time : {&least.copy_seconds, &least.blur_seconds, &least.launch_seconds}) *time -= nothing;
  return least;
}

}  // namespace mollify::vulkan
