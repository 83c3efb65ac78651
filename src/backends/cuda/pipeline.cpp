#include "backends/cuda/pipeline.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cuda/kernels/box_any_shape.h"
#include "backends/cuda/kernels/box_division.h"
#include "backends/cuda/kernels/box_passes_shape.h"
#include "backends/cuda/kernels/box_segments_shape.h"
#include "backends/cuda/kernels/gauss_decimate_shape.h"
#include "backends/cuda/kernels/gauss_grid_shape.h"
#include "backends/cuda/kernels/gauss_matrix_shape.h"
#include "backends/cuda/kernels/nxn_direct_shape.h"
#include "backends/cuda/kernels/sep_fused_shape.h"
#include "backends/cuda/kernels/sep_matrix_shape.h"
#include "backends/cuda/kernels/sep_passes_shape.h"
#include "backends/cuda/kernels/sep_registers_shape.h"
#include "backends/cuda/kernels/sep_scatter_shape.h"
#include "backends/cuda/matrix_tables.h"
#include "base/components.h"
#include "base/gpu_images.h"
#include "base/half.h"
#include "base/outside_pixel.h"
#include "base/places.h"
#include "math/weights.h"

namespace mollify::cuda {
namespace {

static_assert(kClamp == static_cast<int>(BorderMode::clamp) && kMirror == static_cast<int>(BorderMode::mirror) &&
              kReflect == static_cast<int>(BorderMode::reflect) && kWrap == static_cast<int>(BorderMode::wrap) &&
              kConstant == static_cast<int>(BorderMode::constant));

std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

std::int32_t ceil_div(std::int32_t a, std::int32_t b) {
  return (a + b - 1) / b;
}

constexpr std::int64_t kMostBlocks = (std::int64_t{1} << 31) - 1;  // of one launch

std::int64_t image_bytes_of(const ImageDesc& intermediate) {
  return round_up(intermediate.payload_bytes(), kScratchAlignment);
}

/// Numbers are blurred as they are stored, but between 0 and 1 where colour handling has to know what 1 is.
bool handles_colour(const Plan& plan) {
  return plan.spec.alpha != AlphaMode::ignore || plan.spec.transfer != TransferFunction::none;
}

Shared shared_of(const Plan& plan, const Pass& pass) {
  Shared shared;
  const ImageDesc& from = desc_of(plan, pass.source);
  const ImageDesc& to = desc_of(plan, pass.destination);
  shared.source.width = from.width;
  shared.source.height = from.height;
  shared.destination.width = to.width;
  shared.destination.height = to.height;
  shared.from.component = component_of<Component>(info(from.format));
  shared.to.component = component_of<Component>(info(to.format));
  const double source_unit = info(plan.src.format).unit();
  const double number_unit = handles_colour(plan) ? 1.0 : source_unit;  // what full scale is in numbers
  const bool premultiplied = plan.spec.alpha == AlphaMode::premultiply;
  const bool is_srgb = plan.spec.transfer == TransferFunction::srgb;
  if (pass.source.kind == Binding::Kind::source) {
    shared.from = {shared.from.component, number_unit / source_unit, premultiplied, is_srgb};
  }
  if (pass.destination.kind == Binding::Kind::destination) {
    shared.to = {shared.to.component, info(to.format).unit() / number_unit, premultiplied, is_srgb};
  }
  shared.outside.mode_x = static_cast<std::int32_t>(plan.spec.border.mode.x);
  shared.outside.mode_y = static_cast<std::int32_t>(plan.spec.border.mode.y);
  const std::array<double, 4> outside = outside_pixel(plan.spec, plan.src.format);
  for (std::size_t c = 0; c < outside.size(); ++c) shared.outside.value[c] = outside[c] * number_unit;
  return shared;
}

/// Weights and the like that kernels read from memory, one after the other.
class Tables {
 public:
  /// Adds numbers as values of T; returns how many bytes lie before them.
  template <class T>
  std::int64_t add(const std::vector<double>& numbers) {
    return add_values(rounded<T>(numbers));
  }
  /// The same of values as they are.
  template <class T>
  std::int64_t add_values(const std::vector<T>& values) {
    constexpr std::int64_t kAlignment = 16;  // of the widest loads
    const auto place = static_cast<std::size_t>(round_up(static_cast<std::int64_t>(bytes_.size()), kAlignment));
    bytes_.resize(place + values.size() * sizeof(T));
    std::memcpy(bytes_.data() + place, values.data(), values.size() * sizeof(T));
    return static_cast<std::int64_t>(place);
  }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// A launch before the kernel is known to the device. Addresses of tables are still places among them.
struct Draft {
  std::string module;
  std::string function;
  Launch launch;
};

std::string name_of(std::string_view kernel, const Plan& plan, std::string_view ending = {}) {
  return std::string(kernel) + "_" + std::to_string(info(plan.src.format).channels) + std::string(ending);
}

std::string_view ending_of(bool wide) {
  return wide ? "_f64" : "_f32";
}

/// Of kernels of sep_fused.cu: components that become numbers as they are, and are of one type, or any.
std::string_view ending_of(const Plan& plan) {
  if (handles_colour(plan) || plan.src.format != plan.dst.format) return "_any";
  switch (component_of<Component>(info(plan.src.format))) {
    case Component::u8:
      return "_u8";
    case Component::f16:
      return "_f16";
    case Component::f32:
      return "_f32";
    default:
      return "_any";
  }
}

std::int64_t add(Tables& tables, const std::vector<double>& weights, bool wide) {
  return wide ? tables.add<double>(weights) : tables.add<float>(weights);
}

/// Those of x, then those of y.
std::vector<double> of_both_axes(const PerAxis<AxisTaps>& taps) {
  std::vector<double> weights = taps.x.weights;
  weights.insert(weights.end(), taps.y.weights.begin(), taps.y.weights.end());
  return weights;
}

Draft sep_fused(const Plan& plan, const Pass& pass, Tables& tables) {
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

Draft sep_registers(const Plan& plan, const Pass& pass, Tables& tables) {
  Draft draft = sep_fused(plan, pass, tables);
  const auto& a = std::get<SepFused>(draft.launch.arguments);
  draft.module = "sep_registers";
  draft.function = name_of("sep_registers", plan, std::string(ending_of(plan)) + "_" + std::to_string(a.taps_x));
  draft.launch.threads = static_cast<std::uint32_t>(pass.group.x);
  draft.launch.shared_bytes = static_cast<std::uint32_t>((pass.tile.x + a.taps_x - 1) * sizeof(std::int32_t));
  return draft;
}

std::int32_t constant(const Pass& pass, const std::string& name) {
  return static_cast<std::int32_t>(pass.constants.at(name));
}

/// Weights stand in the middle of those that the kernel has, and zeros around them.
Draft sep_scatter(const Plan& plan, const Pass& pass, Tables&) {
  SepScatter a{shared_of(plan, pass)};
  const std::int32_t taps = constant(pass, "taps");
  const auto put = [&](const AxisTaps& from, float* to) {
    const std::int32_t before = taps / 2 - from.anchor;
    for (std::size_t i = 0; i < from.weights.size(); ++i) to[static_cast<std::size_t>(before) + i] = static_cast<float>(from.weights[i]);
  };
  put(pass.taps.x, a.weights_x);
  put(pass.taps.y, a.weights_y);
  a.first_x = pass.origin.x - taps / 2;
  a.first_y = pass.origin.y - taps / 2;
  a.rows = pass.tile.y;
  a.blocks_across = ceil_div(a.destination.width, pass.tile.x);
  a.blocks_down = ceil_div(a.destination.height, a.rows);
  const SepScatterShape shape(info(plan.src.format).channels, taps, pass.group.x);
  return {"sep_scatter",
          name_of("sep_scatter", plan, "_f32_" + std::to_string(taps)),
          {nullptr,
           a,
           static_cast<std::uint32_t>(pass.group.x),
           static_cast<std::uint32_t>(shape.shared_bytes()),
           pass.source,
           pass.destination,
           {}}};
}

Draft sep_matrix(const Plan& plan, const Pass& pass, Tables& tables) {
  SepMatrix a{shared_of(plan, pass)};
  const MatrixSize size{constant(pass, "across"), constant(pass, "down")};
  const std::int32_t halves = info(plan.src.format).is_unorm() ? 1 : 2;  // that a tap is the sum of, at most
  const std::int32_t lead = constant(pass, "lead");
  const auto tap_x = [&](int product, int lane, int word, int half) { return matrix_tap_x(product, lane, word, half, lead); };
  a.taps_x = static_cast<std::uint64_t>(tables.add_values(matrices_of_taps(pass.taps.x, halves, size.across, kMatrixWordsX, tap_x)));
  a.taps_y =
      static_cast<std::uint64_t>(tables.add_values(matrices_of_taps(pass.taps.y, halves, matrix_pairs(size), kMatrixWordsY, matrix_tap_y)));
  a.skip_x = constant(pass, "skip_x");
  a.skip_y = constant(pass, "skip_y");
  a.first_x = pass.origin.x - pass.taps.x.anchor - lead;
  a.first_y = pass.origin.y - pass.taps.y.anchor;
  a.rows = pass.tile.y;
  a.clamps = constant(pass, "clamps");
  a.splits_x = constant(pass, "splits_x");
  a.splits_y = constant(pass, "splits_y");
  std::vector<double> starts(4, pass.parameters.at("start_x"));
  starts.resize(8, pass.parameters.at("start_y"));
  a.starts = static_cast<std::uint64_t>(tables.add<float>(starts));
  a.gain = static_cast<float>(pass.parameters.at("gain"));
  a.blocks_across = ceil_div(pass.size.x, pass.tile.x);
  a.blocks_down = ceil_div(pass.size.y, a.rows);
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

CoarseGrid grid_of(const Plan& plan, const Pass& pass, Tables& tables) {
  CoarseGrid grid{shared_of(plan, pass)};
  grid.splines = static_cast<std::uint64_t>(tables.add<float>(of_both_axes(pass.taps)));
  grid.factor_x = constant(pass, "factor_x");
  grid.factor_y = constant(pass, "factor_y");
  grid.support_x = constant(pass, "support_x");
  grid.support_y = constant(pass, "support_y");
  return grid;
}

/// Of kernels of gauss_decimate.cu: for images of a type and a support along y that they are compiled for, or for any. `along_x`: coarse
/// samples side by side that a thread reads, which may be one more.
std::string ending_of_support(const Plan& plan, std::int32_t along_y, std::int32_t along_x) {
  const int channels = info(plan.src.format).channels;
  const std::string_view type = ending_of(plan);
  const bool is_compiled = (channels == 1 || channels == 4) && type != "_any" && along_y >= kLeastCompiledSupport &&
                           along_y <= kMostCompiledSupport && along_x <= along_y + 1;
  return is_compiled ? std::string(type) + "_" + std::to_string(along_y) : "_any_" + std::to_string(kMostSupport);
}

Draft gauss_decimate(const Plan& plan, const Pass& pass, Tables& tables) {
  GaussDecimate a{grid_of(plan, pass, tables)};
  a.first_x = constant(pass, "first_x") * a.factor_x - constant(pass, "centre_x");
  a.first_y = constant(pass, "first_y") * a.factor_y - constant(pass, "centre_y");
  a.step_rows = constant(pass, "step_rows");
  a.rows = pass.tile.y;
  a.destination.width = pass.size.x;
  a.blocks_across = ceil_div(pass.size.x, pass.tile.x);
  a.blocks_down = ceil_div(pass.size.y, a.rows);
  const auto threads = static_cast<std::uint32_t>(pass.group.x);
  const DecimateShape shape(info(plan.src.format).channels, pass.group.x, a.factor_x, a.support_x);
  const std::int32_t floats = decimate_floats(shape, pass.group.x, a.factor_x, a.support_x, a.factor_y, kMostSupport);
  return {"gauss_decimate",
          name_of("gauss_decimate", plan, ending_of_support(plan, a.support_y, 0)),
          {nullptr, a, threads, static_cast<std::uint32_t>(floats * sizeof(float)), pass.source, pass.destination, {}}};
}

Draft gauss_matrix(const Plan& plan, const Pass& pass, Tables& tables) {
  GaussMatrix a{shared_of(plan, pass)};
  a.factor_x = constant(pass, "factor_x");
  a.factor_y = constant(pass, "factor_y");
  a.support_x = constant(pass, "support_x");
  a.support_y = constant(pass, "support_y");
  a.centre_x = constant(pass, "centre_x");
  a.first_x = constant(pass, "first_x") * a.factor_x - a.centre_x;
  a.first_y = constant(pass, "first_y") * a.factor_y - constant(pass, "centre_y");
  a.skip_x = constant(pass, "skip_x");
  a.skip_y = constant(pass, "skip_y");
  const GaussMatrixShape shape(a.factor_x, a.support_x, a.centre_x, a.factor_y, a.support_y);
  const auto times = [](AxisTaps taps, double gain) {
    for (double& weight : taps.weights) weight *= gain;
    return taps;
  };
  const auto tap_x = [&](int product, int lane, int word, int half) {
    return spline_tap_x(product, lane, word, half, shape.lead, a.factor_x);
  };
  const auto tap_y = [&](int product, int lane, int word, int half) {
    return spline_tap_y(product, lane, word, half, shape.groups(), a.factor_y);
  };
  constexpr std::int32_t kHalves = 2;  // that a weight is the sum of
  a.splines_x = static_cast<std::uint64_t>(
      tables.add_values(matrices_of_taps(times(pass.taps.x, kSplineGainX), kHalves, shape.products, kMatrixWordsX, tap_x)));
  a.splines_y = static_cast<std::uint64_t>(
      tables.add_values(matrices_of_taps(times(pass.taps.y, kSplineGainY), kHalves, shape.tiles * shape.groups(), kMatrixWordsY, tap_y)));
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
           static_cast<std::uint32_t>(shape.shared_bytes(info(plan.src.format).channels)),
           pass.source,
           pass.destination,
           {}}};
}

/// Coarse samples beyond the edge of the grid are like the nearest.
Draft gauss_grid(const Plan& plan, const Pass& pass, Tables& tables) {
  Draft draft = sep_fused(plan, pass, tables);
  auto& a = std::get<SepFused>(draft.launch.arguments);
  draft.function = name_of("sep_fused", plan, "_f32");
  a.source.width = constant(pass, "source_width");
  a.destination.width = pass.size.x;
  a.blocks_across = ceil_div(pass.size.x, pass.tile.x);
  a.outside.mode_x = a.outside.mode_y = kClamp;
  return draft;
}

/// One axis of the same: `taps` of it, `down` or along rows.
Draft gauss_grid_axis(const Plan& plan, const Pass& pass, const AxisTaps& taps, bool down, Tables& tables) {
  SepPass a{shared_of(plan, pass)};
  a.taps = static_cast<std::uint64_t>(tables.add<float>(taps.weights));
  a.count = static_cast<std::int32_t>(taps.weights.size());
  a.first = (down ? pass.origin.y : pass.origin.x) - taps.anchor;
  a.source.width = constant(pass, "source_width");
  a.destination.width = pass.size.x;
  const int channels = info(plan.src.format).channels;
  a.blocks_across = ceil_div(whole_fours(a.destination.width * channels), kGridComponents);
  a.blocks_down = down ? ceil_div(a.destination.height, kGridRows) : a.destination.height;
  const std::int64_t shared = down ? grid_columns_shared_bytes(a.count) : grid_rows_shared_bytes(channels, a.count);
  return {"gauss_grid",
          name_of(down ? "gauss_grid_columns" : "gauss_grid_rows", plan, "_f32"),
          {nullptr, a, kGridThreads, static_cast<std::uint32_t>(shared), pass.source, pass.destination, {}}};
}

Draft gauss_grid_rows(const Plan& plan, const Pass& pass, Tables& tables) {
  return gauss_grid_axis(plan, pass, pass.taps.x, false, tables);
}

Draft gauss_grid_columns(const Plan& plan, const Pass& pass, Tables& tables) {
  return gauss_grid_axis(plan, pass, pass.taps.y, true, tables);
}

Draft gauss_upsample(const Plan& plan, const Pass& pass, Tables& tables) {
  GaussUpsample a{grid_of(plan, pass, tables)};
  const PerAxis<AxisPlaces> places = places_of(plan.spec);
  a.first_x = static_cast<std::int32_t>(places.x.first) + constant(pass, "centre_x") - constant(pass, "first_x") * a.factor_x;
  a.first_y = static_cast<std::int32_t>(places.y.first) + constant(pass, "centre_y") - constant(pass, "first_y") * a.factor_y;
  a.step_x = plan.spec.stride.x.step;
  a.step_y = plan.spec.stride.y.step;
  a.rows = pass.tile.y;
  a.blocks_across = ceil_div(ceil_div(a.destination.width * info(plan.dst.format).channels, 4), kUpsampleThreads);
  a.blocks_down = ceil_div(a.destination.height, a.rows);
  const std::int32_t floats = floats_of_weights(a.factor_y, kMostSupport);
  return {"gauss_decimate",
          name_of("gauss_upsample", plan, ending_of_support(plan, a.support_y, a.support_x)),
          {nullptr, a, kUpsampleThreads, static_cast<std::uint32_t>(floats * sizeof(float)), pass.source, pass.destination, {}}};
}

Draft sep_rows(const Plan& plan, const Pass& pass, Tables& tables) {
  SepPass a{shared_of(plan, pass)};
  const bool wide = pass.constants.at("wide") != 0;
  a.taps = static_cast<std::uint64_t>(add(tables, pass.taps.x.weights, wide));
  a.count = static_cast<std::int32_t>(pass.taps.x.weights.size());
  a.first = pass.origin.x - pass.taps.x.anchor;
  a.step = plan.spec.stride.x.step;
  a.across = pass.origin.y;
  a.destination.width = pass.size.x;
  a.blocks_across = ceil_div(a.destination.width, kSepRowsColumns);
  a.blocks_down = a.destination.height;
  const auto shared = static_cast<std::uint32_t>(sep_rows_shared_bytes(info(plan.src.format).channels, a.step, wide));
  return {
      "sep_passes", name_of("sep_rows", plan, ending_of(wide)), {nullptr, a, kSepRowsColumns, shared, pass.source, pass.destination, {}}};
}

Draft sep_columns(const Plan& plan, const Pass& pass, Tables& tables) {
  SepPass a{shared_of(plan, pass)};
  const bool wide = pass.constants.at("wide") != 0;
  const int channels = info(plan.src.format).channels;
  a.taps = static_cast<std::uint64_t>(add(tables, pass.taps.y.weights, wide));
  a.count = static_cast<std::int32_t>(pass.taps.y.weights.size());
  a.first = pass.origin.y - pass.taps.y.anchor;
  a.step = plan.spec.stride.y.step;
  a.across = static_cast<std::int32_t>(pass.constants.at("first_row"));
  a.length = plan.src.height;
  for (std::size_t c = 0; c < 4; ++c) a.outside_row[c] = a.outside.value[c] * pass.outside_gain;
  a.blocks_across = ceil_div(ceil_div(a.destination.width * channels, 4), kSepColumnsThreads);
  a.blocks_down = a.destination.height;
  return {
      "sep_passes", name_of("sep_columns", plan, ending_of(wide)), {nullptr, a, kSepColumnsThreads, 0, pass.source, pass.destination, {}}};
}

Draft nxn_direct(const Plan& plan, const Pass& pass, Tables& tables) {
  NxnDirect a{shared_of(plan, pass)};
  const bool wide = pass.constants.at("wide") != 0;
  a.weights = static_cast<std::uint64_t>(add(tables, pass.matrix.weights, wide));
  a.width = pass.matrix.width;
  a.height = pass.matrix.height;
  a.first_x = pass.origin.x - pass.matrix.anchor.x;
  a.first_y = pass.origin.y - pass.matrix.anchor.y;
  a.step_x = plan.spec.stride.x.step;
  a.step_y = plan.spec.stride.y.step;
  a.blocks_across = ceil_div(a.destination.width, kNxnColumns);
  a.blocks_down = ceil_div(a.destination.height, kNxnRows);
  return {"nxn_direct",
          name_of("nxn_direct", plan, ending_of(wide)),
          {nullptr, a, kNxnColumns * kNxnRows, 0, pass.source, pass.destination, {}}};
}

BoxAny box_arguments(const Plan& plan, const Pass& pass) {
  BoxAny a{shared_of(plan, pass)};
  a.window_x = constant(pass, "window_x");
  a.window_y = constant(pass, "window_y");
  a.skip_x = constant(pass, "skip_x");
  a.skip_y = constant(pass, "skip_y");
  a.first_x = pass.origin.x - constant(pass, "before_x");
  a.first_y = pass.origin.y - constant(pass, "before_y");
  a.first_run = pass.origin.y / kBoxRun;
  const PerAxis<AxisPlaces> places = places_of(plan.spec);
  a.size_x = static_cast<std::int32_t>(places.x.length(plan.dst.width));
  a.size_y = static_cast<std::int32_t>(places.y.length(plan.dst.height));
  a.step_x = plan.spec.stride.x.step;
  a.step_y = plan.spec.stride.y.step;
  a.rows = pass.tile.y;
  a.made = pass.tile.x;
  a.across = constant(pass, "across");
  a.length = plan.src.width;
  a.before_x = static_cast<float>(pass.parameters.at("before_fraction_x"));
  a.after_x = static_cast<float>(pass.parameters.at("after_fraction_x"));
  a.before_y = static_cast<float>(pass.parameters.at("before_fraction_y"));
  a.after_y = static_cast<float>(pass.parameters.at("after_fraction_y"));
  a.lift = static_cast<float>(pass.parameters.at("lift"));
  a.scale = static_cast<float>(pass.parameters.at("scale"));
  if (pass.constants.at("integer") != 0) {
    const BoxDivision division =
        box_division(std::int64_t{a.window_x} * a.window_y, static_cast<std::int64_t>(info(plan.src.format).unit()));
    a.half = division.half;
    a.factor = division.factor;
    a.shift = division.shift;
  }
  a.blocks_across = ceil_div(pass.size.x, a.made);
  a.blocks_down = ceil_div(pass.size.y, a.rows);
  return a;
}

/// `kernel`: of box_any.cu or box_wide.cu.
Draft box_draft(const Plan& plan, const Pass& pass, std::string_view module, std::string_view kernel, std::int32_t shared_bytes) {
  const bool is_words = pass.constants.at("integer") != 0 && info(plan.src.format).bits == 16;
  const std::string_view type = pass.constants.at("any") != 0 ? "_any" : is_words ? "_u16" : ending_of(plan);
  return {std::string(module),
          name_of(kernel, plan, type),
          {nullptr,
           box_arguments(plan, pass),
           static_cast<std::uint32_t>(pass.group.x),
           static_cast<std::uint32_t>(shared_bytes),
           pass.source,
           pass.destination,
           {}}};
}

Draft box_any(const Plan& plan, const Pass& pass, Tables&) {
  const BoxShape shape(info(plan.src.format).channels, pass.group.x, constant(pass, "four_bytes"));
  return box_draft(plan, pass, "box_any", "box_any", shape.shared_bytes());
}

Draft box_down(const Plan& plan, const Pass& pass, Tables&) {
  return box_draft(plan, pass, "box_wide", "box_down", 0);
}

Draft box_along(const Plan& plan, const Pass& pass, Tables&) {
  const BoxAlongShape shape(info(plan.src.format).channels, pass.group.x, constant(pass, "four_bytes"));
  return box_draft(plan, pass, "box_wide", "box_along", shape.shared_bytes());
}

/// Sums of blocks of rows: see box_segments.cu.
Draft box_blocks(const Plan& plan, const Pass& pass, Tables&) {
  BoxAny a{shared_of(plan, pass)};
  a.first_x = pass.origin.x;
  a.first_y = pass.origin.y;
  a.rows = pass.tile.y;
  a.window_y = constant(pass, "part");
  a.blocks_across = ceil_div(pass.size.x, pass.tile.x);
  a.blocks_down = ceil_div(pass.size.y, a.rows);
  return {"box_segments",
          name_of("box_blocks", plan, "_u8"),
          {nullptr, a, kBoxBlockThreads, static_cast<std::uint32_t>(box_blocks_shared_bytes(a.rows)), pass.source, pass.destination, {}}};
}

/// Where means are made of floats, the factor is a little more than 1 / pixels if one may be a half, which then is rounded up.
Draft box_segments(const Plan& plan, const Pass& pass, Tables&) {
  BoxSlide a;
  static_cast<BoxAny&>(a) = box_arguments(plan, pass);
  const std::int64_t pixels = std::int64_t{a.window_x} * a.window_y;
  const bool by_floats = are_float_means(pixels);
  if (by_floats) {
    a.scale = static_cast<float>(1.0 / static_cast<double>(pixels));
    while (pixels % 2 == 0 && static_cast<double>(a.scale) * static_cast<double>(pixels) <= 1.0) a.scale = std::nextafter(a.scale, 1.0F);
  }
  if (pass.auxiliary) {
    a.whole = a.window_y / a.rows;
    a.part = a.window_y % a.rows;
    a.first_block = constant(pass, "first_block");
    a.blocks.width = desc_of(plan, *pass.auxiliary).width;
    a.blocks.height = desc_of(plan, *pass.auxiliary).height;
  }
  const std::int32_t form = constant(pass, "form");
  const BoxSegments& shape = kBoxSegments[form];
  return {"box_segments",
          name_of("box_segments", plan, "_u8_" + std::to_string(form) + (by_floats ? "_floats" : "_integers")),
          {nullptr, a, static_cast<std::uint32_t>(shape.threads), static_cast<std::uint32_t>(shape.shared_bytes(a.rows, a.window_y)),
           pass.source, pass.destination, pass.auxiliary}};
}

/// What a pass of box_passes.cu is given, of either axis.
Draft box_pass(const Plan& plan, const Pass& pass, bool down) {
  BoxPass a{shared_of(plan, pass)};
  const AxisPlaces places = down ? places_of(plan.spec).y : places_of(plan.spec).x;
  a.first = static_cast<std::int32_t>(places.first);
  a.step = static_cast<std::int32_t>(places.step);
  a.window = constant(pass, "window");
  a.before = constant(pass, "before");
  a.first_block = constant(pass, "first_block");
  a.across = constant(pass, "first_row");
  a.length = plan.src.height;
  a.kept_row = constant(pass, "rows");
  a.edge = constant(pass, "edge");
  a.period = constant(pass, "period");
  a.fraction_before_at = constant(pass, "fraction_before_at");
  a.fraction_after_at = constant(pass, "fraction_after_at");
  a.periods = pass.parameters.at("periods");
  a.far_before = pass.parameters.at("far_before");
  a.far_after = pass.parameters.at("far_after");
  a.fraction_before = pass.parameters.at("fraction_before");
  a.fraction_after = pass.parameters.at("fraction_after");
  a.scale = pass.parameters.at("scale");
  a.divisor = pass.parameters.at("divisor");
  for (std::size_t c = 0; c < 4; ++c) a.outside_row[c] = a.outside.value[c] * pass.outside_gain;
  const std::int32_t blocks = constant(pass, "blocks");
  a.blocks_across = down ? ceil_div(a.destination.width, kBoxColumnsAcross) : blocks;
  a.blocks_down = down ? blocks : a.kept_row;
  const std::int32_t threads = pass.group.x;
  const auto shared = static_cast<std::uint32_t>(box_passes_shared_bytes(info(plan.src.format).channels, threads));
  return {"box_passes",
          name_of(down ? "box_columns" : "box_rows", plan, ending_of(pass.constants.at("wide") != 0)),
          {nullptr, a, static_cast<std::uint32_t>(threads), shared, pass.source, pass.destination, {}}};
}

Draft box_rows(const Plan& plan, const Pass& pass, Tables&) {
  return box_pass(plan, pass, false);
}

Draft box_columns(const Plan& plan, const Pass& pass, Tables&) {
  return box_pass(plan, pass, true);
}

struct KernelRow {
  std::string_view id;
  Draft (*make)(const Plan&, const Pass&, Tables&);
};
constexpr std::array kKernels = {
    KernelRow{"box_along", box_along},
    KernelRow{"box_any", box_any},
    KernelRow{"box_blocks", box_blocks},
    KernelRow{"box_columns", box_columns},
    KernelRow{"box_down", box_down},
    KernelRow{"box_rows", box_rows},
    KernelRow{"box_segments", box_segments},
    KernelRow{"gauss_decimate", gauss_decimate},
    KernelRow{"gauss_grid", gauss_grid},
    KernelRow{"gauss_grid_columns", gauss_grid_columns},
    KernelRow{"gauss_grid_rows", gauss_grid_rows},
    KernelRow{"gauss_matrix", gauss_matrix},
    KernelRow{"gauss_upsample", gauss_upsample},
    KernelRow{"nxn_direct", nxn_direct},
    KernelRow{"sep_columns", sep_columns},
    KernelRow{"sep_fused", sep_fused},
    KernelRow{"sep_matrix", sep_matrix},
    KernelRow{"sep_registers", sep_registers},
    KernelRow{"sep_rows", sep_rows},
    KernelRow{"sep_scatter", sep_scatter},
};

Shared& shared_arguments(Arguments& arguments) {
  return std::visit([](auto& a) -> Shared& { return a; }, arguments);
}

/// Adds the address of the tables to a place among them.
void move_tables(Arguments& arguments, CUdeviceptr tables) {
  if (auto* fused = std::get_if<SepFused>(&arguments)) fused->taps += tables;
  if (auto* matrix = std::get_if<SepMatrix>(&arguments)) {
    matrix->outside_pixel += tables;
    matrix->starts += tables;
    matrix->taps_x += tables;
    matrix->taps_y += tables;
  }
  if (auto* decimate = std::get_if<GaussDecimate>(&arguments)) decimate->splines += tables;
  if (auto* decimate = std::get_if<GaussMatrix>(&arguments)) {
    decimate->outside_pixel += tables;
    decimate->splines_x += tables;
    decimate->splines_y += tables;
  }
  if (auto* upsample = std::get_if<GaussUpsample>(&arguments)) upsample->splines += tables;
  if (auto* pass = std::get_if<SepPass>(&arguments)) pass->taps += tables;
  if (auto* matrix = std::get_if<NxnDirect>(&arguments)) matrix->weights += tables;
}

void set_place(Pixels& images, const Place& place, const FormatInfo& format) {
  images.data = place.data;
  images.row_bytes = place.row_bytes;
  images.image_bytes = place.image_bytes;
  const auto four = static_cast<std::uint64_t>(4 * format.component_bytes());
  images.is_aligned =
      (place.data | static_cast<std::uint64_t>(place.row_bytes) | static_cast<std::uint64_t>(place.image_bytes)) % four == 0;
}

}  // namespace

std::vector<std::string> kernel_ids() {
  std::vector<std::string> ids;
  for (const KernelRow& row : kKernels) ids.emplace_back(row.id);
  return ids;
}

Result<std::shared_ptr<const Prepared>> Prepared::create(const Plan& plan, std::shared_ptr<Context> context) {
  std::shared_ptr<Prepared> prepared(new Prepared(plan, std::move(context)));
  if (Status s = prepared->prepare(); !s) return s.error();
  return std::shared_ptr<const Prepared>(std::move(prepared));
}

Status Prepared::prepare() {
  const Current current(*context_);
  const Functions& cu = context_->cu();
  Tables tables;
  for (const Pass& pass : plan_.passes) {
    const auto row = std::ranges::find(kKernels, pass.kernel, &KernelRow::id);
    if (row == kKernels.end()) return Error{ErrorCode::unsupported, "the CUDA backend has no kernel " + pass.kernel, {}};
    Draft draft = row->make(plan_, pass, tables);
    const Result<CUfunction> function = context_->kernel(draft.module, draft.function);
    if (!function) return function.error();
    draft.launch.function = *function;
    if (const CUresult r = cu.FuncSetAttribute(*function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                               static_cast<int>(plan_.device.gpu.shared_bytes));
        r != CUDA_SUCCESS) {
      return to_error(cu, r, "asking for shared memory");
    }
    launches_.push_back(std::move(draft.launch));
  }
  const std::vector<std::byte>& bytes = tables.bytes();
  Result<Memory> memory = Memory::allocate(context_, Memory::Kind::device, static_cast<std::int64_t>(bytes.size()));
  if (!memory) return memory.error();
  tables_ = std::move(*memory);
  if (const CUresult r = context_->upload(tables_.device(), bytes.data(), bytes.size()); r != CUDA_SUCCESS) {
    return to_error(cu, r, "copying weights to the GPU");
  }
  for (Launch& launch : launches_) move_tables(launch.arguments, tables_.device());
  return {};
}

std::int64_t Prepared::scratch_bytes(std::int64_t images) const {
  std::int64_t bytes = 0;
  for (const ImageDesc& desc : plan_.intermediates) bytes += images * image_bytes_of(desc);
  return bytes;
}

Status Prepared::enqueue(const Place& source, const Place& destination, std::int64_t images, CUdeviceptr scratch, CUstream stream) const {
  const Current current(*context_);
  const auto place_of = [&](const Binding& binding) {
    if (binding.kind == Binding::Kind::source) return source;
    if (binding.kind == Binding::Kind::destination) return destination;
    CUdeviceptr begin = scratch;
    for (std::int32_t i = 0; i < binding.index; ++i) {
      begin += static_cast<CUdeviceptr>(images * image_bytes_of(plan_.intermediates[static_cast<std::size_t>(i)]));
    }
    const ImageDesc& desc = plan_.intermediates[static_cast<std::size_t>(binding.index)];
    return Place{begin, desc.row_payload_bytes(), image_bytes_of(desc)};
  };
  for (const Launch& launch : launches_) {
    Arguments arguments = launch.arguments;
    Shared& shared = shared_arguments(arguments);
    set_place(shared.source, place_of(launch.source), info(desc_of(plan_, launch.source).format));
    set_place(shared.destination, place_of(launch.destination), info(desc_of(plan_, launch.destination).format));
    Pixels* const auxiliary = launch.auxiliary ? &std::get<BoxSlide>(arguments).blocks : nullptr;
    if (auxiliary != nullptr) set_place(*auxiliary, place_of(*launch.auxiliary), info(desc_of(plan_, *launch.auxiliary).format));
    const std::int64_t blocks = std::int64_t{shared.blocks_across} * shared.blocks_down;
    const std::int64_t at_once = std::max<std::int64_t>(kMostBlocks / blocks, 1);
    for (std::int64_t first = 0; first < images; first += at_once) {
      const std::int64_t count = std::min(at_once, images - first);
      if (Status s = start(launch, arguments, count, stream); !s) return s;
      shared.source.data += static_cast<std::uint64_t>(count * shared.source.image_bytes);
      shared.destination.data += static_cast<std::uint64_t>(count * shared.destination.image_bytes);
      if (auxiliary != nullptr) auxiliary->data += static_cast<std::uint64_t>(count * auxiliary->image_bytes);
    }
  }
  return {};
}

Status Prepared::enqueue_each(const Place& source, const Place& destination, std::int64_t images, CUdeviceptr each, CUdeviceptr taps,
                              CUstream stream) const {
  const Current current(*context_);
  const Launch& launch = launches_.front();
  Arguments arguments = launch.arguments;
  auto& fused = std::get<SepFused>(arguments);
  set_place(fused.source, source, info(plan_.src.format));
  set_place(fused.destination, destination, info(plan_.dst.format));
  fused.taps = taps;
  fused.each = each;
  const std::int64_t at_once = std::max<std::int64_t>(kMostBlocks / (std::int64_t{fused.blocks_across} * fused.blocks_down), 1);
  for (std::int64_t first = 0; first < images; first += at_once) {
    if (Status s = start(launch, arguments, std::min(at_once, images - first), stream); !s) return s;
    fused.each += static_cast<std::uint64_t>(at_once) * sizeof(TapsOfImage);
  }
  return {};
}

Status Prepared::start(const Launch& launch, Arguments& arguments, std::int64_t images, CUstream stream) const {
  const Shared& shared = shared_arguments(arguments);
  const std::int64_t blocks = std::int64_t{shared.blocks_across} * shared.blocks_down * images;
  void* parameters[] = {std::visit([](auto& a) -> void* { return &a; }, arguments)};
  const CUresult r = context_->cu().LaunchKernel(launch.function, static_cast<unsigned>(blocks), 1, 1, launch.threads, 1, 1,
                                                 launch.shared_bytes, stream, parameters, nullptr);
  return r == CUDA_SUCCESS ? Status() : Status(to_error(context_->cu(), r, "launching a kernel"));
}

}  // namespace mollify::cuda
