// Taps of sep.fused by matrices: halves, or sums of two.
#include <cmath>
#include <tuple>

#include "algorithms/separable/sep_fused.h"
#include "base/half.h"
#include "math/remembered.h"
#include "math/weights.h"

namespace mollify {
namespace {

/// Taps of x divided by a scale, which those of y make up for.
HalfTaps half_taps(const PerAxis<AxisTaps>& taps, const FormatInfo& source, double scale) {
  const HalfWeights x = rounded_to_half(taps.x.weights, scale);
  const HalfWeights y = rounded_to_half(taps.y.weights, 1.0 / scale);
  const double x_size = magnitude(taps.x.weights);
  const double y_size = magnitude(y.weights) / scale;
  const double l1 = x.l1_distance * y_size + x_size * y.l1_distance;
  const double missing = std::abs(x.missing) * y_size + x_size * std::abs(y.missing);
  // Full scale of floats is what all weights make of the largest pixel.
  const double full_scale = source.is_unorm() ? 1.0 : x_size * magnitude(taps.y.weights);
  // Rows are at most as large as the source, as taps of x add up to one. Codes are held less half their range: at most 128 of them.
  const double row = scale * (source.is_unorm() ? 0x1p-5 / source.unit() : 0x1p-11);
  HalfTaps out;
  out.taps = {{x.weights, taps.x.anchor}, {y.weights, taps.y.anchor}};
  out.sum = {total(x.weights), total(y.weights)};
  // Balanced taps see the source centred on zero. Sums of f32 hold codes from 1024 on; how a device rounds inside a product is
  // its own, so that their share is an estimate, small beside the others.
  constexpr double kSums = 0x1p-13;
  out.error = (source.is_unorm() ? 0.5 * (l1 + missing) + 4.0 * kSums / source.unit() * std::max(1.0, y_size) : l1) + row * y_size;
  out.error = full_scale > 0.0 ? out.error / full_scale : 0.0;
  return out;
}

/// L1 distance of weights to the sums of two halves that are next to them.
double lost_by_split(const std::vector<double>& weights) {
  double lost = 0.0;
  for (const double w : weights) {
    const double rest = w - half_to_float(double_to_half(w));
    lost += std::abs(rest - half_to_float(double_to_half(rest)));
  }
  return lost;
}

constexpr double kLargestHalf = 65504.0;
constexpr double kGainFirst = 0x1p15;  // of codes, which are 2^-24 of themselves
constexpr double kGainSecond = 0x1p9;
constexpr double kMiddle = 128.0;

}  // namespace

// By the scale that halves fit best. None below one, for which rows would need another bit.
HalfTaps half_taps(const PerAxis<AxisTaps>& taps, const FormatInfo& source) {
  static auto& scales = *new Remembered<std::tuple<std::vector<double>, std::vector<double>, bool>, double>(64);
  const double scale = scales.get({taps.x.weights, taps.y.weights, source.is_unorm()}, [&] {
    constexpr int kScales = 32;
    double best = 1.0;
    double least = half_taps(taps, source, best).error;
    for (int i = 1; i < kScales; ++i) {
      const double other = 1.0 + i / (2.0 * kScales);
      const double error = half_taps(taps, source, other).error;
      if (error < least) std::tie(best, least) = std::pair(other, error);
    }
    return best;
  });
  return half_taps(taps, source, scale);
}

HalfTaps split_taps(const PerAxis<AxisTaps>& taps, const FormatInfo& source, double allowed_error) {
  HalfTaps out;
  out.taps = taps;
  out.split = {2, 2};
  out.sum = {total(taps.x.weights), total(taps.y.weights)};
  // What lies between the axes, whose first half is cut, and the product of both second halves, which is left out. How a device rounds
  // inside a product is its own: an estimate for a dozen of them.
  constexpr double kHalves = 0x1p-22 + 0x1p-21;
  constexpr double kSums = 0x1p-18;
  const PerAxis<double> size{magnitude(taps.x.weights), magnitude(taps.y.weights)};
  if (source.is_unorm()) {  // what codes are more than their value goes by taps as they are
    constexpr double kTaps = 2.0 * 0x1p-23;
    out.error = size.x * size.y * (kTaps + kHalves + 0x1p-11 / source.unit());
    return out;
  }
  out.error = kHalves + kSums;  // relative to what all weights make of the largest pixel
  if (size.x * size.y == 0.0) return out;
  // The others as large as halves can be, whatever the kernel's are, so that those of their second halves are none of the smallest.
  constexpr int kLargestExponent = 14;
  const int exponent = std::ilogb(size.y) - kLargestExponent;
  for (double& w : out.taps.y.weights) w = std::ldexp(w, -exponent);
  out.gain.y = std::ldexp(1.0, exponent);
  for (const AxisTaps* axis : {&out.taps.x, &out.taps.y}) out.error += lost_by_split(axis->weights) / magnitude(axis->weights);
  const auto keep_one = [&](auto axis_of) {
    std::vector<double>& weights = axis_of(out.taps).weights;
    const HalfWeights best = rounded_to_best_half(weights);
    const double error = out.error + best.l1_distance / magnitude(weights);
    if (error > allowed_error) return;
    weights = best.weights;
    axis_of(out.gain) *= best.scale;
    axis_of(out.split) = 1;
    out.error = error;
  };
  // First y: its second half takes two products, that of x one.
  keep_one([](auto& axes) -> auto& { return axes.y; });
  keep_one([](auto& axes) -> auto& { return axes.x; });
  return out;
}

bool leave_range(const PerAxis<AxisTaps>& taps, const FormatInfo& format, double error) {
  if (!format.is_unorm()) return false;
  const double size = magnitude(taps.x.weights) * magnitude(taps.y.weights);
  const double sum = total(taps.x.weights) * total(taps.y.weights);
  // A result is rounded as 1024 more than its code; below that halves have a step of half a code.
  constexpr double kAbove = 0.49;  // codes
  constexpr double kBelow = 0.24;
  const double above = (size + sum) / 2.0 - 1.0 + error;
  const double below = (size - sum) / 2.0 + error;
  return above > kAbove / format.unit() || below > kBelow / format.unit();
}

Status scale_for_codes(PerAxis<AxisTaps>& taps) {
  for (double& w : taps.x.weights) w *= kGainFirst;
  for (double& w : taps.y.weights) w *= kGainSecond;
  if (magnitude(taps.y.weights) > kLargestHalf) return refusal("the taps are too large for halves");
  return {};
}

PerAxis<double> starts_of_codes(const HalfTaps& half) {
  return {-kMiddle / kGainSecond * half.sum.x, 1024.0 + kMiddle * half.sum.x * half.sum.y};
}

}  // namespace mollify
