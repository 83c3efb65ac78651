// gauss.decimate on CUDA, two to four passes: the image becomes a grid of coarse samples, the grid is blurred, and pixels are upsampled
// from it. Image and result are touched once. Each step is by products of matrices or by sums of f32. By sums one pass may blur and
// upsample; otherwise the grid is blurred as sep.fused blurs images, by tiles, or along its rows and then its columns.
#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "algorithms/common/occupancy.h"
#include "algorithms/multirate/gauss_decimate_gpu.h"
#include "algorithms/multirate/gauss_decimate_options.h"
#include "backends/cuda/kernels/coarse_products_shape.h"
#include "backends/cuda/kernels/gauss_decimate_shape.h"
#include "backends/cuda/kernels/gauss_grid_shape.h"
#include "backends/cuda/kernels/gauss_matrix_shape.h"
#include "backends/cuda/kernels/gauss_strips_shape.h"
#include "backends/cuda/kernels/pass_arguments.h"
#include "backends/cuda/kernels/sep_fused_shape.h"
#include "base/components.h"
#include "base/places.h"
#include "model/decimation_costs.h"
#include "model/gpu_model.h"

namespace mollify {
namespace {

using namespace gpu;

/// What a kernel by sums is expected to take.
double seconds_of_sums(const Problem& p, PixelFormat format, const Work& work) {
  constexpr double kSlowness = 1.6;  // measured time, divided by what seconds() says, at 4096x4096 and sigma 4 to 5
  return gpu_model(p.device).launch_seconds + kSlowness * seconds(p.device, format, work);
}

/// Threads of a block that decimates, each of which takes `components` of a row: so many that few of its columns are read by its neighbours
/// as well.
Result<std::int32_t> decimating_threads(const Problem& p, std::int32_t factor, std::int32_t support, std::int32_t components,
                                        std::int32_t most) {
  const int channels = info(p.src.format).channels;
  const std::int64_t shared_with_neighbours = std::int64_t{support - 1} * factor;
  std::int32_t threads = 128;
  while (threads < most && threads * components / channels < 16 * shared_with_neighbours) threads *= 2;
  const cuda::DecimateShape shape(channels, threads, components, factor, support);
  if (shape.samples < 1) return refusal("a block of " + std::to_string(threads) + " threads is narrower than one spline");
  return threads;
}

cuda::CoarseGridArguments grid_arguments(const PerAxis<CoarseRange>& grid, const AxisPlan& x, const AxisPlan& y) {
  cuda::CoarseGridArguments out{};
  set_axes(out, grid, x, y);
  return out;
}

/// An image of floats whose rows are whole fours.
ImageDesc grid_of(const Problem& p, const PerAxis<CoarseRange>& grid) {
  const PerAxis<std::int32_t> size = size_of(grid);
  return {cuda::whole_fours(size.x), size.y, *find_format(ComponentClass::floating, 32, info(p.src.format).channels)};
}

/// Rows of coarse samples of a chunk, `fewest` if there are as many.
std::int32_t decimating_rows(const Problem& p, const PerAxis<std::int32_t>& size, const cuda::DecimateShape& shape, std::int32_t threads,
                             std::int32_t fewest) {
  const std::int64_t across = (size.x + shape.samples - 1) / shape.samples;
  const double at_once = cuda::kDecimateThreads / static_cast<double>(threads);
  return rows_of_chunk(p, across, size.y, at_once, 1, std::min(fewest, size.y));
}

Pass decimating_pass(std::string_view kernel, const AxisPlan& x, const AxisPlan& y, const PerAxis<CoarseRange>& grid,
                     const PerAxis<std::int32_t>& support, const cuda::DecimateShape& shape, std::int32_t threads, std::int32_t rows,
                     std::int32_t most_ahead) {
  cuda::DecimateArguments arguments{.grid = grid_arguments(grid, x, y), .step_rows = rows_ahead(most_ahead, y.factor)};
  arguments.grid.support_x = support.x;
  arguments.grid.support_y = support.y;
  Pass pass = make_pass(kernel, arguments, size_of(grid), {shape.samples, rows}, {threads, 1}, Storage::buffer);
  pass.taps = {spline_taps(x, 1.0), spline_taps(y, 1.0)};
  // Zeros, where the kernel is compiled for more than there are.
  pass.taps.x.weights.resize(static_cast<std::size_t>(x.factor) * static_cast<std::size_t>(support.x), 0.0);
  pass.taps.y.weights.resize(static_cast<std::size_t>(y.factor) * static_cast<std::size_t>(support.y), 0.0);
  return pass;
}

Result<Pass> decimating(const Problem& p, const AxisPlan& x, const AxisPlan& y, const PerAxis<CoarseRange>& grid, Proposal& out) {
  constexpr std::int32_t kComponents = 4;
  const Result<std::int32_t> threads =
      decimating_threads(p, x.factor, static_cast<std::int32_t>(x.support()), kComponents, cuda::kDecimateThreads);
  if (!threads) return threads.error();
  const int channels = info(p.src.format).channels;
  const auto support_x = static_cast<std::int32_t>(x.support()), support_y = static_cast<std::int32_t>(y.support());
  const cuda::DecimateShape shape(channels, *threads, kComponents, x.factor, support_x);
  const std::int64_t floats = cuda::decimate_floats(shape, *threads, x.factor, support_x, y.factor, cuda::kMostSupport);
  if (Status s = check_shared(p, 4 * floats); !s) return s.error();
  const PerAxis<std::int32_t> size = size_of(grid);
  const std::int32_t rows = decimating_rows(p, size, shape, *threads, 2 * support_y);

  const double area = static_cast<double>(x.factor) * y.factor;
  const double reads = (rows + support_y - 1.0) / rows * shape.columns / (static_cast<double>(shape.samples) * x.factor);
  const double pixels = static_cast<double>(size.x) * size.y;
  out.seconds += seconds_of_sums(p, p.src.format,
                                 {.pixels = pixels,
                                  .loads = reads * area,
                                  .shared_loads = static_cast<double>(x.spline.size()),
                                  .operations = reads * area * (support_y + 2.0) * channels / 4.0,
                                  .barriers = 1.0 * *threads / shape.samples,
                                  .bytes = static_cast<double>(source_bytes(p)) + pixels * 4.0 * channels});
  return decimating_pass("gauss_decimate", x, y, grid, {support_x, support_y}, shape, *threads, rows, cuda::kDecimateRows);
}

/// How spans of 16 bytes are summed.
struct SpanSums {
  /// That the kernel is compiled for. Where a pixel is made of fewer coarse samples, as on an axis that is not decimated, there are zeros.
  PerAxis<std::int32_t> support;
  std::int32_t threads;
  std::int32_t most_rows;  ///< of coarse samples, of a chunk
  cuda::DecimateShape shape;
};

/// Nothing where kernels are not compiled for it, or shared memory has no room.
std::optional<SpanSums> spans_of(const Problem& p, const AxisPlan& x, const AxisPlan& y) {
  if (!has_spans(p)) return std::nullopt;
  const cuda::Component component = component_of<cuda::Component>(info(p.src.format));
  const auto support_of = [](const AxisPlan& axis) {
    return std::max(static_cast<std::int32_t>(axis.support()), std::int32_t{cuda::kLeastCompiledSupport});
  };
  const PerAxis<std::int32_t> support{support_of(x), support_of(y)};
  if (std::max(support.x, support.y) > cuda::most_span_support(component)) return std::nullopt;
  const std::int32_t components = 4 * cuda::pixels_of_span(component);
  const Result<std::int32_t> threads = decimating_threads(p, x.factor, support.x, components, cuda::span_threads(component));
  if (!threads) return std::nullopt;
  const cuda::DecimateShape shape(4, *threads, components, x.factor, support.x);
  const std::int32_t most_rows = std::max(cuda::kMostSpanRows / y.factor - (support.y - 1), 1);
  if (!check_shared(p, cuda::span_shared_bytes(shape, x.factor, support.x, y.factor, support.y, most_rows))) return std::nullopt;
  return SpanSums{support, *threads, most_rows, shape};
}

Pass decimating_by_spans(const Problem& p, const SpanSums& spans, const AxisPlan& x, const AxisPlan& y, const PerAxis<CoarseRange>& grid,
                         Proposal& out) {
  const std::int32_t support_y = spans.support.y;
  constexpr std::int32_t kFewestRows = 2;  // with which small images take least
  const std::int32_t rows = std::min(decimating_rows(p, size_of(grid), spans.shape, spans.threads, kFewestRows), spans.most_rows);
  const GpuModel model = gpu_model(p.device);
  // Measured: times what reading the image takes. Few rows ahead make bytes wait.
  const auto slowness_of = [&](double pixel, double sample, double wait) {
    return wait * (pixel + sample * support_y) * (1.0 + 3.0 / (1.0 * x.factor * y.factor));
  };
  const int bits = info(p.src.format).bits;
  const std::int32_t most_ahead = cuda::span_rows_ahead(component_of<cuda::Component>(info(p.src.format)), support_y);
  const double slowness = bits == 8    ? slowness_of(1.05, 0.52, rows_ahead(most_ahead, y.factor) <= most_ahead / 2 ? 1.45 : 1.0)
                          : bits == 16 ? slowness_of(0.58, 0.24, 1.0)
                                       : slowness_of(0.93, 0.055, 1.0);
  out.seconds += model.launch_seconds + slowness * static_cast<double>(source_bytes(p)) / model.bytes_per_second;
  return decimating_pass("gauss_spans", x, y, grid, spans.support, spans.shape, spans.threads, rows, most_ahead);
}

/// What lies between the beginning of a block and `first`, which it holds: blocks have fixed places in the whole image.
std::int64_t skipped(std::int64_t first, std::int64_t block) {
  return first - floor_div(first, block) * block;
}

/// Products of pixels and of coarse samples: the time of both, divided by that of pixels alone. Measured, of all steps together.
double slowness_of_grid(const AxisPlan& x, const AxisPlan& y) {
  return 1.0 + 10.0 / (static_cast<double>(x.factor) * y.factor);
}

cuda::GaussMatrixShape shape_of_products(const AxisPlan& x, const AxisPlan& y) {
  return {x.factor, static_cast<std::int32_t>(x.support()), static_cast<std::int32_t>(spline_centre(x.spline.size())), y.factor,
          static_cast<std::int32_t>(y.support())};
}

/// Whether tensor cores may take part, and shared memory has room for weights.
Status check_products(const Problem& p, const AxisPlan& x, const AxisPlan& y) {
  if (Status s = check_products(p); !s) return s;
  const FormatInfo& format = info(p.src.format);
  if (format.is_floating() && !p.device.gpu.tf32_matrices) {
    return refusal("tensor cores of this GPU have no tf32");
  }
  const int pair_bytes = cuda::gauss_matrix_pair_bytes(format.is_floating() && format.bits == 32);
  if (Status s = check_shared(p, shape_of_products(x, y).shared_bytes(format.channels, pair_bytes, y.factor)); !s) return s;
  const auto nx = static_cast<std::int32_t>(x.coarse.weights.size()), ny = static_cast<std::int32_t>(y.coarse.weights.size());
  return format.is_unorm() ? check_shared(p, cuda::grid_matrix_shared_bytes(nx, ny)) : Status();
}

/// By products on tensor cores. Blocks have fixed places in the grid of the whole image.
Result<Pass> decimating_by_products(const Problem& p, const AxisPlan& x, const AxisPlan& y, const PerAxis<CoarseRange>& grid,
                                    Proposal& out) {
  const cuda::GaussMatrixShape shape = shape_of_products(x, y);
  const FormatInfo& format = info(p.src.format);
  const PerAxis<std::int32_t> size = size_of(grid);
  const PerAxis<std::int32_t> tile{cuda::kCoarseAcross, shape.tiles * cuda::kCoarseRows};
  const cuda::DecimateMatrixArguments arguments{.grid = grid_arguments(grid, x, y),
                                                .skip = {skipped(grid.x.first, tile.x), skipped(grid.y.first, tile.y)}};
  Pass pass = make_pass("gauss_matrix", arguments, size, tile, {shape.threads(), 1}, Storage::buffer);
  pass.taps = {spline_taps(x, 1.0), spline_taps(y, 1.0)};

  const GpuModel model = gpu_model(p.device);
  // Measured at sigma 4 to 100: times what reading the image takes.
  const double slowness = format.bits == 8 ? 6.0 : format.bits == 16 ? 3.5 : 2.6;
  out.seconds += model.launch_seconds + slowness * slowness_of_grid(x, y) * static_cast<double>(source_bytes(p)) / model.bytes_per_second;
  return pass;
}

/// The blur of `fused` along rows and then down columns.
Result<std::vector<Pass>> blurring_by_axes(const Problem& p, const Pass& fused, const PerAxis<CoarseRange>& from, Proposal& out) {
  const int channels = info(p.src.format).channels;
  const auto nx = static_cast<std::int64_t>(fused.taps.x.weights.size()), ny = static_cast<std::int64_t>(fused.taps.y.weights.size());
  if (Status s = check_shared(p, cuda::grid_rows_shared_bytes(channels, nx)); !s) return s.error();
  if (Status s = check_shared(p, cuda::grid_columns_shared_bytes(ny)); !s) return s.error();
  const std::int32_t columns = cuda::kGridComponents / channels;
  const PerAxis<std::int32_t> rows_size{fused.size.x, size_of(from).y};
  Pass along =
      make_pass("gauss_grid_rows", cuda::GridBlurArguments{from.x.size}, rows_size, {columns, 1}, {cuda::kGridThreads, 1}, Storage::buffer);
  Pass down = make_pass("gauss_grid_columns", cuda::GridBlurArguments{fused.size.x}, fused.size, {columns, cuda::kGridRows},
                        {cuda::kGridThreads, 1}, Storage::buffer);
  along.taps.x = fused.taps.x;
  along.origin.x = fused.origin.x;
  down.taps.y = fused.taps.y;
  down.origin.y = fused.origin.y;
  for (const std::int64_t taps : {nx, ny}) {
    const double pixels = static_cast<double>(rows_size.x) * rows_size.y;
    out.seconds += seconds_of_sums(p, grid_of(p, from).format,
                                   {.pixels = pixels,
                                    .loads = 1.0,
                                    .shared_loads = static_cast<double>(taps),
                                    .operations = static_cast<double>(taps),
                                    .bytes = pixels * 8.0 * channels});
  }
  along.destination = down.source = intermediate(1);
  return std::vector<Pass>{std::move(along), std::move(down)};
}

/// The blur of `fused` by tiles, of four channels.
Result<std::vector<Pass>> blurring_by_tiles(const Problem& p, const Pass& fused, const PerAxis<CoarseRange>& from, Proposal& out) {
  const auto nx = static_cast<std::int32_t>(fused.taps.x.weights.size()), ny = static_cast<std::int32_t>(fused.taps.y.weights.size());
  if (Status s = check_shared(p, cuda::grid_tile_shared_bytes(nx, ny)); !s) return s.error();
  Pass pass = make_pass("gauss_grid_tile", cuda::GridBlurArguments{from.x.size}, fused.size, {cuda::kGridTileAcross, cuda::kGridTileDown},
                        {cuda::kGridTileThreads, 1}, Storage::buffer);
  pass.taps = fused.taps;
  pass.origin = fused.origin;
  const double pixels = static_cast<double>(fused.size.x) * fused.size.y;
  const double reads = (cuda::kGridTileAcross + nx - 1.0) / cuda::kGridTileAcross;
  out.seconds += seconds_of_sums(p, grid_of(p, from).format,
                                 {.pixels = pixels,
                                  .loads = reads * (ny + 3.0) / 4.0,
                                  .shared_loads = (nx + 1.0) / 2.0,
                                  .operations = reads * ny + nx,
                                  .bytes = pixels * 32.0});
  return std::vector<Pass>{std::move(pass)};
}

bool has_pass(const Plan& plan, std::string_view kernel) {
  return std::ranges::find(plan.passes, kernel, &Pass::kernel) != plan.passes.end();
}

/// Coarse samples beyond the edge of the grid are like the nearest.
Result<std::vector<Pass>> blurring(const Problem& p, const AxisPlan& x, const AxisPlan& y, const PerAxis<CoarseRange>& from,
                                   const PerAxis<CoarseRange>& to, Proposal& out) {
  const int channels = info(p.src.format).channels;
  const auto nx = static_cast<std::int32_t>(x.coarse.weights.size()), ny = static_cast<std::int32_t>(y.coarse.weights.size());
  const std::int32_t columns = cuda::sep_fused_columns(channels);
  const PerAxis<std::int32_t> size = size_of(to);
  const std::int64_t across = (size.x + columns - 1) / columns;
  constexpr std::int32_t kStep = cuda::kSepFusedRows;
  const std::int32_t rows = rows_of_chunk(p, across, size.y, cuda::kSepFusedAtOnce, kStep, kStep);
  Pass pass =
      make_pass("gauss_grid", cuda::GridBlurArguments{from.x.size}, size, {columns, rows}, {cuda::kSepFusedThreads, 1}, Storage::buffer);
  pass.taps = {x.coarse, y.coarse};
  pass.origin = {static_cast<std::int32_t>(to.x.first - from.x.first), static_cast<std::int32_t>(to.y.first - from.y.first)};
  if (channels == 4) return blurring_by_tiles(p, pass, from, out);
  // Where a grid leaves blocks so few rows, they filter half of them or more again for their neighbours. A window has the passes of the
  // whole image.
  const bool has_few_rows = p.batch == 1 && rows <= 2 * kStep && rows < 2 * (ny - 1);
  if (p.whole ? has_pass(*p.whole, "gauss_grid_rows") : has_few_rows) return blurring_by_axes(p, pass, from, out);
  if (Status s = check_shared(p, cuda::SepFusedShape(channels, columns, nx, ny, 3).shared_bytes()); !s) return s.error();

  const double pixels = static_cast<double>(size.x) * size.y;
  const double reads = (rows + ny - 1.0) / rows * (columns + nx - 1.0) / columns;
  out.seconds += seconds_of_sums(p, grid_of(p, to).format,
                                 {.pixels = pixels,
                                  .loads = reads,
                                  .shared_loads = reads * (nx + ny) / 4.0,
                                  .operations = reads * (nx + ny),
                                  .barriers = reads / cuda::kSepFusedRows,
                                  .bytes = pixels * 8.0 * channels});
  return std::vector<Pass>{std::move(pass)};
}

/// By products on tensor cores, of bytes.
Result<std::vector<Pass>> blurring_by_products(const Problem& p, const AxisPlan& x, const AxisPlan& y, const PerAxis<CoarseRange>& from,
                                               const PerAxis<CoarseRange>& to, Proposal& out) {
  constexpr std::int32_t kSide = cuda::kProductRows;
  const int channels = info(p.src.format).channels;
  const cuda::GridMatrixArguments arguments{.skip = {skipped(to.x.first, kSide), skipped(to.y.first, kSide)}, .source_width = from.x.size};
  Pass pass = make_pass("gauss_grid_matrix", arguments, size_of(to), {cuda::grid_tiles_of_block(channels) * cuda::kProductColumns, kSide},
                        {cuda::kProductThreads, 1}, Storage::buffer);
  pass.taps = {x.coarse, y.coarse};
  pass.origin = {static_cast<std::int32_t>(to.x.first - from.x.first), static_cast<std::int32_t>(to.y.first - from.y.first)};
  const GpuModel model = gpu_model(p.device);
  const double numbers = static_cast<double>(to.x.size) * static_cast<double>(to.y.size) * channels;
  constexpr double kSlowness = 6.0;  // measured: times what reading and writing the grid takes
  out.seconds += model.launch_seconds + kSlowness * 8.0 * numbers / model.bytes_per_second;
  return std::vector<Pass>{std::move(pass)};
}

bool has_negative_weights(const AxisPlan& axis) {
  const auto is_negative = [](double w) { return w < 0.0; };
  return std::ranges::any_of(axis.coarse.weights, is_negative) || std::ranges::any_of(axis.spline, is_negative);
}

/// The segment of a row that a block upsamples by products; 0: none, as samples lie too close or pixels apart, or as what is made of them
/// can leave the range of codes.
std::int32_t upsample_segment(const Problem& p, const AxisPlan& x, const AxisPlan& y) {
  const FormatInfo& format = info(p.dst.format);
  if (format.is_unorm() && (has_negative_weights(x) || has_negative_weights(y))) return 0;
  if (p.spec.stride.x.step != 1 || p.spec.stride.y.step != 1) return 0;
  const auto support_x = static_cast<std::int32_t>(x.support()), support_y = static_cast<std::int32_t>(y.support());
  if (cuda::upsample_row_blocks(y.factor, support_y) > cuda::kMostUpsampleRowBlocks) return 0;
  return cuda::upsample_segment(x.factor, support_x, format.pixel_bytes(), format.is_floating());
}

/// By products on tensor cores, segments of rows at fixed places of the whole image.
Pass upsampling_by_products(const Problem& p, const AxisPlan& x, const AxisPlan& y, const PerAxis<CoarseRange>& grid, std::int32_t segment,
                            Proposal& out) {
  const FormatInfo& format = info(p.dst.format);
  const Rect r = region(p);
  const PerAxis<std::int64_t> skip{skipped(r.x, segment), skipped(r.y, cuda::kProductRows)};
  const std::int64_t across = (p.dst.width + skip.x + segment - 1) / segment;
  constexpr std::int32_t kStep = cuda::kProductThreads / 32 * cuda::kProductRows;
  const double at_once = cuda::upsample_matrix_at_once(format.is_unorm());
  const std::int32_t rows = rows_of_chunk(p, across, p.dst.height, at_once, kStep, kStep);
  const cuda::UpsampleMatrixArguments arguments{.grid = grid_arguments(grid, x, y), .skip = {skip.x, skip.y}, .source_width = grid.x.size};
  Pass pass = make_pass("gauss_upsample_matrix", arguments, {p.dst.width, p.dst.height}, {segment, rows}, {cuda::kProductThreads, 1},
                        Storage::buffer);
  pass.taps = {spline_taps(x, x.factor), spline_taps(y, y.factor)};
  const GpuModel model = gpu_model(p.device);
  // Measured as well: times what writing the image takes.
  const double slowness = format.bits == 8 ? 4.0 : format.bits == 16 ? 2.5 : 2.0;
  out.seconds +=
      model.launch_seconds + slowness * slowness_of_grid(x, y) * static_cast<double>(p.dst.payload_bytes()) / model.bytes_per_second;
  return pass;
}

/// Both the blur of the grid and what is made of it, by strips. Nothing where kernels are not compiled for it, or shared memory has no
/// room.
std::optional<Pass> expanding_by_strips(const Problem& p, const AxisPlan& x, const AxisPlan& y, const PerAxis<CoarseRange>& grid,
                                        Proposal& out) {
  if (!has_spans(p) || p.spec.stride.x.step != 1 || p.spec.stride.y.step != 1) return std::nullopt;
  if (info(p.src.format).is_unorm() && (!may_cut_numbers(p) || has_negative_weights(x) || has_negative_weights(y))) return std::nullopt;
  const cuda::Component component = component_of<cuda::Component>(info(p.src.format));
  const auto support_x = static_cast<std::int32_t>(x.support()), support_y = static_cast<std::int32_t>(y.support());
  const std::int32_t support = cuda::strips_support(support_x, support_y);
  if (support > cuda::most_span_support(component) || x.factor < cuda::least_strip_factor(component)) return std::nullopt;
  const auto taps_x = static_cast<std::int32_t>(x.coarse.weights.size()), taps_y = static_cast<std::int32_t>(y.coarse.weights.size());
  const std::int32_t pixels = cuda::pixels_of_span(component), columns = pixels * cuda::kStripThreads;
  const std::int32_t step = cuda::strip_step_rows(component);
  const cuda::StripShape shape(pixels, x.factor, support_x, taps_x);
  if (!check_shared(p, shape.shared_bytes(step, taps_x, taps_y, y.factor, support))) return std::nullopt;
  // Places of coarse samples have 32 bits.
  if (grid_of(p, grid).payload_bytes() / 16 > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;

  const std::int64_t across = (p.dst.width + columns - 1) / columns;
  const std::int32_t all_rows = p.dst.height / y.factor + 2;
  const std::int32_t rows = rows_of_chunk(p, across, all_rows, cuda::strips_at_once(component), 1, 1);
  // Whole fours, of which the first rows are only needed for others.
  const std::int32_t whole = cuda::whole_fours(rows + support_y - 1) - (support_y - 1);
  const cuda::StripsArguments arguments{
      .grid = grid_arguments(grid, x, y), .taps = {taps_x, taps_y}, .step_rows = step, .source_width = grid.x.size};
  Pass pass = make_pass("gauss_strips", arguments, {p.dst.width, p.dst.height}, {columns, std::max(whole, 1) * y.factor},
                        {cuda::kStripThreads, 1}, Storage::buffer);
  pass.taps = {kernel_and_spline(x.coarse, spline_taps(x, x.factor)), kernel_and_spline(y.coarse, spline_taps(y, y.factor))};

  // Measured: times what writing the image takes, and for each coarse sample something and its taps.
  const auto slowness_of = [&](double pixel, double sample, double tap) {
    return pixel + (sample + tap * (taps_x + taps_y)) / (static_cast<double>(x.factor) * y.factor);
  };
  const int bits = info(p.dst.format).bits;
  const double slowness = bits == 8    ? slowness_of(1.8, 5.0, 0.73)
                          : bits == 16 ? slowness_of(1.45, 2.0, 0.27)
                                       : slowness_of(1.22, 1.0, 0.13);
  const GpuModel model = gpu_model(p.device);
  out.seconds += model.launch_seconds + slowness * static_cast<double>(p.dst.payload_bytes()) / model.bytes_per_second;
  return pass;
}

Pass expanding_from(const Problem& p, const AxisPlan& x, const AxisPlan& y, const PerAxis<CoarseRange>& grid, Proposal& out) {
  const int channels = info(p.dst.format).channels;
  const std::int64_t across = (std::int64_t{p.dst.width} * channels + 4 * cuda::kUpsampleThreads - 1) / (4 * cuda::kUpsampleThreads);
  const auto fewest = static_cast<std::int32_t>(2 * y.support() * y.factor);
  const std::int32_t rows = rows_of_chunk(p, across, p.dst.height, cuda::kUpsampleAtOnce, 1, std::min(fewest, p.dst.height));
  Pass pass = make_pass("gauss_upsample", grid_arguments(grid, x, y), {p.dst.width, p.dst.height},
                        {4 * cuda::kUpsampleThreads / channels, rows}, {cuda::kUpsampleThreads, 1}, Storage::buffer);
  pass.taps = {spline_taps(x, x.factor), spline_taps(y, y.factor)};
  const double pixels = static_cast<double>(p.dst.width) * p.dst.height;
  const auto support_x = static_cast<double>(x.support()), support_y = static_cast<double>(y.support());
  out.seconds += seconds_of_sums(p, p.dst.format,
                                 {.pixels = pixels,
                                  .loads = support_x / y.factor,
                                  .operations = (support_y + 2.0 + support_x * (1.0 + support_y / rows) / y.factor) * channels / 4.0,
                                  .bytes = static_cast<double>(p.dst.payload_bytes())});
  return pass;
}

Reach widened(Reach axis, std::int64_t pixels) {
  axis.before += static_cast<std::int32_t>(pixels);
  axis.after += static_cast<std::int32_t>(pixels);
  return axis;
}

}  // namespace

Result<Proposal> add_gauss_decimate_cuda_passes(const Problem& p, const AxisPlan& x, const AxisPlan& y, Proposal out) {
  if (Status s = check_rows(p); !s) return s.error();
  const AxisPlan expanded_x = expanding(x), expanded_y = expanding(y);
  if (std::max(expanded_x.support(), expanded_y.support()) > cuda::kMostSupport) {
    return refusal("between pixels a pixel is made of one coarse sample more, so " + std::to_string(cuda::kMostSupport - 1) +
                   " are the most");
  }
  const Rect r = region(p);
  const PerAxis<BorderMode>& mode = p.spec.border.mode;
  const PerAxis<CoarseRange> grid{coarse_range(x, mode.x, p.src.width, r.x, r.width), coarse_range(y, mode.y, p.src.height, r.y, r.height)};
  const PerAxis<CoarseRange> blurred{expanded_from(expanded_x, r.x, r.width), expanded_from(expanded_y, r.y, r.height)};
  out.seconds = 0.0;
  const Status products = check_products(p, x, y);
  const DecimateMath math = kDecimateMath.of(p, products ? DecimateMath::coopmat : DecimateMath::f32);
  if (math == DecimateMath::coopmat && !products) return products.error();
  out.options.insert(kDecimateMath.as(math));
  const bool by_products = math == DecimateMath::coopmat;
  const bool are_bytes = info(p.src.format).is_unorm();
  const std::int32_t segment = by_products ? upsample_segment(p, expanded_x, expanded_y) : 0;
  const std::optional<SpanSums> spans = by_products ? std::nullopt : spans_of(p, x, y);
  Result<Pass> decimate = by_products ? decimating_by_products(p, x, y, grid, out)
                          : spans     ? decimating_by_spans(p, *spans, x, y, grid, out)
                                      : decimating(p, x, y, grid, out);
  if (!decimate) return decimate.error();
  out.intermediates = {grid_of(p, grid)};
  out.passes = {std::move(*decimate)};
  if (std::optional<Pass> strips = expanding_by_strips(p, expanded_x, expanded_y, grid, out)) {
    out.passes.push_back(std::move(*strips));
  } else {
    Result<std::vector<Pass>> blur =
        by_products && are_bytes ? blurring_by_products(p, x, y, grid, blurred, out) : blurring(p, x, y, grid, blurred, out);
    if (!blur) return blur.error();
    if (blur->size() == 2) out.intermediates.push_back(grid_of(p, {blurred.x, grid.y}));
    out.intermediates.push_back(grid_of(p, blurred));
    std::ranges::move(*blur, std::back_inserter(out.passes));
    out.passes.push_back(segment > 0 ? upsampling_by_products(p, expanded_x, expanded_y, blurred, segment, out)
                                     : expanding_from(p, expanded_x, expanded_y, blurred, out));
  }
  for (std::size_t i = 0; i + 1 < out.passes.size(); ++i) {
    out.passes[i].destination = out.passes[i + 1].source = intermediate(static_cast<std::int32_t>(i));
  }
  out.passes.back().origin = {r.x, r.y};
  out.halo = {x.halo(), y.halo()};
  if (by_products) {
    // Blocks of coarse samples and segments of pixels begin at the same places in a window as in the whole image.
    const std::int64_t block = std::int64_t{cuda::kCoarseAcross} * x.factor;
    out.halo = {made_together(out.halo->x, (segment > 0 ? std::lcm(block, segment) : block) / x.factor),
                made_together(out.halo->y, cuda::kProductRows)};
  }
  if (spans && !are_bytes) {
    // Weights of zero as well.
    const auto more = [](const AxisPlan& axis, std::int32_t support) { return (support - axis.support()) * axis.factor; };
    out.reach = PerAxis<Reach>{widened(out.reach->x, more(x, spans->support.x)), widened(out.reach->y, more(y, spans->support.y))};
  }
  if (out.passes.back().kernel == "gauss_strips" && !are_bytes) {
    // Some samples are read with a weight of zero: by the blur, and where a pixel is made of fewer than its kernel is compiled for.
    const std::int32_t support =
        cuda::strips_support(static_cast<std::int32_t>(expanded_x.support()), static_cast<std::int32_t>(expanded_y.support()));
    const auto more = [&](const AxisPlan& axis) { return (cuda::kStripMargin + support - axis.support()) * axis.factor; };
    out.reach = PerAxis<Reach>{widened(out.reach->x, more(expanded_x)), widened(out.reach->y, more(expanded_y))};
  }
  if (by_products && !are_bytes) {
    // What is not finite acts on all that is made together with what it belongs to, and so do pixels that are read without a weight.
    const std::int64_t across = (cuda::kCoarseAcross - 1) * x.factor + 2 * cuda::kMatrixSide + cuda::kMatrixAligned + segment;
    const std::int64_t down = (cuda::GaussMatrixShape::tiles_of(y.factor) * cuda::kCoarseRows - 1) * y.factor + cuda::kProductRows;
    out.reach = PerAxis<Reach>{widened(out.reach->x, across), widened(out.reach->y, down)};
  }
  out.moved_bytes = moved_bytes(p, out.intermediates);
  return out;
}

}  // namespace mollify
