// What every algorithm on separable taps has to work out first: the taps, cut and folded, and the error they cost.
#pragma once

#include <optional>

#include "algorithms/algorithm.h"
#include "math/accuracy.h"

namespace mollify {

struct SeparableTaps {
  PerAxis<AxisTaps> taps;  ///< of x as magnitudes that add up to one, or to a half: see separable_taps()
  double cut_error = 0.0;  ///< full-scale units, colour handling included
  double magnitude = 1.0;  ///< what the largest possible output is over full scale: sum|w| for unorm, 1 for float
  PerAxis<double> growth;  ///< of rounding errors, see summation_growth()
};

/// Nothing for a matrix that is no product of two 1-D kernels. Spends up to half of the allowed error on cutting an
/// endless kernel, or another share of it. What lies between the axes is at most as large as the source; where that holds the
/// largest floats, at most half as large, so that rounding cannot make an infinity of it.
[[nodiscard]] std::optional<SeparableTaps> separable_taps(const Problem& problem, double cut_share = 0.5);

/// The rounding error of summing them with this accumulator, both axes, full-scale units, colour handling included.
[[nodiscard]] double rounding_error(const Problem& problem, const SeparableTaps& taps, Accumulator accumulator);

}  // namespace mollify
