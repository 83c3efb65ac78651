// box.any on CUDA for windows of any length, in two passes, along rows and then down columns. Blocks as long as the window end where others
// begin, so each window is the end of one and the beginning of the next. See backends/cuda/kernels/box_passes.cu.
#include "algorithms/box/box_any.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cuda/kernels/box_passes_shape.h"
#include "backends/cuda/kernels/pass_arguments.h"
#include "base/places.h"

namespace mollify {
namespace {

using namespace gpu;

/// A window along one axis, and the blocks that the windows of all places begin in.
struct Axis {
  cpu::BoxWindow asked;
  cpu::FoldedWindow folded;
  AxisPlaces places;
  std::int32_t edge = 0;  ///< a pixel behind the last one
  std::int32_t first_block = 0;
  std::int32_t blocks = 0;

  [[nodiscard]] double length() const { return static_cast<double>(asked.size()) + asked.before_fraction + asked.after_fraction; }
  [[nodiscard]] std::int32_t block() const { return static_cast<std::int32_t>(folded.window.size()); }
  /// Pixels that all blocks read, for each of `results`.
  [[nodiscard]] double reads(std::int32_t results, std::int32_t length) const {
    const double read_by_blocks =
        2.0 * block() * blocks + (folded.fold.periods > 0 ? static_cast<double>(folded.fold.period) * blocks : 0.0);
    return (read_by_blocks + 2.0 * length) / results;
  }
};

Axis axis_of(const BoxExtent& extent, BorderMode mode, std::int32_t length, const Stride& stride, const AxisPlaces& places,
             std::int32_t results) {
  Axis out{cpu::box_window(extent), {}, places, length};
  out.folded = cpu::fold_window(out.asked, mode, folded_length(mode, length, stride));
  const std::int64_t block = out.folded.window.size();
  out.first_block = static_cast<std::int32_t>(places.first / block);
  out.blocks = static_cast<std::int32_t>(places.at(results - 1) / block) - out.first_block + 1;
  return out;
}

/// `scale`: of sums along this axis. `rows`: of the image between the passes, without the ends of blocks that are kept below them.
Pass pass_of(std::string_view kernel, PerAxis<std::int32_t> size, const Axis& axis, bool wide, double scale, double divisor,
             const gpu::Span& rows) {
  const bool down = kernel == "box_columns";
  const std::int32_t threads =
      down ? cuda::kBoxColumnsAcross * cuda::box_columns_segments(axis.block()) : cuda::box_rows_threads(axis.block());
  const PerAxis<std::int32_t> tile =
      down ? PerAxis<std::int32_t>{cuda::kBoxColumnsAcross, axis.block()} : PerAxis<std::int32_t>{axis.block(), 1};
  const cpu::BoxFold& fold = axis.folded.fold;
  const cuda::BoxPassArguments arguments{.wide = wide,
                                         .window = axis.block(),
                                         .before = axis.folded.window.before,
                                         .first_block = axis.first_block,
                                         .blocks = axis.blocks,
                                         .first_row = rows.first,
                                         .rows = rows.length,
                                         .edge = axis.edge,
                                         .period = fold.period,
                                         .fraction_before_at = axis.asked.before + 1,
                                         .fraction_after_at = axis.asked.after + 1,
                                         .periods = static_cast<double>(fold.periods),
                                         .far_before = static_cast<double>(fold.before),
                                         .far_after = static_cast<double>(fold.after),
                                         .fraction_before = axis.asked.before_fraction,
                                         .fraction_after = axis.asked.after_fraction,
                                         .scale = scale,
                                         .divisor = divisor};
  return make_pass(kernel, arguments, size, tile, {threads, 1}, std::nullopt);
}

/// Of means of both axes: what is kept of a block and the mean are rounded, and sums of f64 round at each addition.
double error_of(const Problem& p, const Axis& x, const Axis& y, bool is_wide) {
  constexpr double kRounded = 3.0;  // along an axis, with the scale
  const auto additions = [](const Axis& axis, double threads) { return axis.block() / threads + threads + 4.0; };
  const double sums = (additions(x, cuda::box_rows_threads(x.block())) + additions(y, cuda::box_columns_segments(y.block()))) *
                      unit_roundoff(Accumulator::f64);
  const Accumulator stored = is_wide ? Accumulator::f64 : Accumulator::f32;
  return colour_gain(p.spec) * (2.0 * kRounded * unit_roundoff(stored) + sums) + colour_error(p.spec, stored);
}

}  // namespace

Result<Proposal> propose_box_passes_cuda(const Problem& p) {
  const Result<PerAxis<BoxExtent>> extent = box_extents(p);
  if (!extent) return extent.error();
  const PerAxis<AxisPlaces> places = places_of(p.spec);
  const PerAxis<BorderMode>& mode = p.spec.border.mode;
  const Axis x = axis_of(extent->x, mode.x, p.src.width, p.spec.stride.x, places.x, p.dst.width);
  const Axis y = axis_of(extent->y, mode.y, p.src.height, p.spec.stride.y, places.y, p.dst.height);
  const FormatInfo& format = info(p.src.format);
  const bool is_whole = x.length() == static_cast<double>(x.asked.size()) && y.length() == static_cast<double>(y.asked.size());
  const bool is_exact = is_only_blurred(p) && is_whole && format.is_unorm();
  const bool is_wide = is_exact || format.is_wide() || info(p.dst.format).is_wide();

  const Rect r = region(p);
  const gpu::Span rows = needed_span(p.src.height, r.y, r.height, y.asked.reach_before(), y.asked.reach_after());
  const ImageDesc between{p.dst.width, rows.length + p.dst.height,
                          *find_format(ComponentClass::floating, is_wide ? 64 : 32, format.channels)};
  const double pixels = x.length() * y.length();
  Pass along = pass_of("box_rows", {p.dst.width, rows.length}, x, is_wide, is_exact ? 1.0 : 1.0 / x.length(), 0.0, rows);
  along.destination = intermediate(0);
  Pass down =
      pass_of("box_columns", {p.dst.width, p.dst.height}, y, is_wide, is_exact ? 1.0 : 1.0 / y.length(), is_exact ? pixels : 0.0, rows);
  down.source = intermediate(0);
  down.outside_gain = is_exact ? x.length() : 1.0;
  along.extent = {extent->x, {0.0, 0.0}};
  down.extent = {{0.0, 0.0}, extent->y};

  Proposal out;
  out.error = is_exact ? 0.0 : error_of(p, x, y, is_wide);
  out.options = {kBoxSums.as(BoxAnySums::f64)};
  const std::array intermediates{between};
  out.moved_bytes = moved_bytes(p, intermediates);
  const double of_rows = x.reads(p.dst.width, r.width), of_columns = y.reads(p.dst.height, r.height);
  const double numbers = format.channels / 4.0;
  out.seconds = seconds(p.device, p.src.format,
                        {.pixels = static_cast<double>(p.dst.width) * rows.length,
                         .loads = of_rows * numbers,
                         .operations = 2.0 * of_rows * numbers,
                         .bytes = static_cast<double>(source_bytes(p) + 3 * between.payload_bytes())}) +
                seconds(p.device, between.format,
                        {.pixels = static_cast<double>(p.dst.width) * p.dst.height,
                         .loads = of_columns * numbers,
                         .operations = 2.0 * of_columns * numbers,
                         .bytes = of_columns * static_cast<double>(between.payload_bytes()) + static_cast<double>(p.dst.payload_bytes())});
  const auto reach_of = [](const cpu::BoxWindow& window) {
    return Reach{static_cast<std::int32_t>(window.reach_before()), static_cast<std::int32_t>(window.reach_after())};
  };
  out.reach = PerAxis<Reach>{reach_of(x.asked), reach_of(y.asked)};
  // Sums of floats round by where blocks begin.
  out.window_blocks = is_exact ? PerAxis<std::int32_t>{1, 1} : PerAxis<std::int32_t>{x.block(), y.block()};
  out.intermediates = {between};
  out.passes = {std::move(along), std::move(down)};
  return out;
}

}  // namespace mollify
