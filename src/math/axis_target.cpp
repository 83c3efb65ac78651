#include "math/axis_target.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "math/gaussian_tail.h"

namespace mollify {
namespace {

constexpr double kEdge = 6.0;             // sigmas, beyond which a soft edge has ended
constexpr double kSoftSpacings = 4.0;     // a soft edge's sigma
constexpr double kLongestSplines = 16.0;  // grid spacings of two splines, which reach further than the kernel between them
constexpr double kFlat = 1.3;             // periods a sigma, from which on repeated Gaussians are flat: what is left is exp(-2 (1.3 pi)^2)

/// The share of a Gaussian below t sigmas.
double gaussian_share(double t) {
  return 0.5 * std::erfc(-t / std::numbers::sqrt2);
}

double softness_of(int factor) {
  return kSoftSpacings * factor;
}

/// From the middle of a fold's window to that of its edge.
double half_of(const Fold& fold, double softness) {
  return fold.period > 0 ? static_cast<double>(fold.period) / 2.0 : static_cast<double>(fold.length) + kEdge * softness;
}

double folded_end(const Fold& fold, int factor) {
  const double softness = softness_of(factor);
  return half_of(fold, softness) + kEdge * softness;
}

/// Pixels that the kernel reaches without a fold.
double own_end(const AxisKernel& kernel) {
  if (const auto* tent = std::get_if<AxisTent>(&kernel.shape)) return tent->end;
  const auto& gaussian = std::get<AxisGaussian>(kernel.shape);
  const double endless = kEdge * gaussian.sigma;
  return gaussian.radius ? std::min(endless, static_cast<double>(*gaussian.radius)) : endless;
}

}  // namespace

Fold fold_of(BorderMode mode, std::int64_t length) {
  switch (mode) {
    case BorderMode::wrap:
      return {length, 0};
    case BorderMode::reflect:
      return {2 * length, 0};
    case BorderMode::mirror:
      return {std::max<std::int64_t>(2 * (length - 1), 1), 0};
    default:
      return {0, length};
  }
}

double AxisKernel::sigma() const {
  if (const auto* tent = std::get_if<AxisTent>(&shape)) return tent->end / std::sqrt(6.0);
  return std::get<AxisGaussian>(shape).sigma;
}

bool AxisKernel::is_cut() const {
  const auto* gaussian = std::get_if<AxisGaussian>(&shape);
  return gaussian != nullptr && gaussian->radius.has_value();
}

AxisKernel folded_where_shorter(AxisKernel kernel, int factor) {
  const bool is_shorter = folded_end(kernel.fold, factor) + kLongestSplines * factor < own_end(kernel);
  if (!is_shorter) kernel.fold = {};
  return kernel;
}

std::int64_t most_reach(double sigma, int factor) {
  return static_cast<std::int64_t>(std::floor(std::min(6.0 * sigma + 2.0 * factor, 7.0 * sigma)));
}

std::int64_t most_reach(const AxisKernel& kernel, int factor) {
  if (kernel.fold != Fold{}) return static_cast<std::int64_t>(folded_end(kernel.fold, factor) + kLongestSplines * factor);
  if (const auto* tent = std::get_if<AxisTent>(&kernel.shape)) return static_cast<std::int64_t>(std::ceil(tent->end)) + 2 * factor;
  return most_reach(std::get<AxisGaussian>(kernel.shape).sigma, factor);
}

AxisTarget::AxisTarget(const AxisKernel& kernel, int factor) : kernel_(kernel), fold_(kernel.fold) {
  if (const auto* tent = std::get_if<AxisTent>(&kernel.shape)) {
    end_ = tent->end;
    radius_ = static_cast<std::int64_t>(std::ceil(end_)) - 1;
    const auto count = static_cast<double>(radius_);
    sum_ = end_ + count * (2.0 * end_ - (count + 1.0));
  } else {
    const auto& gaussian = std::get<AxisGaussian>(kernel.shape);
    sigma_ = gaussian.sigma;
    const auto everything = static_cast<std::int64_t>(std::ceil(kReachOfGaussian * sigma_));
    radius_ = std::min(gaussian.radius.value_or(everything), everything);
    is_cut_ = radius_ < everything;
    // The sum over all pixels; for a wide Gaussian that is its integral, to the last bit.
    constexpr double kWide = 4.0;
    if (sigma_ >= kWide && !is_cut_) {
      sum_ = sigma_ * std::sqrt(2.0 * std::numbers::pi);
    } else {
      for (std::int64_t i = radius_; i > 0; --i) sum_ += 2.0 * density(i);
      sum_ += 1.0;
    }
  }
  if (fold_ == Fold{}) return;
  softness_ = softness_of(factor);
  half_ = half_of(fold_, softness_);
  folded_radius_ = static_cast<std::int64_t>(std::ceil(folded_end(fold_, factor)));
  if (fold_.length > 0) set_bumps();
}

void AxisTarget::set_bumps() {
  double kept = 0.0;
  if (end_ == 0.0 && !is_cut_) {  // a Gaussian's share of a window with soft edges is that of a softer one's of a window without
    kept = 2.0 * gaussian_share(half_ / std::hypot(sigma_, softness_)) - 1.0;
  } else {
    const auto last = std::min(radius_, folded_radius_ + static_cast<std::int64_t>(kEdge * softness_));
    for (std::int64_t i = last; i > 0; --i) kept += 2.0 * weight(i) * window(i);
    kept += weight(0);
  }
  bump_ = (1.0 - kept) / 2.0;
}

double AxisTarget::jump() const {
  return is_cut_ ? std::abs(weight(radius_) - window_) : 0.0;
}

double AxisTarget::density(std::int64_t offset) const {
  if (end_ > 0.0) return end_ - std::abs(static_cast<double>(offset));
  const double t = static_cast<double>(offset) / sigma_;
  return std::exp(-0.5 * t * t);
}

double AxisTarget::weight(std::int64_t offset) const {
  const bool ends = is_cut_ || end_ > 0.0;
  return ends && std::abs(offset) > radius_ ? 0.0 : density(offset) / sum_;
}

double AxisTarget::repeated(std::int64_t offset) const {
  const std::int64_t period = fold_.period;
  if (end_ == 0.0 && !is_cut_ && sigma_ > kFlat * static_cast<double>(period)) return 1.0 / static_cast<double>(period);
  const auto periods = static_cast<std::int64_t>(std::floor(static_cast<double>(offset + radius_) / static_cast<double>(period)));
  double sum = 0.0;
  for (std::int64_t i = offset - periods * period; i <= radius_; i += period) sum += weight(i);
  return sum;
}

double AxisTarget::window(std::int64_t offset) const {
  const auto x = static_cast<double>(offset);
  return gaussian_share((x + half_) / softness_) - gaussian_share((x - half_) / softness_);
}

double AxisTarget::operator()(std::int64_t offset) const {
  if (fold_ == Fold{}) return std::abs(offset) > radius_ && is_cut_ ? 0.0 : weight(offset) - window_;
  if (fold_.period > 0) return repeated(offset) * window(offset);
  const double t = (std::abs(static_cast<double>(offset)) - half_) / softness_;
  return weight(offset) * window(offset) + bump_ * std::exp(-0.5 * t * t) / (softness_ * std::sqrt(2.0 * std::numbers::pi));
}

}  // namespace mollify
