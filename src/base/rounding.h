// Numbers as a pixel format stores them.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/half.h"
#include "mollify/image.h"

namespace mollify {

/// The least and the largest number that integers of this format hold.
[[nodiscard]] inline std::pair<double, double> integer_range(const FormatInfo& format) {
  const bool is_signed = format.component_class == ComponentClass::sint;
  const double count = std::ldexp(1.0, is_signed ? format.bits - 1 : format.bits);
  return {is_signed ? -count : 0.0, count - 1.0};
}

/// The number that a pixel of this format holds in place of `value`, full-scale units.
[[nodiscard]] inline double rounded_to_format(double value, const FormatInfo& format) {
  if (format.is_unorm()) return std::nearbyint(value > 0.0 ? std::min(value, 1.0) * format.unit() : 0.0) / format.unit();
  if (format.is_integral()) {
    const auto [least, most] = integer_range(format);
    return std::isnan(value) ? 0.0 : std::nearbyint(std::clamp(value, least, most));
  }
  if (format.bits == 64) return value;
  if (format.bits == 16) return half_to_float(double_to_half(value));
  return static_cast<float>(value);
}

}  // namespace mollify
