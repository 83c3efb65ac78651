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

namespace {

/// Whole steps of so many octaves from what is typical beside arithmetic. Plans depend on how these rates compare, which a busy machine
/// that slows down all of them should not change; and what is left of a time when the rest is taken from it is noisier than the whole.
double in_steps(double rate, double typical, double octaves) {
  return typical * std::exp2(octaves * std::round(std::log2(rate / typical) / octaves));
}
constexpr double kLoadOctaves = 1.0;
constexpr double kWaitOctaves = 2.0;

GpuModel model_of(const GpuRates& rates) {
  DeviceInfo device;
  device.gpu.measured = rates;
  return gpu_model(device);
}

}  // namespace

GpuRates with_typical_shared(GpuRates rates) {
  const GpuModel model = model_of(rates);
  rates.shared_per_second = model.shared_loads_per_second;
  rates.waits_per_second = model.barriers_per_second;
  return rates;
}

GpuRates with_shared(GpuRates rates, const SharedTimes& loading, const SharedTimes& waiting) {
  const double determinant = loading.loads * waiting.waits - waiting.loads * loading.waits;
  if (!(determinant > 0.0)) return with_typical_shared(rates);
  const GpuModel model = model_of(rates);
  const double left = loading.taken - loading.besides;
  const double right = waiting.taken - waiting.besides;
  // Whatever the noise of the rest says: no slower than a load of a cached pixel, no faster than a multiply-add.
  const double load = std::clamp((left * waiting.waits - right * loading.waits) / determinant, 1.0 / model.operations_per_second,
                                 1.0 / model.loads_per_second.front());
  const double wait = std::max((right - load * waiting.loads) / waiting.waits, 1.0 / model.operations_per_second);
  rates.shared_per_second = in_steps(1.0 / load, model.shared_loads_per_second, kLoadOctaves);
  rates.waits_per_second = in_steps(1.0 / wait, model.barriers_per_second, kWaitOctaves);
  return rates;
}

}  // namespace mollify
