// What an endless Gaussian has beyond the radius at which another one is cut. The cut one is the endless one less its tails, times a
// number that makes up for them. At 4 sigma the tails are 6e-5 of the whole, so that they may be blurred along the other axis by a kernel
// that is some per cent off, while their jumps stay exact.
#pragma once

#include <cstdint>

#include "math/weights.h"

namespace mollify {

/// Sigmas of a Gaussian that matter: what lies beyond is below the last bit of a weight.
inline constexpr double kReachOfGaussian = 8.5;

struct GaussianTail {
  AxisTaps taps;         ///< of an endless Gaussian whose weights sum to one: both tails, with zeros between them
  double mass = 0.0;     ///< of these taps, the sum
  double dropped = 0.0;  ///< of the weights that lie further out
};

/// The fewest taps that drop no more than `most_dropped`. None for endless Gaussians and those of sigma 0.
[[nodiscard]] GaussianTail gaussian_tail(const AxisGaussian& gaussian, double most_dropped);

/// Tails on a grid `factor` pixels apart, whose samples are means of as many pixels, and stand for each of them. It moves jumps by up to
/// half a sample, which matters less the lower they are: the wider the Gaussian.
struct CoarseTail {
  AxisTaps taps;             ///< from one sample to the others
  double l1_distance = 0.0;  ///< to the tails, at the worst pixel of a sample
};
[[nodiscard]] CoarseTail coarse_tail(const AxisTaps& tails, std::int64_t factor);

}  // namespace mollify
