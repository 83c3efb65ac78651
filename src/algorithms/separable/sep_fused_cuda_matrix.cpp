// sep.fused on CUDA by products of tensor cores: images of bytes or halves that are only blurred. Operands are halves, as on other
// GPUs: taps, and what lies between the axes, are rounded to some, or are sums of two.
#include <algorithm>
#include <variant>

#include "algorithms/common/occupancy.h"
#include "algorithms/separable/sep_fused.h"
#include "backends/cuda/kernels/pass_arguments.h"
#include "backends/cuda/kernels/sep_matrix_shape.h"
#include "base/places.h"
#include "math/weights.h"
#include "model/gpu_model.h"

namespace mollify {
namespace {

using namespace gpu;
using cuda::kMatrixRows;
using cuda::kMatrixSide;
using cuda::MatrixSize;

/// The kernel that has as many products as these taps need, or more.
const MatrixSize* find_size(MatrixSize needed, int channels, bool splits) {
  const auto* const found = std::ranges::find_if(cuda::kMatrixSizes, [&](MatrixSize size) {
    return size.across >= needed.across && size.down >= needed.down && cuda::has_matrix_kernel(size, channels, splits);
  });
  return found == std::end(cuda::kMatrixSizes) ? nullptr : found;
}

Status check_pixels(const Problem& p) {
  const FormatInfo& source = info(p.src.format);
  if ((source.channels != 4 && source.channels != 1) || source.bits > 16 || (source.is_unorm() && source.bits != 8) ||
      p.dst.format != p.src.format) {
    return refusal("tensor cores take images of one or four channels of bytes or halves, and leave what they read");
  }
  if (p.spec.alpha != AlphaMode::ignore || p.spec.transfer != TransferFunction::none) {
    return refusal("tensor cores multiply pixels as they are stored");
  }
  // Boxes of integers are exact, and nothing reaches further than their window.
  if (std::holds_alternative<Box>(p.spec.kernel)) return refusal("tensor cores are for kernels that are no boxes");
  if (has_stride(p.spec)) return refusal("tensor cores make all pixels of a region");
  return check_rows(p);
}

}  // namespace

Result<Proposal> propose_sep_fused_cuda_matrix(const Problem& p) {
  if (Status s = only_options(p, {kFusedMath}, "tensor cores"); !s) return s.error();
  if (Status s = check_pixels(p); !s) return s.error();
  const FormatInfo& source = info(p.src.format);
  const double cut_share = source.is_unorm() ? 0.25 : 0.1;  // of the allowed error: halves need the rest
  const std::optional<SeparableTaps> s = separable_taps(p, cut_share);
  if (!s) return refusal("the matrix is no product of a column and a row");
  const double error = s->cut_error;
  const bool splits = !source.is_unorm();  // what lies between the axes, and taps that need it
  HalfTaps half = splits ? split_taps(s->taps, source, p.allowed_error - error) : half_taps(s->taps, source);

  const std::int32_t anchor = s->taps.x.anchor;
  const std::int32_t lead = (cuda::kMatrixAligned - anchor % cuda::kMatrixAligned) % cuda::kMatrixAligned;
  const auto count = [](const AxisTaps& taps) { return static_cast<std::int32_t>(taps.weights.size()); };
  const MatrixSize* const size = find_size(cuda::needed_matrices(count(s->taps.x), lead, count(s->taps.y)), source.channels, splits);
  if (size == nullptr) {
    return refusal("the kernel has " + std::to_string(count(s->taps.x)) + "x" + std::to_string(count(s->taps.y)) +
                   " taps, more than matrices in registers hold");
  }

  Proposal out;
  out.error = error + half.error;
  out.options = {kFusedMath.as(FusedMath::coopmat)};
  if (!source.is_unorm()) out.assumption = kFinite;
  constexpr PerAxis<std::int32_t> kBlock{kMatrixSide, kMatrixRows};
  out.window_blocks = kBlock;
  const bool clamps = leave_range(half.taps, source, out.error);
  PerAxis<double> start{0.0, 0.0};
  if (source.is_unorm()) {
    if (Status scaled = scale_for_codes(half.taps); !scaled) return scaled.error();
    start = starts_of_codes(half);
  }

  const Rect r = region(p);
  const WholeBlocks at(r, kBlock);
  const std::int32_t blocks = cuda::matrix_blocks(*size, splits, source.channels);
  const std::int32_t width = cuda::kMatrixThreads / 32 * blocks * kMatrixSide;
  const std::int64_t across = (at.size.x + width - 1) / width;
  const std::int32_t strip = blocks * kMatrixSide, strips = (at.size.x + strip - 1) / strip;
  // Strips that read what is outside, or make pixels that are.
  const auto is_at_edge = [&](std::int32_t nth) {
    const std::int32_t left = nth * strip - at.skip.x, read = r.x + left - anchor - lead;
    return left < 0 || left + strip > r.width || read < 0 || read + (blocks + size->across - 1) * kMatrixSide > p.src.width;
  };
  std::int32_t left_strips = 0, right_strips = 0;
  while (left_strips < strips && is_at_edge(left_strips)) ++left_strips;
  while (left_strips + right_strips < strips && is_at_edge(strips - 1 - right_strips)) ++right_strips;
  constexpr std::int32_t kMostRows = 1024;  // of a chunk: shared memory has the place of each
  const std::int32_t fewest = std::min(4 * size->down * kMatrixRows, (at.size.y + kMatrixRows - 1) / kMatrixRows * kMatrixRows);
  // At the edges warps have half as many rows, unless not all would run at once for it, or others would have more.
  const double at_once = cuda::matrix_at_once(*size, splits, source.channels);
  const double slots = at_once * static_cast<double>(across) * (cuda::kMatrixThreads / 32);
  const auto rows_of = [&](std::int32_t warps) {
    return std::min(rows_of_chunk(p, across, at.size.y, slots / warps, kMatrixRows, fewest), kMostRows);
  };
  const std::int32_t rows = rows_of(strips);
  const auto warps = [&](std::int32_t of_row) { return static_cast<double>(of_row) * ((at.size.y + rows - 1) / rows) * p.batch; };
  const double at_once_all = processors(p) * at_once * (cuda::kMatrixThreads / 32);
  const std::int32_t with_edges = strips + left_strips + right_strips;
  const bool has_room = rows_of(with_edges) == rows && (warps(with_edges) <= at_once_all || warps(strips) > at_once_all);
  const std::int32_t edge_rows = has_room && left_strips + right_strips > 0 ? even_length(rows, 2, kMatrixRows) : rows;
  const cuda::MatrixArguments arguments{.across = size->across,
                                        .down = size->down,
                                        .splits = {half.split.x == 2, half.split.y == 2},
                                        .lead = lead,
                                        .clamps = clamps,
                                        .skip = {at.skip.x, at.skip.y},
                                        .start = start,
                                        .gain = half.gain.x * half.gain.y,
                                        .left_strips = left_strips,
                                        .right_strips = right_strips,
                                        .edge_rows = edge_rows};
  Pass pass = make_pass("sep_matrix", arguments, at.size, {width, rows}, {cuda::kMatrixThreads, 1}, Storage::buffer);
  pass.origin = {r.x, r.y};
  pass.taps = std::move(half.taps);
  out.reach = PerAxis<Reach>{reach_of_block(anchor + lead, kMatrixSide, size->across * kMatrixSide),
                             reach_of_block(pass.taps.y.anchor, kMatrixRows, size->down * kMatrixRows)};

  const double reads = (rows + (size->down - 1.0) * kMatrixRows) / rows;
  const GpuModel model = gpu_model(p.device);
  const auto moved = static_cast<double>(source_bytes(p) + p.dst.payload_bytes());
  // Timings of images that fill the device, times 0.6, as gauss.decimate is predicted to take so much of its own. Small images take as long
  // as the steps of a strip.
  constexpr int kMostInRegisters = 7;  // groups of 8 rows of halves that a result depends on; of more, some lie in local memory
  constexpr double kOfMore = 3.2;
  const double of_channels = source.channels > 1 ? 1.0 : splits ? 1.25 : 1.6;
  const double of_rows = splits ? 0.82 + 0.112 * size->down : 0.98 + 0.085 * size->down;
  const double slowness = splits && size->down > kMostInRegisters ? kOfMore : of_channels * of_rows;
  constexpr double kStep = 0.4;  // of what steps of others take
  const double steps = kStep * reads * rows / kMatrixRows;
  out.seconds = model.launch_seconds + std::max(moved / model.bytes_per_second * slowness, steps * model.step_seconds);
  out.moved_bytes = static_cast<std::int64_t>(static_cast<double>(source_bytes(p)) * reads) + p.dst.payload_bytes();
  out.passes.push_back(std::move(pass));
  return out;
}

}  // namespace mollify
