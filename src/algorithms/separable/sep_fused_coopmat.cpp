// sep.fused on GPUs with cooperative matrices. A product with a banded matrix makes 16 places from 16 n, whatever number of
// taps that is, at a rate that no other arithmetic of such a device comes near. Operands are halves: 8-bit codes are some,
// taps are rounded to some, and what lies between the axes is rounded once more; or the latter two are sums of two halves. Loses where
// that is too inexact.
#include <algorithm>

#include "algorithms/common/occupancy.h"
#include "algorithms/common/separable_gpu.h"
#include "algorithms/separable/sep_fused.h"
#include "math/weights.h"
#include "model/gpu_model.h"
#include "sep_fused_coopmat_arguments.h"

namespace mollify {
namespace {

using namespace gpu;

constexpr std::string_view kKernel = glsl::SepFusedCoopmat::kKernel;
constexpr std::int32_t kSide = 16;      // of a matrix
constexpr std::int32_t kMostBands = 6;  // matrices of taps an axis: more do not fit into registers

/// Matrices of taps that 16 places need when their first tap lies `lead` places into the first.
std::int32_t bands(std::int32_t taps, std::int32_t lead) {
  return (lead + taps + 2 * kSide - 2) / kSide;
}

/// How a group works unless options say so.
struct Shape {
  std::int32_t blocks;
  std::int32_t subgroups;
  std::int64_t least_chunks;
};

/// Fitted to contests. `bands`: matrices of taps of y.
Shape default_shape(const FormatInfo& format, std::int32_t bands, bool splits_taps, double pixels) {
  if (format.channels == 4) {
    // Blocks of four read fewer columns twice, and win while registers leave three groups of them, or two where taps are two halves; but
    // images that do not fill the device are for more groups.
    constexpr double kManyPixels = 0x1p22;
    const bool has_many = pixels >= kManyPixels;
    const bool is_wide = has_many && (splits_taps ? bands <= 4 : format.is_unorm() && bands <= 3);
    return is_wide ? Shape{4, 4, 4} : Shape{splits_taps && !has_many ? 1 : 2, 8, 4};
  }
  if (format.channels == 3) return format.is_unorm() ? Shape{bands <= 2 ? 4 : 2, 3, 20} : Shape{2, 6, 20};
  if (format.is_unorm()) return {bands <= 3 || format.channels == 1 ? 1 : 2, 4, 12};
  return bands <= 3 ? Shape{2, 4, 20} : Shape{1, 4, 12};
}

}  // namespace

Status check_fused_matrix(const Problem& p, std::string_view kernel) {
  if (!p.device.has_kernel(kernel)) return refusal_without_kernel(p, kernel);
  if (!p.device.gpu.matrix_operations) return refusal("the device has no cooperative matrices of f16 summed in f32");
  const FormatInfo& source = info(p.src.format);
  if (p.dst.format != p.src.format || source.bits > 16 || (source.is_unorm() && source.bits != 8)) {
    return refusal("matrices of f16 hold 8-bit integers and f16 pixels, and leave what they read");
  }
  if (p.spec.alpha != AlphaMode::ignore || p.spec.transfer != TransferFunction::none) {
    return refusal("matrices multiply pixels as they are stored");
  }
  return {};
}

Result<Proposal> propose_sep_fused_coopmat(const Problem& p) {
  if (Status s = only_options(p, {kFusedMath, kFusedBetween, kStorage, kFusedSplit, kFusedBlocks, kFusedThreads, kChunks}, "matrices");
      !s) {
    return s.error();
  }
  if (Status s = check_fused_matrix(p, kKernel); !s) return s.error();
  const bool converts = p.device.gpu.matrix_conversions;
  const FusedBetween between = kFusedBetween.of(p, converts ? FusedBetween::registers : FusedBetween::memory);
  const bool in_registers = between == FusedBetween::registers;
  if (in_registers && !converts) return refusal("the device does not convert sums of cooperative matrices to operands");
  const double cut_share = info(p.src.format).is_unorm() ? 0.25 : 0.1;  // of the allowed error: halves need the rest
  const Result<Separable> s = separable(p, kKernel, Storage::buffer, cut_share);
  if (!s) return s.error();
  if (s->storage != Storage::buffer) return refusal("matrices need pixels in buffers");
  const FormatInfo& source = info(p.src.format);

  const std::int32_t channels = source.channels;
  const std::int32_t lead = (4 - s->taps.taps.x.anchor % 4) % 4;
  const std::int32_t across = bands(s->nx(), lead);
  const std::int32_t down = bands(s->ny(), 0);
  const Error too_many =
      refusal("the kernel has " + std::to_string(s->nx()) + "x" + std::to_string(s->ny()) + " taps, more than matrices in registers hold");
  if (std::max(across, down) > kMostBands) return too_many;
  HalfTaps half = half_taps(s->taps.taps, source);
  const std::int32_t split = kFusedSplit.of(p, s->error + half.error <= p.allowed_error ? 1 : 2);
  if (split == 2) half = split_taps(s->taps.taps, source, p.allowed_error - s->error);
  const bool splits_taps = std::max(half.split.x, half.split.y) == 2;
  const double pixels = static_cast<double>(p.dst.width) * p.dst.height * p.batch;
  const Shape usual = default_shape(source, down, splits_taps, pixels);
  const Result<std::int32_t> blocks = kFusedBlocks.of(p, usual.blocks);
  if (!blocks) return blocks.error();
  const std::int32_t subgroup = p.device.gpu.subgroup_size;
  const Result<std::int32_t> threads = kFusedThreads.of(p, usual.subgroups * subgroup, p.device.gpu.max_group_invocations);
  if (!threads) return threads.error();
  if (*threads % (subgroup * channels) != 0) {
    return refusal("a group has as many subgroups for each channel: threads are a multiple of " + std::to_string(subgroup * channels));
  }
  if (Status fits = check_group(p, {*threads, 1}); !fits) return fits.error();
  const std::int32_t width = *threads / subgroup / channels * *blocks * kSide;
  const std::int32_t reach = width + (across - 1) * kSide;
  constexpr std::int64_t kHalf = 2;     // bytes
  constexpr std::int64_t kPadding = 8;  // halves a row
  // The bands of taps lie where the rows do later, and before them the taps where results do.
  const std::int64_t rows =
      std::max(channels * kSide * (reach + kPadding), std::int64_t{kSide} * kSide * (half.split.x * across + half.split.y * down));
  const std::int64_t done = std::max(channels * kSide * (width + kPadding), std::int64_t{4} * (s->nx() + s->ny()));
  if (Status fits = check_shared(p, kHalf * (rows + done)); !fits) return fits.error();

  constexpr PerAxis<std::int32_t> kBlock{kSide, kSide};
  const WholeBlocks at(s->region, kBlock);
  const std::int64_t strips = (at.size.x + width - 1) / width;
  const double run_up = kSide * (down - 1.0);
  const std::int64_t beside = strips * p.batch;
  const std::int64_t fours = kSide * ((width + lead + s->nx() + 2) / 4);
  const std::int64_t loads = (fours + *threads - 1) / *threads;
  // Fitted to what pipelines took.
  const std::int64_t registers = 20 + (in_registers ? 4 * *blocks : 0) + 4 * *blocks * split * down + 4 * (*blocks + across - 1) +
                                 4 * (half.split.x * across + half.split.y * down) + loads * (2 + channels * source.bits / 8);
  const GpuModel model = gpu_model(p.device);
  const auto at_once = static_cast<std::int64_t>(processors(p)) * groups_at_once(model, {*threads, allocated_registers(model, registers)});
  // So many walks that all groups run at once, or in a few rounds of as many. A device that small images do not fill has groups to
  // spare for shorter ones.
  const std::int64_t rounds = (usual.least_chunks * beside + at_once - 1) / at_once;
  const std::int64_t most = std::max(at.size.y / (kSide * down), 1);
  const std::int64_t enough = std::clamp<std::int64_t>(rounds * at_once / beside, 1, most);
  const std::int64_t spare = std::min<std::int64_t>(at_once / beside, (at.size.y + kSide - 1) / kSide);
  const Result<std::int32_t> chunks = kChunks.of(p, static_cast<std::int32_t>(std::max(enough, spare)));
  if (!chunks) return chunks.error();
  const std::int32_t chunk_rows = chunk_length(p, at.size.y, *chunks, kSide, {});

  Proposal out;
  out.error = s->error + half.error;
  out.options = {kFusedMath.as(FusedMath::coopmat), kFusedBetween.as(between),  kStorage.as(Storage::buffer), kFusedSplit.as(split),
                 kFusedBlocks.as(*blocks),          kFusedThreads.as(*threads), kChunks.as(*chunks)};
  if (!source.is_unorm()) out.assumption = kFinite;
  out.window_blocks = kBlock;
  PerAxis<AxisTaps> taps = half.taps;
  PerAxis<double> start{0.0, 0.0};
  if (source.is_unorm()) {
    if (Status scaled = scale_for_codes(taps); !scaled) return scaled.error();
    start = starts_of_codes(half);
  }
  Pass pass = make_pass(glsl::SepFusedCoopmat{.between = between,
                                              .blocks = *blocks,
                                              .chunk_rows = chunk_rows,
                                              .clamps = leave_range(half.taps, source, out.error),
                                              .column_start = start.y,
                                              .gain = half.gain.x * half.gain.y,
                                              .lead = lead,
                                              .row_start = start.x,
                                              .size = {s->region.width, s->region.height},
                                              .skip = at.skip,
                                              .skips = at.skips(),
                                              .split = split,
                                              .subgroup_size = subgroup,
                                              .tap_split_x = half.split.x,
                                              .tap_split_y = half.split.y},
                        at.size, {width, chunk_rows}, {*threads, 1}, Storage::buffer);
  pass.origin = {s->region.x, s->region.y};
  pass.taps = std::move(taps);
  out.reach = PerAxis<Reach>{reach_of_block(half.taps.x.anchor + lead, kSide, across * kSide),
                             reach_of_block(half.taps.y.anchor, kSide, down * kSide)};

  const double reads = (chunk_rows + run_up) / chunk_rows * (width + s->nx() + lead - 1.0) / width;
  Work cost;
  cost.pixels = static_cast<double>(p.dst.width) * p.dst.height;
  cost.loads = reads / 4.0;  // fours of pixels
  cost.shared_loads = reads * 2.0;
  cost.operations = reads * (half.split.x * across + (split + half.split.y - 1) * down);
  cost.barriers = reads * 3.0 / kSide;
  cost.bytes = cost.pixels * source.pixel_bytes() * (reads + 1.0);
  // With five bands an axis, or rows of two halves, a processor has registers for one group alone: measured, 1.4 times
  // as long.
  constexpr std::int32_t kMostBandsOfTwoGroups = 8;
  const bool is_alone = split == 2 || across + down > kMostBandsOfTwoGroups;
  constexpr double kFewPixels = 0x1p19;  // of images whose groups have a processor to themselves anyway
  const double slowness = !is_alone ? 1.0 : pixels >= kFewPixels ? 1.4 : 1.1;
  // Fewer planes are fewer products and less shared memory, though as many steps. Three leave fours of pixels that are no whole 16 bytes.
  const double planes = channels == 3 ? 1.0 : (2.0 + channels) / 6.0;
  constexpr double kBands = 1.54;  // steps: making matrices of taps
  constexpr double kShare = 0.9;   // of what the operations of others take
  out.seconds = kBands * model.step_seconds + seconds(p.device, p.src.format, cost) * slowness * planes * kShare;
  out.moved_bytes = static_cast<std::int64_t>(static_cast<double>(source_bytes(p)) * reads) + p.dst.payload_bytes();
  out.passes.push_back(std::move(pass));
  return out;
}

}  // namespace mollify
