// What decimated Gaussians are decimated and expanded by: short symmetric kernels that sum to one, over every factor-th tap too, so that
// what is flat stays flat. None of their taps is negative.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mollify {

/// `order` box filters of width `factor` convolved: order * (factor - 1) + 1 taps.
[[nodiscard]] std::vector<double> box_spline(int factor, int order);

/// Of all splines of support * factor taps the one that adds least to a Gaussian of this sigma, decimated and expanded by it. What is added
/// are aliases: a frequency f of the grid, at which the Gaussian is G(f), takes in and gives away what the spline S passes at f + m /
/// factor. So the sum over these of (G(f) / S(f) * S(f + m / factor))^2 is made least, with the S(f) of a box spline in the denominator,
/// which hardly matters. The spline is a box filter of width `factor`, which keeps what is flat, times what is fitted: numbers that follow
/// one another, or knots between which they lie on lines. The best B-splines of as many coarse samples add 2 to 20 times as much.
[[nodiscard]] std::vector<double> least_aliasing_spline(double sigma, int factor, int support);

/// The tap of a spline of `taps` taps that lies on the pixel m * factor of its coarse sample.
[[nodiscard]] constexpr std::int64_t spline_centre(std::size_t taps) {
  return (static_cast<std::int64_t>(taps) - 1) / 2;
}

/// Coarse samples that one output pixel is expanded from, at most.
[[nodiscard]] constexpr std::int64_t spline_support(std::size_t taps, int factor) {
  return (static_cast<std::int64_t>(taps) + factor - 1) / factor;
}

}  // namespace mollify
