// What the forms of gauss.decimate's first step on GPUs share.
#pragma once

#include "algorithms/common/separable_gpu.h"
#include "algorithms/multirate/gauss_decimate.h"
#include "algorithms/multirate/gauss_decimate_options.h"

namespace mollify {

/// Pixels side by side that one lane reads or writes at once.
struct Spans {
  bool are_plain = false;  ///< and kept as they are stored; else they are taken one by one
  std::int32_t read = 1;
  std::int32_t written = 1;
};
/// What a pixel costs beside one of four channels: lanes of spans work by numbers, others by pixels.
[[nodiscard]] double share_of_pixel(const Spans& spans, const FormatInfo& format);

/// One dispatch: its pass but for what it reads and writes, and what it costs.
struct DecimateStep {
  Pass pass;
  Options options;       ///< as they were resolved
  double error = 0.0;    ///< of what it rounds beside sums in f32, full-scale units
  double seconds = 0.0;  ///< rough
};

/// By what pixels are expanded. Where an output is the mean of two pixels, that is the mean of two splines, a pixel apart.
[[nodiscard]] AxisPlan expanding(const AxisPlan& axis);

/// The coarse samples that `length` pixels from `first` on are expanded from.
[[nodiscard]] CoarseRange expanded_from(const AxisPlan& axis, std::int64_t first, std::int64_t length);

/// The spline times `gain`, as long as `support()` coarse samples.
[[nodiscard]] AxisTaps spline_taps(const AxisPlan& axis, double gain);
/// Of a pass that blurs and expands: the grid's kernel, and the spline after it.
[[nodiscard]] AxisTaps kernel_and_spline(AxisTaps kernel, const AxisTaps& spline);
[[nodiscard]] PerAxis<std::int32_t> size_of(const PerAxis<CoarseRange>& grid);
/// The halo where products of matrices sum the pixels of so many coarse samples together, each in an order of its own: windows begin where
/// these begin.
[[nodiscard]] Halo made_together(Halo axis, std::int64_t samples);
/// Where coarse samples lie, for all kernels.
template <class Arguments>
void set_axes(Arguments& to, const PerAxis<CoarseRange>& grid, const AxisPlan& x, const AxisPlan& y) {
  to.first = {grid.x.first, grid.y.first};
  to.centre = {spline_centre(x.spline.size()), spline_centre(y.spline.size())};
  to.factor_x = x.factor;
  to.factor_y = y.factor;
  if constexpr (requires { to.support_x; }) to.support_x = x.support();
  to.support_y = y.support();
}

/// Rows by cooperative matrices, of 8-bit pixels in buffers that are only blurred.
[[nodiscard]] Result<DecimateStep> decimating_by_matrix(const Problem& p, const AxisPlan& x, const AxisPlan& y,
                                                        const PerAxis<CoarseRange>& grid);

/// What pixels are expanded from.
struct Expansion {
  const AxisPlan& x;
  const AxisPlan& y;
  PerAxis<CoarseRange> grid;
  PixelFormat format;  ///< of coarse samples
  gpu::Storage storage;
  Spans spans;

  /// Coarse samples side by side that the spans of so many lanes are mixed from, wherever they begin.
  [[nodiscard]] std::int64_t samples_across(std::int32_t lanes) const {
    return (lanes * spans.written - 2 + x.factor) / x.factor + x.support();
  }
};
/// Of a grid that is blurred.
[[nodiscard]] DecimateStep expanding_step(const Problem& p, const Expansion& e);
/// Of one that is not, by groups that blur a tile of it each, or that move down strips: their pass reads the grid from where `e.grid` lies
/// in it. For pixels in buffers that are only blurred.
[[nodiscard]] Result<DecimateStep> expanding_tiles_step(const Problem& p, const Expansion& e);
[[nodiscard]] Result<DecimateStep> expanding_strips_step(const Problem& p, const Expansion& e);

}  // namespace mollify
