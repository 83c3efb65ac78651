#include "math/gaussian_tail.h"

#include <algorithm>
#include <cmath>

namespace mollify {

GaussianTail gaussian_tail(const AxisGaussian& gaussian, double most_dropped) {
  GaussianTail out;
  const auto last = static_cast<std::int64_t>(std::ceil(kReachOfGaussian * gaussian.sigma));
  if (!gaussian.radius || *gaussian.radius >= last) return out;
  std::vector<double> half;  // from the middle on
  for (std::int64_t i = 0; i <= last; ++i) half.push_back(std::exp(-0.5 * std::pow(static_cast<double>(i) / gaussian.sigma, 2)));
  const double sum = 2.0 * total(half) - half[0];
  for (double& w : half) w /= sum;

  const auto radius = static_cast<std::size_t>(*gaussian.radius);
  while (half.size() > radius + 2 && out.dropped + 2.0 * half.back() <= most_dropped) {
    out.dropped += 2.0 * half.back();
    half.pop_back();
  }
  std::fill_n(half.begin(), radius + 1, 0.0);
  out.mass = 2.0 * total(half);
  out.taps.anchor = static_cast<std::int32_t>(half.size()) - 1;
  out.taps.weights.assign(half.rbegin(), half.rend());
  out.taps.weights.insert(out.taps.weights.end(), half.begin() + 1, half.end());
  return out;
}

CoarseTail coarse_tail(const AxisTaps& tails, std::int64_t factor) {
  const auto last = static_cast<std::int64_t>(tails.weights.size()) - 1 - tails.anchor;
  const auto tail = [&](std::int64_t offset) {
    return std::abs(offset) <= last ? tails.weights[static_cast<std::size_t>(offset + tails.anchor)] : 0.0;
  };
  CoarseTail out{.taps = {{}, static_cast<std::int32_t>((last + 2 * factor - 2) / factor)}};
  std::vector<double> missed(static_cast<std::size_t>(factor), 0.0);  // by each pixel of a sample
  for (std::int64_t sample = -out.taps.anchor; sample <= out.taps.anchor; ++sample) {
    double sum = 0.0;  // over the pixels of both samples
    for (std::int64_t i = 1 - factor; i < factor; ++i) sum += static_cast<double>(factor - std::abs(i)) * tail(sample * factor + i);
    const auto pixels = static_cast<double>(factor);
    out.taps.weights.push_back(sum / pixels);
    for (std::int64_t of = 0; of < factor; ++of) {
      for (std::int64_t pixel = 0; pixel < factor; ++pixel) {
        missed[static_cast<std::size_t>(of)] += std::abs(sum / (pixels * pixels) - tail(sample * factor + pixel - of));
      }
    }
  }
  out.l1_distance = *std::ranges::max_element(missed);
  return out;
}

}  // namespace mollify
