#include "model/rows.h"

#include <algorithm>
#include <cmath>

namespace mollify {
namespace {

constexpr int kMeasuredChannels = 4;  // of the formats that bench/tune_tasks.cpp measures

struct LongerAxis {
  std::int64_t operator()(const Gaussian& k) const {
    if (k.radius) return 2 * std::int64_t{std::max(k.radius->x, k.radius->y)} + 1;
    const double sigma = std::max(k.sigma.x, k.sigma.y);
    const double radius = k.truncate ? std::floor(*k.truncate * sigma + 0.5) : std::ceil(4.0 * sigma);
    return 2 * static_cast<std::int64_t>(std::min(radius, 1e9)) + 1;
  }
  std::int64_t operator()(const Box& k) const {
    const auto taps = [](const BoxExtent& e) { return static_cast<std::int64_t>(std::ceil(e.before) + std::ceil(e.after)) + 1; };
    return std::max(taps(k.extent.x), taps(k.extent.y));
  }
  std::int64_t operator()(const Tent& k) const { return 2 * static_cast<std::int64_t>(std::ceil(std::max(k.radius.x, k.radius.y))) + 1; }
  std::int64_t operator()(const Taps& k) const { return static_cast<std::int64_t>(std::max(k.x.weights.size(), k.y.weights.size())); }
  std::int64_t operator()(const Matrix& k) const { return std::max(k.width, k.height); }
};

}  // namespace

std::int64_t tuning_taps(const KernelSpec& kernel) {
  return std::visit(LongerAxis{}, kernel);
}

std::int32_t tuning_pixel_bytes(PixelFormat format) {
  const int bytes = info(format).pixel_bytes();
  return bytes <= 4 ? 4 : bytes <= 8 ? 8 : 16;
}

TuningRows::TuningRows(const BlurSpec& spec, const ImageDesc& src, const DeviceInfo& device) {
  const std::int64_t taps = tuning_taps(spec.kernel);
  const std::int32_t bytes = tuning_pixel_bytes(src.format);
  const std::int64_t pixels = std::int64_t{src.width} * src.height;
  const auto add = [&](const std::vector<TuningRow>& rows) {
    for (const TuningRow& row : rows) {
      const bool holds = row.pixel_bytes == bytes && row.min_taps <= taps && taps <= row.max_taps && row.min_pixels <= pixels;
      if (!holds) continue;
      rows_.push_back(row);
      // Measured with four channels: pieces that suit rgba8 leave r8, which makes four pixels where it makes one, a device half empty.
      if (info(src.format).channels != kMeasuredChannels) rows_.back().options.clear();
    }
  };
  add(device.tuning);
  add(shipped_tuning(device));

  std::vector<double> costs;
  for (const TuningRow& row : rows_) {
    if (of(row.algorithm).front() == &row) costs.push_back(row.cost);
  }
  if (costs.empty()) return;
  const auto middle = costs.begin() + static_cast<std::ptrdiff_t>(costs.size() / 2);
  std::ranges::nth_element(costs, middle);
  typical_cost_ = *middle;
}

std::vector<const TuningRow*> TuningRows::of(std::string_view algorithm) const {
  std::vector<const TuningRow*> found;
  for (const TuningRow& row : rows_) {
    if (row.algorithm == algorithm) found.push_back(&row);
  }
  return found;
}

double TuningRows::cost(std::string_view algorithm) const {
  const std::vector<const TuningRow*> found = of(algorithm);
  return found.empty() ? typical_cost_ : found.front()->cost;
}

}  // namespace mollify
