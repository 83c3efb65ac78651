#include "math/extended_box.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace mollify {

ExtendedBox extended_box(double sigma, int count) {
  // The largest plain box of no more variance than its share; what is missing goes to the two weights beside it.
  const double variance = sigma * sigma / count;
  const double radius = std::floor(0.5 * std::sqrt(12.0 * variance + 1.0) - 0.5);
  const double length = 2.0 * radius + 1.0;
  const double share = length * (radius * (radius + 1.0) - 3.0 * variance) / (6.0 * (variance - (radius + 1.0) * (radius + 1.0)));
  const double fraction = std::clamp(share, 0.0, 1.0);
  return {static_cast<std::int64_t>(radius), 1.0 / (length + 2.0 * fraction), fraction / (length + 2.0 * fraction)};
}

double boxes_distance(const ExtendedBox& box, int count, const AxisTaps& wanted) {
  std::vector<double> kernel{1.0};
  for (int k = 0; k < count; ++k) {
    const auto length = static_cast<std::int64_t>(kernel.size());
    const auto at = [&](std::int64_t i) { return i >= 0 && i < length ? kernel[static_cast<std::size_t>(i)] : 0.0; };
    std::vector<double> sums{0.0};  // of the first i
    for (const double v : kernel) sums.push_back(sums.back() + v);
    const auto before = [&](std::int64_t i) { return sums[static_cast<std::size_t>(std::clamp<std::int64_t>(i, 0, length))]; };
    std::vector<double> wider;
    const std::int64_t reach = box.radius + 1;
    for (std::int64_t i = -reach; i < length + reach; ++i) {
      wider.push_back(box.inner * (before(i + box.radius + 1) - before(i - box.radius)) + box.outer * (at(i - reach) + at(i + reach)));
    }
    kernel = std::move(wider);
  }
  const auto centre = static_cast<std::int64_t>(kernel.size() / 2);
  const auto either = [](const std::vector<double>& v, std::int64_t i) {
    return i >= 0 && i < static_cast<std::int64_t>(v.size()) ? v[static_cast<std::size_t>(i)] : 0.0;
  };
  double distance = 0.0;
  const std::int64_t reach = std::max<std::int64_t>(centre, wanted.anchor);
  for (std::int64_t i = -reach; i <= reach; ++i) {
    distance += std::abs(either(kernel, centre + i) - either(wanted.weights, wanted.anchor + i));
  }
  return distance;
}

}  // namespace mollify
