// What sep.fused by lanes multiplies by: taps of f32, some of which are one, or of f16.
#include <algorithm>
#include <cmath>

#include "algorithms/separable/sep_fused.h"
#include "math/code_sums.h"
#include "math/weights.h"

namespace mollify {
namespace {

double largest(const std::vector<double>& weights) {
  return *std::ranges::max_element(weights, {}, [](double v) { return std::abs(v); });
}

void divide(std::vector<double>& weights, double by) {
  for (double& w : weights) w /= by;
}

bool keeps_range(const std::vector<double>& weights) {
  return std::ranges::all_of(weights, [](double v) { return v >= 0.0; }) && std::abs(magnitude(weights) - 1.0) <= 1e-9;
}

/// What a tap of one weighs begins a sum and costs nothing: the largest of x, and the first of y, where it is not so small that what is
/// divided by it grows out of proportion. For codes, which are scaled at the end anyhow. Not for floats: measured, f16 at
/// radius 4 took longer with it.
void make_ones(LaneTaps& out) {
  constexpr double kLeast = 1e-4;  // of the largest tap
  std::vector<double>& x = out.taps.x.weights;
  std::vector<double>& y = out.taps.y.weights;
  const double of_x = largest(x);
  if (of_x == 0.0) return;
  out.x_that_is_one = static_cast<std::int32_t>(std::ranges::find(x, of_x) - x.begin());
  out.scale = of_x;
  divide(x, of_x);
  out.first_of_y_is_one = std::abs(y[0]) > kLeast * std::abs(largest(y));
  if (!out.first_of_y_is_one) return;
  out.scale *= y[0];
  divide(y, y[0]);
}

/// Of f16 pixels: taps rounded, and what that and sums of f16 move the result by, relative to what all weights make of the largest
/// pixel.
void round_to_halves(LaneTaps& out) {
  constexpr double kHalfStep = 0x1p-11;  // of each sum, relative
  constexpr double kLeast = 0x1p-24;     // step of the smallest
  double steps = 0.0;
  const double y_size = magnitude(out.taps.y.weights);
  const auto round = [&](std::vector<double>& weights) {
    const double size = magnitude(weights);
    HalfWeights halves = rounded_to_half(weights);
    out.error += size == 0.0 ? 0.0 : halves.l1_distance / size;
    steps += static_cast<double>(weights.size());
    weights = std::move(halves.weights);
  };
  round(out.taps.x.weights);
  round(out.taps.y.weights);
  if (y_size > 0.0) out.error += steps * kLeast / y_size;
  out.error += steps * kHalfStep;
}

/// Of 8-bit codes less 128.
Status sum_codes_in_halves(LaneTaps& out, const DeviceInfo& device) {
  std::vector<double>& x = out.taps.x.weights;
  std::vector<double>& y = out.taps.y.weights;
  // Codes come out of halves without being cut to their range.
  if (out.leave_range) return refusal("sums of f16 are for weights of codes that are not negative and sum to one");
  std::optional<CodeSums> sums = code_sums({x, y}, gpu::fuses_multiply_adds(device));
  if (!sums) return refusal("sums of codes in f16 are for symmetric kernels");
  constexpr double kMostError = 0.25;  // codes: less than the lowest by more, and the next half stands for another code
  if (sums->error >= kMostError) return refusal("sums of f16 err by a quarter of a code and more with these taps");
  constexpr double kLargestCode = 255.0;
  out.scale = sums->gain;
  out.error = sums->error / kLargestCode;
  x = std::move(sums->taps.x);
  y = std::move(sums->taps.y);
  return {};
}

}  // namespace

Result<LaneTaps> lane_taps(const DeviceInfo& device, const FusedWork& work) {
  const bool is_unorm = info(work.source).is_unorm();
  LaneTaps out{work.taps};
  out.leave_range = is_unorm && !(keeps_range(work.taps.x.weights) && keeps_range(work.taps.y.weights));
  if (work.math == FusedMath::f32) {
    if (is_unorm) make_ones(out);
  } else if (is_unorm) {
    if (Status s = sum_codes_in_halves(out, device); !s) return s.error();
  } else {
    round_to_halves(out);
  }
  return out;
}

}  // namespace mollify
