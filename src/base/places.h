// Where the pixels of a destination lie in its source: at the origin of its region, a stride apart.
#pragma once

#include <cstdint>

#include "base/source_needs.h"
#include "mollify/spec.h"

namespace mollify {

/// On one axis. Each destination pixel has a source pixel as its place.
struct AxisPlaces {
  std::int64_t first = 0;  ///< of destination pixel 0
  std::int64_t step = 1;   ///< from each to the next
  bool between = false;    ///< kernels are centred half a pixel behind these places

  [[nodiscard]] std::int64_t at(std::int64_t i) const { return first + i * step; }
  /// From the place of the first of these destination pixels to that of the last. The span is not empty.
  [[nodiscard]] Span of(Span made) const { return {at(made.begin), at(made.end - 1) + 1}; }
  /// Source pixels from the first of so many places to the last.
  [[nodiscard]] std::int64_t length(std::int64_t count) const { return count > 0 ? (count - 1) * step + 1 : 0; }
};

[[nodiscard]] inline AxisPlaces places_on_axis(std::int64_t origin, const Stride& stride) {
  return {origin + stride.phase_halves / 2, stride.step, stride.phase_halves % 2 != 0};
}

[[nodiscard]] inline PerAxis<AxisPlaces> places_of(const BlurSpec& spec) {
  const Rect origin = spec.roi.value_or(Rect{});
  return {places_on_axis(origin.x, spec.stride.x), places_on_axis(origin.y, spec.stride.y)};
}

/// Whether a destination has fewer pixels than its region, or kernels are centred elsewhere than on its pixels.
[[nodiscard]] inline bool has_stride(const BlurSpec& spec) {
  return spec.stride != PerAxis<Stride>{};
}

/// How long an axis is for kernels that are folded into it: with all places that a stride can have, which may lie behind its last pixel.
/// Where the border repeats itself, that does not matter.
[[nodiscard]] inline std::int64_t folded_length(BorderMode mode, std::int64_t length, const Stride& stride) {
  return mode == BorderMode::clamp || mode == BorderMode::constant ? length + stride.step - 1 : length;
}

}  // namespace mollify
