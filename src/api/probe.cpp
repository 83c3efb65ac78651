#include "api/probe.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <vector>

#include "model/gpu_model.h"
#include "model/probe.h"
#include "model/stored.h"
#include "mollify/tuning.h"

namespace mollify {

GpuRates rates_at_first_use(const DeviceInfo& device, const DeviceOptions& options, const MeasureRates& measure) {
  if (!options.probe || options.cache_folder.empty() || device.backend == Backend::cpu || has_gpu_row(device)) return {};
  Result<TuningTable> table = stored_table(options.cache_folder, device);
  if (!table) return {};
  // Rates without those of shared memory are of a version before; costs of rows were measured beside the rates that are there.
  if (table->rates.waits_per_second != 0.0 || !table->rows.empty()) return table->rates;
  const Result<GpuRates> measured = measure();
  if (!measured) return {};
  table->rates = *measured;
  const std::string text = to_text(*table);
  replace_file(tuning_path(options.cache_folder, device), text);  // if it cannot be written, the next process measures again
  // As the next process reads them.
  const Result<TuningTable> read = parse_tuning(text);
  return read ? read->rates : GpuRates();
}

namespace {

constexpr double kSeconds = 0.75;      // beside what it takes to prepare
constexpr double kTurnSeconds = 0.05;  // of each blur, again and again

BlurSpec gaussian(std::int32_t radius) {
  BlurSpec spec;
  spec.kernel = Gaussian{.sigma = {radius / 3.0, radius / 3.0}, .radius = {{radius, radius}}, .truncate = {}};
  return spec;
}

/// A blur that is measured.
struct Probed {
  AlgorithmChoice algorithm;
  std::int32_t radius;
  std::int32_t size_on_processor = 32;  ///< of the image: a driver that runs on the processor shares it with others, who delay long runs
};
/// Beside it a copy is measured, of more than what lies in a processor's first caches.
const Probed kCopying{{"nxn.direct", {}}, 0, 256};
/// Loads and multiply-adds, and nothing that a device may lack or be poor at.
const Probed kPlain{{"sep.direct", {}}, 9};
const Probed kLoading{{"nxn.shared", {}}, 6};
const Probed kWaiting{{"sep.fused", {{"exchange", "shared"}}}, 1};

Result<Plan> plan_of(const Probed& probed, DeviceInfo device, const GpuRates& rates) {
  const std::int32_t size = device.gpu.is_software ? probed.size_on_processor : 2048;
  const ImageDesc image{size, size, PixelFormat::rgba8};
  device.gpu.measured = rates;
  return make_plan(gaussian(probed.radius), image, image, device, {.algorithm = probed.algorithm});
}

/// The fastest runs of each. They take turns, so that others who use the device disturb all of them alike.
Result<std::vector<ProbeTimes>> measure(DeviceImpl& device, const std::vector<Plan>& plans) {
  using Clock = std::chrono::steady_clock;
  std::vector<ProbeTimes> least(plans.size(), {HUGE_VAL, HUGE_VAL, HUGE_VAL});
  const auto end = Clock::now() + std::chrono::duration<double>(kSeconds);
  do {
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const Result<ProbeTimes> times = device.probe(plans[i], kTurnSeconds);
      if (!times) return times.error();
      least[i].copy_seconds = std::min(least[i].copy_seconds, times->copy_seconds);
      least[i].blur_seconds = std::min(least[i].blur_seconds, times->blur_seconds);
      least[i].launch_seconds = std::min(least[i].launch_seconds, times->launch_seconds);
    }
  } while (Clock::now() < end);
  return least;
}

/// Nothing where the device cannot do it at these rates.
std::optional<SharedTimes> shared_times(const Probed& probed, const DeviceInfo& info, GpuRates rates, double taken) {
  const auto predicted = [&](double shared_per_second, double waits_per_second) {
    rates.shared_per_second = shared_per_second;
    rates.waits_per_second = waits_per_second;
    const Result<Plan> plan = plan_of(probed, info, rates);
    return plan ? plan->predicted_seconds : HUGE_VAL;
  };
  constexpr double kFree = 1e30;
  const double besides = predicted(kFree, kFree);
  const SharedTimes times{taken, besides, predicted(1.0, kFree) - besides, predicted(kFree, 1.0) - besides};
  return std::isfinite(times.loads) && std::isfinite(times.waits) ? std::optional(times) : std::nullopt;
}

}  // namespace

Result<GpuRates> probe(DeviceImpl& device, const DeviceInfo& info) {
  const Result<Plan> plain = plan_of(kPlain, info, {});
  if (!plain) return plain.error();
  // Which rates they are does not matter: plans of one algorithm depend on whether the device was measured, and no more.
  const GpuRates some{1e9, 1e9, 1e-5, 1e9, 1e9};
  const Result<Plan> loading = plan_of(kLoading, info, some);
  const Result<Plan> waiting = plan_of(kWaiting, info, some);
  const Result<Plan> copying = plan_of(kCopying, info, {});
  if (!copying) return copying.error();
  std::vector<Plan> plans{*plain, *copying};
  if (loading && waiting) plans.insert(plans.end(), {*loading, *waiting});
  const Result<std::vector<ProbeTimes>> times = measure(device, plans);
  if (!times) return times.error();
  ProbeTimes roofline = times->front();
  for (const ProbeTimes& of : *times) roofline.launch_seconds = std::min(roofline.launch_seconds, of.launch_seconds);
  roofline.copy_seconds = (*times)[1].copy_seconds * static_cast<double>(plain->min_bytes) / static_cast<double>(copying->min_bytes);
  const GpuRates rates = rates_from(*plain, roofline);
  if (plans.size() == 2) return with_typical_shared(rates);
  const std::optional<SharedTimes> of_loads = shared_times(kLoading, info, rates, (*times)[2].blur_seconds);
  const std::optional<SharedTimes> of_waits = shared_times(kWaiting, info, rates, (*times)[3].blur_seconds);
  return of_loads && of_waits ? with_shared(rates, *of_loads, *of_waits) : with_typical_shared(rates);
}

}  // namespace mollify
