#include "reference/weights.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mollify::reference {
namespace {

constexpr double kGaussianCut = 8.0;  // sigmas; what lies beyond weighs less than 2e-15

void divide_by_sum(std::vector<double>& weights) {
  const long double sum = std::accumulate(weights.begin(), weights.end(), 0.0L);
  for (double& weight : weights) weight = static_cast<double>(weight / sum);
}

/// `shift` is 0, or a half where the kernel is centred behind the output's position. Weights are divided by the largest before they are
/// added up, or those between pixels would all be 0 for the smallest sigmas.
AxisKernel gaussian_axis(double sigma, std::int64_t radius, double shift) {
  AxisKernel kernel{-radius, {}};
  const std::int64_t last = radius + (shift > 0.0 ? 1 : 0);
  for (std::int64_t i = -radius; i <= last; ++i) {
    const double distance = std::abs(static_cast<double>(i) - shift);
    const bool is_nearest = distance <= shift;
    kernel.weights.push_back(is_nearest ? 1.0 : std::exp(-0.5 * (distance - shift) / sigma * ((distance + shift) / sigma)));
  }
  divide_by_sum(kernel.weights);
  return kernel;
}

std::int64_t gaussian_radius(double sigma, const std::optional<std::int32_t>& radius, const std::optional<double>& truncate) {
  if (sigma == 0.0) return 0;
  if (radius) return *radius;
  if (truncate) return static_cast<std::int64_t>(std::floor(*truncate * sigma + 0.5));
  return static_cast<std::int64_t>(std::ceil(kGaussianCut * sigma));
}

/// The part of each pixel that lies in the window.
AxisKernel box_axis(const BoxExtent& extent, double shift) {
  const double begin = shift - extent.before - 0.5;
  const double end = shift + extent.after + 0.5;
  AxisKernel kernel;
  kernel.first = static_cast<std::int64_t>(std::floor(begin + 0.5));
  for (std::int64_t i = kernel.first; static_cast<double>(i) - 0.5 < end; ++i) {
    const auto middle = static_cast<double>(i);
    kernel.weights.push_back(std::min(end, middle + 0.5) - std::max(begin, middle - 0.5));
  }
  divide_by_sum(kernel.weights);
  return kernel;
}

AxisKernel tent_axis(double radius, double shift) {
  const auto reach = static_cast<std::int64_t>(std::ceil(radius));
  const std::int64_t last = reach + (shift > 0.0 ? 1 : 0);
  AxisKernel kernel{-reach, {}};
  for (std::int64_t i = -reach; i <= last; ++i) {
    kernel.weights.push_back(std::max(0.0, radius + 1.0 - std::abs(static_cast<double>(i) - shift)));
  }
  divide_by_sum(kernel.weights);
  return kernel;
}

AxisKernel taps_axis(const AxisTaps& taps, Normalization normalization) {
  AxisKernel kernel{-static_cast<std::int64_t>(taps.anchor), taps.weights};
  if (normalization == Normalization::unit_sum) divide_by_sum(kernel.weights);
  return kernel;
}

struct KernelOf {
  PerAxis<double> shift;

  Kernel operator()(const Gaussian& g) const {
    std::optional<std::int32_t> radius_x;
    std::optional<std::int32_t> radius_y;
    if (g.radius) {
      radius_x = g.radius->x;
      radius_y = g.radius->y;
    }
    return Separable{gaussian_axis(g.sigma.x, gaussian_radius(g.sigma.x, radius_x, g.truncate), shift.x),
                     gaussian_axis(g.sigma.y, gaussian_radius(g.sigma.y, radius_y, g.truncate), shift.y)};
  }
  Kernel operator()(const Box& b) const { return Separable{box_axis(b.extent.x, shift.x), box_axis(b.extent.y, shift.y)}; }
  Kernel operator()(const Tent& t) const { return Separable{tent_axis(t.radius.x, shift.x), tent_axis(t.radius.y, shift.y)}; }
  Kernel operator()(const Taps& t) const { return Separable{taps_axis(t.x, t.normalization), taps_axis(t.y, t.normalization)}; }
  Kernel operator()(const Matrix& m) const {
    Matrix matrix = m;
    if (m.normalization == Normalization::unit_sum) divide_by_sum(matrix.weights);
    return matrix;
  }
};

std::int64_t modulo(std::int64_t p, std::int64_t period) {
  const std::int64_t m = p % period;
  return m < 0 ? m + period : m;
}

}  // namespace

Kernel kernel_of(const KernelSpec& spec, const PerAxis<Stride>& stride) {
  const auto shift = [](const Stride& s) { return s.phase_halves % 2 != 0 ? 0.5 : 0.0; };
  return std::visit(KernelOf{{shift(stride.x), shift(stride.y)}}, spec);
}

std::int64_t source_index(BorderMode mode, std::int64_t p, std::int64_t extent) {
  switch (mode) {
    case BorderMode::clamp:
      return std::clamp<std::int64_t>(p, 0, extent - 1);
    case BorderMode::mirror: {
      if (extent == 1) return 0;
      const std::int64_t m = modulo(p, 2 * extent - 2);
      return m < extent ? m : 2 * extent - 2 - m;
    }
    case BorderMode::reflect: {
      const std::int64_t m = modulo(p, 2 * extent);
      return m < extent ? m : 2 * extent - 1 - m;
    }
    case BorderMode::wrap:
      return modulo(p, extent);
    case BorderMode::constant:
      return p >= 0 && p < extent ? p : kOutside;
  }
  return kOutside;
}

std::vector<Tap> taps_at(const AxisKernel& kernel, BorderMode mode, std::int64_t position, std::int64_t extent) {
  const auto count = static_cast<std::int64_t>(kernel.weights.size());
  std::vector<Tap> taps;
  if (count <= extent + 1) {
    for (std::int64_t i = 0; i < count; ++i) {
      taps.push_back({source_index(mode, position + kernel.first + i, extent), kernel.weights[i]});
    }
    return taps;
  }
  std::vector<long double> folded(static_cast<std::size_t>(extent) + 1);  // the last is that of kOutside; many weights are added up
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t index = source_index(mode, position + kernel.first + i, extent);
    folded[static_cast<std::size_t>(index == kOutside ? extent : index)] += kernel.weights[static_cast<std::size_t>(i)];
  }
  for (std::int64_t i = 0; i <= extent; ++i) {
    const auto weight = static_cast<double>(folded[static_cast<std::size_t>(i)]);
    if (weight != 0.0) taps.push_back({i < extent ? i : kOutside, weight});
  }
  return taps;
}

}  // namespace mollify::reference
