// The last step of gauss.decimate on GPUs: pixels from coarse samples, either of a grid that is blurred already, or blurring the few that a
// group's pixels need as it goes.
#include <algorithm>
#include <cmath>
#include <optional>

#include "algorithms/common/occupancy.h"
#include "algorithms/multirate/gauss_decimate_gpu.h"
#include "algorithms/multirate/gauss_grid.h"
#include "algorithms/multirate/gauss_strips_gpu.h"
#include "gauss_upsample_arguments.h"
#include "gauss_upsample_strip_arguments.h"
#include "gauss_upsample_tile_arguments.h"
#include "gauss_upsample_vec_arguments.h"
#include "model/decimation_costs.h"
#include "model/gpu_model.h"

namespace mollify {
namespace {

using namespace gpu;

constexpr std::int32_t kThreads = 128;

/// Chunks that pixels are expanded in. Measured: spans of many numbers do best with as many groups as there are registers
/// for, others with more.
std::int32_t upsampling_chunks(const Problem& p, const AxisPlan& y, const Spans& spans, std::int32_t across) {
  constexpr std::int64_t kManyNumbers = 16;
  constexpr std::int64_t kOtherRegisters = 60;
  const double support = static_cast<double>(y.support());
  if (spans.written * info(p.dst.format).channels < kManyNumbers) {
    return even_chunks(p, across, chunks_ending_soonest(p, std::int64_t{across} * kThreads, region(p).height, support));
  }
  const std::int64_t groups = groups_at_once(gpu_model(p.device), {kThreads, kManyNumbers * support + kOtherRegisters});
  return even_chunks(p, across, static_cast<double>(groups) * processors(p) / across / p.batch);
}

/// Divides a spline's weights by those of the coarse sample in the middle, whose index it gives; these stay as they are.
std::int32_t divide_by_middle(AxisTaps& spline, const AxisPlan& axis) {
  const auto middle = static_cast<std::int32_t>((axis.support() - 1) / 2);
  for (std::int32_t phase = 0; phase < axis.factor; ++phase) {
    const auto weight = [&](std::int32_t sample) -> double& {
      return spline.weights[static_cast<std::size_t>(phase + axis.factor * sample)];
    };
    for (std::int32_t sample = 0; sample < axis.support(); ++sample) {
      if (sample != middle) weight(sample) /= weight(middle);
    }
  }
  return middle;
}

bool has_negative_weights(const AxisPlan& axis) {
  return std::ranges::any_of(axis.coarse.weights, [](double w) { return w < 0.0; });
}

/// The splines that pixels are expanded by.
PerAxis<AxisTaps> splines_of(const Problem& p, const Expansion& e) {
  const FormatInfo& destination = info(p.dst.format);
  const double unit = e.spans.are_plain && destination.is_unorm() ? destination.unit() : 1.0;
  return {spline_taps(e.x, e.x.factor), spline_taps(e.y, e.y.factor * unit / scale_between_steps(p.src.format))};
}

/// What all kernels are told of coarse samples and pixels, and those of spans of these. May divide `splines`.
template <class Arguments>
void set_expansion(const Problem& p, const Expansion& e, PerAxis<AxisTaps>& splines, Arguments& to) {
  if constexpr (requires { to.span; }) {
    const FormatInfo& destination = info(p.dst.format);
    const bool clamps = destination.is_unorm() && (has_negative_weights(e.x) || has_negative_weights(e.y));
    to.span = e.spans.written;
    to.clamps = clamps;
    to.divisor = destination.is_unorm() && !clamps ? divide_by_middle(splines.y, e.y) : -1;
    to.rows_per_sample = e.y.factor;
  }
  to.unrolled_rows = rows_ahead(most_rows_ahead(p.device), e.y.factor);
  to.corner = {region(p).x, region(p).y};
  set_axes(to, e.grid, e.x, e.y);
}

/// What one group of gauss_upsample_tile.comp makes, as that works it out.
struct Tile {
  PerAxis<std::int32_t> group;   ///< spans of pixels side by side, chunks beneath each other
  std::int32_t coarse_rows = 4;  ///< that a chunk expands
  GridTile samples;
  double seconds = 0.0;

