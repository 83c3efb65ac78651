#include "model/probe.h"

#include <algorithm>
#include <cmath>

#include "model/gpu_model.h"

namespace mollify {
double to_quarter_octave(double value) {
  return std::exp2(std::round(4.0 * std::log2(value)) / 4.0);
}

GpuRates rates_from(const Plan& plan, const ProbeTimes& times) {
  constexpr double kLeast = 1e-8;  // seconds: below the steps of a device's clock
  const GpuModel typical = gpu_model(plan.device);
  const auto launches = static_cast<double>(plan.passes.size());
  const double launch = std::max(times.launch_seconds, kLeast);
  const double predicted = plan.predicted_seconds - launches * typical.launch_seconds;
  const double taken = std::max(times.blur_seconds - launches * launch, kLeast);
  return {to_quarter_octave(static_cast<double>(plan.min_bytes) / std::max(times.copy_seconds, kLeast)),
          to_quarter_octave(typical.operations_per_second * predicted / taken), to_quarter_octave(launch)};
}

}  // namespace mollify
