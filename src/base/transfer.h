// The sRGB transfer function, IEC 61966-2-1, odd about zero and continued above one. Full-scale units.
#pragma once

#include <cmath>

namespace mollify {

[[nodiscard]] inline double srgb_to_linear(double v) {
  const double a = std::abs(v);
  return std::copysign(a <= 0.04045 ? a / 12.92 : std::pow((a + 0.055) / 1.055, 2.4), v);
}

[[nodiscard]] inline double linear_to_srgb(double v) {
  const double a = std::abs(v);
  return std::copysign(a <= 0.0031308 ? a * 12.92 : 1.055 * std::pow(a, 1.0 / 2.4) - 0.055, v);
}

}  // namespace mollify
