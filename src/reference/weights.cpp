#include "reference/weights.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mollify::reference {
namespace {

constexpr double kGaussianCut = 8.0;  // sigmas; what lies beyond weighs less than 2e-15

void divide_by_sum(std::vector<double>& weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
}

AxisKernel gaussian_axis(double sigma, std::int64_t radius) {
  if (sigma == 0.0) return {0, {1.0}};
  AxisKernel kernel{-radius, {}};
  for (std::int64_t i = -radius; i <= radius; ++i) {
    const double t = static_cast<double>(i) / sigma;
    kernel.weights.push_back(std::exp(-0.5 * t * t));
  }
  divide_by_sum(kernel.weights);
  return kernel;
}

std::int64_t gaussian_radius(double sigma, const std::optional<std::int32_t>& radius, const std::optional<double>& truncate) {
  if (radius) return *radius;
  if (truncate) return static_cast<std::int64_t>(std::floor(*truncate * sigma + 0.5));
  return static_cast<std::int64_t>(std::ceil(kGaussianCut * sigma));
}

AxisKernel box_axis(const BoxExtent& extent) {
  const double before = std::floor(extent.before);
  const double after = std::floor(extent.after);
  AxisKernel kernel;
  kernel.first = -static_cast<std::int64_t>(before);
  kernel.weights.assign(static_cast<std::size_t>(before + after + 1.0), 1.0);
  if (extent.before > before) {
    --kernel.first;
    kernel.weights.insert(kernel.weights.begin(), extent.before - before);
  }
  if (extent.after > after) kernel.weights.push_back(extent.after - after);
  divide_by_sum(kernel.weights);
  return kernel;
}

AxisKernel tent_axis(double radius) {
  const auto reach = static_cast<std::int64_t>(std::ceil(radius));
  AxisKernel kernel{-reach, {}};
  for (std::int64_t i = -reach; i <= reach; ++i) {
    kernel.weights.push_back(std::max(0.0, radius + 1.0 - static_cast<double>(std::abs(i))));
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
  Kernel operator()(const Gaussian& g) const {
    std::optional<std::int32_t> radius_x;
    std::optional<std::int32_t> radius_y;
    if (g.radius) {
      radius_x = g.radius->x;
      radius_y = g.radius->y;
    }
    return Separable{gaussian_axis(g.sigma.x, gaussian_radius(g.sigma.x, radius_x, g.truncate)),
                     gaussian_axis(g.sigma.y, gaussian_radius(g.sigma.y, radius_y, g.truncate))};
  }
  Kernel operator()(const Box& b) const { return Separable{box_axis(b.extent.x), box_axis(b.extent.y)}; }
  Kernel operator()(const Tent& t) const { return Separable{tent_axis(t.radius.x), tent_axis(t.radius.y)}; }
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

Kernel kernel_of(const KernelSpec& spec) {
  return std::visit(KernelOf{}, spec);
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
  for (std::int64_t i = 0; i < extent; ++i) taps.push_back({i, 0.0});
  taps.push_back({kOutside, 0.0});
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t index = source_index(mode, position + kernel.first + i, extent);
    taps[index == kOutside ? extent : index].weight += kernel.weights[i];
  }
  std::erase_if(taps, [](const Tap& tap) { return tap.weight == 0.0; });
  return taps;
}

}  // namespace mollify::reference
