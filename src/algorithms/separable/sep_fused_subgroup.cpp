// sep.fused on GPUs without shared memory: a subgroup moves down a strip, lanes exchange by shuffles the pixels that taps of x
// reach. It is the fastest form for a few taps, because nobody waits at barriers. Loses where most lanes only hold the halo, and where
// the sums of all rows of taps do not fit into registers.
#include <algorithm>
#include <cmath>

#include "algorithms/common/occupancy.h"
#include "algorithms/common/separable_gpu.h"
#include "algorithms/separable/sep_fused.h"
#include "model/gpu_model.h"
#include "sep_fused_subgroup_arguments.h"

namespace mollify {
namespace {

using namespace gpu;

constexpr std::string_view kKernel = glsl::SepFusedSubgroup::kKernel;
constexpr std::int32_t kMostRowsInFlight = 4;
constexpr std::int32_t kMostNumbers = 240;     // of a lane's sums and of what its taps see, with what else is in registers
constexpr std::int32_t kDefaultNumbers = 210;  // spans are halved to stay below this

std::int32_t count_of(const AxisTaps& taps) {
  return static_cast<std::int32_t>(taps.weights.size());
}
std::int32_t ceil_div(std::int32_t a, std::int32_t b) {
  return (a + b - 1) / b;
}

/// How one subgroup works.
struct Shape {
  std::int32_t pixels_per_thread = 4;  ///< neighbouring pixels of a lane
  std::int32_t numbers = 0;            ///< in registers
  std::int32_t width = 0;              ///< columns that come out
};

Shape shape(const Problem& p, const FusedWork& work, std::int32_t pixels_per_thread) {
  const std::int32_t channels = info(work.source).channels;
  const std::int32_t before = work.taps.x.anchor;
  const std::int32_t after = count_of(work.taps.x) - 1 - before;
  const std::int32_t in_word = work.math == FusedMath::half ? 2 : 1;
  return {pixels_per_thread, channels * (pixels_per_thread * (count_of(work.taps.y) + 1) + pixels_per_thread + before + after) / in_word,
          (p.device.gpu.subgroup_size - ceil_div(before, pixels_per_thread) - ceil_div(after, pixels_per_thread)) * pixels_per_thread};
}

/// The usual span, less where sums would not fit. Measured: what fills 16 bytes, or 8 of single channels.
std::int32_t default_pixels_per_thread(const Problem& p, const FusedWork& work) {
  const int bytes = info(work.source).pixel_bytes();
  std::int32_t pixels_per_thread = bytes == 1 ? 8 : bytes <= 4 ? 4 : bytes <= 8 ? 2 : 1;
  while (pixels_per_thread > 1 && is_whole_words(work.source, pixels_per_thread / 2) &&
         shape(p, work, pixels_per_thread).numbers > kDefaultNumbers)
    pixels_per_thread /= 2;
  return pixels_per_thread;
}

/// Of a group. Measured: bytes gain 2 % by groups of two subgroups, halves 1 % at five rows of taps.
std::int32_t default_threads(const FusedWork& work) {
  const bool is_small = info(work.source).bits == 8 || (work.source == PixelFormat::rgba16f && count_of(work.taps.y) == 5);
  return is_small ? 64 : 128;
}

/// Chunks, so that processors have whole numbers of as many threads as run at once. Measured: half a number
/// costs a tenth; pixels of 8 bytes take more and shorter walks.
std::int32_t default_chunks(const Problem& p, const FusedWork& work, std::int64_t strips, std::int32_t threads) {
  const std::int32_t subgroup = p.device.gpu.subgroup_size;
  const std::int64_t across = (strips * subgroup + threads - 1) / threads;
  // Processors have no threads to fill, and each chunk begins with rows that another has read.
  const auto groups = static_cast<std::int64_t>(processors(p));
  if (gpu_model(p.device).is_processor) return static_cast<std::int32_t>(std::clamp<std::int64_t>(groups / across, 1, work.size.y));
  const double more = info(work.source).pixel_bytes() == 8 ? 2.0 : 1.0;
  const double chunks = more * chunks_ending_soonest(p, strips * subgroup, work.size.y, count_of(work.taps.y) - 1);
  return std::min(even_chunks_of_threads(p, across, threads, chunks), work.size.y);
}

/// Rows on their way. Rows of halves move up by being renamed, where there are as many as taps reach back, or a multiple. Measured: rgba16f
/// gains 3 and 4 % by three at three and five taps, where that divides the rows of a walk. A driver that runs on the processor compiles
/// half a minute what they unroll to.
std::int32_t default_rows_in_flight(const Problem& p, const FusedWork& work, std::int32_t chunk_rows) {
  const FormatInfo& source = info(work.source);
  const std::int32_t ny = count_of(work.taps.y);
  if (p.device.gpu.is_software) return 1;
  if (work.math == FusedMath::half && ny > 3) return 4;
  if (source.bits == 8 && ny <= 3) return 3;
  return work.source == PixelFormat::rgba16f && (ny == 3 || ny == 5) && (chunk_rows + ny - 1) % 3 == 0 ? 3 : 2;
}

/// Instructions that a lane spends on a pixel that comes out.
double instructions(const Problem& p, const FusedWork& work, const Shape& form) {
  const FormatInfo& source = info(work.source);
  const double nx = count_of(work.taps.x);
  const double ny = count_of(work.taps.y);
  const bool is_r8 = source.pixel_bytes() == 1;  // by time, too: 30, 35 and 55 us for 3, 5 and 9 taps
  const double decode = is_r8 ? 4.0 : source.bits == 8 ? 2.0 : source.bits == 16 ? 1.0 : 0.0;
  const double store = is_r8 ? 6.0 : source.bits == 8 ? 2.5 : source.bits == 16 && source.is_unorm() ? 2.0 : 0.5;
  const double decoded = decode * (form.pixels_per_thread + nx - 1.0) / form.pixels_per_thread;
  const double borrowed = 3.0 * source.pixel_bytes() / 4.0 * (nx - 1.0) / form.pixels_per_thread;
  const double places = 30.0 / form.pixels_per_thread;
  const double lending = static_cast<double>(p.device.gpu.subgroup_size) * form.pixels_per_thread / form.width;
  double channel = decoded + nx + ny + store;
  if (work.math != FusedMath::f32) {
    // Bytes of one channel that lie two apart are in one word, or in two.
    const double paired =
        source.bits == 8 ? (source.channels == 4 ? 1.25 : 2.75) * (form.pixels_per_thread + nx - 1.0) / form.pixels_per_thread : 0.0;
    const double stored = source.bits == 8 ? 6.5 : 0.0;  // by time: one by count
    channel = paired + nx / 2.0 + ny / 2.0 + stored;
  }
  // Tuning rows of up to 4 bytes are measured with rgba8. Where that is filtered by matrices, lanes of r16f and rg16f take longer than
  // rows say. Measured.
  const bool is_other = source.bits == 16 && !source.is_unorm() && source.channels < 3;
  if (is_other && p.device.gpu.matrix_operations) channel *= 1.6;
  return (source.channels * channel + borrowed + places) * lending;
}

/// Of lanes on a processor. Fitted to timings of a driver there, where a pixel takes about as long at any number of taps that a subgroup
/// holds: what it takes to find, load and mask words, in loads, grows with the bytes of a pixel and with lanes that only lend theirs.
Work work_on_processor(const Problem& p, const FusedWork& work, const Shape& form) {
  const FormatInfo& source = info(work.source);
  const double lending = static_cast<double>(p.device.gpu.subgroup_size) * form.pixels_per_thread / form.width;
  Work out;
  out.pixels = static_cast<double>(work.size.x) * work.size.y;
  out.loads = 4.0 + lending + 3.0 / 16.0 * source.pixel_bytes();
  out.operations = lending * source.channels / 4.0 * (count_of(work.taps.x) + count_of(work.taps.y));
  return out;
}

Status check_lanes(const Problem& p) {
  if (!p.device.has_kernel(kKernel)) return refusal_without_kernel(p, kKernel);
  if (!p.device.gpu.shuffle_operations) return refusal("the device's compute shaders cannot shuffle among lanes");
  return {};
}

Result<FusedPass> fused_lanes_pass(const Problem& p, const FusedWork& work) {
  if (Status s = check_lanes(p); !s) return s.error();
  if (work.storage != Storage::buffer) return refusal("lanes need pixels in buffers");
  const FormatInfo& source = info(work.source);
  const std::int32_t ny = count_of(work.taps.y);
  const std::int32_t pixels_per_thread = kFusedPixelsPerThread.of(p, default_pixels_per_thread(p, work));
  if (Status s = check_span(work.source, pixels_per_thread); !s) return s.error();
  Result<LaneTaps> taps = lane_taps(p.device, work);
  if (!taps) return taps.error();
  const Shape form = shape(p, work, pixels_per_thread);
  if (form.width <= 0) return refusal("the taps reach further than the lanes of a subgroup");
  if (form.numbers > kMostNumbers) {
    return refusal("sums of " + std::to_string(ny) + " rows, " + std::to_string(pixels_per_thread) +
                   " pixels wide, do not fit into registers");
  }
  const std::int32_t subgroup = p.device.gpu.subgroup_size;
  const Result<std::int32_t> threads =
      kFusedThreads.of(p, ceil_div(default_threads(work), subgroup) * subgroup, p.device.gpu.max_group_invocations);
  if (!threads) return threads.error();
  if (*threads % subgroup != 0) {
    return refusal("groups are whole subgroups: threads are a multiple of " + std::to_string(subgroup));
  }
  if (Status fits = check_group(p, {*threads, 1}); !fits) return fits.error();
  const std::int64_t strips = ceil_div(work.size.x, form.width);
  const Result<std::int32_t> chunks = kChunks.of(p, default_chunks(p, work, strips, *threads));
  if (!chunks) return chunks.error();
  const std::int32_t chunk_rows = chunk_length(p, work.size.y, *chunks, 1, {kShortLoops, ny});
  const Result<std::int32_t> rows_in_flight = kFusedRowsInFlight.of(p, default_rows_in_flight(p, work, chunk_rows), kMostRowsInFlight);
  if (!rows_in_flight) return rows_in_flight.error();

  FusedPass out;
  out.options = {kFusedExchange.as(FusedExchange::shuffle),   kStorage.as(Storage::buffer),
                 kFusedPixelsPerThread.as(pixels_per_thread), kFusedThreads.as(*threads),
                 kFusedRowsInFlight.as(*rows_in_flight),      kChunks.as(*chunks)};
  out.pass = make_pass(glsl::SepFusedSubgroup{.before_x = work.taps.x.anchor,
                                              .chunk_rows = chunk_rows,
                                              .clamps = taps->leave_range,
                                              .first_y_is_one = taps->first_of_y_is_one,
                                              .math = work.math == FusedMath::half ? 1 : 0,
                                              .one_x = taps->x_that_is_one,
                                              .rows_in_flight = *rows_in_flight,
                                              .scale = taps->scale,
                                              .span = pixels_per_thread,
                                              .subgroup_size = subgroup},
                       work.size, {*threads / subgroup * form.width, chunk_rows}, {*threads, 1}, Storage::buffer);
  out.error = taps->error;
  out.pass.taps = std::move(taps->taps);

  const double run_up = (chunk_rows + ny - 1.0) / chunk_rows;
  const double covered = static_cast<double>(strips) * form.width / work.size.x;  // the last strip is as wide as the others
  out.reads = covered * run_up * subgroup * pixels_per_thread / form.width;
  const double pixels = static_cast<double>(work.size.x) * work.size.y;
  const GpuModel device = gpu_model(p.device);
  const double moved = pixels * source.pixel_bytes() * 2.0 / device.bytes_per_second;
  const double computed = pixels * covered * run_up * instructions(p, work, form) / device.operations_per_second;
  if (device.is_processor) {
    Work on_processor = work_on_processor(p, work, form);
    on_processor.covered = covered * run_up;
    out.seconds = gpu::seconds(p.device, work.source, on_processor);
  } else {
    out.seconds = device.launch_seconds + std::hypot(moved, computed);  // each hides part of the other
  }
  return out;
}

}  // namespace

Result<Proposal> propose_sep_fused_subgroup(const Problem& p, FusedMath math) {
  if (Status s = only_options(p, {kFusedMath, kFusedExchange, kStorage, kFusedPixelsPerThread, kFusedThreads, kFusedRowsInFlight, kChunks},
                              kFusedExchange.name_of(FusedExchange::shuffle));
      !s) {
    return s.error();
  }
  if (Status s = check_lanes(p); !s) return s.error();
  const FormatInfo& source = info(p.src.format);
  if (p.dst.format != p.src.format) return refusal("exchange=shuffle writes the format that it reads");
  if (p.spec.alpha != AlphaMode::ignore || p.spec.transfer != TransferFunction::none) {
    return refusal("exchange=shuffle sums pixels as they are stored");
  }
  const bool is_half = source.bits == 16 && !source.is_unorm();
  if (math != FusedMath::f32 && source.bits != 8 && !(is_half && source.channels % 2 == 0)) {
    return refusal("sums of f16 are for integers of 8 bits and for two or four channels of f16");
  }
  // Codes leave f16 little room for other errors.
  const double cut_share = math != FusedMath::f32 && source.bits == 8 ? 0.05 : 0.5;
  Result<Separable> s = separable(p, kKernel, Storage::buffer, cut_share);
  if (!s) return s.error();
  Result<FusedPass> fused = fused_lanes_pass(p, {s->taps.taps, p.src.format, {p.dst.width, p.dst.height}, s->storage, math});
  if (!fused) return fused.error();
  s->error += fused->error;
  Proposal out = proposal_of(p, *s, math, std::move(*fused));
  if (math != FusedMath::f32 && is_half) out.assumption = {"pixels within +-32752, since sums in f16 overflow", 32752.0};
  return out;
}

}  // namespace mollify
