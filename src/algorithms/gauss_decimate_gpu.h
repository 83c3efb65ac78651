// What the forms of gauss.decimate's first step on GPUs share.
#pragma once

#include "algorithms/gauss_decimate.h"
#include "algorithms/sep_gpu.h"

namespace mollify {

enum class DecimateMath : std::uint8_t { f32, matrix };
inline constexpr std::array<std::string_view, 2> kDecimateMath = {"f32", "matrix"};

/// The step that makes cells of pixels: its pass but for what it writes to, and what it costs.
struct DecimatingPass {
  Pass pass;
  Options options;               ///< as they were resolved
  double error = 0.0;            ///< of what it rounds beside sums in f32, full-scale units
  double seconds = 0.0;          ///< rough
};

/// The spline times `gain`, filled up with zeros to whole cells, so that kernels need not know where it ends.
[[nodiscard]] AxisTaps padded_spline(const AxisPlan& axis, double gain);
[[nodiscard]] PerAxis<std::int32_t> size_of(const PerAxis<CellRange>& grid);
void set_axes(Pass& pass, const PerAxis<CellRange>& grid, const AxisPlan& x, const AxisPlan& y);

/// Rows by cooperative matrices, of 8-bit pixels in buffers that are only blurred.
[[nodiscard]] Result<DecimatingPass> decimating_by_matrix(const Problem& p, const AxisPlan& x, const AxisPlan& y,
                                                          const PerAxis<CellRange>& grid);

}  // namespace mollify
