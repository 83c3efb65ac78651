// What the box filters for GPUs share: windows, the two passes of a separable one, and their errors.
#pragma once

#include "algorithms/box/box_extents.h"
#include "algorithms/common/gpu.h"

namespace mollify {

/// A box on one axis: whole pixels, and what the pixel beyond each end counts for.
struct BoxAxis {
  std::int32_t before = 0, after = 0;
  double before_fraction = 0.0, after_fraction = 0.0;
  [[nodiscard]] std::int32_t whole() const { return before + 1 + after; }
  [[nodiscard]] double length() const { return whole() + before_fraction + after_fraction; }
  [[nodiscard]] bool is_whole() const { return before_fraction == 0.0 && after_fraction == 0.0; }
  [[nodiscard]] std::int32_t reach_before() const { return before + (before_fraction > 0.0 ? 1 : 0); }
  [[nodiscard]] std::int32_t reach_after() const { return after + (after_fraction > 0.0 ? 1 : 0); }
  [[nodiscard]] std::int32_t taps() const { return reach_before() + 1 + reach_after(); }
  /// Of summing `length()` pixels one after another in f32, each times a rounded scale; units as summation_growth().
  [[nodiscard]] double growth() const { return (taps() + 1) / 2.0 + 4.0; }
};

/// box_extents() as whole pixels and fractions; a refusal of what that refuses, and of windows over more than `most` pixels on an axis.
[[nodiscard]] Result<PerAxis<BoxAxis>> box_axes(const Problem& p, PerAxis<std::int64_t> most);

/// Windows that sums of pixels are made for. Longer ones, many times the image, are left to folded taps, which have no longer loops.
[[nodiscard]] PerAxis<std::int64_t> longest_windows(const ImageDesc& image);

/// What a sum over this part of the first axis can be, for choose_intermediate().
[[nodiscard]] SeparableTaps box_taps(const PerAxis<BoxAxis>& box);

/// Where the two passes of a separable filter work.
struct TwoPasses {
  gpu::Span rows;     ///< of the source, that the first pass makes
  ImageDesc between;  ///< as wide as the region
  PerAxis<std::int32_t> first_origin, second_origin;
};
[[nodiscard]] TwoPasses two_passes(const Problem& p, const BoxAxis& vertical, PixelFormat intermediate);

}  // namespace mollify
