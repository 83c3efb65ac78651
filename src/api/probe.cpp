#include "api/probe.h"

#include "model/gpu_model.h"
#include "model/probe.h"
#include "model/stored.h"
#include "mollify/tuning.h"

namespace mollify {

GpuRates rates_at_first_use(const DeviceInfo& device, const DeviceOptions& options, const MeasureRates& measure) {
  if (!options.probe || options.cache_folder.empty() || device.backend == Backend::cpu || has_gpu_row(device)) return {};
  Result<TuningTable> table = stored_table(options.cache_folder, device);
  if (!table) return {};
  if (table->rates != GpuRates{} || !table->rows.empty()) return table->rates;
  const Result<GpuRates> measured = measure();
  if (!measured) return {};
  table->rates = *measured;
  const std::string text = to_text(*table);
  replace_file(tuning_path(options.cache_folder, device), text);  // if it cannot be written, the next process measures again
  // As the next process reads them.
  const Result<TuningTable> read = parse_tuning(text);
  return read ? read->rates : GpuRates();
}

Result<GpuRates> probe(DeviceImpl& device, const DeviceInfo& info) {
  constexpr double kSeconds = 0.5;  // beside what it takes to prepare
  const std::int32_t size = info.gpu.is_software ? 256 : 2048;
  const ImageDesc image{size, size, PixelFormat::rgba8};
  BlurSpec spec;
  spec.kernel = Gaussian{.sigma = {3.0, 3.0}, .radius = {{9, 9}}, .truncate = {}};
  PlanOptions options;
  options.algorithm = {"sep.direct", {}};  // loads and multiply-adds, and nothing that a device may lack or be poor at
  const Result<Plan> plan = make_plan(spec, image, image, info, options);
  if (!plan) return plan.error();
  const Result<ProbeTimes> times = device.probe(*plan, kSeconds);
  if (!times) return times.error();
  return rates_from(*plan, *times);
}

}  // namespace mollify
