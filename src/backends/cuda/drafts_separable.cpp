// Kernels that sum taps: of both axes at once, of one, or of a matrix.
#include <algorithm>

#include "backends/cuda/drafts.h"
#include "backends/cuda/kernels/nxn_direct_shape.h"
#include "backends/cuda/kernels/sep_fused_shape.h"
#include "backends/cuda/kernels/sep_matrix_shape.h"
#include "backends/cuda/kernels/sep_passes_shape.h"
#include "backends/cuda/kernels/sep_scatter_shape.h"
#include "backends/cuda/kernels/sep_warps_shape.h"
#include "backends/cuda/kernels/sep_weights_shape.h"
#include "backends/cuda/matrix_tables.h"

namespace mollify::cuda {
namespace {

std::int64_t add(Tables& tables, const std::vector<double>& weights, bool wide) {
  return wide ? tables.add<double>(weights) : tables.add<float>(weights);
}

}  // namespace

Draft sep_fused(const Plan& plan, const Pass& pass, const NoArguments&, Tables& tables) {
  SepFused a{shared_of(plan, pass)};
  a.taps = static_cast<std::uint64_t>(tables.add<float>(of_both_axes(pass.taps)));
  a.taps_x = static_cast<std::int32_t>(pass.taps.x.weights.size());
  a.taps_y = static_cast<std::int32_t>(pass.taps.y.weights.size());
  a.first_x = pass.origin.x - pass.taps.x.anchor;
  a.first_y = pass.origin.y - pass.taps.y.anchor;
  a.rows = pass.tile.y;
  a.blocks_across = ceil_div(a.destination.width, pass.tile.x);
  a.blocks_down = ceil_div(a.destination.height, a.rows);
  const SepFusedShape shape(info(plan.src.format).channels, pass.tile.x, a.taps_x, a.taps_y, a.first_x);
  return {"sep_fused",
          name_of("sep_fused", plan, ending_of(plan)),
          {nullptr, a, kSepFusedThreads, static_cast<std::uint32_t>(shape.shared_bytes()), pass.source, pass.destination, {}}};
}

namespace {

/// What kernels with sums in registers have in common.
template <class Sums>
Draft sums_draft(const Plan& plan, const Pass& pass, const SumsArguments& given, std::string_view kernel, Sums a,
                 std::int32_t shared_bytes) {
  a.rows = pass.tile.y;
  a.blocks_across = ceil_div(a.destination.width, pass.tile.x);
  a.blocks_down = ceil_div(a.destination.height, a.rows);
  const auto threads = static_cast<std::uint32_t>(pass.group.x);
  return {std::string(kernel),
          name_of(kernel, plan, std::string(ending_of(plan)) + "_" + std::to_string(given.taps)),
          {nullptr, a, threads, static_cast<std::uint32_t>(shared_bytes), pass.source, pass.destination, {}}};
}

/// Weights stand in the middle of those that the kernel has, and zeros around them.
SepSums arguments_of(const Plan& plan, const Pass& pass, std::int32_t taps) {
  SepSums a{shared_of(plan, pass)};
  std::ranges::copy(in_the_middle(pass.taps.x, taps), a.weights_x);
  std::ranges::copy(in_the_middle(pass.taps.y, taps), a.weights_y);
  a.first_x = pass.origin.x - taps / 2;
  a.first_y = pass.origin.y - taps / 2;
  return a;
}

std::int32_t scatter_bytes(const Plan& plan, const Pass& pass, std::int32_t taps) {
  return SepScatterShape(info(plan.src.format).channels, taps, pass.group.x).shared_bytes();
}

SepWarpsShape warps_shape(const Plan& plan, std::int32_t taps) {
  const FormatInfo& format = info(plan.src.format);
  return {format.channels, format.bits, taps};
}
/// Pixels of a row that each of a block's warps makes.
std::int32_t strip_of(const Pass& pass) {
  return pass.tile.x / (pass.group.x / 32);
}
std::int32_t warps_bytes(const Plan& plan, const Pass& pass, std::int32_t taps) {
  return warps_shape(plan, taps).shared_bytes(pass.group.x / 32, pass.tile.y, taps);
}

}  // namespace

Draft sep_scatter(const Plan& plan, const Pass& pass, const SumsArguments& given, Tables&) {
  return sums_draft(plan, pass, given, "sep_scatter", arguments_of(plan, pass, given.taps), scatter_bytes(plan, pass, given.taps));
}

Draft sep_scatter_each(const Plan& plan, const Pass& pass, const SumsArguments& given, Tables&) {
  return sums_draft(plan, pass, given, "sep_scatter_each", SepSumsEach{shared_of(plan, pass)},
                    scatter_bytes(plan, pass, given.taps) + sep_weights_bytes(given.taps));
}

/// Bytes are read as 2^-149 of their value, and results are written as fractions of the largest code.
Draft sep_warps(const Plan& plan, const Pass& pass, const SumsArguments& given, Tables&) {
  SepSums a = arguments_of(plan, pass, given.taps);
  if (info(plan.src.format).bits == 8) {
    for (float& weight : a.weights_x) weight *= 0x1p75F;
    for (float& weight : a.weights_y) weight = static_cast<float>(weight * (0x1p74 / 255.0));
  }
  a.strip = strip_of(pass);
  return sums_draft(plan, pass, given, "sep_warps", a, warps_bytes(plan, pass, given.taps));
}

Draft sep_warps_each(const Plan& plan, const Pass& pass, const SumsArguments& given, Tables&) {
  SepSumsEach a{shared_of(plan, pass)};
  a.strip = strip_of(pass);
  return sums_draft(plan, pass, given, "sep_warps_each", a, warps_bytes(plan, pass, given.taps) + sep_weights_bytes(given.taps));
}

Draft sep_matrix(const Plan& plan, const Pass& pass, const MatrixArguments& given, Tables& tables) {
  SepMatrix a{shared_of(plan, pass)};
  const MatrixSize size{given.across, given.down};
  const std::int32_t halves = info(plan.src.format).is_unorm() ? 1 : 2;  // that a tap is the sum of, at most
  const std::int32_t lead = given.lead;
  const auto tap_x = [&](int product, int lane, int word, int half) { return matrix_tap_x(product, lane, word, half, lead); };
  a.taps_x = static_cast<std::uint64_t>(tables.add_values(matrices_of_taps(pass.taps.x, halves, size.across, kMatrixWordsX, tap_x)));
  a.taps_y =
      static_cast<std::uint64_t>(tables.add_values(matrices_of_taps(pass.taps.y, halves, matrix_pairs(size), kMatrixWordsY, matrix_tap_y)));
  a.skip_x = given.skip.x;
  a.skip_y = given.skip.y;
  a.first_x = pass.origin.x - pass.taps.x.anchor - lead;
  a.first_y = pass.origin.y - pass.taps.y.anchor;
  a.rows = pass.tile.y;
  const bool splits = !info(plan.src.format).is_unorm();
  a.strips = ceil_div(pass.size.x, matrix_blocks(size, splits, info(plan.src.format).channels) * kMatrixSide);
  a.left_strips = given.left_strips;
  a.right_strips = given.right_strips;
  a.edge_rows = given.edge_rows;
  a.chunks = ceil_div(pass.size.y, a.rows);
  a.clamps = given.clamps ? 1 : 0;
  a.splits_x = given.splits.x ? 1 : 0;
  a.splits_y = given.splits.y ? 1 : 0;
  std::vector<double> starts(4, given.start.x);
  starts.resize(8, given.start.y);
  a.starts = static_cast<std::uint64_t>(tables.add<float>(starts));
  a.gain = static_cast<float>(given.gain);
  const std::int32_t edges = a.left_strips + a.right_strips;
  a.blocks_across = ceil_div((a.strips + (a.edge_rows < a.rows ? edges : 0)) * a.chunks, kMatrixThreads / 32);
  a.blocks_down = 1;
  const FormatInfo& format = info(plan.src.format);
  a.outside_pixel = static_cast<std::uint64_t>(tables.add_values(outside_pixel(plan.src.format, a.outside)));
  const std::string ending = std::string(ending_of(plan)) + "_" + std::to_string(size.across) + "_" + std::to_string(size.down);
  return {format.channels == 1 ? "sep_matrix_planes" : "sep_matrix",
          name_of("sep_matrix", plan, ending),
          {nullptr,
           a,
           kMatrixThreads,
           static_cast<std::uint32_t>(matrix_shared_bytes(size, halves == 2, format.channels, a.rows)),
           pass.source,
           pass.destination,
           {}}};
}

Draft sep_rows(const Plan& plan, const Pass& pass, const FloatArguments& given, Tables& tables) {
  SepPass a{shared_of(plan, pass)};
  a.taps = static_cast<std::uint64_t>(add(tables, pass.taps.x.weights, given.wide));
  a.count = static_cast<std::int32_t>(pass.taps.x.weights.size());
  a.first = pass.origin.x - pass.taps.x.anchor;
  a.step = plan.spec.stride.x.step;
  a.across = pass.origin.y;
  a.destination.width = pass.size.x;
  a.blocks_across = ceil_div(a.destination.width, kSepRowsColumns);
  a.blocks_down = a.destination.height;
  const auto shared = static_cast<std::uint32_t>(sep_rows_shared_bytes(info(plan.src.format).channels, a.step, given.wide));
  return {"sep_passes",
          name_of("sep_rows", plan, ending_of(given.wide)),
          {nullptr, a, kSepRowsColumns, shared, pass.source, pass.destination, {}}};
}

Draft sep_columns(const Plan& plan, const Pass& pass, const ColumnsArguments& given, Tables& tables) {
  SepPass a{shared_of(plan, pass)};
  const int channels = info(plan.src.format).channels;
  a.taps = static_cast<std::uint64_t>(add(tables, pass.taps.y.weights, given.wide));
  a.count = static_cast<std::int32_t>(pass.taps.y.weights.size());
  a.first = pass.origin.y - pass.taps.y.anchor;
  a.step = plan.spec.stride.y.step;
  a.across = given.first_row;
  a.length = plan.src.height;
  for (std::size_t c = 0; c < 4; ++c) a.outside_row[c] = a.outside.value[c] * pass.outside_gain;
  a.blocks_across = ceil_div(ceil_div(a.destination.width * channels, 4), kSepColumnsThreads);
  a.blocks_down = a.destination.height;
  return {"sep_passes",
          name_of("sep_columns", plan, ending_of(given.wide)),
          {nullptr, a, kSepColumnsThreads, 0, pass.source, pass.destination, {}}};
}

Draft nxn_direct(const Plan& plan, const Pass& pass, const FloatArguments& given, Tables& tables) {
  NxnDirect a{shared_of(plan, pass)};
  a.weights = static_cast<std::uint64_t>(add(tables, pass.matrix.weights, given.wide));
  a.width = pass.matrix.width;
  a.height = pass.matrix.height;
  a.first_x = pass.origin.x - pass.matrix.anchor.x;
  a.first_y = pass.origin.y - pass.matrix.anchor.y;
  a.step_x = plan.spec.stride.x.step;
  a.step_y = plan.spec.stride.y.step;
  a.blocks_across = ceil_div(a.destination.width, kNxnColumns);
  a.blocks_down = ceil_div(a.destination.height, kNxnRows);
  return {"nxn_direct",
          name_of("nxn_direct", plan, ending_of(given.wide)),
          {nullptr, a, kNxnColumns * kNxnRows, 0, pass.source, pass.destination, {}}};
}

}  // namespace mollify::cuda
