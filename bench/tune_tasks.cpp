// What there is to tune.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "bench/tune.h"

namespace mollify::bench {
namespace {

constexpr std::array<std::int32_t, 5> kRadii = {1, 4, 9, 20, 80};
constexpr std::array kFormats = {PixelFormat::rgba8, PixelFormat::rgba16f, PixelFormat::rgba32f};
constexpr double kApproximate = 0.02;  // full scale: what eyes forgive
/// Rows hold for images of this part of the pixels that were measured, and larger ones.
constexpr std::int64_t kSmallerImages = 10;

std::int32_t taps(std::int32_t radius) {
  return 2 * radius + 1;
}

/// Kernels between two that were measured belong to the one that is nearer in ratio.
std::int32_t middle(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(std::sqrt(double(taps(a)) * taps(b)));
}

KernelSpec disc(std::int32_t radius) {
  Matrix m{taps(radius), taps(radius), {}, {radius, radius}, Normalization::unit_sum};
  for (std::int32_t y = -radius; y <= radius; ++y) {
    for (std::int32_t x = -radius; x <= radius; ++x) m.weights.push_back(x * x + y * y <= radius * radius + 1 ? 1.0 : 0.0);
  }
  return m;
}

/// What an algorithm is most likely asked for, first.
std::array<KernelSpec, 4> kernels(std::string_view algorithm, std::int32_t radius) {
  const double r = radius;
  const KernelSpec cut = Gaussian{{r / 3, r / 3}, {{radius, radius}}, {}};
  const KernelSpec whole = Gaussian{{r / 4, r / 4}, {}, {}};
  const KernelSpec box = Box::of_radius(r, r);
  if (algorithm.starts_with("box.")) return {box, cut, whole, disc(radius)};
  if (algorithm.starts_with("sep.") || algorithm.starts_with("gauss.")) return {cut, whole, box, disc(radius)};
  return {disc(radius), cut, whole, box};
}

/// Predicted seconds of the planner's choice, which many tasks are compared with.
class BestSeconds {
 public:
  explicit BestSeconds(const DeviceInfo& device) : device_(device) {}
  double of(const cases::Case& c) {
    const std::string key = cases::name({{}, c.spec, c.src, c.dst});
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    const Result<Plan> plan = make_plan(c.spec, c.src, c.dst, device_, {.algorithm = {}, .tuning = Tuning::none});
    return known_[key] = plan ? plan->predicted_seconds : 0.0;
  }

 private:
  const DeviceInfo& device_;
  std::map<std::string, double> known_;
};

std::optional<TuneTask> task_of(std::string_view algorithm, std::int32_t radius, const ImageDesc& desc, const DeviceInfo& device,
                                BestSeconds& best) {
  for (const bool is_approximate : {false, true}) {
    for (const KernelSpec& kernel : kernels(algorithm, radius)) {
      TuneTask task;
      task.is_approximate = is_approximate;
      task.request.algorithm.id = algorithm;
      task.request.spec.kernel = kernel;
      if (is_approximate) task.request.spec.accuracy.max_error = kApproximate;
      task.request.src = task.request.dst = desc;
      const cases::Case& c = task.request;
      const Result<Plan> plan = make_plan(c.spec, c.src, c.dst, device, {.algorithm = c.algorithm, .tuning = Tuning::none});
      if (!plan) continue;
      task.predicted_ratio = plan->predicted_seconds / best.of(c);
      return task;
    }
  }
  return std::nullopt;
}

TuningRow row_of(const TuneTask& task, std::size_t radius) {
  const ImageDesc& src = task.request.src;
  TuningRow row;
  row.algorithm = task.request.algorithm.id;
  row.pixel_bytes = tuning_pixel_bytes(src.format);
  row.min_taps = radius == 0 ? 1 : middle(kRadii[radius - 1], kRadii[radius]) + 1;
  row.max_taps = radius + 1 < kRadii.size() ? middle(kRadii[radius], kRadii[radius + 1]) : 2 * taps(kRadii[radius]);
  row.min_pixels = std::max<std::int64_t>(1, std::int64_t{src.width} * src.height / kSmallerImages);
  return row;
}

/// Few enough that tasks of one format stay together: changing it means filling other images.
int promise(const TuneTask& task) {
  return task.predicted_ratio <= 2.0 ? 0 : task.predicted_ratio <= 4.0 ? 1 : task.predicted_ratio <= 8.0 ? 2 : 3;
}

}  // namespace

std::vector<TuneTask> tune_tasks(const DeviceInfo& device, PerAxis<std::int32_t> size) {
  BestSeconds best(device);
  std::vector<TuneTask> tasks;
  for (const PixelFormat format : kFormats) {
    for (std::size_t radius = 0; radius < kRadii.size(); ++radius) {
      for (const AlgorithmInfo& algorithm : algorithms()) {
        std::optional<TuneTask> task = task_of(algorithm.id, kRadii[radius], {size.x, size.y, format}, device, best);
        if (!task) continue;
        task->row = row_of(*task, radius);
        tasks.push_back(std::move(*task));
      }
    }
  }
  std::ranges::stable_sort(tasks, {}, promise);
  return tasks;
}

std::vector<std::string> tune_values(const OptionInfo& option, const TuneTask& task, const DeviceInfo& device) {
  if (option.tuned == Tuned::never || (task.is_approximate && option.tuned == Tuned::where_exact)) return {};
  if (!option.tuned_values.empty()) return {option.tuned_values.begin(), option.tuned_values.end()};
  return cases::listed_values(option, device);
}

}  // namespace mollify::bench
