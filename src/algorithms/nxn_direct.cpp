// nxn.direct: the definition of a matrix filter, one multiply-add a weight and component. Nothing beats it for small
// kernels that are not separable; it loses to everything else otherwise. Source: textbook; the loop over a sample list is
// the base line of "A Tale Of Too Many Blurs".
#include <array>

#include "algorithms/propose.h"
#include "backends/cpu/kernels/layout.h"
#include "core/weights.h"
#include "tuning/tuning.h"

namespace mollify {
namespace {

constexpr std::string_view kKernel = "nxn_direct";
constexpr std::int32_t kLargest = 128;
constexpr std::array<std::string_view, 2> kAccumulators = {"f32", "f64"};
constexpr std::array kOptions = {
    OptionInfo{"accumulator", kAccumulators, "f32 where its error fits, else f64", "precision of rows, weights and sums"}};

/// A matrix as given, or a separable kernel small enough to be multiplied out.
Result<Matrix> as_matrix(const Problem& p, double cut_budget, double& cut_error) {
  if (const auto* matrix = std::get_if<Matrix>(&p.spec.kernel)) return normalized(*matrix);
  const std::optional<AxisWeights> x = axis_weights(p.spec.kernel, Axis::x, cut_budget);
  const std::optional<AxisWeights> y = axis_weights(p.spec.kernel, Axis::y, cut_budget);
  const std::size_t width = x->taps.weights.size();
  const std::size_t height = y->taps.weights.size();
  if (width > kLargest || height > kLargest) {
    return refusal("the kernel has " + std::to_string(width) + "x" + std::to_string(height) +
                   " taps, more than 128x128");
  }
  cut_error = kernel_distance_error(x->cut_error, p.src.format) + kernel_distance_error(y->cut_error, p.src.format);
  Matrix out{static_cast<std::int32_t>(width), static_cast<std::int32_t>(height), {}, {x->taps.anchor, y->taps.anchor}};
  out.weights.clear();
  for (const double wy : y->taps.weights) {
    for (const double wx : x->taps.weights) out.weights.push_back(wy * wx);
  }
  return out;
}

Result<Proposal> propose(const Problem& p) {
  if (!p.device.has_kernel(kKernel)) return refusal_without_kernel(p, kKernel);
  const double gain = colour_gain(p.spec);
  const double budget = p.allowed_error / (4.0 * gain) / kernel_distance_error(1.0, p.src.format);
  double cut_error = 0.0;
  Result<Matrix> matrix = as_matrix(p, budget, cut_error);
  if (!matrix) return matrix.error();

  const double largest = info(p.src.format).is_unorm() ? magnitude(matrix->weights) : 1.0;
  const double rounding = gain * blocked_summation_growth(matrix->weights, static_cast<std::size_t>(matrix->width));
  const auto error = [&](Accumulator a) {
    return gain * cut_error + largest * (rounding * unit_roundoff(a) + colour_error(p.spec, a));
  };
  const Accumulator accumulator = choose_accumulator(p, error);
  const bool wide = accumulator == Accumulator::f64;
  const int channels = info(p.src.format).channels;

  Proposal out;
  out.options = {{"accumulator", wide ? "f64" : "f32"}};
  out.error = error(accumulator);

  TileNeeds needs;
  needs.halo = {matrix->width - 1, matrix->height - 1};
  needs.column_bytes = std::int64_t{matrix->height + 1} * channels * (wide ? 8 : 4);
  needs.pixel_operations = static_cast<double>(matrix->weights.size()) * channels * (wide ? 2.0 : 1.0);
  Pass pass;
  pass.kernel = kKernel;
  pass.constants = {{"wide", wide ? 1 : 0}};
  pass.size = {p.dst.width, p.dst.height};
  pass.tile = cpu_tile(p.device, {p.dst.width, p.dst.height}, needs);
  out.moved_bytes = moved_bytes(p, pass.tile, needs.halo);
  out.scratch_bytes =
      p.device.threads *
      (wide ? cpu::NxnDirectScratch<double>(nullptr, pass.tile.x, matrix->width, matrix->height, channels).bytes
            : cpu::NxnDirectScratch<float>(nullptr, pass.tile.x, matrix->width, matrix->height, channels).bytes);
  constexpr double kRowCost = 6.0;  // decoding, storing and encoding a component, in multiply-adds
  const double pixels = static_cast<double>(p.dst.width) * p.dst.height;
  out.seconds = arithmetic_seconds(p.device, pixels * (needs.pixel_operations + kRowCost * channels)) +
                copy_seconds(p.device, out.moved_bytes);
  pass.matrix = std::move(*matrix);
  out.passes.push_back(std::move(pass));
  return out;
}

}  // namespace

constinit const Algorithm kNxnDirect = {
    {"nxn.direct", "any matrix, one multiply-add a weight", "A Tale Of Too Many Blurs, part 1", kOptions}, propose};

}  // namespace mollify
