// gauss.decimate on GPUs: the image becomes a grid of coarse samples, the grid is blurred, and pixels are expanded from it, in three
// dispatches, or in two where what expands blurs as well. Image and result are touched once; the grids are small and stay in cache.
// About 2 * support multiply-adds a component at any sigma.
#include "algorithms/multirate/gauss_decimate_gpu.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

#include "algorithms/common/occupancy.h"
#include "algorithms/multirate/gauss_grid.h"
#include "base/places.h"
#include "gauss_decimate_arguments.h"
#include "gauss_decimate_vec_arguments.h"
#include "model/decimation_costs.h"
#include "model/gpu_model.h"

namespace mollify {
namespace {

using namespace gpu;

constexpr std::string_view kDecimate = glsl::GaussDecimate::kKernel;

/// As many as `bytes` hold, a power of two, and whole words.
std::int32_t default_span(PixelFormat format, std::int32_t bytes) {
  constexpr int kLongest = 8;
  const int pixels = std::clamp(bytes / info(format).pixel_bytes(), 1, kLongest);
  auto span = static_cast<std::int32_t>(std::bit_floor(static_cast<unsigned>(pixels)));
  while (!is_whole_words(format, span)) span *= 2;
  return span;
}

/// Rows of the destination that are no whole spans are stored by pixels, so shorter ones that divide them are mostly faster: at 4095
/// columns `rgba8` takes 68 us instead of 82 at sigma 50, but, decimated by sums, 86 instead of 83 at 10, where few rows share what is made
/// across. How a caller's buffer pads its rows is not known to a plan.
std::int32_t span_of_rows(const Problem& p, const AxisPlan& y, std::int32_t span) {
  constexpr int kManyRows = 8;
  if (info(p.dst.format).bits == 8 && y.factor < kManyRows) return span;
  std::int32_t shorter = span;
  while (p.dst.width % shorter != 0) shorter /= 2;
  return is_whole_words(p.dst.format, shorter) ? shorter : span;
}

/// Measured: 16 bytes are fastest, but for 8 of 8-bit pixels where small factors leave many sums. Drivers that run on the
/// processor take seconds to compile what spans unroll to.
Result<Spans> spans(const Problem& p, const AxisPlan& y, Storage where) {
  constexpr int kManySums = 6;
  Spans out;
  out.are_plain = where == Storage::buffer && p.spec.alpha == AlphaMode::ignore && p.spec.transfer == TransferFunction::none &&
                  p.src.format == p.dst.format;
  const int bits = info(p.src.format).bits;
  const bool is_software = p.device.gpu.is_software;
  const bool is_short = bits == 8 && y.factor < kManySums;
  const std::int32_t read_bytes = is_software ? 1 : is_short ? 8 : 16;
  const std::int32_t written_bytes = is_software ? 1 : 16;
  out.read = kReadPixels.of(p, out.are_plain ? default_span(p.src.format, read_bytes) : 1);
  // Kernels of spans write all pixels of a region.
  const bool writes_spans = out.are_plain && !has_stride(p.spec);
  const std::int32_t usual = writes_spans ? span_of_rows(p, y, default_span(p.src.format, written_bytes)) : 1;
  out.written = kWritePixels.of(p, usual);
  if (!out.are_plain && (out.read > 1 || out.written > 1)) {
    return refusal("spans are of pixels in buffers that are only blurred");
  }
  if (!writes_spans && out.written > 1) return refusal("destinations of every n-th pixel are written one by one");
  if (Status s = out.are_plain ? check_span(p.src.format, out.read) : Status(); !s) return s.error();
  if (Status s = writes_spans ? check_span(p.src.format, out.written) : Status(); !s) return s.error();
  return out;
}

/// Threads of a group of the first pass: so many that the columns which neighbours read, too, are few. Measured: 1024
/// threads have so few registers each that f32 at sigma 100 takes 519 us instead of 173. So many only if fewer are no spline wide.
std::int32_t decimating_threads(const Problem& p, const AxisPlan& x, std::int32_t span) {
  constexpr std::int32_t kDefaultMost = 512;
  const std::int32_t most = p.device.gpu.max_group_invocations;
  const std::int64_t shared_with_neighbours = (x.support() - 1) * x.factor;
  const std::int64_t spline = shared_with_neighbours + x.factor + span - 1;
  // One pixel a lane leaves registers for wider groups (rgba16f at sigma 50: 104 us by 512 threads, 109 by 256).
  const std::int64_t wide = (span == 1 ? 10 : 5) * shared_with_neighbours;
  std::int32_t threads = 128;
  while (threads < std::min(most, kDefaultMost) && threads * span < wide) threads *= 2;
  while (threads < most && threads * span < spline) threads *= 2;
  return std::min(threads, most);
}

/// Groups of the first step that a processor runs at once, as registers allow: those of a lane's sums, and of the words that it has on
/// their way and at hand. Fitted to timings, where they are one round: one more group a processor costs a tenth, one less a hundredth.
double decimating_at_once(const Problem& p, std::int32_t threads, std::int32_t channels, double sums, double words) {
  constexpr double kManyWords = 32.0;
  // Of two or three channels more groups are as fast as one round, or faster.
  const bool is_flat = channels == 2 || channels == 3;
  const double many = words >= kManyWords || channels == 1 ? 12.0 : 0.0;
  const double registers = is_flat ? 42.0 + 0.2 * sums + 1.8 * words : 22.0 + sums + 2.0 * words + many;
  return static_cast<double>(groups_at_once(gpu_model(p.device), {threads, registers}));
}

struct Grids {
  PerAxis<CoarseRange> image;    ///< coarse samples that the image is decimated to
  PerAxis<CoarseRange> blurred;  ///< of these, what pixels are expanded from
};

/// Sums of f32, down first.
Result<DecimateStep> decimating_by_sums(const Problem& p, const AxisPlan& x, const AxisPlan& y, const PerAxis<CoarseRange>& grid,
                                        Storage where, const Spans& spans) {
  const PerAxis<std::int32_t> size = size_of(grid);
  const std::int32_t span = spans.read;
  const std::int32_t threads = decimating_threads(p, x, span);
  const std::int32_t columns = threads * span;
  const auto samples = static_cast<std::int32_t>((columns - (span - 1) - (x.support() - 1) * x.factor) / x.factor);
  if (samples < 1) return refusal("a group of " + std::to_string(threads) + " threads is narrower than one spline");
  const FormatInfo& source = info(p.src.format);
  const std::int32_t channels = source.channels;
  const std::int32_t pitch = spans.are_plain ? x.factor | 1 : x.factor;
  const std::int64_t shared = 4 * channels * ((columns / x.factor + 2) * pitch + (spans.are_plain ? 0 : samples));
  if (Status s = check_shared(p, shared); !s) return s.error();

  const std::int64_t across = (size.x + samples - 1) / samples;
  const std::int32_t step_rows = rows_ahead(most_rows_ahead(p.device), y.factor);
  const std::int32_t numbers = span * channels;
  const auto sums = static_cast<double>(numbers * y.support());
  const double at_once = decimating_at_once(p, threads, channels, sums, step_rows * numbers * source.bits / 32.0);
  const auto round = static_cast<std::int32_t>(at_once * processors(p) / static_cast<double>(across * p.batch));
  const std::int32_t balanced = chunks_ending_soonest(p, across * threads, size.y, static_cast<double>(y.support()));
  const std::int32_t chunks = std::clamp(round, 1, balanced);
  const std::int64_t of_sum =
      (samples * channels / threads + 1) * std::int64_t{x.factor + 1} * x.support();  // of a row of coarse samples, across
  const LoopIterations steps{y.factor + of_sum, y.factor * y.support()};
  const std::int32_t coarse_rows = chunk_length(p, size.y, chunks, 1, steps);
  const auto made_by = [&](auto arguments) {
    arguments.coarse_rows = coarse_rows;
    arguments.step_rows = step_rows;
    set_axes(arguments, grid, x, y);
    return make_pass(arguments, size, {samples, coarse_rows}, {threads, 1}, where);
  };
  Pass pass;
  if (spans.are_plain) {
    glsl::GaussDecimateVec of_stored{};
    of_stored.scale = source.is_unorm() ? 1.0 / source.unit() : 1.0;
    of_stored.span = span;
    pass = made_by(of_stored);
  } else {
    pass = made_by(glsl::GaussDecimate{});
  }
  pass.taps = {spline_taps(x, 1.0), spline_taps(y, scale_between_steps(p.src.format))};

  Work work;
  const double area = static_cast<double>(x.factor) * y.factor;
  const double rows = pass.tile.y;
  const double reads = (rows + static_cast<double>(y.support()) - 1.0) / rows * columns / (samples * x.factor);
  work.pixels = static_cast<double>(size.x) * size.y;
  work.loads = reads * area * share_of_pixel(spans, source);
  work.operations = reads * area * share_of_pixel(spans, source) * (static_cast<double>(y.support()) + 3.0);
  work.shared_loads = static_cast<double>(x.spline.size());
  work.barriers = 3.0 * threads / samples;
  work.bytes = static_cast<double>(source_bytes(p)) + work.pixels * 4.0 * channels;
  DecimateStep out;
  out.pass = std::move(pass);
  out.options = {kDecimateMath.as(DecimateMath::f32), kReadPixels.as(span)};
  out.seconds = seconds(p.device, p.src.format, work);
  return out;
}

/// As asked for, else the one that is expected to be faster within the error.
Result<DecimateStep> decimating_step(const Problem& p, const AxisPlan& x, const AxisPlan& y, const PerAxis<CoarseRange>& grid,
                                     Storage where, const Spans& spans, double spent) {
  const std::optional<DecimateMath> math = kDecimateMath.given(p);
  if (math ? *math == DecimateMath::f32 : kReadPixels.is_given(p)) {
    return decimating_by_sums(p, x, y, grid, where, spans);
  }
  Result<DecimateStep> matrix = where == Storage::buffer && spans.are_plain
                                    ? decimating_by_matrix(p, x, y, grid)
                                    : refusal("matrices need pixels in buffers that are only blurred");
  if (math) return matrix;
  Result<DecimateStep> sums = decimating_by_sums(p, x, y, grid, where, spans);
  // Measured: smaller pixels are decimated as fast by sums, or faster.
  constexpr int kLeastBytes = 4;
  const bool is_exact_enough = matrix && spent + matrix->error <= p.allowed_error;
  const bool is_faster = matrix && info(p.src.format).pixel_bytes() >= kLeastBytes && (!sums || matrix->seconds < sums->seconds);
  return is_exact_enough && is_faster ? matrix : sums;
}

/// What follows the first step.
using Rest = std::vector<DecimateStep>;

double seconds_of(const Rest& steps) {
  return std::accumulate(steps.begin(), steps.end(), 0.0, [](double sum, const DecimateStep& s) { return sum + s.seconds; });
}

Result<Rest> blurred_together(Result<DecimateStep> step, const PerAxis<std::int32_t>& origin) {
  if (!step) return step.error();
  step->pass.source = intermediate(0);
  step->pass.origin = origin;
  return Rest{std::move(*step)};
}

Result<Rest> blurred_before(const Problem& p, const Expansion& e, const PerAxis<std::int32_t>& origin) {
  Result<DecimateStep> blur = grid_step(p, {{e.x.coarse, e.y.coarse}, e.format, size_of(e.grid), e.storage});
  if (!blur) return blur.error();
  blur->pass.source = intermediate(0);
  blur->pass.destination = intermediate(1);
  blur->pass.origin = origin;
  DecimateStep expand = expanding_step(p, e);
  expand.pass.source = intermediate(1);
  return Rest{std::move(*blur), std::move(expand)};
}

Result<Rest> blurred_in_passes(const Problem& p, const Expansion& e, std::int32_t rows, const PerAxis<std::int32_t>& origin) {
  Result<std::array<DecimateStep, 2>> blur = grid_passes(p, {{e.x.coarse, e.y.coarse}, e.format, size_of(e.grid), e.storage}, rows, origin);
  if (!blur) return blur.error();
  auto& [along_rows, down] = *blur;
  along_rows.pass.source = intermediate(0);
  along_rows.pass.destination = down.pass.source = intermediate(1);
  down.pass.destination = intermediate(2);
  DecimateStep expand = expanding_step(p, e);
  expand.pass.source = intermediate(2);
  return Rest{std::move(along_rows), std::move(down), std::move(expand)};
}

/// Whether groups that blur what they expand are faster by strips than by tiles, as measured: by 2 to 9 % where rows of coarse
/// samples are near, unless a small image of bytes leaves them few groups. Bytes gain as much by the largest usual factor, whose grid is
/// small.
bool strips_are_faster(const Problem& p, const AxisPlan& y) {
  constexpr double kManyPixels = 6e6;
  const FormatInfo& format = info(p.dst.format);
  if (format.channels != 4) return false;
  if (format.bits == 32) return y.factor <= 3;
  if (format.bits == 16) return y.factor <= 8;
  const bool is_large = static_cast<double>(p.dst.width) * p.dst.height * p.batch >= kManyPixels;
  return is_large && (y.factor < 8 || y.factor == 16);
}

/// As the options ask for, else in the way that is expected to be the fastest. The grid of the image has so many rows.
Result<Rest> rest_of(const Problem& p, const Expansion& e, std::int32_t rows, const PerAxis<std::int32_t>& origin) {
  if (is_blurred_in_passes(p, e.x, e.y)) {
    if (kStepRows.is_given(p) || kSamplesPerThread.is_given(p) || kGridGroup.is_given(p) || kCoarseRows.is_given(p)) {
      return refusal("the options step_rows, samples_per_thread, group and coarse_rows are not for blur=passes");
    }
    return blurred_in_passes(p, e, rows, origin);
  }
  const auto tiles = [&] { return blurred_together(expanding_tiles_step(p, e), origin); };
  const auto strips = [&] { return blurred_together(expanding_strips_step(p, e), origin); };
  const bool has_rows = kCoarseRows.is_given(p);
  const bool has_step_rows = kStepRows.is_given(p);
  if (kGridBlur.is_given(p) || has_rows || has_step_rows) {
    const GridBlur blur = kGridBlur.of(p, has_step_rows ? GridBlur::strips : GridBlur::upsample);
    if (has_rows && blur == GridBlur::tiles) return refusal("the option coarse_rows is for blur=upsample and blur=strips");
    if (has_step_rows && blur != GridBlur::strips) return refusal("the option step_rows is for blur=strips");
    if (blur == GridBlur::tiles) return blurred_before(p, e, origin);
    return blur == GridBlur::strips ? strips() : tiles();
  }
  Result<Rest> before = blurred_before(p, e, origin);
  if (p.device.gpu.is_software) return before;  // which takes seconds to compile the others
  Result<Rest> together = tiles();
  if (before && (!together || seconds_of(*before) <= seconds_of(*together))) return before;
  if (!together || !strips_are_faster(p, e.y)) return together;
  Result<Rest> by_strips = strips();
  return by_strips ? by_strips : together;
}

}  // namespace

double share_of_pixel(const Spans& spans, const FormatInfo& format) {
  return spans.are_plain ? format.channels / 4.0 : 1.0;
}

Result<Proposal> add_gauss_decimate_gpu_passes(const Problem& p, const AxisPlan& x, const AxisPlan& y, Proposal out) {
  if (Status s = check_division(p, x.coarse.weights); !s) return s.error();
  if (Status s = check_division(p, y.coarse.weights); !s) return s.error();
  const AxisPlan expanded_x = expanding(x), expanded_y = expanding(y);
  if (Status s = check_taps({spline_taps(expanded_x, 1.0), spline_taps(expanded_y, 1.0)}, "a step"); !s) return s.error();
  const Rect r = region(p);
  const PerAxis<BorderMode>& mode = p.spec.border.mode;
  const Grids grids{{coarse_range(x, mode.x, p.src.width, r.x, r.width), coarse_range(y, mode.y, p.src.height, r.y, r.height)},
                    {expanded_from(expanded_x, r.x, r.width), expanded_from(expanded_y, r.y, r.height)}};
  const PerAxis<CoarseRange> between{grids.blurred.x, grids.image.y};
  const PixelFormat format = *find_format(ComponentClass::floating, 32, info(p.src.format).channels);
  const auto desc = [&](const PerAxis<CoarseRange>& grid) { return ImageDesc{size_of(grid).x, size_of(grid).y, format}; };
  std::vector<ImageDesc> intermediates = {desc(grids.image), desc(grids.blurred)};
  if (is_blurred_in_passes(p, x, y)) intermediates.insert(intermediates.begin() + 1, desc(between));
  const Result<Storage> where = buffer_or_image(p, kDecimate, intermediates);
  if (!where) return where.error();
  const Result<Spans> span = spans(p, y, *where);
  if (!span) return span.error();
  Result<DecimateStep> decimate = decimating_step(p, x, y, grids.image, *where, *span, out.error);
  if (!decimate) return decimate.error();
  decimate->pass.destination = intermediate(0);
  const Spans written = has_stride(p.spec) ? Spans{} : *span;
  Result<Rest> rest = rest_of(p, {expanded_x, expanded_y, grids.blurred, format, *where, written}, size_of(grids.image).y,
                              {static_cast<std::int32_t>(grids.blurred.x.first - grids.image.x.first),
                               static_cast<std::int32_t>(grids.blurred.y.first - grids.image.y.first)});
  if (!rest) return rest.error();
  rest->insert(rest->begin(), std::move(*decimate));
  out.seconds = 0.0;
  for (DecimateStep& step : *rest) {
    out.passes.push_back(std::move(step.pass));
    out.options.merge(std::move(step.options));
    out.error += step.error;
    out.seconds += step.seconds;
  }
  // Tuning rows of up to 4 bytes are measured with rgba8. Where that is decimated by matrices, r16f and rg16f, by sums, take so many
  // times as long as rows say. Measured.
  constexpr double kSummed = 1.4;
  const FormatInfo& source = info(p.src.format);
  const bool is_summed = source.bits == 16 && !source.is_unorm() && source.channels < 3;
  if (is_summed && p.device.gpu.byte_matrices) out.seconds *= kSummed;
  out.intermediates.assign(intermediates.begin(), intermediates.begin() + static_cast<std::ptrdiff_t>(out.passes.size()) - 1);
  out.halo = {x.halo(), y.halo()};
  if (kDecimateMath.in(out.options) == DecimateMath::coopmat) {
    constexpr std::int64_t kSamples = 16;
    out.halo = {made_together(out.halo->x, kSamples), made_together(out.halo->y, kSamples)};
  }
  out.options.insert(kWritePixels.as(span->written));
  out.options.insert(kStorage.as(*where));
  out.moved_bytes = moved_bytes(p, out.intermediates);
  return out;
}

}  // namespace mollify
