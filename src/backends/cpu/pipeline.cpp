#include "backends/cpu/pipeline.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include "backends/cpu/kernels/layout.h"
#include "base/components.h"
#include "base/places.h"
#include "math/accuracy.h"
#include "math/splines.h"
#include "math/weights.h"

namespace mollify::cpu {
namespace {

/// Numbers are blurred as they are stored, but between 0 and 1 where colour handling has to know what 1 is.
RowPipeline row_pipeline(const Plan& plan) {
  const FormatInfo& from = info(plan.src.format);
  const FormatInfo& to = info(plan.dst.format);
  const bool colour = plan.spec.alpha != AlphaMode::ignore || plan.spec.transfer != TransferFunction::none;
  RowPipeline rows;
  rows.source = {component_of<Component>(from), from.channels, plan.spec.alpha, plan.spec.transfer, colour ? 1.0 / from.unit() : 1.0};
  rows.destination = {component_of<Component>(to), to.channels, plan.spec.alpha, plan.spec.transfer,
                      colour ? to.unit() : to.unit() / from.unit()};
  rows.border = plan.spec.border;
  rows.step = {plan.spec.stride.x.step, plan.spec.stride.y.step};
  rows.outside = decode_pixel(rows.source, plan.spec.border.value, from.unit());
  return rows;
}

/// A kernel with what it needs to know.
struct Prepared {
  std::function<void(const Tile&)> run;
  std::function<ColumnReads(std::int64_t, std::int64_t)> reads{};
};

template <class Kernel>
Prepared prepared(Kernel kernel, void (*run)(const Kernel&, const Tile&)) {
  const auto k = std::make_shared<const Kernel>(std::move(kernel));
  return {[k, run](const Tile& tile) { run(*k, tile); },
          [k](std::int64_t first, std::int64_t end) { return column_reads(*k, first, end); }};
}

template <class T>
TapsOf<T> taps_of(const AxisTaps& taps) {
  return {rounded<T>(taps.weights), taps.anchor};
}

template <class T>
Prepared sep_fused(const Plan& plan, const Pass& pass, void (*kernel)(const SepFused<T>&, const Tile&)) {
  return prepared(SepFused<T>{row_pipeline(plan), taps_of<T>(pass.taps.x), taps_of<T>(pass.taps.y)}, kernel);
}

Prepared make_sep_fused(const Plan& plan, const Pass& pass) {
  return pass.constants.at("wide") != 0 ? sep_fused<double>(plan, pass, sep_fused_f64) : sep_fused<float>(plan, pass, sep_fused_f32);
}

FixedTaps fixed_taps(const Pass& pass, const AxisTaps& taps) {
  FixedWeights w = *rounded_to_fixed(taps, static_cast<int>(pass.constants.at("halvings")));
  return {std::move(w.taps), std::move(w.runs), w.is_even};
}

Prepared make_sep_fused_u8(const Plan& plan, const Pass& pass) {
  SepFusedU8 k{row_pipeline(plan), fixed_taps(pass, pass.taps.x), fixed_taps(pass, pass.taps.y),
               static_cast<std::uint16_t>(pass.constants.at("rounding"))};
  return prepared(std::move(k), has_stride(plan.spec) ? sep_fused_u8_apart : sep_fused_u8);
}

Prepared make_gauss_pyramid(const Plan& plan, const Pass& pass) {
  GaussPyramid k{row_pipeline(plan), static_cast<int>(pass.constants.at("levels")), fixed_taps(pass, pass.taps.x),
                 fixed_taps(pass, pass.taps.y), static_cast<std::uint16_t>(pass.constants.at("rounding"))};
  return prepared(std::move(k), gauss_pyramid);
}

CutAxis cut_axis(const Pass& pass, const AxisTaps& taps, const std::string& axis) {
  const auto constant = [&](const char* name) { return pass.constants.at(name + axis); };
  CutAxis out;
  out.levels = static_cast<int>(constant("levels_"));
  out.undershoot = static_cast<std::uint16_t>(constant("undershoot_"));
  out.radius = constant("radius_");
  out.height = static_cast<std::uint16_t>(constant("height_"));
  FixedWeights w = *rounded_to_fixed(taps, static_cast<int>(pass.constants.at("halvings")), out.left_to_taps());
  out.taps = {std::move(w.taps), std::move(w.runs)};
  return out;
}

Prepared make_gauss_cut(const Plan& plan, const Pass& pass) {
  GaussCut k{row_pipeline(plan), cut_axis(pass, pass.taps.x, "x"), cut_axis(pass, pass.taps.y, "y"),
             static_cast<std::uint16_t>(pass.constants.at("rounding"))};
  return prepared(std::move(k), gauss_cut);
}

template <class T>
Prepared nxn_direct(const Plan& plan, const Pass& pass, void (*kernel)(const NxnDirect<T>&, const Tile&)) {
  const Matrix& m = pass.matrix;
  return prepared(NxnDirect<T>{row_pipeline(plan), m.width, m.height, m.anchor.x, m.anchor.y, rounded<T>(m.weights)}, kernel);
}

Prepared make_nxn_direct(const Plan& plan, const Pass& pass) {
  return pass.constants.at("wide") != 0 ? nxn_direct<double>(plan, pass, nxn_direct_f64) : nxn_direct<float>(plan, pass, nxn_direct_f32);
}

Prepared make_box_any(const Plan& plan, const Pass& pass) {
  BoxAny k;
  k.rows = row_pipeline(plan);
  k.x = box_window(pass.extent.x);
  k.y = box_window(pass.extent.y);
  k.segment_rows = pass.constants.at("segment_rows");
  const auto length = [](const BoxExtent& extent) { return extent.before + 1.0 + extent.after; };
  k.scale = 1.0 / (length(pass.extent.x) * length(pass.extent.y));
  const bool integer = pass.constants.at("integer") != 0;
  if (integer) {
    k.rows.destination.scale *= k.scale;
  } else {
    const auto fold = [](BoxWindow& window, BoxFold& rest, BorderMode mode, std::int64_t extent) {
      const FoldedWindow folded = fold_window(window, mode, extent);
      window = folded.window;
      rest = folded.fold;
    };
    const PerAxis<BorderMode>& mode = plan.spec.border.mode;
    fold(k.x, k.fold_x, mode.x, folded_length(mode.x, plan.src.width, plan.spec.stride.x));
    fold(k.y, k.fold_y, mode.y, folded_length(mode.y, plan.src.height, plan.spec.stride.y));
  }
  const auto kernel = integer ? box_any_i32 : pass.constants.at("wide_pixels") != 0 ? box_any_wide : box_any_f64;
  return prepared(k, kernel);
}

/// Of an axis of a decimated Gaussian, whose pass has the taps of the grid's kernel and then those of the spline.
struct DecimationTaps {
  AxisTaps coarse;
  std::vector<double> spline;
};

DecimationTaps decimation_taps(const AxisTaps& taps, std::int64_t factor, std::int64_t support) {
  const auto spline = taps.weights.end() - factor * support;
  return {{{taps.weights.begin(), spline}, taps.anchor}, {spline, taps.weights.end()}};
}

DecimatedAxis decimated_axis(const AxisTaps& taps, std::int64_t factor, std::int64_t support, double scale = 1.0) {
  std::vector<double> spline = decimation_taps(taps, factor, support).spline;
  for (double& w : spline) w *= scale;
  return {factor, spline_centre(spline.size()), support, rounded<float>(spline)};
}

/// What both passes of a decimated Gaussian share. The results of the pass are `scale` times as large as what it reads.
template <class Kernel>
Kernel decimated(const Plan& plan, const Pass& pass, double scale) {
  const auto constant = [&](const char* name) { return pass.constants.at(name); };
  Kernel k;
  k.rows = row_pipeline(plan);
  k.axis = {decimated_axis(pass.taps.x, constant("factor_x"), constant("support_x")),
            decimated_axis(pass.taps.y, constant("factor_y"), constant("support_y"), scale)};
  k.grid.first = {constant("first_x"), constant("first_y")};
  k.grid.size = {constant("columns"), constant("rows")};
  return k;
}

GaussDecimate decimation(const Plan& plan, const Pass& pass) {
  const double scale = scale_between_steps(plan.src.format);
  auto k = decimated<GaussDecimate>(plan, pass, scale);
  k.scale = scale;
  return k;
}

Prepared make_gauss_decimate(const Plan& plan, const Pass& pass) {
  return {[k = decimation(plan, pass)](const Tile& tile) { gauss_decimate(k, tile); }};
}

/// Of taps that are to be summed in blocks; none where one block is all. Zeros that lie between two blocks are in neither.
std::vector<TapBlock> blocks_of(const TapsOf<float>& taps) {
  std::vector<TapBlock> blocks;
  const auto begin = taps.weights.begin(), end = taps.weights.end();
  for (auto from = begin; from != end;) {
    const auto gap = std::search_n(from, end, kLeastGap, 0.0F);
    for (; from != gap; from += std::min(kCoarseBlock, gap - from)) {
      blocks.push_back({{{from, from + std::min(kCoarseBlock, gap - from)}, 0}, from - begin});
    }
    from = std::find_if(gap, end, [](float w) { return w != 0.0F; });
  }
  if (blocks.size() == 1 && blocks[0].taps.size() == taps.size()) blocks.clear();
  return blocks;
}

/// Where kernels are centred between pixels, these are means of two. Taps that are not decimated by lie between them as they are.
DecimatedAxis expanding_axis(DecimatedAxis axis, const AxisPlaces& places) {
  if (!places.between || axis.factor == 1) return axis;
  std::vector<float> mean(axis.spline.size() + static_cast<std::size_t>(axis.factor), 0.0F);
  for (std::size_t i = 0; i < axis.spline.size(); ++i) {
    mean[i] += 0.5F * axis.spline[i];
    mean[i + 1] += 0.5F * axis.spline[i];
  }
  return {axis.factor, axis.centre + 1, axis.support + 1, std::move(mean), 1};
}

GaussExpand expansion(const Plan& plan, const Pass& pass) {
  auto k = decimated<GaussExpand>(plan, pass, 1.0 / scale_between_steps(plan.src.format));
  k.x = taps_of<float>(decimation_taps(pass.taps.x, k.axis.x.factor, k.axis.x.support).coarse);
  k.y = taps_of<float>(decimation_taps(pass.taps.y, k.axis.y.factor, k.axis.y.support).coarse);
  const PerAxis<AxisPlaces> places = places_of(plan.spec);
  k.axis = {expanding_axis(std::move(k.axis.x), places.x), expanding_axis(std::move(k.axis.y), places.y)};
  k.blocks_x = blocks_of(k.x);
  k.blocks_y = blocks_of(k.y);
  return k;
}

Prepared make_gauss_upsample(const Plan& plan, const Pass& pass) {
  return prepared(expansion(plan, pass), gauss_upsample);
}

Prepared make_gauss_one_pass(const Plan& plan, const Pass& pass) {
  return prepared(GaussOnePass{decimation(plan, pass), expansion(plan, pass)}, gauss_one_pass);
}

/// A part of a cut Gaussian as a pass of its own. Its constants have the part's name in front, its taps follow those of the parts before.
Pass cut_part(const Pass& pass, std::string_view name, PerAxis<std::int64_t>& first_tap) {
  Pass part;
  for (auto at = pass.constants.lower_bound(name); at != pass.constants.end() && at->first.starts_with(name); ++at) {
    part.constants.emplace(at->first.substr(name.size()), at->second);
  }
  const auto taken = [&](const AxisTaps& taps, std::int64_t& first, const std::string& axis) {
    const auto begin = taps.weights.begin() + first;
    const std::int64_t count = part.constants.at("taps_" + axis);
    first += count;
    return AxisTaps{{begin, begin + count}, static_cast<std::int32_t>(part.constants.at("anchor_" + axis))};
  };
  part.taps = {taken(pass.taps.x, first_tap.x, "x"), taken(pass.taps.y, first_tap.y, "y")};
  return part;
}

Prepared make_gauss_cut_tails(const Plan& plan, const Pass& pass) {
  PerAxis<std::int64_t> first_tap{0, 0};
  const auto has = [&](std::string_view name) { return pass.constants.at(std::string(name) + "taps_x") != 0; };
  const auto made_of = [&](const Pass& part) { return GaussOnePass{decimation(plan, part), expansion(plan, part)}; };
  GaussCutTails k{made_of(cut_part(pass, kCutWhole, first_tap)), {pass.constants.at("cells_x"), pass.constants.at("cells_y")}};
  if (has(kCutAcross)) {
    const Pass part = cut_part(pass, kCutAcross, first_tap);
    k.across = TailsAcross{taps_of<float>(part.taps.x), taps_of<float>(part.taps.y)};
    k.across->blocks_x = blocks_of(k.across->x);
  }
  if (has(kCutDown)) k.down = made_of(cut_part(pass, kCutDown, first_tap));
  return prepared(std::move(k), gauss_cut_tails);
}

struct KernelRow {
  std::string_view id;
  std::span<const std::string_view> constants;  ///< sorted
  Prepared (*make)(const Plan&, const Pass&);
};

constexpr std::array<std::string_view, 1> kWide = {"wide"};
constexpr std::array<std::string_view, 2> kFixedConstants = {"halvings", "rounding"};
constexpr std::array<std::string_view, 3> kPyramidConstants = {"halvings", "levels", "rounding"};
constexpr std::array<std::string_view, 10> kCutConstants = {"halvings", "height_x", "height_y", "levels_x",     "levels_y",
                                                            "radius_x", "radius_y", "rounding", "undershoot_x", "undershoot_y"};
constexpr std::array<std::string_view, 3> kBoxConstants = {"integer", "segment_rows", "wide_pixels"};
constexpr std::array<std::string_view, 8> kDecimationConstants = {"columns", "factor_x", "factor_y",  "first_x",
                                                                  "first_y", "rows",     "support_x", "support_y"};
constexpr std::array<std::string_view, 30> kCutTailsConstants = {
    "across_anchor_x", "across_anchor_y", "across_taps_x",   "across_taps_y",   "cells_x",        "cells_y",
    "down_anchor_x",   "down_anchor_y",   "down_columns",    "down_factor_x",   "down_factor_y",  "down_first_x",
    "down_first_y",    "down_rows",       "down_support_x",  "down_support_y",  "down_taps_x",    "down_taps_y",
    "whole_anchor_x",  "whole_anchor_y",  "whole_columns",   "whole_factor_x",  "whole_factor_y", "whole_first_x",
    "whole_first_y",   "whole_rows",      "whole_support_x", "whole_support_y", "whole_taps_x",   "whole_taps_y"};
constexpr std::array kKernels = {
    KernelRow{"gauss_cut", kCutConstants, make_gauss_cut},
    KernelRow{"gauss_cut_tails", kCutTailsConstants, make_gauss_cut_tails},
    KernelRow{"gauss_decimate", kDecimationConstants, make_gauss_decimate},
    KernelRow{"gauss_upsample", kDecimationConstants, make_gauss_upsample},
    KernelRow{"gauss_one_pass", kDecimationConstants, make_gauss_one_pass},
    KernelRow{"gauss_pyramid", kPyramidConstants, make_gauss_pyramid},
    KernelRow{"sep_fused", kWide, make_sep_fused},
    KernelRow{"sep_fused_u8", kFixedConstants, make_sep_fused_u8},
    KernelRow{"nxn_direct", kWide, make_nxn_direct},
    KernelRow{"box_column_sums", kBoxConstants, make_box_any},
};

}  // namespace

std::vector<std::string> kernel_ids() {
  std::vector<std::string> ids;
  ids.reserve(std::size(kKernels));
  for (const KernelRow& row : kKernels) ids.emplace_back(row.id);
  return ids;
}

Result<std::vector<Pipeline>> make_pipelines(const Plan& plan) {
  std::vector<Pipeline> pipelines;
  for (const Pass& pass : plan.passes) {
    const auto row = std::find_if(kKernels.begin(), kKernels.end(), [&](const KernelRow& k) { return k.id == pass.kernel; });
    if (row == kKernels.end()) return Error{ErrorCode::unsupported, "the CPU backend has no kernel " + pass.kernel, {}};
    const bool complete = std::equal(pass.constants.begin(), pass.constants.end(), row->constants.begin(), row->constants.end(),
                                     [](const auto& a, std::string_view b) { return a.first == b; });
    if (!complete) return Error{ErrorCode::internal, "the pass does not set exactly the constants of " + pass.kernel, {}};
    Prepared kernel = row->make(plan, pass);
    Pipeline& pipeline = pipelines.emplace_back(Pipeline{std::move(kernel.run), pass.size, pass.tile, std::move(kernel.reads)});
    if (pass.source.kind == Binding::Kind::intermediate) pipeline.coarse_needs.emplace(expansion(plan, pass));
  }
  return pipelines;
}

}  // namespace mollify::cpu
