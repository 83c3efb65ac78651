// gauss.decimate on CPUs: one pass over the image by tiles that make the coarse samples that they need, or two with a grid between them.
#include <algorithm>
#include <utility>

#include "algorithms/multirate/gauss_decimate.h"
#include "algorithms/multirate/gauss_decimate_options.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/pass_arguments.h"
#include "base/places.h"
#include "math/weights.h"
#include "model/tuning.h"

namespace mollify {
namespace {

constexpr std::string_view kDecimateKernel = "gauss_decimate";
constexpr std::string_view kExpandKernel = "gauss_upsample";
constexpr std::string_view kOnePassKernel = "gauss_one_pass";
constexpr int kLeastStrip = 4;  // times what strips share: below, they decimate too much twice

/// The taps of the grid's kernel, then those of the spline.
AxisTaps coarse_and_spline(const AxisPlan& axis) {
  AxisTaps out = axis.coarse;
  out.weights.insert(out.weights.end(), axis.spline.begin(), axis.spline.end());
  return out;
}

}  // namespace

cpu::ExpandShape expand_shape(std::int64_t factor, std::int64_t support, const std::vector<double>& taps, std::int64_t step) {
  // Kernels look for zeros among floats, where the smallest weights have become some.
  return {factor, support, static_cast<std::int64_t>(taps.size()), step, cpu::has_gap(rounded<float>(taps))};
}

Proposal add_cpu_passes(const Problem& p, const AxisPlan& x, const AxisPlan& y, Proposal out) {
  const PerAxis<AxisPlaces> places = places_of(p.spec);
  const PerAxis<std::int64_t> span{places.x.length(p.dst.width), places.y.length(p.dst.height)};
  const CoarseRange columns = coarse_range(x, p.spec.border.mode.x, p.src.width, places.x.first, span.x);
  const CoarseRange rows = coarse_range(y, p.spec.border.mode.y, p.src.height, places.y.first, span.y);
  const int channels = info(p.src.format).channels;
  const cpu::ExpandShape shape_x = expand_shape(x.factor, x.expanding_support(), x.coarse.weights, places.x.step);
  const cpu::ExpandShape shape_y = expand_shape(y.factor, y.expanding_support(), y.coarse.weights, places.y.step);
  // Bytes that lie in the core's cache for each column of pixels: sums of source rows, and what pixels are mixed of.
  const std::int64_t sum_bytes = channels * 4 * (y.support() + (y.factor <= cpu::kSlideFactor ? cpu::kSlideGroups : 0));
  const std::int64_t mix_bytes = channels * 4 * ((shape_y.coarse_taps + 3 * cpu::kRowGroup) / x.factor + y.support() + 1);
  const double decimate_operations = static_cast<double>(channels) * (static_cast<double>(y.support()) + 6.0);  // a pixel
  const double expand_operations = static_cast<double>(channels) * (2.0 * static_cast<double>(x.support()) + 6.0);

  Pass pass;
  write_arguments(cpu::DecimationArguments{.first = {columns.first, rows.first},
                                           .columns = columns.size,
                                           .rows = rows.size,
                                           .factor = {x.factor, y.factor},
                                           .support = {x.support(), y.support()}},
                  pass);
  pass.taps = {coarse_and_spline(x), coarse_and_spline(y)};

  // Tiles that make the coarse samples they need by themselves leave nothing for a second pass, but decimate again what neighbours
  // share: they pay where the grid would go through memory, or where there is but one.
  Pass one = pass;
  one.kernel = kOnePassKernel;
  one.size = {p.dst.width, p.dst.height};
  TileNeeds needs;
  needs.halo = {(shape_x.coarse_taps + 2 * x.support()) * x.factor / places.x.step,
                (shape_y.coarse_taps + 2 * y.support()) * y.factor / places.y.step};
  needs.column_bytes = std::max(places.x.step * sum_bytes, mix_bytes);  // they take turns
  needs.pixel_operations = static_cast<double>(places.x.step * places.y.step) * decimate_operations + expand_operations;
  one.tile = cpu_tile(p.device, one.size, needs);

  const std::int64_t grid_bytes = cpu::row_stride(columns.size * channels) * rows.size * 4 / 64 * 64 + 64;
  // Two passes are made image by image. Small images of a batch are made at the same time, in one pass.
  const bool is_little = one.tile == one.size || is_small(one.size, needs);
  const bool is_worth_it = grid_bytes > p.device.llc_bytes / 2 && needs.halo.y * kLeastStrip <= one.tile.y;
  const std::int32_t passes = kDecimatePasses.of(p, is_little || is_worth_it ? 1 : 2);
  out.options.insert(kDecimatePasses.as(passes));
  if (passes == 1) {
    const cpu::GaussOnePassScratch scratch(nullptr, one.tile.x, shape_x, shape_y, channels);
    out.scratch_bytes = p.device.threads * scratch.bytes;
    out.passes = {std::move(one)};
  } else {
    Pass decimate = pass;
    decimate.kernel = kDecimateKernel;
    decimate.destination = intermediate();
    decimate.size = {static_cast<std::int32_t>(columns.size), static_cast<std::int32_t>(rows.size)};
    needs = {};
    needs.halo = {x.support() - 1, y.support() - 1};
    needs.column_bytes = x.factor * sum_bytes;
    needs.pixel_operations = x.factor * y.factor * decimate_operations;
    decimate.tile = cpu_tile(p.device, decimate.size, needs);
    const cpu::GaussDecimateScratch in(nullptr, decimate.tile.x, x.factor, x.support() * x.factor, {y.factor, y.support()}, channels);

    Pass expand = std::move(one);
    expand.kernel = kExpandKernel;
    expand.source = intermediate();
    needs = {};
    constexpr std::int64_t kCheap = 4;  // a halo is rows of few coarse samples
    needs.halo = {(shape_x.coarse_taps + x.support()) * x.factor / kCheap / places.x.step,
                  (shape_y.coarse_taps + y.support()) * y.factor / kCheap / places.y.step};
    needs.column_bytes = mix_bytes;
    needs.pixel_operations = expand_operations;
    expand.tile = cpu_tile(p.device, expand.size, needs);
    const cpu::GaussExpandScratch back(nullptr, expand.tile.x, shape_x, shape_y, channels);

    out.intermediate_bytes = grid_bytes;
    out.scratch_bytes = out.intermediate_bytes + p.device.threads * std::max(in.bytes, back.bytes);
    out.passes = {std::move(decimate), std::move(expand)};
  }
  out.moved_bytes = columns.size * x.factor * rows.size * y.factor * info(p.src.format).pixel_bytes() + 2 * out.intermediate_bytes +
                    p.dst.payload_bytes();
  // In multiply-adds a component, as measured: rows are decoded and encoded on the way, and across goes one row of coarse samples for
  // `factor` of pixels, with shuffles. The blur of the grid has little to share between its outputs where taps are few.
  constexpr double kDown = 0.5, kRow = 1.5;
  constexpr double kAcross = 0.9, kShuffles = 3.0;
  constexpr double kSample = 55.0, kTap = 1.3;
  const auto support_x = static_cast<double>(x.support()), support_y = static_cast<double>(y.support());
  const double pixels = static_cast<double>(columns.size * x.factor) * static_cast<double>(rows.size * y.factor) +
                        static_cast<double>(p.dst.width) * p.dst.height;  // read and written
  const double grid =
      static_cast<double>(columns.size * rows.size) * (kSample + kTap * static_cast<double>(shape_x.coarse_taps + shape_y.coarse_taps));
  const double operations = pixels * (kDown * (support_y + kRow) + kAcross * (support_x + kShuffles) / y.factor) + grid;
  out.seconds = arithmetic_seconds(p.device, operations * channels) + copy_seconds(p.device, out.moved_bytes);
  return out;
}

}  // namespace mollify
