#include "axis_kernel.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

namespace mollify::python {
namespace {

/// The last tap of a Gaussian, and of its derivatives, that is sampled.
std::int32_t last_tap(const GaussianAxis& gaussian) {
  constexpr double kEndless = 9.0;  // sigma: beyond, no float64 notices a tap
  if (gaussian.radius) return *gaussian.radius;
  return static_cast<std::int32_t>(std::floor(gaussian.truncate.value_or(kEndless) * gaussian.sigma + 0.5));
}

/// A derivative of the Gaussian q(x) exp(-x^2 / (2 sigma^2)), whose weights without q have the sum 1. q of the next derivative is
/// q' - q x / sigma^2.
AxisTaps derivative_taps(const GaussianAxis& gaussian, std::int32_t order) {
  const double variance = gaussian.sigma * gaussian.sigma;
  std::vector<double> q{1.0};  // coefficients
  for (std::int32_t n = 0; n < order; ++n) {
    std::vector<double> next(q.size() + 1, 0.0);
    for (std::size_t power = 0; power < q.size(); ++power) {
      if (power > 0) next[power - 1] += static_cast<double>(power) * q[power];
      next[power + 1] -= q[power] / variance;
    }
    q = std::move(next);
  }
  const std::int32_t radius = last_tap(gaussian);
  AxisTaps out{{}, radius};
  double sum = 0.0;
  for (std::int32_t i = -radius; i <= radius; ++i) {
    const double x = -i;  // the library correlates
    const double bell = std::exp(-x * x / (2.0 * variance));
    double polynomial = 0.0;
    for (auto coefficient = q.rbegin(); coefficient != q.rend(); ++coefficient) polynomial = polynomial * x + *coefficient;
    out.weights.push_back(polynomial * bell);
    sum += bell;
  }
  for (double& weight : out.weights) weight /= sum;
  return out;
}

struct KernelsOfAxes {
  std::size_t axes;

