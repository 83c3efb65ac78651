// Kernels of gauss.decimate: coarse samples, their blur, and pixels from them.
#include "backends/cuda/drafts.h"
#include "backends/cuda/kernels/coarse_products_shape.h"
#include "backends/cuda/kernels/gauss_decimate_shape.h"
#include "backends/cuda/kernels/gauss_grid_shape.h"
#include "backends/cuda/kernels/gauss_matrix_shape.h"
#include "backends/cuda/kernels/gauss_strips_shape.h"
#include "backends/cuda/matrix_tables.h"
#include "base/places.h"

namespace mollify::cuda {

namespace {

CoarseGrid grid_of(const Plan& plan, const Pass& pass, const CoarseGridArguments& given, const PerAxis<AxisTaps>& splines, Tables& tables) {
  CoarseGrid grid{shared_of(plan, pass)};
  grid.splines = static_cast<std::uint64_t>(tables.add<float>(of_both_axes(splines)));
  grid.factor_x = given.factor_x;
  grid.factor_y = given.factor_y;
  grid.support_x = given.support_x;
  grid.support_y = given.support_y;
  return grid;
}

CoarseGrid grid_of(const Plan& plan, const Pass& pass, const CoarseGridArguments& given, Tables& tables) {
  return grid_of(plan, pass, given, pass.taps, tables);
}

/// The place of the destination's first pixel from the first weight of the grid's first coarse sample on.
PerAxis<std::int32_t> first_place(const Plan& plan, const CoarseGridArguments& given) {
  const PerAxis<AxisPlaces> places = places_of(plan.spec);
  return {static_cast<std::int32_t>(places.x.first) + given.centre.x - given.first.x * given.factor_x,
          static_cast<std::int32_t>(places.y.first) + given.centre.y - given.first.y * given.factor_y};
}

/// Of kernels by sums: for images of a type and a support along y that they are compiled for, or for any. `may_be_compiled`:
/// whether nothing else keeps the plan from the former.
std::string ending_of_support(const Plan& plan, bool may_be_compiled, std::int32_t along_y) {
  const int channels = info(plan.src.format).channels;
  const bool is_compiled =
      (channels == 1 || channels == 4) && may_be_compiled && along_y >= kLeastCompiledSupport && along_y <= kMostCompiledSupport;
  return is_compiled ? std::string(ending_of(plan)) + "_" + std::to_string(along_y) : "_any_" + std::to_string(kMostSupport);
}

}  // namespace

namespace {

/// By sums of f32, all but the shape of blocks.
GaussDecimate decimate_arguments(const Plan& plan, const Pass& pass, const DecimateArguments& given, Tables& tables) {
  GaussDecimate a{grid_of(plan, pass, given.grid, tables)};
  a.first_x = given.grid.first.x * a.factor_x - given.grid.centre.x;
  a.first_y = given.grid.first.y * a.factor_y - given.grid.centre.y;
  a.step_rows = given.step_rows;
  a.rows = pass.tile.y;
  a.destination.width = pass.size.x;
  a.blocks_across = ceil_div(pass.size.x, pass.tile.x);
  a.blocks_down = ceil_div(pass.size.y, a.rows);
  return a;
}

}  // namespace

Draft gauss_decimate(const Plan& plan, const Pass& pass, const DecimateArguments& given, Tables& tables) {
  const GaussDecimate a = decimate_arguments(plan, pass, given, tables);
  const auto threads = static_cast<std::uint32_t>(pass.group.x);
  const DecimateShape shape(info(plan.src.format).channels, pass.group.x, 4, a.factor_x, a.support_x);
  const std::int32_t floats = decimate_floats(shape, pass.group.x, a.factor_x, a.support_x, a.factor_y, kMostSupport);
  const bool may_be_compiled = ending_of(plan) == "_f32" && info(plan.src.format).channels == 1;
  return {"gauss_downsample",
          name_of("gauss_decimate", plan, ending_of_support(plan, may_be_compiled, a.support_y)),
          {nullptr, a, threads, static_cast<std::uint32_t>(floats * sizeof(float)), pass.source, pass.destination, {}}};
}

Draft gauss_spans(const Plan& plan, const Pass& pass, const DecimateArguments& given, Tables& tables) {
  const GaussDecimate a = decimate_arguments(plan, pass, given, tables);
  const auto threads = static_cast<std::uint32_t>(pass.group.x);
  const int pixels = pixels_of_span(component_of<Component>(info(plan.src.format)));
  const DecimateShape shape(4, pass.group.x, 4 * pixels, a.factor_x, a.support_x);
  const std::int64_t bytes = span_shared_bytes(shape, a.factor_x, a.support_x, a.factor_y, a.support_y, a.rows);
  return {"gauss_downsample",
          name_of("gauss_spans", plan, ending_of_support(plan, true, a.support_y)),
          {nullptr, a, threads, static_cast<std::uint32_t>(bytes), pass.source, pass.destination, {}}};
}

Draft gauss_matrix(const Plan& plan, const Pass& pass, const DecimateMatrixArguments& given, Tables& tables) {
  GaussMatrix a{grid_of(plan, pass, given.grid, tables)};
  a.centre_x = given.grid.centre.x;
  a.first_x = given.grid.first.x * a.factor_x - a.centre_x;
  a.first_y = given.grid.first.y * a.factor_y - given.grid.centre.y;
  a.skip_x = given.skip.x;
  a.skip_y = given.skip.y;
  const GaussMatrixShape shape(a.factor_x, a.support_x, a.centre_x, a.factor_y, a.support_y);
  a.outside_pixel = static_cast<std::uint64_t>(tables.add_values(outside_pixel(plan.src.format, a.outside)));
  a.destination.width = pass.size.x;
  a.blocks_across = ceil_div(pass.size.x + a.skip_x, kCoarseAcross);
  a.blocks_down = ceil_div(pass.size.y + a.skip_y, shape.tiles * kCoarseRows);
  const std::string ending = std::string(ending_of(plan)) + "_" + std::to_string(shape.tiles);
  return {"gauss_matrix",
          name_of("gauss_matrix", plan, ending),
          {nullptr,
           a,
           static_cast<std::uint32_t>(shape.threads()),
           static_cast<std::uint32_t>(
               shape.shared_bytes(info(plan.src.format).channels, gauss_matrix_pair_bytes(ending_of(plan) == "_f32"), a.factor_y)),
           pass.source,
           pass.destination,
           {}}};
}

/// Coarse samples beyond the edge of the grid are like the nearest.
Draft gauss_grid(const Plan& plan, const Pass& pass, const GridBlurArguments& given, Tables& tables) {
  Draft draft = sep_fused(plan, pass, {}, tables);
  auto& a = std::get<SepFused>(draft.launch.arguments);
  draft.function = name_of("sep_fused", plan, "_f32");
  a.source.width = given.source_width;
  a.destination.width = pass.size.x;
  a.blocks_across = ceil_div(pass.size.x, pass.tile.x);
  a.outside.mode_x = a.outside.mode_y = kClamp;
  return draft;
}

namespace {

/// One axis of the same, `down` or along rows.
Draft gauss_grid_axis(const Plan& plan, const Pass& pass, const GridBlurArguments& given, bool down, Tables& tables) {
  const AxisTaps& taps = down ? pass.taps.y : pass.taps.x;
  SepPass a{shared_of(plan, pass)};
  a.taps = static_cast<std::uint64_t>(tables.add<float>(taps.weights));
  a.count = static_cast<std::int32_t>(taps.weights.size());
  a.first = (down ? pass.origin.y : pass.origin.x) - taps.anchor;
  a.source.width = given.source_width;
  a.destination.width = pass.size.x;
  const int channels = info(plan.src.format).channels;
  a.blocks_across = ceil_div(whole_fours(a.destination.width * channels), kGridComponents);
  a.blocks_down = down ? ceil_div(a.destination.height, kGridRows) : a.destination.height;
  const std::int64_t shared = down ? grid_columns_shared_bytes(a.count) : grid_rows_shared_bytes(channels, a.count);
  return {"gauss_grid",
          name_of(down ? "gauss_grid_columns" : "gauss_grid_rows", plan, "_f32"),
          {nullptr, a, kGridThreads, static_cast<std::uint32_t>(shared), pass.source, pass.destination, {}}};
}

}  // namespace

Draft gauss_grid_rows(const Plan& plan, const Pass& pass, const GridBlurArguments& given, Tables& tables) {
  return gauss_grid_axis(plan, pass, given, false, tables);
}

Draft gauss_grid_columns(const Plan& plan, const Pass& pass, const GridBlurArguments& given, Tables& tables) {
  return gauss_grid_axis(plan, pass, given, true, tables);
}

namespace {

/// Both axes.
GaussGrid grid_blur(const Plan& plan, const Pass& pass, std::int32_t source_width, Tables& tables) {
  GaussGrid a{shared_of(plan, pass)};
  a.taps = static_cast<std::uint64_t>(tables.add<float>(of_both_axes(pass.taps)));
  a.taps_x = static_cast<std::int32_t>(pass.taps.x.weights.size());
  a.taps_y = static_cast<std::int32_t>(pass.taps.y.weights.size());
  a.first_x = pass.origin.x - pass.taps.x.anchor;
  a.first_y = pass.origin.y - pass.taps.y.anchor;
  a.source.width = source_width;
  a.destination.width = pass.size.x;
  return a;
}

}  // namespace

Draft gauss_grid_tile(const Plan& plan, const Pass& pass, const GridBlurArguments& given, Tables& tables) {
  GaussGrid a = grid_blur(plan, pass, given.source_width, tables);
  a.blocks_across = ceil_div(pass.size.x, kGridTileAcross);
  a.blocks_down = ceil_div(pass.size.y, kGridTileDown);
  const std::int64_t shared = grid_tile_shared_bytes(a.taps_x, a.taps_y);
  return {"gauss_grid",
          "gauss_grid_tile",
          {nullptr, a, kGridTileThreads, static_cast<std::uint32_t>(shared), pass.source, pass.destination, {}}};
}

Draft gauss_grid_matrix(const Plan& plan, const Pass& pass, const GridMatrixArguments& given, Tables& tables) {
  GaussGrid a = grid_blur(plan, pass, given.source_width, tables);
  a.skip_x = given.skip.x;
  a.skip_y = given.skip.y;
  a.blocks_across = ceil_div(pass.size.x + a.skip_x, pass.tile.x);
  a.blocks_down = ceil_div(pass.size.y + a.skip_y, pass.tile.y);
  const std::int32_t shared = grid_matrix_shared_bytes(a.taps_x, a.taps_y);
  return {"gauss_grid_matrix",
          name_of("gauss_grid_matrix", plan, "_f32"),
          {nullptr, a, kProductThreads, static_cast<std::uint32_t>(shared), pass.source, pass.destination, {}}};
}

namespace {

/// Of the first weights of an axis, and of those behind them.
std::pair<AxisTaps, AxisTaps> divided(const AxisTaps& taps, std::int32_t count) {
  const auto middle = taps.weights.begin() + count;
  return {{{taps.weights.begin(), middle}, taps.anchor}, {{middle, taps.weights.end()}, 0}};
}

}  // namespace

Draft gauss_strips(const Plan& plan, const Pass& pass, const StripsArguments& given, Tables& tables) {
  const auto [blur_x, spline_x] = divided(pass.taps.x, given.taps.x);
  const auto [blur_y, spline_y] = divided(pass.taps.y, given.taps.y);
  GaussStrips a{grid_of(plan, pass, given.grid, {spline_x, spline_y}, tables)};
  a.taps = static_cast<std::uint64_t>(tables.add<float>(of_both_axes({blur_x, blur_y})));
  a.taps_x = given.taps.x;
  a.taps_y = given.taps.y;
  a.blur_x = -blur_x.anchor;
  a.blur_y = -blur_y.anchor;
  const PerAxis<std::int32_t> first = first_place(plan, given.grid);
  a.first_x = first.x;
  a.first_y = first.y;
  a.step_rows = given.step_rows;
  a.rows = pass.tile.y / a.factor_y;
  a.source.width = given.source_width;
  a.blocks_across = ceil_div(a.destination.width, pass.tile.x);
  a.blocks_down = ceil_div(a.first_y % a.factor_y + a.destination.height, pass.tile.y);
  const std::int32_t support = strips_support(a.support_x, a.support_y);
  const StripShape shape(pixels_of_span(component_of<Component>(info(plan.dst.format))), a.factor_x, a.support_x, a.taps_x);
  const std::int64_t bytes = shape.shared_bytes(a.step_rows, a.taps_x, a.taps_y, a.factor_y, support);
  return {"gauss_strips",
          name_of("gauss_strips", plan, std::string(ending_of(plan)) + "_" + std::to_string(support)),
          {nullptr, a, kStripThreads, static_cast<std::uint32_t>(bytes), pass.source, pass.destination, {}}};
}

Draft gauss_upsample(const Plan& plan, const Pass& pass, const CoarseGridArguments& given, Tables& tables) {
  GaussUpsample a{grid_of(plan, pass, given, tables)};
  const PerAxis<std::int32_t> first = first_place(plan, given);
  a.first_x = first.x;
  a.first_y = first.y;
  a.step_x = plan.spec.stride.x.step;
  a.step_y = plan.spec.stride.y.step;
  a.rows = pass.tile.y;
  a.blocks_across = ceil_div(ceil_div(a.destination.width * info(plan.dst.format).channels, 4), kUpsampleThreads);
  a.blocks_down = ceil_div(a.destination.height, a.rows);
  const std::int32_t floats = floats_of_weights(a.factor_y, kMostSupport);
  // Kernels of a type are compiled for at most one coarse sample more along x than along y.
  const bool may_be_compiled = ending_of(plan) != "_any" && info(plan.src.format).channels == 1 && a.support_x <= a.support_y + 1;
  return {"gauss_upsample",
          name_of("gauss_upsample", plan, ending_of_support(plan, may_be_compiled, a.support_y)),
          {nullptr, a, kUpsampleThreads, static_cast<std::uint32_t>(floats * sizeof(float)), pass.source, pass.destination, {}}};
}

Draft gauss_upsample_matrix(const Plan& plan, const Pass& pass, const UpsampleMatrixArguments& given, Tables& tables) {
  GaussUpsampleMatrix a{grid_of(plan, pass, given.grid, tables)};
  const FormatInfo& format = info(plan.dst.format);
  a.starts = static_cast<std::uint64_t>(tables.add<float>(std::vector<double>(4, format.is_unorm() ? kCodeZero : 0.0)));
  const PerAxis<std::int32_t> first = first_place(plan, given.grid);
  a.first_x = first.x;
  a.first_y = first.y;
  a.skip_x = given.skip.x;
  a.skip_y = given.skip.y;
  a.segment = pass.tile.x;
  a.bands = pass.tile.y / kProductRows;
  a.all_bands = ceil_div(pass.size.y + a.skip_y, kProductRows);
  a.source.width = given.source_width;
  a.blocks_across = ceil_div(pass.size.x + a.skip_x, a.segment);
  a.blocks_down = ceil_div(a.all_bands, a.bands);
  const std::string ending = std::string(ending_of(plan)) + "_" + std::to_string(upsample_row_blocks(a.factor_y, a.support_y));
  const std::int32_t shared = upsample_matrix_shared_bytes(a.segment, format.is_unorm());
  return {"gauss_upsample_matrix",
          name_of("gauss_upsample_matrix", plan, ending),
          {nullptr, a, kProductThreads, static_cast<std::uint32_t>(shared), pass.source, pass.destination, {}}};
}

}  // namespace mollify::cuda
