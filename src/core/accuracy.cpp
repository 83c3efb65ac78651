#include "core/accuracy.h"

#include <algorithm>

namespace mollify {
namespace {

constexpr double kSteepestSrgb = 12.92;
constexpr double kSteepestSrgbInProportion = 1.055 / 2.4;  // the most that slope times number comes to, from 0 to 1
// Highway's f32 exp and log, measured over every f32 in [0, 1]: a power and its inverse stay within this together.
constexpr double kSrgbError32 = 4e-6;
constexpr double kSrgbError64 = 1e-14;

}  // namespace

double colour_gain(const BlurSpec& spec) {
  double gain = 1.0;
  if (spec.alpha == AlphaMode::premultiply) gain *= 2.0;
  if (spec.transfer == TransferFunction::srgb) gain *= kSteepestSrgb;
  return gain;
}

double rounding_gain(const BlurSpec& spec, PixelFormat source, const PerAxis<AxisTaps>& taps) {
  const auto has_negative = [](const AxisTaps& axis) { return std::ranges::any_of(axis.weights, [](double w) { return w < 0.0; }); };
  if (!info(source).is_unorm() || has_negative(taps.x) || has_negative(taps.y)) return colour_gain(spec);
  return colour_gain(spec) * (spec.transfer == TransferFunction::srgb ? kSteepestSrgbInProportion / kSteepestSrgb : 1.0);
}

double colour_error(const BlurSpec& spec, Accumulator accumulator) {
  const double u = unit_roundoff(accumulator);
  double error = 4.0 * u;  // scaling in, scaling out, rounding of the result
  if (spec.alpha == AlphaMode::premultiply) error += 4.0 * u * colour_gain(spec);
  if (spec.transfer == TransferFunction::srgb) error += accumulator == Accumulator::f64 ? kSrgbError64 : kSrgbError32;
  return error;
}

double kernel_distance_error(double l1, PixelFormat source) { return info(source).is_unorm() ? 0.5 * l1 : l1; }

double allowed_error(const Accuracy& accuracy, PixelFormat dst) {
  const double exact = exact_max_error(dst);
  if (!accuracy.max_error) return default_max_error(dst);
  return *accuracy.max_error > exact ? *accuracy.max_error : exact;
}

}  // namespace mollify
