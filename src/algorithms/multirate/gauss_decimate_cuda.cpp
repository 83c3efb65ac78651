// gauss.decimate on CUDA, three or four passes: the image becomes a grid of coarse samples, the grid is blurred as sep.fused blurs images,
// or along its rows and then its columns, and pixels are expanded from it. Image and result are touched once.
#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "algorithms/common/occupancy.h"
#include "algorithms/multirate/gauss_decimate_gpu.h"
#include "algorithms/multirate/gauss_decimate_options.h"
#include "backends/cuda/kernels/gauss_decimate_shape.h"
#include "backends/cuda/kernels/gauss_grid_shape.h"
#include "backends/cuda/kernels/gauss_matrix_shape.h"
#include "backends/cuda/kernels/pass_arguments.h"
#include "backends/cuda/kernels/sep_fused_shape.h"
#include "base/places.h"
#include "model/decimation_costs.h"
#include "model/gpu_model.h"

namespace mollify {
namespace {

using namespace gpu;

/// Threads of a block that decimates: so many that few of its columns are read by its neighbours as well.
Result<std::int32_t> decimating_threads(const Problem& p, const AxisPlan& x) {
  constexpr std::int32_t kMost = cuda::kDecimateThreads;
  const int channels = info(p.src.format).channels;
  const std::int64_t shared_with_neighbours = (x.support() - 1) * x.factor;
  std::int32_t threads = 128;
  while (threads < kMost && threads * 4 / channels < 16 * shared_with_neighbours) threads *= 2;
  const cuda::DecimateShape shape(channels, threads, x.factor, static_cast<std::int32_t>(x.support()));
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

Result<Pass> decimating(const Problem& p, const AxisPlan& x, const AxisPlan& y, const PerAxis<CoarseRange>& grid, Proposal& out) {
  const Result<std::int32_t> threads = decimating_threads(p, x);
  if (!threads) return threads.error();
  const int channels = info(p.src.format).channels;
  const auto support_x = static_cast<std::int32_t>(x.support()), support_y = static_cast<std::int32_t>(y.support());
  const cuda::DecimateShape shape(channels, *threads, x.factor, support_x);
  const std::int64_t floats = cuda::decimate_floats(shape, *threads, x.factor, support_x, y.factor, cuda::kMostSupport);
  if (Status s = check_shared(p, 4 * floats); !s) return s.error();
  const PerAxis<std::int32_t> size = size_of(grid);
  const std::int64_t across = (size.x + shape.samples - 1) / shape.samples;
  const double at_once = cuda::kDecimateThreadsAtOnce / static_cast<double>(*threads);
  const std::int32_t rows = rows_of_chunk(p, across, size.y, at_once, 1, std::min(2 * support_y, size.y));
  const cuda::DecimateArguments arguments{.grid = grid_arguments(grid, x, y), .step_rows = rows_ahead(cuda::kDecimateRows, y.factor)};
  Pass pass = make_pass("gauss_decimate", arguments, size, {shape.samples, rows}, {*threads, 1}, Storage::buffer);
  pass.taps = {spline_taps(x, 1.0), spline_taps(y, 1.0)};

  const double area = static_cast<double>(x.factor) * y.factor;
  const double reads = (rows + support_y - 1.0) / rows * shape.columns / (static_cast<double>(shape.samples) * x.factor);
  const double pixels = static_cast<double>(size.x) * size.y;
  out.seconds += seconds(p.device, p.src.format,
                         {.pixels = pixels,
                          .loads = reads * area,
                          .shared_loads = static_cast<double>(x.spline.size()),
                          .operations = reads * area * (support_y + 2.0) * channels / 4.0,
                          .barriers = 1.0 * *threads / shape.samples,
                          .bytes = static_cast<double>(source_bytes(p)) + pixels * 4.0 * channels});
  return pass;
}

/// As much is kept of weights, and of what lies between the axes, as two halves hold, and one product of their rests is left out.
constexpr double kErrorOfProducts = 4.0 * 0x1p-22;

/// Whether an image may be decimated on tensor cores. `error`: of all else.
Status check_products(const Problem& p, double error) {
  const FormatInfo& source = info(p.src.format);
  if ((source.channels != 4 && source.channels != 1) || !source.is_unorm() || source.bits != 8 || p.dst.format != p.src.format) {
    return refusal("tensor cores decimate images of one or four channels of bytes, and leave bytes");
  }
  if (error + kErrorOfProducts > p.allowed_error) return refusal("halves of tensor cores are not exact enough");
  if (p.spec.alpha != AlphaMode::ignore || p.spec.transfer != TransferFunction::none) {
    return refusal("tensor cores multiply pixels as they are stored");
  }
  return {};
}

/// By products on tensor cores. Blocks have fixed places in the grid of the whole image.
Result<Pass> decimating_by_products(const Problem& p, const AxisPlan& x, const AxisPlan& y, const PerAxis<CoarseRange>& grid,
                                    Proposal& out) {
  if (Status s = check_products(p, out.error); !s) return s.error();
  const cuda::GaussMatrixShape shape(x.factor, static_cast<std::int32_t>(x.support()),
                                     static_cast<std::int32_t>(spline_centre(x.spline.size())), y.factor,
                                     static_cast<std::int32_t>(y.support()));
  if (Status s = check_shared(p, shape.shared_bytes(info(p.src.format).channels)); !s) return s.error();
  const PerAxis<std::int32_t> size = size_of(grid);
  const PerAxis<std::int32_t> tile{cuda::kCoarseAcross, shape.tiles * cuda::kCoarseRows};
  const auto skipped = [](std::int64_t first, std::int64_t block) { return first - floor_div(first, block) * block; };
  const cuda::DecimateMatrixArguments arguments{.grid = grid_arguments(grid, x, y),
                                                .skip = {skipped(grid.x.first, tile.x), skipped(grid.y.first, tile.y)}};
  Pass pass = make_pass("gauss_matrix", arguments, size, tile, {shape.threads(), 1}, Storage::buffer);
  pass.taps = {spline_taps(x, 1.0), spline_taps(y, 1.0)};

  out.error += kErrorOfProducts;
  const GpuModel model = gpu_model(p.device);
  constexpr double kSlowness = 3.5;  // measured of rgba8: times what reading the image takes
  out.seconds += model.launch_seconds + kSlowness * static_cast<double>(source_bytes(p)) / model.bytes_per_second;
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
    out.seconds += seconds(p.device, grid_of(p, from).format,
                           {.pixels = pixels,
                            .loads = 1.0,
                            .shared_loads = static_cast<double>(taps),
                            .operations = static_cast<double>(taps),
                            .bytes = pixels * 8.0 * channels});
  }
  along.destination = down.source = intermediate(1);
  return std::vector<Pass>{std::move(along), std::move(down)};
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
  // Where a grid leaves blocks so few rows, they filter half of them or more again for their neighbours. A window has the passes of the
  // whole image.
  const bool has_few_rows = p.batch == 1 && rows <= 2 * kStep && rows < 2 * (ny - 1);
  if (p.whole ? has_pass(*p.whole, "gauss_grid_rows") : has_few_rows) return blurring_by_axes(p, pass, from, out);
  if (Status s = check_shared(p, cuda::SepFusedShape(channels, columns, nx, ny, 3).shared_bytes()); !s) return s.error();

  const double pixels = static_cast<double>(size.x) * size.y;
  const double reads = (rows + ny - 1.0) / rows * (columns + nx - 1.0) / columns;
  out.seconds += seconds(p.device, grid_of(p, to).format,
                         {.pixels = pixels,
                          .loads = reads,
                          .shared_loads = reads * (nx + ny) / 4.0,
                          .operations = reads * (nx + ny),
                          .barriers = reads / cuda::kSepFusedRows,
                          .bytes = pixels * 8.0 * channels});
  return std::vector<Pass>{std::move(pass)};
}

Pass expanding_from(const Problem& p, const AxisPlan& x, const AxisPlan& y, const PerAxis<CoarseRange>& grid, Proposal& out) {
  const int channels = info(p.dst.format).channels;
  const std::int64_t across = (std::int64_t{p.dst.width} * channels + 4 * cuda::kUpsampleThreads - 1) / (4 * cuda::kUpsampleThreads);
  const auto fewest = static_cast<std::int32_t>(2 * y.support() * y.factor);
  const std::int32_t rows = rows_of_chunk(p, across, p.dst.height, cuda::upsample_at_once(channels), 1, std::min(fewest, p.dst.height));
  Pass pass = make_pass("gauss_upsample", grid_arguments(grid, x, y), {p.dst.width, p.dst.height},
                        {4 * cuda::kUpsampleThreads / channels, rows}, {cuda::kUpsampleThreads, 1}, Storage::buffer);
  pass.taps = {spline_taps(x, x.factor), spline_taps(y, y.factor)};
  const double pixels = static_cast<double>(p.dst.width) * p.dst.height;
  const auto support_y = static_cast<double>(y.support());
  out.seconds +=
      seconds(p.device, p.dst.format,
              {.pixels = pixels,
               .loads = static_cast<double>(x.support()) / y.factor,
               .operations = (support_y + 2.0 + static_cast<double>(x.support()) * (1.0 + support_y / rows) / y.factor) * channels / 4.0,
               .bytes = static_cast<double>(p.dst.payload_bytes())});
  return pass;
}

/// Measured time of all passes by sums, divided by what seconds() says of them, at 4096x4096 and sigma 4 to 5. Halves and floats were
/// measured; other formats take the factor of floats.
double slowness_of_sums(const FormatInfo& format) {
  return format.is_floating() && format.bits == 16 ? 2.2 : 1.6;
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
  const DecimateMath math = kDecimateMath.of(p, check_products(p, out.error) ? DecimateMath::coopmat : DecimateMath::f32);
  Result<Pass> decimate = math == DecimateMath::coopmat ? decimating_by_products(p, x, y, grid, out) : decimating(p, x, y, grid, out);
  if (!decimate) return decimate.error();
  out.options.insert(kDecimateMath.as(math));
  Result<std::vector<Pass>> blur = blurring(p, x, y, grid, blurred, out);
  if (!blur) return blur.error();
  Pass expand = expanding_from(p, expanded_x, expanded_y, blurred, out);
  if (math == DecimateMath::f32) {
    const double launches = (2.0 + static_cast<double>(blur->size())) * gpu_model(p.device).launch_seconds;
    out.seconds = launches + slowness_of_sums(info(p.src.format)) * (out.seconds - launches);
  }
  decimate->destination = blur->front().source = intermediate(0);
  out.intermediates = {grid_of(p, grid)};
  if (blur->size() == 2) out.intermediates.push_back(grid_of(p, {blurred.x, grid.y}));
  out.intermediates.push_back(grid_of(p, blurred));
  blur->back().destination = expand.source = intermediate(static_cast<std::int32_t>(blur->size()));
  expand.origin = {r.x, r.y};
  out.halo = {x.halo(), y.halo()};
  if (math == DecimateMath::coopmat)
    out.halo = {made_together(out.halo->x, decimate->tile.x), made_together(out.halo->y, decimate->tile.y)};
  out.moved_bytes = moved_bytes(p, out.intermediates);
  out.passes = {std::move(*decimate)};
  std::ranges::move(*blur, std::back_inserter(out.passes));
  out.passes.push_back(std::move(expand));
  return out;
}

}  // namespace mollify