  std::vector<AxisKernel> operator()(const GaussianKernel& kernel) const {
    std::vector<AxisKernel> out = gaussians(kernel);
    const std::vector<std::int32_t> orders = spread(kernel.order, axes, "order");
    if (std::ranges::all_of(orders, [](std::int32_t order) { return order == 0; })) return out;
    for (std::size_t i = 0; i < axes; ++i) {
      const auto& gaussian = std::get<GaussianAxis>(out[i]);
      if (gaussian.sigma == 0.0 && orders[i] > 0) throw std::invalid_argument("order: an axis of sigma 0 has no derivative");
      const AxisTaps nothing{{1.0}, 0};
      out[i] = TapsAxis{gaussian.sigma == 0.0 ? nothing : derivative_taps(gaussian, orders[i]), Normalization::none};
    }
    return out;
  }
  std::vector<AxisKernel> gaussians(const GaussianKernel& kernel) const {
    const std::vector<double> sigmas = spread(kernel.sigma, axes, "sigma");
    std::vector<AxisKernel> out;
    for (const double sigma : sigmas) out.emplace_back(GaussianAxis{sigma, {}, kernel.truncate});
    if (kernel.radius.empty()) return out;
    const std::vector<std::int32_t> radii = spread(kernel.radius, axes, "radius");
    for (std::size_t i = 0; i < axes; ++i) std::get<GaussianAxis>(out[i]).radius = radii[i];
    return out;
  }
  std::vector<AxisKernel> operator()(const BoxKernel& kernel) const {
    const std::vector<BoxExtent> extents = spread(kernel.extent, axes, "size or radius");
    return {extents.begin(), extents.end()};
  }
  std::vector<AxisKernel> operator()(const TentKernel& kernel) const {
    std::vector<AxisKernel> out;
    for (const double radius : spread(kernel.radius, axes, "radius")) out.emplace_back(TentAxis{radius});
    return out;
  }
  std::vector<AxisKernel> operator()(const SeparableKernel& kernel) const {
    if (kernel.is_for_one_axis && axes != 1) {
      throw std::invalid_argument("weights: a list of numbers is for 1 axis, not " + std::to_string(axes));
    }
    std::vector<AxisKernel> out;
    for (const AxisTaps& taps : spread(kernel.taps, axes, "weights")) out.emplace_back(TapsAxis{taps, kernel.normalization});
    return out;
  }
  std::vector<AxisKernel> operator()(const MatrixKernel&) const { throw std::logic_error("a matrix has no kernels of axes"); }
  std::vector<AxisKernel> operator()(const BlockKernel&) const { throw std::logic_error("a block has no kernels of axes"); }
};

/// The same kind of kernel, for an axis that stays as it is.
AxisKernel nothing_like(const AxisKernel& kernel) {
  struct Nothing {
    AxisKernel operator()(const GaussianAxis& g) const {
      return GaussianAxis{0.0, g.radius ? std::optional<std::int32_t>(0) : std::nullopt, g.truncate};
    }
    AxisKernel operator()(const BoxExtent&) const { return BoxExtent{0.0, 0.0}; }
    AxisKernel operator()(const TentAxis&) const { return TentAxis{0.0}; }
    AxisKernel operator()(const TapsAxis& t) const { return TapsAxis{{{1.0}, 0}, t.normalization}; }
  };
  return std::visit(Nothing{}, kernel);
}

double total(const std::vector<double>& weights) {
  return std::accumulate(weights.begin(), weights.end(), 0.0);
}

double gain(const std::vector<double>& weights, Normalization normalization) {
  const double magnitude = std::accumulate(weights.begin(), weights.end(), 0.0, [](double sum, double w) { return sum + std::abs(w); });
  return magnitude / (normalization == Normalization::unit_sum ? std::abs(total(weights)) : 1.0);
}

}  // namespace

std::vector<AxisKernel> axis_kernels(const Kernel& kernel, std::size_t axes) {
  return std::visit(KernelsOfAxes{axes}, kernel);
}

bool is_identity(const AxisKernel& kernel) {
  struct Identity {
    bool operator()(const GaussianAxis& g) const { return g.sigma == 0.0; }
    bool operator()(const BoxExtent& b) const { return b.before == 0.0 && b.after == 0.0; }
    bool operator()(const TentAxis& t) const { return t.radius == 0.0; }
    bool operator()(const TapsAxis& t) const { return t.taps.weights.size() == 1 && t.taps.weights.front() == 1.0; }
  };
  return std::visit(Identity{}, kernel);
}

double sum(const AxisKernel& kernel) {
  const auto* taps = std::get_if<TapsAxis>(&kernel);
  return taps == nullptr || taps->normalization == Normalization::unit_sum ? 1.0 : total(taps->taps.weights);
}

double gain(const AxisKernel& kernel) {
  const auto* taps = std::get_if<TapsAxis>(&kernel);
  return taps == nullptr ? 1.0 : gain(taps->taps.weights, taps->normalization);
}

double gain(const Matrix& matrix) {
  return gain(matrix.weights, matrix.normalization);
}

double gain(const BlockKernel& block) {
  return gain(block.weights, block.normalization);
}

KernelSpec combine(const AxisKernel* x, const AxisKernel* y) {
  const AxisKernel for_x = x != nullptr ? *x : nothing_like(*y);
  const AxisKernel for_y = y != nullptr ? *y : nothing_like(*x);
  struct Combine {
    const AxisKernel& y;

    KernelSpec operator()(const GaussianAxis& a) const {
      const auto& b = std::get<GaussianAxis>(y);
      Gaussian out{.sigma = {a.sigma, b.sigma}, .radius = {}, .truncate = a.truncate};
      if (a.radius) out.radius = {*a.radius, *b.radius};
      return out;
    }
    KernelSpec operator()(const BoxExtent& a) const { return Box{{a, std::get<BoxExtent>(y)}}; }
    KernelSpec operator()(const TentAxis& a) const { return Tent{{a.radius, std::get<TentAxis>(y).radius}}; }
    KernelSpec operator()(const TapsAxis& a) const { return Taps{a.taps, std::get<TapsAxis>(y).taps, a.normalization}; }
  };
  return std::visit(Combine{for_y}, for_x);
}

}  // namespace mollify::python
