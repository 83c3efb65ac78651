// How the error of a blur adds up. Everything is an upper bound, relative to full scale.
#pragma once

#include <string>

#include "mollify/plan.h"

namespace mollify {

/// The arithmetic that a kernel sums in.
enum class Accumulator : std::uint8_t { i32, f32, f64 };

[[nodiscard]] constexpr double unit_roundoff(Accumulator accumulator) {
  return accumulator == Accumulator::f64 ? 0x1p-53 : 0x1p-24;
}

/// Of a constant border, in magnitude; 0 without one.
[[nodiscard]] double largest_border_value(const BlurSpec& spec);

/// How much an error of the blurred numbers can grow on the way out: dividing by alpha doubles it (in the alpha-weighted
/// measure), the steepest part of the sRGB curve multiplies it by 12.92.
[[nodiscard]] double colour_gain(const BlurSpec& spec);

/// The same for rounding errors of sums: where neither pixels nor weights are negative they are in proportion to what is summed,
/// and where the sRGB curve is steep that is next to nothing.
[[nodiscard]] double rounding_gain(const BlurSpec& spec, PixelFormat source, const PerAxis<AxisTaps>& taps);

/// By what the numbers between two steps of a blur are scaled. A sum of the largest floats can round up to infinity, of which no later
/// weight makes a number again: where a source can hold them, what lies between the steps is half as large.
[[nodiscard]] double scale_between_steps(PixelFormat source);

/// What decoding, encoding and scaling add by themselves.
[[nodiscard]] double colour_error(const BlurSpec& spec, Accumulator accumulator);

/// What both take for granted of pixels; of the border they know it. Empty: nothing.
[[nodiscard]] std::string colour_assumption(const BlurSpec& spec, PixelFormat source);

/// What moving the kernel by the L1 distance `l1` does to an image: half of it for unorm sources, whose values can be
/// centred on zero, all of it for others.
[[nodiscard]] double kernel_distance_error(double l1, PixelFormat source);

/// The error that a blur into `dst` may make.
[[nodiscard]] double allowed_error(const Accuracy& accuracy, PixelFormat dst);

}  // namespace mollify
