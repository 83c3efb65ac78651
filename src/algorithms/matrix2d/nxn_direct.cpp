// nxn.direct: the definition of a matrix filter, one multiply-add a weight and component. Nothing beats it for small
// kernels that are not separable; it loses to everything else otherwise. Source: textbook; the loop over a sample list is
// the base line of "A Tale Of Too Many Blurs".
#include <array>

#include "algorithms/common/propose.h"
#include "algorithms/matrix2d/nxn.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/pass_arguments.h"
#include "math/weights.h"
#include "model/tuning.h"

namespace mollify {
namespace {

constexpr std::string_view kKernel = "nxn_direct";
constexpr std::int32_t kLargest = 128;
constexpr std::array kOptions = {kNxnAccumulator.info(),
                                 gpu::kStorage.info(),
                                 gpu::kPacking.info_as("struct", "GPU: samples as 16 bytes or as 4, their weights then in f16"),
                                 gpu::kSamples.info_as("uniform where they fit", "GPU: which kind of buffer holds them"),
                                 gpu::kLaneOrder.info(),
                                 kNxnGroup.info()};

Result<Proposal> propose(const Problem& p) {
  if (!p.device.has_kernel(kKernel)) return refusal_without_kernel(p, kKernel);
  if (kNxnAccumulator.given(p) == NxnAccumulator::f32 && has_wide_format(p)) return refusal_of_f32_sums(p);
  if (p.device.backend == Backend::cuda) return propose_nxn_direct_cuda(p);
  if (p.device.backend == Backend::vulkan) return propose_nxn_direct_gpu(p);
  if (Status s = only_options(p, {kNxnAccumulator}); !s) return s.error();
  Result<NxnMatrix> nxn = nxn_matrix(p);
  if (!nxn) return nxn.error();
  Matrix* const matrix = &nxn->matrix;
  const bool wide = nxn->is_wide(p);
  const int channels = info(p.src.format).channels;

  Proposal out;
  out.options = {kNxnAccumulator.as(wide ? NxnAccumulator::f64 : NxnAccumulator::f32)};
  out.error = nxn->error(p, wide ? Accumulator::f64 : Accumulator::f32);

  TileNeeds needs;
  needs.halo = {matrix->width - 1, matrix->height - 1};
  needs.column_bytes = std::int64_t{matrix->height + 1} * channels * (wide ? 8 : 4);
  // Down a column every multiply-add loads its own number, where sep.fused makes four rows of what it loads.
  constexpr double kColumnCost = 1.3;
  const double operation = (wide ? 2.0 : 1.0) * (matrix->width == 1 && matrix->height > 1 ? kColumnCost : 1.0);
  needs.pixel_operations = static_cast<double>(matrix->weights.size()) * channels * operation;
  Pass pass;
  pass.kernel = kKernel;
  write_arguments(cpu::FloatArguments{wide}, pass);
  pass.size = {p.dst.width, p.dst.height};
  pass.tile = cpu_tile(p.device, {p.dst.width, p.dst.height}, needs);
  out.moved_bytes = moved_bytes(p, pass.tile, needs.halo);
  out.scratch_bytes =
      p.device.threads * (wide ? cpu::NxnDirectScratch<double>(nullptr, pass.tile.x, matrix->width, matrix->height, channels).bytes
                               : cpu::NxnDirectScratch<float>(nullptr, pass.tile.x, matrix->width, matrix->height, channels).bytes);
  constexpr double kRowCost = 6.0;  // decoding, storing and encoding a component, in multiply-adds
  const double pixels = static_cast<double>(p.dst.width) * p.dst.height;
  out.seconds =
      arithmetic_seconds(p.device, pixels * (needs.pixel_operations + kRowCost * channels)) + copy_seconds(p.device, out.moved_bytes);
  pass.matrix = std::move(*matrix);
  out.passes.push_back(std::move(pass));
  return out;
}

}  // namespace

double NxnMatrix::error(const Problem& p, Accumulator a) const {
  const double gain = colour_gain(p.spec);
  const double largest = info(p.src.format).is_unorm() ? magnitude(matrix.weights) : 1.0;
  // GPUs add one sample after another.
  const auto row = static_cast<std::size_t>(p.device.backend == Backend::cpu ? matrix.width : matrix.width * matrix.height);
  const double rounding = gain * blocked_summation_growth(matrix.weights, row);
  return cut_error + largest * (rounding * unit_roundoff(a) + colour_error(p.spec, a));
}

bool NxnMatrix::is_wide(const Problem& p) const {
  if (const auto given = kNxnAccumulator.given(p)) return *given == NxnAccumulator::f64;
  return has_wide_format(p) || error(p, Accumulator::f32) > p.allowed_error;
}

Result<NxnMatrix> nxn_matrix(const Problem& p) {
  if (const auto* matrix = std::get_if<Matrix>(&p.spec.kernel)) return NxnMatrix{normalized(*matrix), 0.0};
  const double gain = colour_gain(p.spec);
  const double cut_budget = p.allowed_error / (4.0 * gain) / kernel_distance_error(1.0, p.src.format);
  const std::optional<AxisWeights> x = axis_weights(p.spec.kernel, Axis::x, cut_budget);
  const std::optional<AxisWeights> y = axis_weights(p.spec.kernel, Axis::y, cut_budget);
  const std::size_t width = x->taps.weights.size();
  const std::size_t height = y->taps.weights.size();
  if (width > kLargest || height > kLargest) {
    return refusal("the kernel has " + std::to_string(width) + "x" + std::to_string(height) + " taps, more than 128x128");
  }
  NxnMatrix out{{static_cast<std::int32_t>(width), static_cast<std::int32_t>(height), {}, {x->taps.anchor, y->taps.anchor}},
                gain * (kernel_distance_error(x->cut_error, p.src.format) + kernel_distance_error(y->cut_error, p.src.format))};
  for (const double wy : y->taps.weights) {
    for (const double wx : x->taps.weights) out.matrix.weights.push_back(wy * wx);
  }
  return out;
}

constinit const Algorithm kNxnDirect = {
    .info = {"nxn.direct", "any matrix, one multiply-add a weight", "A Tale Of Too Many Blurs, part 1", kOptions},
    .propose = propose,
    .takes_wide = true};

}  // namespace mollify
