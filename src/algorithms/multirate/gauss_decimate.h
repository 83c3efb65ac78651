// What gauss.decimate for CPUs and for GPUs share: how an axis is decimated.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/common/propose.h"
#include "backends/cpu/kernels/layout.h"
#include "math/decimation.h"
#include "math/splines.h"

namespace mollify {

/// One axis: how it is decimated, and what that costs. Where it is not, each pixel is a coarse sample.
struct AxisPlan {
  int factor = 1;
  std::vector<double> spline{1.0};
  AxisTaps coarse;
  double l1_distance = 0.0;
  double cost = 0.0;     ///< multiply-adds a component
  bool is_mean = false;  ///< an output is the mean of what is expanded at its place and at the next pixel

  [[nodiscard]] std::int64_t support() const { return spline_support(spline.size(), factor); }
  /// Of the spline that pixels are expanded by: where an output is a mean, that is the mean of two, a pixel apart.
  [[nodiscard]] std::int64_t expanding_support() const { return support() + (is_mean ? 1 : 0); }
  /// See Decimation::reach(). Of a mean some samples are read with a weight of 0.
  [[nodiscard]] std::int64_t reach() const {
    return std::int64_t{coarse.anchor} * factor + static_cast<std::int64_t>(spline.size()) - 1 + (is_mean ? factor : 0);
  }
  /// What an output's coarse samples are made of. Where the axis is decimated, its spline is `support()` factors long.
  [[nodiscard]] Halo halo() const {
    const auto taps = static_cast<std::int64_t>(spline.size());
    const auto coarse_taps = static_cast<std::int64_t>(coarse.weights.size());
    const std::int64_t next = is_mean ? 1 : 0;
    const std::int64_t offset = -spline_centre(spline.size()) - next;
    const std::int64_t before = (expanding_support() - 1 + coarse.anchor) * factor - next;
    const std::int64_t after = (coarse_taps - 1 - coarse.anchor) * factor + taps - 1 + next;
    return {{before, factor, offset}, {after, factor, offset}};
  }
};

/// The coarse samples that an output of `length` pixels from `first` on needs on one axis, of those that can differ.
struct CoarseRange {
  std::int64_t first;
  std::int64_t size;
};
[[nodiscard]] CoarseRange coarse_range(const AxisPlan& axis, BorderMode mode, std::int64_t source_length, std::int64_t first,
                                       std::int64_t length);

/// The largest factor, of those that may be, by which an axis of the problem's kernel, a Gaussian, is decimated within this distance.
[[nodiscard]] AxisPlan sparsest(const Problem& p, Axis direction, int support, double l1_budget, bool (*may_be)(int factor));
/// What rounding adds to the error.
[[nodiscard]] double rounding_of(const Problem& p, const AxisPlan& x, const AxisPlan& y);

/// Whether tensor cores of CUDA have kernels for images of these formats that are blurred like that.
[[nodiscard]] Status check_products(const Problem& p);
/// Whether kernels of CUDA may make bytes of numbers of few bits: where the error that is allowed is not small.
[[nodiscard]] bool may_cut_numbers(const Problem& p);
/// Whether CUDA may sum up 16 bytes of each row at once: images of four channels of bytes, halves or floats that are only
/// blurred.
[[nodiscard]] bool has_spans(const Problem& p);

/// What divides the scratch memory of an axis whose outputs lie `step` pixels apart, of which `taps` are those of the grid's kernel.
[[nodiscard]] cpu::ExpandShape expand_shape(std::int64_t factor, std::int64_t support, const std::vector<double>& taps, std::int64_t step);
/// The passes of CPUs, added to what is known of the proposal already.
[[nodiscard]] Proposal add_cpu_passes(const Problem& p, const AxisPlan& x, const AxisPlan& y, Proposal out);

/// The passes of GPUs, added to what is known of the proposal already.
[[nodiscard]] Result<Proposal> add_gauss_decimate_gpu_passes(const Problem& p, const AxisPlan& x, const AxisPlan& y, Proposal out);
/// The same on CUDA.
[[nodiscard]] Result<Proposal> add_gauss_decimate_cuda_passes(const Problem& p, const AxisPlan& x, const AxisPlan& y, Proposal out);

}  // namespace mollify
