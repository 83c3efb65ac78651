// Decimated Gaussians: the coefficients. A Gaussian is smooth enough to be blurred on a grid `factor` pixels apart:
//   decimate  c[m] = sum_i  spline[i] * in[m * factor - centre + i]
//   blur      b[m] = sum_j  coarse[j] * c[m + j]
//   expand    out[x] = sum_m factor * spline[x - m * factor + centre] * b[m]
// The spline is either some box filters of width `factor` convolved, or the one that suits the Gaussian best. The coarse kernel is fitted
// by least squares, so that the three steps together come as near to the Gaussian as they can, at every phase of an output pixel in its
// grid spacing. Neither spline nor coarse kernel has negative weights: sums only add, so results lie between the least and the largest
// pixel that they are made of, but for rounding. And no pixel acts further than most_reach() says, whatever it holds. A Gaussian that is
// cut at a radius ends in a jump, which coarse samples cannot follow: the fit misses by about `factor` times its height. A window as wide
// as the cut Gaussian, added to what the coarse grid makes, makes the jump exactly; what the coarse samples are then fitted to falls to
// about nothing where it ends.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "math/axis_target.h"
#include "math/weights.h"

namespace mollify {

/// Rounds towards minus infinity; b > 0.
[[nodiscard]] constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return (a >= 0 ? a : a - b + 1) / b;
}

struct BoxSpline {
  int order;  ///< boxes
  auto operator<=>(const BoxSpline&) const = default;
};
struct LeastAliasingSpline {
  int support;  ///< coarse samples that one pixel is made of
  auto operator<=>(const LeastAliasingSpline&) const = default;
};
/// See math/splines.h.
using Spline = std::variant<BoxSpline, LeastAliasingSpline>;

struct Decimation {
  int factor = 1;
  std::vector<double> spline{1.0};
  AxisTaps coarse;           ///< symmetric
  double window = 0.0;       ///< the weight of each pixel of the window that makes the jump
  double l1_distance = 0.0;  ///< to the Gaussian that was asked for, at the worst phase

  /// Pixels on either side of an output pixel that the three steps can read for it, at the worst phase.
  [[nodiscard]] std::int64_t reach() const { return std::int64_t{coarse.anchor} * factor + static_cast<std::int64_t>(spline.size()) - 1; }
};

/// What makes the jump at which a cut Gaussian ends.
enum class Jump : std::uint8_t { coarse_grid, window };

/// Fits, or remembers an earlier fit. The sigma is above 0. A factor of one is the sampled kernel itself. The distance is infinite where
/// the spline alone reaches too far.
[[nodiscard]] std::shared_ptr<const Decimation> fit_kernel(const AxisKernel& kernel, int factor, Spline spline,
                                                           Jump jump = Jump::coarse_grid);
[[nodiscard]] std::shared_ptr<const Decimation> fit_decimation(const AxisGaussian& gaussian, int factor, Spline spline,
                                                               Jump jump = Jump::coarse_grid);

/// The same with fewer taps of the grid's kernel: the outermost are added to those beside them while that adds no more than `allowed`
/// to the distance.
[[nodiscard]] Decimation shortened(Decimation fit, double allowed);

/// A Gaussian between two pixels is made of two narrower ones, centred on them, whose mean is nearly as wide. The sigma of each; 0: there
/// is no narrower one.
[[nodiscard]] double halved_sigma(double sigma);
/// The L1 distance of the weights of that mean to those of the Gaussian, at most.
[[nodiscard]] double halved_distance(double sigma);

/// What a fit by a factor above one misses at least, over the factor, as far as was seen: for the jump where the Gaussian ends, so 0 for
/// endless ones. Costs no fit.
[[nodiscard]] double least_distance_of_factor(const AxisGaussian& gaussian);

}  // namespace mollify
