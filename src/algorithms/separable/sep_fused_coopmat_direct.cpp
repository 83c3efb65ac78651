// sep.fused on GPUs with cooperative matrices whose lanes fetch the pixels that they hold of them. Sums along y become operands of products
// along x where they are, so that nothing goes through shared memory and no lane waits for another subgroup's. Loses where the rows that
// taps reach fill the registers.
#include <algorithm>
#include <cmath>

#include "algorithms/common/occupancy.h"
#include "algorithms/common/separable_gpu.h"
#include "algorithms/separable/sep_fused.h"
#include "math/weights.h"
#include "model/gpu_model.h"
#include "sep_fused_coopmat_direct_arguments.h"

namespace mollify {
namespace {

using namespace gpu;

constexpr std::string_view kKernel = glsl::SepFusedCoopmatDirect::kKernel;
constexpr std::int32_t kSide = 8;   // of a block of pixels
constexpr std::int32_t kRows = 16;  // of a step
constexpr std::int32_t kNew = kRows / kSide;
constexpr std::int32_t kWordBytes = 4;
constexpr std::int32_t kMostBands = 5;  // matrices of taps an axis: more, and the rows that are kept for them, do not fit into registers
constexpr std::int32_t kDefaultThreads = 128;
constexpr std::int32_t kLanes = 32;  // of a subgroup, which share out a block so that each has two pixels of it

template <class T>
PerAxis<T> turned(const PerAxis<T>& v) {
  return {v.y, v.x};
}

/// y as the axis that is filtered first, whose taps then add up to one.
PerAxis<AxisTaps> y_first(const PerAxis<AxisTaps>& taps) {
  PerAxis<AxisTaps> out = turned(taps);
  const double size = magnitude(out.x.weights);
  if (size == 0.0) return out;
  for (double& w : out.x.weights) w /= size;
  for (double& w : out.y.weights) w *= size;
  return out;
}

/// How a group works unless options say so.
struct Shape {
  std::int32_t blocks;
  std::int64_t most_groups;  ///< of a processor: more would run at once, and slow each other down
};

/// Fitted to contests. `kept`: blocks of rows.
Shape default_shape(const FormatInfo& format, std::int32_t kept, double pixels) {
  constexpr double kManyPixels = 0x1p22;
  constexpr std::int64_t kAny = 16;
  if (pixels < kManyPixels) return {4, kAny};
  if (format.channels == 2) return {6, 2};
  if (!format.is_unorm()) return {4, 2};
  return kept <= 1 ? Shape{3, 4} : Shape{kept == 2 ? 6 : 4, 2};
}

}  // namespace

Result<Proposal> propose_sep_fused_coopmat_direct(const Problem& p) {
  if (Status s = only_options(p, {kFusedMath, kStorage, kFusedSplit, kFusedBlocks, kFusedThreads, kChunks}, "matrices of lanes"); !s) {
    return s.error();
  }
  if (Status s = check_fused_matrix(p, kKernel); !s) return s.error();
  if (!p.device.gpu.small_matrices) return refusal("the device has no cooperative matrices of 8 columns that sums of others become");
  if (p.device.gpu.subgroup_size != kLanes) return refusal("matrices of lanes are for subgroups of 32");
  const FormatInfo& source = info(p.src.format);
  if (source.pixel_bytes() % kWordBytes != 0) return refusal("matrices of lanes are for pixels of whole words");
  const double cut_share = source.is_unorm() ? 0.25 : 0.1;  // of the allowed error: halves need the rest
  const Result<Separable> s = separable(p, kKernel, Storage::buffer, cut_share);
  if (!s) return s.error();
  if (s->storage != Storage::buffer) return refusal("matrices need pixels in buffers");

  const std::int32_t across = (s->nx() + 2 * kSide - 2) / kSide;
  const std::int32_t down = (s->ny() + kRows + kSide - 2) / kSide;
  if (std::max(across, down) > kMostBands) {
    return refusal("the kernel has " + std::to_string(s->nx()) + "x" + std::to_string(s->ny()) +
                   " taps, more than lanes hold matrices for");
  }
  const PerAxis<AxisTaps> taps = y_first(s->taps.taps);
  HalfTaps half = half_taps(taps, source);
  const std::int32_t split = kFusedSplit.of(p, s->error + half.error <= p.allowed_error ? 1 : 2);
  if (split == 2) half = split_taps(taps, source, p.allowed_error - s->error);

  const std::int32_t words = source.pixel_bytes() / kWordBytes;
  const std::int32_t kept = down - kNew;
  const double pixels = static_cast<double>(p.dst.width) * p.dst.height;
  const Shape usual = default_shape(source, kept, pixels * p.batch);
  const Result<std::int32_t> blocks = kFusedBlocks.of(p, usual.blocks);
  if (!blocks) return blocks.error();
  const Result<std::int32_t> threads = kFusedThreads.of(p, kDefaultThreads, p.device.gpu.max_group_invocations);
  if (!threads) return threads.error();
  if (*threads % kLanes != 0) return refusal("threads are whole subgroups: a multiple of " + std::to_string(kLanes));
  if (Status fits = check_group(p, {*threads, 1}); !fits) return fits.error();
  const std::int32_t width = *threads / kLanes * *blocks * kSide;

  // As many walks as run at once.
  const std::int32_t read = *blocks + across - 1;
  constexpr std::int64_t kMostRegisters = 255;
  const std::int64_t registers = std::min(60 + std::int64_t{3} * read * (2 * kNew * words + kept * source.channels) / 2, kMostRegisters);
  const GpuModel model = gpu_model(p.device);
  const auto at_once = static_cast<std::int64_t>(processors(p)) *
                       std::min(groups_at_once(model, {*threads, allocated_registers(model, registers)}), usual.most_groups);
  constexpr PerAxis<std::int32_t> kBlock{kSide, kRows};
  const WholeBlocks at(s->region, kBlock);
  const std::int64_t strips = (at.size.x + width - 1) / width;
  const std::int64_t most = (at.size.y + kRows - 1) / kRows;
  const auto default_chunks = static_cast<std::int32_t>(std::clamp<std::int64_t>(at_once / (strips * p.batch), 1, most));
  const Result<std::int32_t> chunks = kChunks.of(p, default_chunks);
  if (!chunks) return chunks.error();
  const std::int32_t chunk_rows = chunk_length(p, at.size.y, *chunks, kRows, {});

  Proposal out;
  out.error = s->error + half.error;
  out.options = {kFusedMath.as(FusedMath::coopmat_direct),
                 kStorage.as(Storage::buffer),
                 kFusedSplit.as(split),
                 kFusedBlocks.as(*blocks),
                 kFusedThreads.as(*threads),
                 kChunks.as(*chunks)};
  if (!source.is_unorm()) out.assumption = kFinite;
  out.window_blocks = kBlock;
  const bool clamps = leave_range(half.taps, source, out.error);
  PerAxis<double> start{0.0, 0.0};
  if (source.is_unorm()) {
    if (Status scaled = scale_for_codes(half.taps); !scaled) return scaled.error();
    start = starts_of_codes(half);
  }
  Pass pass = make_pass(glsl::SepFusedCoopmatDirect{.between_start = start.x,
                                                    .blocks = *blocks,
                                                    .chunk_rows = chunk_rows,
                                                    .clamps = clamps,
                                                    .end_start = start.y,
                                                    .gain = half.gain.x * half.gain.y,
                                                    .size = {s->region.width, s->region.height},
                                                    .skip = at.skip,
                                                    .skips = at.skips(),
                                                    .split = split,
                                                    .subgroup_size = kLanes,
                                                    .tap_split_x = half.split.y,
                                                    .tap_split_y = half.split.x},
                        at.size, {width, chunk_rows}, {*threads, 1}, Storage::buffer);
  pass.origin = {s->region.x, s->region.y};
  pass.taps = turned(half.taps);
  out.reach =
      PerAxis<Reach>{reach_of_block(pass.taps.x.anchor, kSide, across * kSide), reach_of_block(pass.taps.y.anchor, kRows, down * kSide)};

  const double reads = (chunk_rows + kSide * kept) / static_cast<double>(chunk_rows) * read / *blocks;
  // Products that a block of results takes, and what else is done for one: fitted to what radii of 1 to 12 take.
  const double products =
      source.channels * (down * half.split.x * static_cast<double>(read) / *blocks + across * (split + half.split.y - 1));
  const double operations = 14.0 + 6.0 * source.channels + 23.0 * words + 0.64 * products;
  const double computed = pixels * operations / model.operations_per_second;
  const double moved = static_cast<double>(source_bytes(p) + p.dst.payload_bytes()) / model.bytes_per_second;
  // Where an image does not fill the device: fitted to 256x256 and 512x512 pixels.
  constexpr double kStep = 2.69;                                // the steps of a group that one of these takes as long as
  constexpr double kBand = 0.23;                                // the same of making a matrix of taps
  const double steps = std::int32_t{chunk_rows / kRows} + 1.0;  // whole steps
  // Where taps of two halves are kept beside many rows, registers do not hold all of it: `rgba16f` at radius 12.
  constexpr std::int32_t kManyRows = 3;
  const double slowness = kept >= kManyRows && half.split.x + half.split.y > 2 ? 1.2 : 1.0;
  const double begun = model.launch_seconds + kBand * model.step_seconds * (across + down);
  out.seconds = begun + std::max(std::hypot(moved, computed) * slowness, steps * kStep * model.step_seconds);
  out.moved_bytes = static_cast<std::int64_t>(static_cast<double>(source_bytes(p)) * reads) + p.dst.payload_bytes();
  out.passes.push_back(std::move(pass));
  return out;
}

}  // namespace mollify
