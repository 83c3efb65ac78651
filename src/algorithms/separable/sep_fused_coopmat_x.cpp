// sep.fused on GPUs with cooperative matrices along x and sums of f32 in registers along y. A product with a banded matrix makes 8
// places of a row, whatever number of taps that is; one row's products lie in the same registers as another's, and are summed there as
// they come. Nothing is rounded between the axes, and there are no rows to keep but sums. Loses where the rows of taps fill the registers.
#include <algorithm>
#include <cmath>

#include "algorithms/common/occupancy.h"
#include "algorithms/common/separable_gpu.h"
#include "algorithms/separable/sep_fused.h"
#include "math/weights.h"
#include "model/tuning.h"

namespace mollify {
namespace {

using namespace gpu;

constexpr std::string_view kKernel = "sep_fused_coopmat_x";
constexpr std::int32_t kChannels = 4;
constexpr std::int32_t kBlocks = 16 / kChannels;  // of columns, whose pixels at one place are a column of a matrix
constexpr std::int32_t kPlaces = 8;               // of a block that a product makes
constexpr std::int32_t kDeep = 16;                // that it sees
constexpr std::int32_t kMostRows = 33;            // of taps: sums of more do not fit into registers
constexpr std::int32_t kSubgroups = 3;            // of a group: measured on an H200, 86 us where two take 94 and four 92 to 94

/// Taps of x as halves, or sums of two; those of y times what these are to be multiplied by.
struct RowTaps {
  PerAxis<AxisTaps> taps;
  double error = 0.0;  ///< full-scale units
};

RowTaps row_taps(const SeparableTaps& s, const FormatInfo& source, std::int32_t split) {
  RowTaps out{s.taps};
  const double x_size = magnitude(s.taps.x.weights);
  const double y_size = magnitude(s.taps.y.weights);
  // How a device rounds inside a product is its own: an estimate. Codes are summed as 1024 more, where each row rounds by up to 2^-14.
  constexpr double kSums = 0x1p-19;
  const double rows = static_cast<double>(s.taps.y.weights.size());
  out.error = source.is_unorm() ? rows * 0x1p-14 / source.unit() * std::max(1.0, x_size * y_size) : kSums;
  if (split == 1) {
    const HalfWeights best = rounded_to_best_half(s.taps.x.weights);
    out.taps.x.weights = best.weights;
    for (double& w : out.taps.y.weights) w *= best.scale;
    // Codes are seen centred on zero.
    out.error += source.is_unorm() ? 0.5 * (best.l1_distance + std::abs(best.missing)) * y_size : best.l1_distance / x_size;
  } else {
    // As large as halves allow, so that the second ones are none of the smallest, which have fewer bits.
    constexpr double kGain = 0x1p15;
    for (double& w : out.taps.x.weights) w *= kGain;
    for (double& w : out.taps.y.weights) w /= kGain;
    constexpr double kHalves = 0x1p-21;
    out.error += kHalves * (source.is_unorm() ? x_size * y_size : 1.0);
  }
  return out;
}

}  // namespace

Result<Proposal> propose_sep_fused_coopmat_x(const Problem& p) {
  if (Status s = only_options(p, {"math", "storage", "split", "blocks", "threads", "rows_in_flight", "chunks"}, "matrices along x"); !s) {
    return s.error();
  }
  if (Status s = check_fused_matrix(p, kKernel); !s) return s.error();
  const FormatInfo& source = info(p.src.format);
  if (source.channels != kChannels) return refusal("matrices along x alone are for pixels of four channels");
  const Result<Separable> s = separable(p, kKernel, Storage::buffer, 0.25);
  if (!s) return s.error();
  if (s->storage != Storage::buffer) return refusal("matrices need pixels in buffers");
  const std::int32_t nx = s->nx();
  const std::int32_t ny = s->ny();
  if (ny > kMostRows) return refusal("the kernel has " + std::to_string(ny) + " rows of taps, whose sums do not fit into registers");

  RowTaps rows = row_taps(s->taps, source, 1);
  const Result<std::int32_t> split = count(p, "split", 2, s->error + rows.error <= p.allowed_error ? 1 : 2);
  if (!split) return split.error();
  if (*split == 2) rows = row_taps(s->taps, source, 2);

  constexpr std::int32_t kSpanBytes = 16;
  const std::int32_t span = kSpanBytes / source.pixel_bytes();
  const std::int32_t lead = (span - s->taps.taps.x.anchor % span) % span;
  const std::int32_t steps = (lead + nx + kPlaces - 2) / kDeep + 1;
  const std::int32_t beside = (lead + nx - 1 + span - 1) / span * span;  // columns of the next block
  constexpr std::int32_t kLanes = 32;                                    // which share out spans so that none fetches less than one
  const std::int32_t subgroup = p.device.gpu.subgroup_size;
  if (subgroup != kLanes) return refusal("matrices along x alone are for subgroups of 32");
  const Result<std::int32_t> parts = count(p, "blocks", 8, 1);
  if (!parts) return parts.error();
  const std::int32_t made = *parts * kPlaces;  // of a block, by a subgroup
  const std::int32_t usual = std::max(kSubgroups, (beside + made - 1) / made) * subgroup;
  const Result<std::int32_t> threads = count(p, "threads", p.device.gpu.max_group_invocations, usual);
  const Result<std::int32_t> rows_in_flight = count(p, "rows_in_flight", 16, 4);
  if (!threads) return threads.error();
  if (!rows_in_flight) return rows_in_flight.error();
  if (const Result<PerAxis<std::int32_t>> fits = group(p, {*threads, 1}); !fits) return fits.error();
  const std::int32_t columns = *threads / subgroup * made;  // of a block
  const std::int32_t width = kBlocks * columns - beside;
  // So that a thread fetches the same places of every so many rows.
  if (*threads % subgroup != 0 || span % *parts != 0 || *rows_in_flight % (span / *parts) != 0) {
    return refusal("spans of a row, or of a step, cannot be shared out to all threads of a group");
  }
  if (beside > columns) {
    return refusal("taps reach over " + std::to_string(beside) + " columns, further than the " + std::to_string(columns) + " of a block");
  }
  constexpr std::int64_t kPixel = 8;            // bytes, in shared memory
  constexpr std::int64_t kPitch = kBlocks + 2;  // pixels of a place of all blocks
  const std::int64_t shared = kPixel * kPitch * *rows_in_flight * (2 * columns - kPlaces + steps * kDeep);
  if (Status fits = check_shared(p, shared); !fits) return fits.error();

  const PerAxis<std::int32_t> block{width, 1};
  const PerAxis<std::int32_t> size = size_from_blocks(s->region, block);
  const std::int64_t strips = (size.x + width - 1) / width;
  // One round of what runs at once, as registers and shared memory allow it; but no more than an eighth of a walk before its first row.
  constexpr std::int64_t kSharedOfProcessor = 100 << 10;
  const std::int64_t loads = *rows_in_flight * *parts / span;
  const std::int64_t registers = 33 + 4 * *parts * ny + 4 * loads + 6 * (steps - 1);
  const std::int64_t of_processor = std::clamp<std::int64_t>(kSharedOfProcessor / shared, 1, groups_of_processor(p, *threads, registers));
  const auto at_once = static_cast<std::int64_t>(processors(p)) * of_processor;
  const std::int64_t across = strips * p.batch;
  const std::int64_t most = std::max(size.y / (8 * ny), 1);
  const Result<std::int32_t> chunks =
      count(p, "chunks", 1 << 16, static_cast<std::int32_t>(std::clamp<std::int64_t>(at_once / across, 1, most)));
  if (!chunks) return chunks.error();
  const std::int32_t chunk_rows = chunk_length(p, size.y, *chunks, *rows_in_flight, {});

  Proposal out;
  out.error = s->error + rows.error;
  out.options = {{"math", "coopmat_x"},
                 {"storage", "buffer"},
                 {"split", std::to_string(*split)},
                 {"blocks", std::to_string(*parts)},
                 {"threads", std::to_string(*threads)},
                 {"rows_in_flight", std::to_string(*rows_in_flight)},
                 {"chunks", std::to_string(*chunks)}};
  if (!source.is_unorm()) out.assumption = kFinite;
  out.window_blocks = block;
  Pass pass = make_pass_of_blocks(kKernel, s->region, block, {width, chunk_rows}, {*threads, 1}, Storage::buffer);
  pass.taps = rows.taps;
  out.reach = PerAxis<Reach>{reach_of_block(rows.taps.x.anchor + lead, kPlaces, steps * kDeep), reach_of_taps(rows.taps.y)};
  pass.constants["span"] = span;
  pass.constants["subgroup_size"] = subgroup;
  pass.constants["parts"] = *parts;
  pass.constants["lead"] = lead;
  pass.constants["clamps"] = leave_range(rows.taps, source, out.error);
  pass.constants["rows_in_flight"] = *rows_in_flight;
  pass.constants["tap_split"] = *split;
  pass.constants["chunk_rows"] = chunk_rows;
  // A code is read as the half whose bits it is, and written as 1024 more.
  if (source.is_unorm()) {
    for (double& w : pass.taps.y.weights) w *= 0x1p24;
  }
  pass.parameters["column_start"] = source.is_unorm() ? 1024.0 : 0.0;

  const double reads = (chunk_rows + ny - 1.0) / chunk_rows * kBlocks * columns / width;
  const double pixels = static_cast<double>(p.dst.width) * p.dst.height;
  const GpuTuning& device = gpu_tuning(p.device);
  const double moved = pixels * source.pixel_bytes() * 2.0 / device.bytes_per_second;
  // Fitted to what radii of 1 to 6 take on an H200: fewer threads than these wait for memory, and a few groups for the steps down their
  // chunks.
  constexpr double kEnoughThreads = 576.0;  // of a processor
  constexpr double kStep = 1.2e-6;
  const double waits = std::max(1.0, kEnoughThreads / static_cast<double>(of_processor * *threads));
  const double computed = pixels * reads * (88.0 + 1.5 * ny + 2.0 * steps * *split) * waits / device.operations_per_second;
  const double row_steps = (chunk_rows + ny - 1.0) / *rows_in_flight;
  out.seconds = device.launch_seconds + std::max(std::hypot(moved, computed), row_steps * kStep);
  out.moved_bytes = static_cast<std::int64_t>(static_cast<double>(source_bytes(p)) * reads) + p.dst.payload_bytes();
  out.passes.push_back(std::move(pass));
  return out;
}

}  // namespace mollify
