// From mathematical kernels to numbers: every formula for weights lives here.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mollify/spec.h"

namespace mollify {

enum class Axis : std::uint8_t { x, y };

template <class T>
[[nodiscard]] const T& on(const PerAxis<T>& value, Axis axis) {
  return axis == Axis::x ? value.x : value.y;
}

/// A Gaussian on one axis: endless, or exactly the taps -radius .. radius, normalised.
struct AxisGaussian {
  double sigma = 1.0;
  std::optional<std::int64_t> radius{};
  auto operator<=>(const AxisGaussian&) const = default;
};
[[nodiscard]] AxisGaussian on_axis(const Gaussian& gaussian, Axis axis);

/// 1-D taps in float64 and what cutting them short costs.
struct AxisWeights {
  AxisTaps taps;
  double cut_error = 0.0;  ///< L1 distance to the exact kernel's weights
};

/// The taps of a separable kernel on one axis. An endless kernel is cut where the L1 distance stays below
/// `cut_budget`. Nothing for a matrix that is no product of two 1-D kernels. With `between`, the kernel is centred half a pixel behind the
/// output's place, see Stride; taps and matrices have no such weights.
[[nodiscard]] std::optional<AxisWeights> axis_weights(const KernelSpec& kernel, Axis axis, double cut_budget, bool between = false);

/// The weights of a matrix with its normalisation applied.
[[nodiscard]] Matrix normalized(const Matrix& matrix);

/// Taps that reach further than the image see some pixels more than once. The same sums with each pixel seen at most
/// a few times: at most 2 * length + 1 taps, whatever the radius. Exact, and position-independent.
[[nodiscard]] AxisTaps fold(const AxisTaps& taps, BorderMode mode, std::int64_t length);

/// sum |w|, and sum w.
[[nodiscard]] double magnitude(const std::vector<double>& weights);
[[nodiscard]] double total(const std::vector<double>& weights);

/// Rounding errors of summing w[0]*x[0] + w[1]*x[1] + ... in this order, in units of (unit roundoff) * max|x| * sum|w|:
/// an upper bound on the sum of the partial sums, plus the rounding of weights and products.
[[nodiscard]] double summation_growth(const std::vector<double>& weights);

/// The same where every `block` weights are summed by themselves first and the blocks then added up.
[[nodiscard]] double blocked_summation_growth(const std::vector<double>& weights, std::size_t block);

/// Weights in the precision that a kernel multiplies in. The rounding residual goes to the largest weight, so that
/// the sum is kept.
template <class T>
[[nodiscard]] std::vector<T> rounded(const std::vector<double>& weights);

/// Pixels on either side of the anchor that the taps read, at most.
[[nodiscard]] std::int32_t radius_of(const AxisTaps& taps);
/// Weights as f32, the anchor's in the middle of so many, with zeros around them. There are an odd number, enough for either side.
[[nodiscard]] std::vector<float> in_the_middle(const AxisTaps& taps, std::int32_t count);

/// Weights that f16 holds exactly, to be multiplied by `scale`: the nearest ones, but for a few that keep the sum.
struct HalfWeights {
  std::vector<double> weights;
  double scale = 1.0;
  double l1_distance = 0.0;  ///< to the weights that were rounded
  double missing = 0.0;      ///< how much less they sum to
};
[[nodiscard]] HalfWeights rounded_to_half(const std::vector<double>& weights, double scale = 1.0);
/// Scaled by the power of two that makes the largest lie in [0.5, 1].
[[nodiscard]] HalfWeights rounded_to_scaled_half(const std::vector<double>& weights);

/// By the scale, of a thousand, with which they come nearest; they add up to one at most before it. Exact for boxes and tents.
[[nodiscard]] HalfWeights rounded_to_best_half(const std::vector<double>& weights);

/// Symmetric taps for sums of 16 bits. Each but the middle one stands for two, at the same distance; an even number has no middle one.
/// They are summed from the outermost on: what the outer ones add up to is small and so is held finer, until the sum is halved.
struct FixedWeights {
  std::vector<std::uint16_t> taps;  ///< the innermost last, times 65536, twice as much for each halving yet to come
  std::vector<std::int64_t> runs;   ///< of pairs: where each ends; the sum is halved in between
  bool is_even = false;             ///< symmetric about the place half a pixel behind the anchor
  double distance = 0.0;            ///< what replacing the weights does to an image of numbers between 0 and 1, at most
  double lost = 0.0;                ///< by products that are rounded down, at most, in units of the sum
  double gained = 0.0;              ///< by sums that are halved and rounded up
};

/// With up to so many halvings. Nothing where the taps are not symmetric, not all between 0 and 1 or do not sum to `whole`.
[[nodiscard]] std::optional<FixedWeights> rounded_to_fixed(const AxisTaps& taps, int most_halvings, double whole = 1.0);

}  // namespace mollify
