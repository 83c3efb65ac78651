// Gaussians from several boxes: extended boxes, whose two outermost weights are fractions, so that the variance fits.
#pragma once

#include <cstdint>

#include "mollify/spec.h"

namespace mollify {

/// 2 * radius + 1 equal weights, and one on either side that may be smaller; they sum to one.
struct ExtendedBox {
  std::int64_t radius = 0;
  double inner = 1.0;
  double outer = 0.0;
};

/// The box that, applied `count` times, has the variance sigma^2.
[[nodiscard]] ExtendedBox extended_box(double sigma, int count);

/// L1 distance from `count` such boxes to symmetric taps that sum to one.
[[nodiscard]] double boxes_distance(const ExtendedBox& box, int count, const AxisTaps& wanted);

}  // namespace mollify
