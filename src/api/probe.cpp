#include "api/probe.h"

#include <optional>

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

constexpr double kSeconds = 0.25;  // of each blur, beside what it takes to prepare

BlurSpec gaussian(std::int32_t radius) {
  BlurSpec spec;
  spec.kernel = Gaussian{.sigma = {radius / 3.0, radius / 3.0}, .radius = {{radius, radius}}, .truncate = {}};
  return spec;
}

/// What is measured of the device.
class Probe {
 public:
  Probe(DeviceImpl& device, const DeviceInfo& info) : device_(device), info_(info) {
    const std::int32_t size = info.gpu.is_software ? 128 : 2048;
    image_ = {size, size, PixelFormat::rgba8};
  }

  /// By a copy and a blur.
  Result<GpuRates> roofline() {
    const BlurSpec spec = gaussian(9);
    const Result<Plan> plan = make_plan(spec, image_, image_, info_, {.algorithm = kBlur});
    if (!plan) return plan.error();
    const Result<ProbeTimes> times = device_.probe(*plan, kSeconds);
    if (!times) return times.error();
    return rates_from(*plan, *times);
  }

  /// Of a blur that reads shared memory or waits at barriers, on a device of these rates otherwise. Nothing where the device cannot do it.
  std::optional<SharedTimes> shared(const AlgorithmChoice& algorithm, std::int32_t radius, GpuRates rates) {
    const BlurSpec spec = gaussian(radius);
    const auto plan_by = [&](double shared_per_second, double waits_per_second) {
      DeviceInfo device = info_;
      rates.shared_per_second = shared_per_second;
      rates.waits_per_second = waits_per_second;
      device.gpu.measured = rates;
      return make_plan(spec, image_, image_, device, {.algorithm = algorithm});
    };
    constexpr double kFree = 1e30;
    const Result<Plan> plan = plan_by(kFree, kFree);
    const Result<Plan> loading = plan_by(1.0, kFree);
    const Result<Plan> waiting = plan_by(kFree, 1.0);
    if (!plan || !loading || !waiting) return std::nullopt;
    const Result<ProbeTimes> times = device_.probe(*plan, kSeconds);
    if (!times) return std::nullopt;
    const double besides = plan->predicted_seconds;
    return SharedTimes{times->blur_seconds, besides, loading->predicted_seconds - besides, waiting->predicted_seconds - besides};
  }

  /// Loads and multiply-adds, and nothing that a device may lack or be poor at.
  inline static const AlgorithmChoice kBlur{"sep.direct", {}};
  inline static const AlgorithmChoice kLoading{"nxn.shared", {}};
  inline static const AlgorithmChoice kWaiting{"sep.fused", {{"exchange", "shared"}}};

 private:
  DeviceImpl& device_;
  const DeviceInfo& info_;
  ImageDesc image_;
};

}  // namespace

Result<GpuRates> probe(DeviceImpl& device, const DeviceInfo& info) {
  Probe probe(device, info);
  const Result<GpuRates> rates = probe.roofline();
  if (!rates) return rates;
  const std::optional<SharedTimes> loading = probe.shared(Probe::kLoading, 4, *rates);
  const std::optional<SharedTimes> waiting = loading ? probe.shared(Probe::kWaiting, 1, *rates) : std::nullopt;
  return waiting ? with_shared(*rates, *loading, *waiting) : with_typical_shared(*rates);
}

}  // namespace mollify
