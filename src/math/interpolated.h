// Gaussians from samples between pixels: the weights of taps that each read a linear mix of two neighbours.
#pragma once

#include <memory>
#include <vector>

#include "mollify/spec.h"

namespace mollify {

/// Taps two by two, each pair one sample between its pixels.
struct PairedTaps {
  std::vector<double> weights;    ///< f32 numbers
  std::vector<double> positions;  ///< offsets from the output pixel
  double l1_distance = 0.0;       ///< to the taps, from rounding where a pair is sampled
};

/// Every weight must be positive or zero. Positions are whole multiples of 2^-fraction_bits.
[[nodiscard]] PairedTaps paired(const AxisTaps& taps, int fraction_bits);

inline constexpr int kLerpTaps = 17;
inline constexpr int kLerpReach = 32;  ///< pixels from the output pixel to the farthest tap

/// kLerpTaps taps at (i - 8) * spacing, each a mix of the two pixels around it.
struct LerpTaps {
  double spacing = 1.0;         ///< an f32 number
  std::vector<double> weights;  ///< symmetric, sum to one
  double l1_distance = 0.0;     ///< to the kernel that was asked for
};

/// Fitted by least squares to symmetric taps that sum to one, at the spacing where that comes nearest.
[[nodiscard]] std::shared_ptr<const LerpTaps> fit_lerp_taps(const AxisTaps& wanted);

}  // namespace mollify
