// What gauss.decimate's steps on all GPUs share.
#include "algorithms/multirate/gauss_decimate_gpu.h"
#include "base/places.h"

namespace mollify {

AxisPlan expanding(const AxisPlan& axis) {
  AxisPlan out = axis;
  if (!axis.is_mean) return out;
  out.is_mean = false;
  out.spline.assign(axis.spline.size() + 2, 0.0);  // a zero at the end keeps its centre in the middle
  for (std::size_t i = 0; i < axis.spline.size(); ++i) {
    out.spline[i] += 0.5 * axis.spline[i];
    out.spline[i + 1] += 0.5 * axis.spline[i];
  }
  return out;
}

CoarseRange expanded_from(const AxisPlan& axis, std::int64_t first, std::int64_t length) {
  const std::int64_t centre = spline_centre(axis.spline.size());
  const std::int64_t begin = floor_div(first + centre, axis.factor) - (axis.support() - 1);
  return {begin, floor_div(first + length - 1 + centre, axis.factor) + 1 - begin};
}

AxisTaps kernel_and_spline(AxisTaps kernel, const AxisTaps& spline) {
  kernel.weights.insert(kernel.weights.end(), spline.weights.begin(), spline.weights.end());
  return kernel;
}

AxisTaps spline_taps(const AxisPlan& axis, double gain) {
  AxisTaps out{axis.spline, 0};
  out.weights.resize(static_cast<std::size_t>(axis.support() * axis.factor), 0.0);
  for (double& w : out.weights) w *= gain;
  return out;
}

Halo made_together(Halo axis, std::int64_t samples) {
  axis.after.pixels += (samples - 1) * axis.after.block;
  axis.before.block *= samples;
  axis.after.block *= samples;
  return axis;
}

PerAxis<std::int32_t> size_of(const PerAxis<CoarseRange>& grid) {
  return {static_cast<std::int32_t>(grid.x.size), static_cast<std::int32_t>(grid.y.size)};
}

}  // namespace mollify
