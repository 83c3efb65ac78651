#include "algorithms/common/separable.h"

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include "base/places.h"
#include "math/remembered.h"
#include "math/weights.h"

namespace mollify {

namespace {

/// The taps of one axis, folded into the image.
struct FoldedTaps {
  AxisTaps taps;
  double cut_error = 0.0;  ///< as AxisWeights has it
  double magnitude = 1.0;  ///< of the weights before they were folded
};

std::optional<FoldedTaps> make_folded_taps(const Problem& p, Axis axis, double cut_budget) {
  const Stride stride = on(p.spec.stride, axis);
  const std::optional<AxisWeights> whole = axis_weights(p.spec.kernel, axis, cut_budget, places_on_axis(0, stride).between);
  if (!whole) return std::nullopt;
  const BorderMode mode = on(p.spec.border.mode, axis);
  const std::int64_t length = folded_length(mode, axis == Axis::x ? p.src.width : p.src.height, stride);
  return FoldedTaps{fold(whole->taps, mode, length), whole->cut_error, magnitude(whole->taps.weights)};
}

/// The same, remembered where a Gaussian is so wide that making its weights takes long. Every algorithm asks for the same ones, for each of
/// its variants.
std::optional<FoldedTaps> folded_taps(const Problem& p, Axis axis, double cut_budget) {
  constexpr double kWide = 1000.0;            // sigma
  constexpr std::int32_t kLongest = 1 << 16;  // an image, of which so many taps are kept
  constexpr std::size_t kKept = 16;
  const std::int32_t length = axis == Axis::x ? p.src.width : p.src.height;
  const auto* gaussian = std::get_if<Gaussian>(&p.spec.kernel);
  if (gaussian == nullptr || on(gaussian->sigma, axis) < kWide || length > kLongest) return make_folded_taps(p, axis, cut_budget);
  using Key = std::tuple<AxisGaussian, double, BorderMode, std::int32_t, std::pair<std::int32_t, bool>>;
  static auto& known = *new Remembered<Key, std::shared_ptr<const FoldedTaps>>(kKept);
  const Stride stride = on(p.spec.stride, axis);
  const std::pair<std::int32_t, bool> places{stride.step, places_on_axis(0, stride).between};
  return *known.get({on_axis(*gaussian, axis), cut_budget, on(p.spec.border.mode, axis), length, places},
                    [&] { return std::make_shared<const FoldedTaps>(*make_folded_taps(p, axis, cut_budget)); });
}

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
  std::optional<FoldedTaps> x = folded_taps(problem, Axis::x, budget);
  std::optional<FoldedTaps> y = folded_taps(problem, Axis::y, budget);
  if (!x || !y) return std::nullopt;

  SeparableTaps out;
  out.taps = {std::move(x->taps), std::move(y->taps)};
  balance(out.taps, most_between(out.taps, problem.src.format));
  // A cut kernel still sums to one, so the other axis does not change the distance.
  out.cut_error =
      gain * (kernel_distance_error(x->cut_error, problem.src.format) + kernel_distance_error(y->cut_error, problem.src.format));
  if (info(problem.src.format).is_unorm()) out.magnitude = x->magnitude * y->magnitude;
  out.growth = {summation_growth(out.taps.x.weights), summation_growth(out.taps.y.weights)};
  return out;
}

double rounding_error(const Problem& problem, const SeparableTaps& taps, Accumulator accumulator) {
  const double growth = taps.growth.x + taps.growth.y;
  const double gain = rounding_gain(problem.spec, problem.src.format, taps.taps);
  return gain * taps.magnitude * growth * unit_roundoff(accumulator) + taps.magnitude * colour_error(problem.spec, accumulator);
}

}  // namespace mollify
