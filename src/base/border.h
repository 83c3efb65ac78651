// Where a coordinate outside the image reads from. Shared by the planner and the CPU kernels.
#pragma once

#include <cstdint>

#include "mollify/spec.h"

namespace mollify {

/// `map_index` of a coordinate that the border's constant value stands in for.
inline constexpr std::int64_t kOutside = -1;

/// The index in [0, length) that stands in for `i`, any distance away, or kOutside.
[[nodiscard]] inline std::int64_t map_index(BorderMode mode, std::int64_t i, std::int64_t length) {
  if (i >= 0 && i < length) return i;
  const auto wrapped = [](std::int64_t value, std::int64_t period) {
    if (value >= 0 && value < period) return value;  // divisions are slow, and the next period is the usual case
    if (value < 0 && value >= -period) return value + period;
    const std::int64_t rest = value % period;
    return rest < 0 ? rest + period : rest;
  };
  switch (mode) {
    case BorderMode::clamp:
      return i < 0 ? 0 : length - 1;
    case BorderMode::mirror: {
      if (length == 1) return 0;
      const std::int64_t p = wrapped(i, 2 * (length - 1));
      return p < length ? p : 2 * (length - 1) - p;
    }
    case BorderMode::reflect: {
      const std::int64_t p = wrapped(i, 2 * length);
      return p < length ? p : 2 * length - 1 - p;
    }
    case BorderMode::wrap:
      return wrapped(i, length);
    case BorderMode::constant:
      return kOutside;
  }
  return kOutside;
}

}  // namespace mollify
