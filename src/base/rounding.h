// Numbers as a pixel format stores them.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/half.h"
#include "mollify/image.h"

namespace mollify {

/// The number that a pixel of this format holds in place of `value`, full-scale units.
[[nodiscard]] inline double rounded_to_format(double value, const FormatInfo& format) {
  if (format.is_unorm()) return std::nearbyint(value > 0.0 ? std::min(value, 1.0) * format.unit() : 0.0) / format.unit();
  if (format.bits == 16) return half_to_float(double_to_half(value));
  return static_cast<float>(value);
}

}  // namespace mollify
