#include "backends/cpu/pipeline.h"

#include <algorithm>
#include <array>
#include <memory>

#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/pass_arguments.h"
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
  std::optional<CoarseNeeds> coarse_needs{};
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

Prepared make_sep_fused(const Plan& plan, const Pass& pass, const FloatArguments& a) {
  return a.wide ? sep_fused<double>(plan, pass, sep_fused_f64) : sep_fused<float>(plan, pass, sep_fused_f32);
}

FixedTaps fixed_taps(const AxisTaps& taps, int halvings) {
  FixedWeights w = *rounded_to_fixed(taps, halvings);
  return {std::move(w.taps), std::move(w.runs), w.is_even};
}

Prepared make_sep_fused_u8(const Plan& plan, const Pass& pass, const FixedArguments& a) {
  SepFusedU8 k{row_pipeline(plan), fixed_taps(pass.taps.x, a.halvings), fixed_taps(pass.taps.y, a.halvings), a.rounding};
  return prepared(std::move(k), has_stride(plan.spec) ? sep_fused_u8_apart : sep_fused_u8);
}

Prepared make_gauss_pyramid(const Plan& plan, const Pass& pass, const PyramidArguments& a) {
  GaussPyramid k{row_pipeline(plan), a.levels, fixed_taps(pass.taps.x, a.fixed.halvings), fixed_taps(pass.taps.y, a.fixed.halvings),
                 a.fixed.rounding};
  return prepared(std::move(k), gauss_pyramid);
}

CutAxis cut_axis(const Pass& pass, const CutArguments& a, Axis axis) {
  CutAxis out{on(a.levels, axis), {}, on(a.undershoot, axis), on(a.radius, axis), on(a.height, axis)};
  FixedWeights w = *rounded_to_fixed(on(pass.taps, axis), a.fixed.halvings, out.left_to_taps());
  out.taps = {std::move(w.taps), std::move(w.runs)};
  return out;
}

Prepared make_gauss_cut(const Plan& plan, const Pass& pass, const CutArguments& a) {
  GaussCut k{row_pipeline(plan), cut_axis(pass, a, Axis::x), cut_axis(pass, a, Axis::y), a.fixed.rounding};
  return prepared(std::move(k), gauss_cut);
}

template <class T>
Prepared nxn_direct(const Plan& plan, const Pass& pass, void (*kernel)(const NxnDirect<T>&, const Tile&)) {
  const Matrix& m = pass.matrix;
  return prepared(NxnDirect<T>{row_pipeline(plan), m.width, m.height, m.anchor.x, m.anchor.y, rounded<T>(m.weights)}, kernel);
}

Prepared make_nxn_direct(const Plan& plan, const Pass& pass, const FloatArguments& a) {
  return a.wide ? nxn_direct<double>(plan, pass, nxn_direct_f64) : nxn_direct<float>(plan, pass, nxn_direct_f32);
}

