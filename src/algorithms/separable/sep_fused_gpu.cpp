// sep.fused on GPUs: groups move down strips of columns, filter rows out of shared memory and sum them up in registers.
// The image is read once, but for what strips share, and written once; a component costs taps_x + taps_y multiply-adds and
// 2 + taps_x / span shared loads. Loses where the sums of all taps_y rows no longer fit into registers.
#include <algorithm>
#include <array>

#include "algorithms/common/occupancy.h"
#include "algorithms/common/separable_gpu.h"
#include "algorithms/separable/sep_fused.h"
#include "base/places.h"
#include "model/gpu_model.h"
#include "sep_fused_arguments.h"

namespace mollify {
namespace {

using namespace gpu;

constexpr std::string_view kKernel = glsl::SepFused::kKernel;
constexpr std::int32_t kMostTapsOfFour = 25;  // sums of more rows, four pixels wide, do not fit into registers
constexpr std::int32_t kMostTapsOfTwo = 45;   // of more, two pixels wide, they hardly do
constexpr std::size_t kMostTaps = 65;         // on an axis
constexpr std::int32_t kFusedMostRead = 4;    // columns for each that comes out, as the shader has it

std::int32_t count_of(const AxisTaps& taps) {
  return static_cast<std::int32_t>(taps.weights.size());
}

/// Rows of results that a row of the source belongs to.
std::int32_t sums_of(const Problem& p, const FusedWork& work) {
  return (count_of(work.taps.y) + p.spec.stride.y.step - 1) / p.spec.stride.y.step;
}

/// How one group works.
struct Shape {
  std::int32_t channels = 1;
  std::int32_t pixels_per_thread = 4;  ///< neighbouring pixels of one channel that a lane makes
  std::int32_t threads = 128;
  std::int32_t rows_in_flight = 1;  ///< rows of the source from one step to the next
  std::int32_t step = 1;            ///< columns from one that comes out to the next
  std::int32_t width = 0;           ///< columns that come out
  /// Columns that a lane reads. With longer steps lanes are idle that have read what others filter.
  static std::int32_t read(std::int32_t pixels, std::int32_t step) { return pixels * std::min(step, kFusedMostRead); }
  [[nodiscard]] std::int32_t reach() const { return threads / channels * read(pixels_per_thread, step); }
  [[nodiscard]] std::int64_t shared_bytes() const {
    return static_cast<std::int64_t>(sizeof(float)) * rows_in_flight * channels * (reach() + width);
  }
};

Result<Shape> shape(const Problem& p, const FusedWork& work) {
  const std::int32_t nx = count_of(work.taps.x);
  const bool is_tall = sums_of(p, work) > kMostTapsOfFour;
  Shape out;
  out.step = p.spec.stride.x.step;
  out.channels = info(work.source).channels;
  // A driver that runs on the processor takes seconds to compile what four pixels and two rows unroll to.
  const bool is_software = p.device.gpu.is_software;
  out.pixels_per_thread =
      kFusedPixelsPerThread.of(p, is_software ? 1 : std::max((is_tall ? 2 : 4) / std::min(out.step, kFusedMostRead), 1));
  constexpr std::int32_t kMostPixelsPerThread = 4;
  if (out.pixels_per_thread > kMostPixelsPerThread) {
    return refusal(std::to_string(out.pixels_per_thread) + " pixels per thread are for exchange=shuffle");
  }
  const std::int32_t usual = is_tall || nx > kMostTapsOfFour ? 256 : 128;
  const Result<std::int32_t> threads = kFusedThreads.of(p, usual / out.channels * out.channels, p.device.gpu.max_group_invocations);
  if (!threads) return threads.error();
  out.threads = *threads;
  if (Status fits = check_group(p, {out.threads, 1}); !fits) return fits.error();
  out.width = std::max(out.reach() - nx + out.step, 0) / (out.pixels_per_thread * out.step) * out.pixels_per_thread;
  if (out.width <= 0) {
    return refusal(std::to_string(nx) + " taps reach further than the columns of a group of " + std::to_string(out.threads) + " threads");
  }
  // Measured: waits for a step's rows count until the sums of many taps do.
  constexpr std::int32_t kFewTaps = 13;
  const bool has_few_taps = std::max(nx, sums_of(p, work)) <= kFewTaps;
  const Result<std::int32_t> rows_in_flight = kFusedRowsInFlight.of(p, is_software ? 1 : has_few_taps ? 4 : 2);
  if (!rows_in_flight) return rows_in_flight.error();
  out.rows_in_flight = *rows_in_flight;
  if (Status fits = check_shared(p, out.shared_bytes()); !fits) return fits.error();
  return out;
}

/// Refuses whatever the options of `p` ask for in vain.
Result<FusedPass> fused_pass(const Problem& p, const FusedWork& work) {
  if (Status s = check_taps_of_axes(work.taps, kMostTaps); !s) return s.error();
  const std::int32_t nx = count_of(work.taps.x);
  const std::int32_t ny = count_of(work.taps.y);
  const Result<Shape> form = shape(p, work);
  if (!form) return form.error();
  const std::int32_t down = p.spec.stride.y.step;
  const std::int64_t across = (work.size.x + form->width - 1) / form->width;
  const double run_up = (ny - 1.0) / down;  // rows of results
  const Result<std::int32_t> chunks = kChunks.of(p, chunks_ending_soonest(p, across * form->threads, work.size.y, run_up));
  if (!chunks) return chunks.error();
  const std::int32_t chunk_rows =
      chunk_length(p, work.size.y, *chunks, form->rows_in_flight, {form->rows_in_flight * (nx + ny) * down, ny});

  FusedPass out;
  out.options = {kFusedExchange.as(FusedExchange::shared),          kStorage.as(work.storage),
                 kFusedPixelsPerThread.as(form->pixels_per_thread), kFusedThreads.as(form->threads),
                 kFusedRowsInFlight.as(form->rows_in_flight),       kChunks.as(*chunks)};
  out.pass = make_pass(
      glsl::SepFused{.chunk_rows = chunk_rows, .pixels_per_thread = form->pixels_per_thread, .rows_in_flight = form->rows_in_flight},
      work.size, {form->width, chunk_rows}, {form->threads, 1}, work.storage);
  out.pass.taps = work.taps;

  const double made = static_cast<double>(work.size.x) * work.size.y;
  const double share = 1.0 / form->step;  // of columns that are filtered
  out.reads = (chunk_rows + run_up) / chunk_rows * form->reach() / form->width * share;
  Work cost;  // of pixels of the source
  cost.pixels = made * form->step * down;
  cost.loads = out.reads;
  cost.shared_loads = out.reads * (1.0 + share * (1.0 + static_cast<double>(nx) / form->pixels_per_thread));
  cost.operations = out.reads * share * (nx + static_cast<double>(ny) / down);
  cost.barriers = out.reads / form->rows_in_flight;
  // Two barriers a step; between them the sums of all rows move up, which takes about as long. Measured.
  cost.waiters = 4.0 * form->channels / form->pixels_per_thread;
  cost.covered = covered(out.pass);
  cost.bytes = info(work.source).pixel_bytes() * (cost.pixels * out.reads + made);
  // Measured: at 65 taps a group takes so many registers that a processor runs one.
  constexpr double kAlone = 2.5;
  out.seconds = seconds(p.device, work.source, cost) * (sums_of(p, work) > kMostTapsOfTwo ? kAlone : 1.0);
  return out;
}

}  // namespace

Proposal proposal_of(const Problem& p, const Separable& s, FusedMath math, FusedPass fused) {
  Proposal out;
  out.error = s.error;
  out.options = std::move(fused.options);
  out.options.insert(kFusedMath.as(math));
  out.seconds = fused.seconds;
  out.moved_bytes = static_cast<std::int64_t>(static_cast<double>(source_bytes(p)) * fused.reads) + p.dst.payload_bytes();
  fused.pass.origin = {s.region.x, s.region.y};
  out.window_blocks = {1, 1};
  out.passes.push_back(std::move(fused.pass));
  return out;
}

Result<Proposal> propose_sep_fused_shared(const Problem& p) {
  if (Status s = only_options(p, {kFusedMath, kFusedExchange, kStorage, kFusedPixelsPerThread, kFusedThreads, kFusedRowsInFlight, kChunks},
                              "rows in shared memory");
      !s) {
    return s.error();
  }
  const Result<Separable> s = separable(p, kKernel, Storage::buffer);
  if (!s) return s.error();
  Result<FusedPass> fused = fused_pass(p, {s->taps.taps, p.src.format, {p.dst.width, p.dst.height}, s->storage});
  if (!fused) return fused.error();
  return proposal_of(p, *s, FusedMath::f32, std::move(*fused));
}

Result<Proposal> propose_sep_fused_gpu(const Problem& p) {
  const bool is_of_matrices = kFusedBlocks.is_given(p) || kFusedSplit.is_given(p) || kFusedBetween.is_given(p);
  const FusedMath math = kFusedMath.of(p, is_of_matrices ? FusedMath::coopmat : FusedMath::f32);
  const std::optional<FusedExchange> exchange = kFusedExchange.given(p);
  const bool are_shuffled = exchange == FusedExchange::shuffle;
  if (has_stride(p.spec)) {
    const bool is_shared = math == FusedMath::f32 && !are_shuffled;
    return is_shared ? propose_sep_fused_shared(p) : refusal("only exchange=shared takes a stride");
  }
  if (math == FusedMath::coopmat) return propose_sep_fused_coopmat(p);
  if (math == FusedMath::coopmat_direct) return propose_sep_fused_coopmat_direct(p);
  if (math != FusedMath::f32) return propose_sep_fused_subgroup(p, math);
  if (exchange) return are_shuffled ? propose_sep_fused_subgroup(p, math) : propose_sep_fused_shared(p);
  Result<Proposal> best = propose_sep_fused_shared(p);
  const auto consider = [&](Result<Proposal> other) {
    const bool fits = other && other->error <= p.allowed_error;
    if (fits && (!best || other->seconds < best->seconds)) best = std::move(other);
  };
  // Drivers that run on the processor have short subgroups, which hold few pixels. Where nothing was measured it is not known if that pays.
  const bool is_software = p.device.gpu.is_software;
  if (!is_software || gpu_model(p.device).is_processor) consider(propose_sep_fused_subgroup(p, FusedMath::f32));
  if (!is_software) {
    // Not for f16, of which large pixels overflow, nor for single channels, of which it has not been timed.
    const FormatInfo& source = info(p.src.format);
    if (!kFusedMath.is_given(p) && source.is_unorm() && source.channels > 1) consider(propose_sep_fused_subgroup(p, FusedMath::half));
  }
  if (!kFusedMath.is_given(p) && !kFusedPixelsPerThread.is_given(p) && !kFusedRowsInFlight.is_given(p)) {
    consider(propose_sep_fused_coopmat(p));
    if (!kFusedBetween.is_given(p)) consider(propose_sep_fused_coopmat_direct(p));
  }
  return best;
}

}  // namespace mollify
