// The dual filter of games: a pyramid that halves an image with 5 taps and doubles it with 8, all between samples.
//   down  sample m of a level reads the level below around its own centre, 2 * m + 0.5 there:
//         half of it from the centre, an eighth from each of the four points `offset` away on both axes
//   up    sample m of a level reads the level above around m / 2 - 0.25: a twelfth from each of the points `offset` away
//   on
//         one axis, a sixth from each of those half as far away on both
// Samples lie on whole multiples of 2^level pixels, whatever the region.
#pragma once

#include <optional>

namespace mollify {

inline constexpr int kMostDualLevels = 5;

struct DualFilter {
  int levels = 1;
  float offset = 1.0F;  ///< samples of the level that is read
};

/// The offset that gives the pyramid the variance sigma^2, where there is one; `levels` 0 takes those whose offset is
/// nearest to one.
[[nodiscard]] std::optional<DualFilter> fit_dual_filter(double sigma, int levels);

/// L1 distance in two dimensions to the true Gaussian, at the worst phase. Once that is sure to exceed `enough` no more
/// phases are looked at: there are up to 136 that differ, some 20 ms each on five levels.
[[nodiscard]] double dual_filter_distance(const DualFilter& filter, double sigma, double enough);

}  // namespace mollify