Prepared make_box_any(const Plan& plan, const Pass& pass, const BoxArguments& a) {
  BoxAny k;
  k.rows = row_pipeline(plan);
  k.x = box_window(pass.extent.x);
  k.y = box_window(pass.extent.y);
  k.segment_rows = a.segment_rows;
  const auto length = [](const BoxExtent& extent) { return extent.before + 1.0 + extent.after; };
  k.scale = 1.0 / (length(pass.extent.x) * length(pass.extent.y));
  if (a.integer) {
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
  return prepared(k, a.integer ? box_any_i32 : a.wide_pixels ? box_any_wide : box_any_f64);
}

/// Of an axis of a decimated Gaussian.
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
Kernel decimated(const Plan& plan, const PerAxis<AxisTaps>& taps, const DecimationArguments& a, double scale) {
  Kernel k;
  k.rows = row_pipeline(plan);
  k.axis = {decimated_axis(taps.x, a.factor.x, a.support.x), decimated_axis(taps.y, a.factor.y, a.support.y, scale)};
  k.grid = {a.first, {a.columns, a.rows}};
  return k;
}

GaussDecimate decimation(const Plan& plan, const PerAxis<AxisTaps>& taps, const DecimationArguments& a) {
  const double scale = scale_between_steps(plan.src.format);
  auto k = decimated<GaussDecimate>(plan, taps, a, scale);
  k.scale = scale;
  return k;
}

Prepared make_gauss_decimate(const Plan& plan, const Pass& pass, const DecimationArguments& a) {
  return {[k = decimation(plan, pass.taps, a)](const Tile& tile) { gauss_decimate(k, tile); }};
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

GaussExpand expansion(const Plan& plan, const PerAxis<AxisTaps>& taps, const DecimationArguments& a) {
  auto k = decimated<GaussExpand>(plan, taps, a, 1.0 / scale_between_steps(plan.src.format));
  k.x = taps_of<float>(decimation_taps(taps.x, a.factor.x, a.support.x).coarse);
  k.y = taps_of<float>(decimation_taps(taps.y, a.factor.y, a.support.y).coarse);
  const PerAxis<AxisPlaces> places = places_of(plan.spec);
  k.axis = {expanding_axis(std::move(k.axis.x), places.x), expanding_axis(std::move(k.axis.y), places.y)};
  k.blocks_x = blocks_of(k.x);
  k.blocks_y = blocks_of(k.y);
  return k;
}

Prepared make_gauss_upsample(const Plan& plan, const Pass& pass, const DecimationArguments& a) {
  GaussExpand k = expansion(plan, pass.taps, a);
  const CoarseNeeds needs(k);
  Prepared out = prepared(std::move(k), gauss_upsample);
  out.coarse_needs = needs;
  return out;
}

GaussOnePass one_pass(const Plan& plan, const PerAxis<AxisTaps>& taps, const DecimationArguments& a) {
  return {decimation(plan, taps, a), expansion(plan, taps, a)};
}

Prepared make_gauss_one_pass(const Plan& plan, const Pass& pass, const DecimationArguments& a) {
  return prepared(one_pass(plan, pass.taps, a), gauss_one_pass);
}

Prepared make_gauss_cut_tails(const Plan& plan, const Pass& pass, const CutTailsArguments& a) {
  PerAxis<std::int64_t> first_tap{0, 0};
  const auto next_taps = [&](const PartArguments& part) {
    const auto on_axis = [&](Axis axis) {
      std::int64_t& first = axis == Axis::x ? first_tap.x : first_tap.y;
      const auto begin = on(pass.taps, axis).weights.begin() + first, end = begin + on(part.taps, axis);
      first += on(part.taps, axis);
      return AxisTaps{{begin, end}, on(part.anchor, axis)};
    };
    return PerAxis<AxisTaps>{on_axis(Axis::x), on_axis(Axis::y)};
  };
  GaussCutTails k{one_pass(plan, next_taps(a.whole.part), a.whole.decimation), a.cells};
  if (a.across.taps.x != 0) {
    const PerAxis<AxisTaps> taps = next_taps(a.across);
    k.across = TailsAcross{taps_of<float>(taps.x), taps_of<float>(taps.y)};
    k.across->blocks_x = blocks_of(k.across->x);
  }
  if (a.down.part.taps.x != 0) k.down = one_pass(plan, next_taps(a.down.part), a.down.decimation);
  return prepared(std::move(k), gauss_cut_tails);
}

/// Reads the arguments and makes the kernel of them.
template <class Arguments, Prepared (*kMake)(const Plan&, const Pass&, const Arguments&)>
Result<Prepared> make(const Plan& plan, const Pass& pass) {
  const Result<Arguments> arguments = read_arguments<Arguments>(pass);
  if (!arguments) return arguments.error();
  return kMake(plan, pass, *arguments);
}

struct KernelRow {
  std::string_view id;
  Result<Prepared> (*make)(const Plan&, const Pass&);
};

constexpr std::array kKernels = {
    KernelRow{"gauss_cut", make<CutArguments, make_gauss_cut>},
    KernelRow{"gauss_cut_tails", make<CutTailsArguments, make_gauss_cut_tails>},
    KernelRow{"gauss_decimate", make<DecimationArguments, make_gauss_decimate>},
    KernelRow{"gauss_upsample", make<DecimationArguments, make_gauss_upsample>},
    KernelRow{"gauss_one_pass", make<DecimationArguments, make_gauss_one_pass>},
    KernelRow{"gauss_pyramid", make<PyramidArguments, make_gauss_pyramid>},
    KernelRow{"sep_fused", make<FloatArguments, make_sep_fused>},
    KernelRow{"sep_fused_u8", make<FixedArguments, make_sep_fused_u8>},
    KernelRow{"nxn_direct", make<FloatArguments, make_nxn_direct>},
    KernelRow{"box_column_sums", make<BoxArguments, make_box_any>},
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
    Result<Prepared> kernel = row->make(plan, pass);
    if (!kernel) return kernel.error();
    pipelines.push_back({std::move(kernel->run), pass.size, pass.tile, std::move(kernel->reads), std::move(kernel->coarse_needs)});
  }
  return pipelines;
}

}  // namespace mollify::cpu
