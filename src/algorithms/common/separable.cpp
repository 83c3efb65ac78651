#include "algorithms/common/separable.h"

#include <algorithm>

#include "math/weights.h"

namespace mollify {

namespace {

/// Makes what lies between the axes at most `most` times as large as the source.
void balance(PerAxis<AxisTaps>& taps, double most) {
  const double row_magnitude = magnitude(taps.x.weights);
  if (row_magnitude == 0.0) {  // nothing times anything, however large
    std::ranges::fill(taps.y.weights, 0.0);
    return;
  }
  for (double& w : taps.x.weights) w *= most / row_magnitude;
  for (double& w : taps.y.weights) w *= row_magnitude / most;
}

/// A single tap does not round. Its products stay as they are, however small they are.
double most_between(const PerAxis<AxisTaps>& taps, PixelFormat source) {
  const bool sums_both = taps.x.weights.size() > 1 && taps.y.weights.size() > 1;
  return sums_both ? scale_between_steps(source) : 1.0;
}

}  // namespace

std::optional<SeparableTaps> separable_taps(const Problem& problem, double cut_share) {
  const double gain = colour_gain(problem.spec);
  const double per_axis = cut_share * problem.allowed_error / (2.0 * gain);
  const double budget = per_axis / kernel_distance_error(1.0, problem.src.format);
  const std::optional<AxisWeights> x = axis_weights(problem.spec.kernel, Axis::x, budget);
  const std::optional<AxisWeights> y = axis_weights(problem.spec.kernel, Axis::y, budget);
  if (!x || !y) return std::nullopt;

  SeparableTaps out;
  out.taps.x = fold(x->taps, problem.spec.border.mode.x, problem.src.width);
  out.taps.y = fold(y->taps, problem.spec.border.mode.y, problem.src.height);
  balance(out.taps, most_between(out.taps, problem.src.format));
  // A cut kernel still sums to one, so the other axis does not change the distance.
  out.cut_error =
      gain * (kernel_distance_error(x->cut_error, problem.src.format) + kernel_distance_error(y->cut_error, problem.src.format));
  if (info(problem.src.format).is_unorm()) out.magnitude = magnitude(x->taps.weights) * magnitude(y->taps.weights);
  out.growth = {summation_growth(out.taps.x.weights), summation_growth(out.taps.y.weights)};
  return out;
}

double rounding_error(const Problem& problem, const SeparableTaps& taps, Accumulator accumulator) {
  const double growth = taps.growth.x + taps.growth.y;
  const double gain = rounding_gain(problem.spec, problem.src.format, taps.taps);
  return gain * taps.magnitude * growth * unit_roundoff(accumulator) + taps.magnitude * colour_error(problem.spec, accumulator);
}

}  // namespace mollify
