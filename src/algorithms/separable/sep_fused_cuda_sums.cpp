// sep.fused on CUDA with sums of columns in registers. With few taps each warp moves down a strip by itself; with more, a block of threads
// filters rows along x together.
#include <algorithm>
#include <limits>

#include "algorithms/common/occupancy.h"
#include "algorithms/separable/sep_fused.h"
#include "backends/cuda/kernels/pass_arguments.h"
#include "backends/cuda/kernels/sep_scatter_shape.h"
#include "backends/cuda/kernels/sep_warps_shape.h"
#include "math/weights.h"
#include "model/gpu_model.h"

namespace mollify {
namespace {

using namespace gpu;

Pass scatter_pass(const Problem& p, std::int32_t taps) {
  const int channels = info(p.src.format).channels;
  const std::int32_t own = cuda::sep_scatter_own(taps);
  const std::int32_t most = cuda::sep_scatter_threads(taps);
  const std::int32_t threads = std::min(((p.dst.width * channels + own - 1) / own + 31) / 32 * 32, most);
  const std::int32_t columns = threads * own / channels;
  const std::int32_t across = (p.dst.width + columns - 1) / columns;
  constexpr std::int32_t kStep = cuda::kSepScatterRows;
  const double at_once = static_cast<double>(cuda::sep_scatter_at_once(taps)) * most / threads;
  const std::int32_t rows = rows_of_chunk(p, across, p.dst.height, at_once, kStep, 2 * kStep);
  return make_pass("sep_scatter", cuda::SumsArguments{taps}, {p.dst.width, p.dst.height}, {columns, rows}, {threads, 1}, Storage::buffer);
}

cuda::SepWarpsShape warps_shape(const FormatInfo& format, std::int32_t taps) {
  return {format.channels, format.bits, taps};
}

/// Rows of a chunk. With few taps, chunks are short: what runs at once should lie close together in memory. With more taps, chunks are as
/// high as the device can run at the same time, as neighbours read each other's rows.
std::int32_t warps_rows(const Problem& p, std::int32_t taps, std::int64_t across, double at_once) {
  constexpr std::int32_t kFewTaps = 7;
  const std::int32_t filling = rows_of_chunk(p, across, p.dst.height, at_once, 1, std::min(taps - 1, p.dst.height));
  const std::int32_t rows = taps <= kFewTaps ? std::min(filling, std::max(4 * (taps - 1), 16)) : std::min(filling, cuda::kSepWarpsMostRows);
  return cuda::sep_warps_source_rows(rows, taps) - (taps - 1);
}

Pass warps_pass(const Problem& p, std::int32_t taps) {
  const cuda::SepWarpsShape shape = warps_shape(info(p.src.format), taps);
  // Strips are as wide as each other, and begin at multiples of 32 bytes: memory is read in sectors of so many.
  const std::int32_t units = (p.dst.width + shape.pixels - 1) / shape.pixels;
  const std::int32_t strips = (units + 31) / 32;
  const std::int32_t strip = even_length(units, strips, std::max(32 / shape.unit_bytes, 1)) * shape.pixels;
  const std::int32_t warps = std::min(strips, cuda::kSepWarpsMost);
  const std::int32_t across = (strips + warps - 1) / warps;
  const double at_once = static_cast<double>(shape.at_once) * cuda::kSepWarpsMost / warps;
  return make_pass("sep_warps", cuda::SumsArguments{taps}, {p.dst.width, p.dst.height},
                   {strip * warps, warps_rows(p, taps, across, at_once)}, {32 * warps, 1}, Storage::buffer);
}

/// Whether the kernel with so many taps is that of single warps.
bool is_for_warps(const Problem& p, std::int32_t taps) {
  return taps_of_warps(info(p.src.format), taps) == taps;
}

/// Whether pixels up to a strip beyond the image have places that 32 bits hold.
bool counts_in_32_bits(const Problem& p) {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max() - (1 << 14);
  return std::max({p.src.width, p.src.height, p.dst.width, p.dst.height}) <= kMost;
}

struct Cost {
  double reads;  ///< how often a source pixel is read
  double seconds;
};

Cost cost_of_scatter(const Problem& p, const Pass& pass, std::int32_t taps) {
  const double reads_y = (pass.tile.y + taps - 1.0) / pass.tile.y;
  const double reads = reads_y * (pass.tile.x + taps - 1.0) / pass.tile.x;
  const double pixels = static_cast<double>(p.dst.width) * p.dst.height;
  const double predicted = seconds(p.device, p.src.format,
                                   {.pixels = pixels,
                                    .loads = reads,
                                    .shared_loads = reads * taps / 8.0,
                                    .operations = 2.0 * reads_y * taps,
                                    .barriers = reads / cuda::kSepScatterRows,
                                    .bytes = pixels * (info(p.src.format).pixel_bytes() * reads + info(p.dst.format).pixel_bytes())});
  // Measured time divided by what is predicted, at 4096x4096 and sigma 4 to 4.5.
  const double slowness = info(p.src.format).channels == 1 ? 0.52 : 1.1;
  const double launch = gpu_model(p.device).launch_seconds;
  return {reads, launch + slowness * (predicted - launch)};
}

Cost cost_of_warps(const Problem& p, const Pass& pass, std::int32_t taps) {
  const cuda::SepWarpsShape shape = warps_shape(info(p.src.format), taps);
  const double reads_y = (pass.tile.y + taps - 1.0) / pass.tile.y;
  const double strip = pass.tile.x / (pass.group.x / 32.0);
  const double reads = reads_y * (strip + 2.0 * shape.halo * shape.pixels) / strip;
  const double pixels = static_cast<double>(p.dst.width) * p.dst.height;
  return {reads, seconds(p.device, p.src.format,
                         {.pixels = pixels,
                          .loads = reads / shape.pixels,
                          .operations = reads_y * taps * info(p.src.format).channels / 4.0,
                          .bytes = pixels * (info(p.src.format).pixel_bytes() + info(p.dst.format).pixel_bytes())})};
}

}  // namespace

bool has_sums_of_each(const Problem& p) {
  const FormatInfo& format = info(p.src.format);
  return is_only_blurred(p) && counts_in_32_bits(p) && format.is_floating() && format.bits == 32 &&
         (format.channels == 1 || format.channels == 4);
}

std::int32_t taps_of_warps(const FormatInfo& format, std::int32_t needed) {
  if (needed <= 0 || (format.is_floating() ? format.bits > 32 : format.bits != 8)) return 0;
  const auto* const found = std::ranges::find_if(
      cuda::kSepWarpsSizes, [&](std::int32_t taps) { return taps >= needed && cuda::has_sep_warps(format.channels, format.bits, taps); });
  return found == std::end(cuda::kSepWarpsSizes) ? 0 : *found;
}

std::int32_t taps_of_sums(const Problem& p, const SeparableTaps& s) {
  const FormatInfo& format = info(p.src.format);
  // Lines of an axis that is not filtered stay apart: weights of zero around its one weight would bring what is not finite to neighbours.
  if (!is_only_blurred(p) || !counts_in_32_bits(p) || std::min(s.taps.x.weights.size(), s.taps.y.weights.size()) < 2) return 0;
  const std::int32_t needed = 2 * std::max(radius_of(s.taps.x), radius_of(s.taps.y)) + 1;
  std::int32_t taps = taps_of_warps(format, needed);
  if (taps == 0 && has_sums_of_each(p)) {
    const auto* const found = std::ranges::lower_bound(cuda::kSepScatterSizes, needed);
    if (found == std::end(cuda::kSepScatterSizes)) return 0;
    const cuda::SepScatterShape shape(format.channels, *found, cuda::sep_scatter_threads(*found));
    if (check_shared(p, shape.shared_bytes())) taps = *found;
  }
  // On both axes: more take longer than what this form saves.
  const std::int32_t most_zeros = is_for_warps(p, taps) ? 16 : 8;
  const auto has = static_cast<std::int32_t>(s.taps.x.weights.size() + s.taps.y.weights.size());
  return 2 * taps - has > most_zeros ? 0 : taps;
}

Pass sums_pass(const Problem& p, std::int32_t taps) {
  return is_for_warps(p, taps) ? warps_pass(p, taps) : scatter_pass(p, taps);
}

void add_sums(const Problem& p, SeparableTaps s, std::int32_t taps, Proposal& out) {
  const Rect r = region(p);
  Pass pass = sums_pass(p, taps);
  const Cost cost = is_for_warps(p, taps) ? cost_of_warps(p, pass, taps) : cost_of_scatter(p, pass, taps);
  out.seconds = cost.seconds;
  out.moved_bytes = static_cast<std::int64_t>(static_cast<double>(source_bytes(p)) * cost.reads) + p.dst.payload_bytes();
  // Weights of zero around the others make NaN of what is not finite.
  const Reach reach{taps / 2, taps / 2};
  out.reach = PerAxis<Reach>{reach, reach};
  pass.origin = {r.x, r.y};
  pass.taps = std::move(s.taps);
  out.passes.push_back(std::move(pass));
}

}  // namespace mollify