  [[nodiscard]] std::int32_t threads() const { return group.x * group.y; }
  /// Spans of coarse samples that a lane sums across and keeps until all have.
  [[nodiscard]] std::int32_t rounds() const {
    return ceil_div(std::int64_t{samples.spans} * samples.units.count * samples.height, threads());
  }
};

Tile tile_of(const Expansion& e, std::int32_t span, PerAxis<std::int32_t> group, std::int32_t coarse_rows) {
  const std::int64_t across = e.samples_across(group.x);
  const std::int64_t down = group.y * coarse_rows + e.y.support() - 1;
  const auto taps = static_cast<std::int32_t>(e.x.coarse.weights.size());
  const GridTile samples{span, ceil_div(across, span), ceil_div(down, span) * span, taps, grid_units(e.format, e.storage)};
  return {group, coarse_rows, samples, 0.0};
}

/// Instructions, where the blur shares them out among the lanes in rounds, and each lane expands as it does by itself.
double seconds_of(const Problem& p, const Expansion& e, const Tile& tile) {
  constexpr double kLatency = 11.5;  // steps: rounds of loads, and barriers
  const GpuModel device = gpu_model(p.device);
  const GridTile& grid = tile.samples;
  const double numbers = grid.units.bytes / 4.0;
  const double columns = (grid.width() + grid.taps - 1.0) * grid.units.count;
  const auto taps_y = static_cast<double>(e.y.coarse.weights.size());
  const double rounds_down = std::ceil(columns * grid.height / grid.span / tile.threads());
  const double down = rounds_down * (5.0 * (taps_y + grid.span - 1.0) + numbers * grid.span * taps_y + 4.0 * grid.span);
  const double across = tile.rounds() * ((numbers + 1.0) * (grid.taps + grid.span - 1.0) + numbers * grid.span * (grid.taps + 2.0) + 20.0);
  const double span_numbers = static_cast<double>(e.spans.written) * info(p.dst.format).channels;
  const double near = static_cast<double>(e.x.support()) + std::floor((e.spans.written + e.x.factor - 2.0) / e.x.factor);
  const auto mixed = static_cast<double>(e.y.support());
  const double expand = 6.0 * e.spans.written * near +
                        (tile.coarse_rows + mixed - 1.0) * (near * (span_numbers + 6.0) + span_numbers * mixed) +
                        tile.coarse_rows * e.y.factor * (span_numbers * (mixed + 2.0) + 12.0);
  const double groups = static_cast<double>(ceil_div(p.dst.width, tile.group.x * e.spans.written)) *
                        ceil_div(p.dst.height, tile.group.y * tile.coarse_rows * e.y.factor) * p.batch;
  const double unevenness = std::ceil(groups / processors(p)) * processors(p) / groups;
  // A group that has a processor for itself waits for its own loads: `rgba16f` of 1920x1080 at sigma 10 takes 27 us by 112 groups and
  // 25 by 224.
  const double waiting = groups <= processors(p) ? 1.15 : 1.0;
  const double summing = groups * tile.threads() * (down + across + expand) / device.operations_per_second;
  const double writing = static_cast<double>(p.dst.payload_bytes()) * p.batch / device.bytes_per_second;
  // What times say there is besides, where three dispatches are right by count: of 8 bits most where coarse samples are near.
  const int bits = info(p.dst.format).bits;
  const double a_megapixel = bits == 32 ? 0.0 : bits == 16 ? 7.7 : 9.2 + 17.7 / e.y.factor;  // steps
  const double besides = a_megapixel / 1e6 * p.dst.width * p.dst.height * p.batch * device.step_seconds;
  // Of shapes that are alike but for that, no narrow ones: `rgba8` at sigma 20 takes 61 us by 64x2 and 65 by 32x4.
  const double narrowness = tile.group.x < 64 ? 1.01 : 1.0;
  return device.launch_seconds + kLatency * device.step_seconds + narrowness * waiting * unevenness * std::hypot(summing, writing) +
         besides;
}

Status check_tile(const Problem& p, const Tile& tile) {
  constexpr std::int32_t kMostKept = 96;
  if (tile.rounds() * tile.samples.span * tile.samples.units.bytes / 4 > kMostKept) {
    return refusal("lanes would have to keep more than " + std::to_string(kMostKept) + " numbers of the grid");
  }
  return check_grid_tile(p, tile.samples);
}

/// As the options ask for, else the fastest.
Result<Tile> choose_tile(const Problem& p, const Expansion& e) {
  constexpr std::int32_t kMostRows = 64;
  std::vector<std::int32_t> spans = {samples_per_thread(p, grid_units(e.format, e.storage))};
  // Of halves and bytes the usual span is as fast or faster, whatever counts of instructions say.
  if (!kSamplesPerThread.is_given(p) && spans.front() == 4 && info(p.dst.format).bits == 32) spans.push_back(8);
  std::vector<PerAxis<std::int32_t>> groups;
  const auto asked_group = kGridGroup.given(p);
  if (!asked_group) return asked_group.error();
  if (*asked_group) {
    groups = {**asked_group};
  } else {
    for (std::int32_t lanes = 8; lanes <= kThreads; lanes *= 2) groups.push_back({lanes, kThreads / lanes});
  }
  std::vector<std::int32_t> rows = {1, 2, 3, 4, 6, 8, 12, 16};
  if (kCoarseRows.is_given(p)) {
    const Result<std::int32_t> asked = kCoarseRows.of(p, 1, kMostRows);
    if (!asked) return asked.error();
    rows = {*asked};
  }
  std::optional<Tile> best;
  Status fits;
  for (const std::int32_t span : spans) {
    for (const PerAxis<std::int32_t> lanes : groups) {
      for (const std::int32_t coarse_rows : rows) {
        Tile tile = tile_of(e, span, lanes, coarse_rows);
        const Status tile_fits = check_tile(p, tile);
        if (!tile_fits) {
          fits = tile_fits;
          continue;
        }
        tile.seconds = seconds_of(p, e, tile);
        if (!best || tile.seconds < best->seconds) best = tile;
      }
    }
  }
  if (!best) return fits.error();
  return *best;
}

/// Whether groups can blur what they expand.
Status check_blurring(const Problem& p, const Expansion& e, std::string_view kernel) {
  if (!p.device.has_kernel(kernel)) return refusal_without_kernel(p, kernel);
  if (!e.spans.are_plain) return refusal("grids are blurred as they are expanded to pixels in buffers that are only blurred");
  return check_taps_of_axes({e.x.coarse, e.y.coarse}, kMostGridTaps);
}

/// What the kernels that blur and expand have in common. A group makes `made` pixels from `samples` that it blurs.
template <class Arguments>
Result<DecimateStep> blurring_step(const Problem& p, const Expansion& e, Arguments arguments, PerAxis<std::int32_t> made,
                                   std::int32_t threads, const GridTile& samples) {
  // The first row of groups begins with a whole row of coarse samples, above the image.
  const std::int64_t first = region(p).y + spline_centre(e.y.spline.size());
  const auto above = static_cast<std::int32_t>(first - floor_div(first, e.y.factor) * e.y.factor);
  PerAxis<AxisTaps> splines = splines_of(p, e);
  set_expansion(p, e, splines, arguments);
  set_grid_tile(arguments, samples);
  arguments.above = above;
  arguments.taps_x = e.x.coarse.weights.size();
  arguments.taps_y = e.y.coarse.weights.size();
  DecimateStep out;
  out.pass = make_pass(arguments, {p.dst.width, p.dst.height + above}, made, {threads, 1}, e.storage);
  out.pass.taps = {kernel_and_spline(e.x.coarse, splines.x), kernel_and_spline(e.y.coarse, splines.y)};
  if (Status s = check_taps(out.pass.taps, "a step"); !s) return s.error();
  return out;
}

}  // namespace

DecimateStep expanding_step(const Problem& p, const Expansion& e) {
  const std::int32_t columns = kThreads * e.spans.written;
  const std::int32_t across = ceil_div(p.dst.width, columns);
  const std::int32_t chunks = upsampling_chunks(p, e.y, e.spans, across);
  const std::int32_t rows = region(p).height;  // of which the destination may hold every n-th one
  const std::int32_t chunk_rows = chunk_length(p, rows, chunks, e.y.factor, {2 * e.y.factor, e.y.factor * e.y.support()});
  PerAxis<AxisTaps> splines = splines_of(p, e);
  const auto made_by = [&](auto arguments) {
    arguments.chunk_rows = chunk_rows;
    set_expansion(p, e, splines, arguments);
    return make_pass(arguments, {p.dst.width, rows}, {columns, chunk_rows}, {kThreads, 1}, e.storage);
  };
  DecimateStep out;
  out.pass = e.spans.are_plain ? made_by(glsl::GaussUpsampleVec{}) : made_by(glsl::GaussUpsample{});
  out.pass.taps = std::move(splines);

  Work work;
  work.pixels = static_cast<double>(p.dst.width) * p.dst.height;
  work.loads = static_cast<double>(e.x.support()) / e.y.factor;
  work.operations = share_of_pixel(e.spans, info(p.dst.format)) * (static_cast<double>(e.y.support()) + work.loads + 3.0);
  work.bytes = static_cast<double>(p.dst.payload_bytes()) + work.pixels / (e.x.factor * e.y.factor) * info(e.format).pixel_bytes();
  out.seconds = seconds(p.device, e.format, work);
  return out;
}

Result<DecimateStep> expanding_tiles_step(const Problem& p, const Expansion& e) {
  if (Status s = check_blurring(p, e, glsl::GaussUpsampleTile::kKernel); !s) return s.error();
  const Result<Tile> tile = choose_tile(p, e);
  if (!tile) return tile.error();
  const std::int32_t rows = tile->group.y * tile->coarse_rows * e.y.factor;
  glsl::GaussUpsampleTile arguments{};
  arguments.lanes = tile->group.x;
  arguments.coarse_rows = tile->coarse_rows;
  Result<DecimateStep> out = blurring_step(p, e, arguments, {tile->group.x * e.spans.written, rows}, tile->threads(), tile->samples);
  if (!out) return out;
  out->options = {kGridBlur.as(GridBlur::upsample), kSamplesPerThread.as(tile->samples.span), kGridGroup.as(tile->group),
                  kCoarseRows.as(tile->coarse_rows)};
  out->seconds = tile->seconds;
  return out;
}

Result<DecimateStep> expanding_strips_step(const Problem& p, const Expansion& e) {
  if (Status s = check_blurring(p, e, glsl::GaussUpsampleStrip::kKernel); !s) return s.error();
  const Result<Strip> strip = choose_strip(p, e);
  if (!strip) return strip.error();
  glsl::GaussUpsampleStrip arguments{};
  arguments.spans_per_step = strip->samples.height / strip->samples.span;
  arguments.coarse_rows = strip->coarse_rows;
  Result<DecimateStep> out =
      blurring_step(p, e, arguments, {strip->threads * e.spans.written, strip->coarse_rows * e.y.factor}, strip->threads, strip->samples);
  if (!out) return out;
  out->options = {kGridBlur.as(GridBlur::strips), kSamplesPerThread.as(strip->samples.span), kStepRows.as(strip->samples.height),
                  kGridGroup.as({strip->threads, 1}), kCoarseRows.as(strip->coarse_rows)};
  // As tiles are expected to take, which is more than they do: tuning rows know of all steps together.
  const int bits = info(p.dst.format).bits;
  out->seconds = (bits == 8 ? 2.8 : bits == 16 ? 2.05 : 1.36) * strip->seconds;
  return out;
}

}  // namespace mollify
