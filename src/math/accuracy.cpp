#include "math/accuracy.h"

#include <algorithm>
#include <cmath>

#include "base/transfer.h"

namespace mollify {
namespace {

constexpr double kSteepestSrgb = 12.92;
constexpr double kSteepestSrgbInProportion = 1.055 / 2.4;  // the most that slope times number comes to, from 0 to 1
// Highway's f32 exp and log, measured over every f32 in [0, 1]: a power and its inverse stay within this together.
constexpr double kSrgbError32 = 4e-6;
constexpr double kSrgbError64 = 1e-14;

/// How much larger, relative to full scale, errors of decoded numbers are than those of numbers from 0 to 1, as pixels are taken to be:
/// a border of floats may be more. Colours are then so many times their value as alpha is, or grow by a power.
double gain_beyond_one(const BlurSpec& spec) {
  const double largest = std::max(largest_border_value(spec), 1.0);
  double gain = 1.0;
  if (spec.alpha == AlphaMode::premultiply) gain *= largest;
  if (spec.transfer == TransferFunction::srgb) gain *= srgb_to_linear(largest) / largest;
  return gain;
}

}  // namespace

double largest_border_value(const BlurSpec& spec) {
  if (spec.border.mode.x != BorderMode::constant && spec.border.mode.y != BorderMode::constant) return 0.0;
  double largest = 0.0;
  for (const double v : spec.border.value) largest = std::max(largest, std::abs(v));
  return largest;
}

double colour_gain(const BlurSpec& spec) {
  double gain = gain_beyond_one(spec);
  if (spec.alpha == AlphaMode::premultiply) gain *= 2.0;
  if (spec.transfer == TransferFunction::srgb) gain *= kSteepestSrgb;
  return gain;
}

double rounding_gain(const BlurSpec& spec, PixelFormat source, const PerAxis<AxisTaps>& taps) {
  const auto has_negative = [](const AxisTaps& axis) { return std::ranges::any_of(axis.weights, [](double w) { return w < 0.0; }); };
  if (!info(source).is_unorm() || has_negative(taps.x) || has_negative(taps.y)) return colour_gain(spec);
  return colour_gain(spec) * (spec.transfer == TransferFunction::srgb ? kSteepestSrgbInProportion / kSteepestSrgb : 1.0);
}

double scale_between_steps(PixelFormat source) {
  const FormatInfo& format = info(source);
  return format.is_floating() && format.bits >= 32 ? 0.5 : 1.0;
}

double colour_error(const BlurSpec& spec, Accumulator accumulator) {
  const double u = unit_roundoff(accumulator);
  double error = 4.0 * u;  // scaling in, scaling out, rounding of the result
  if (spec.alpha == AlphaMode::premultiply) error += 4.0 * u * colour_gain(spec);
  if (spec.transfer == TransferFunction::srgb) {
    error += (accumulator == Accumulator::f64 ? kSrgbError64 : kSrgbError32) * gain_beyond_one(spec);
  }
  return error;
}

std::string colour_assumption(const BlurSpec& spec, PixelFormat source) {
  if (info(source).is_unorm()) return {};
  if (spec.transfer == TransferFunction::srgb) return "numbers of about 0 to 1";
  return spec.alpha == AlphaMode::premultiply ? "alpha of 0 to 1" : "";
}

double kernel_distance_error(double l1, PixelFormat source) {
  return info(source).is_unorm() ? 0.5 * l1 : l1;
}

double allowed_error(const Accuracy& accuracy, PixelFormat dst) {
  const double exact = exact_max_error(dst);
  if (!accuracy.max_error) return default_max_error(dst);
  return *accuracy.max_error > exact ? *accuracy.max_error : exact;
}

}  // namespace mollify
