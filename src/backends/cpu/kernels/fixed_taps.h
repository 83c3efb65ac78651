// What FixedTaps mean, one number at a time: what SIMD kernels are held to.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/kernels.h"

namespace mollify::cpu::scalar {

/// The taps around a place; at(offset) is what lies there, in 16 bits.
template <class At>
[[nodiscard]] std::uint32_t filtered_fixed(const FixedTaps& taps, const At& at) {
  const std::int64_t radius = taps.radius(), after = taps.after();
  std::uint32_t sum = 0;
  std::int64_t i = 0;
  for (const std::int64_t end : taps.runs) {
    sum = (sum + 1) / 2;
    for (; i < end; ++i) {
      sum += (at(i - radius) + at(after - i) + 1) / 2 * taps.weights[static_cast<std::size_t>(i)] >> 16;
    }
  }
  if (taps.is_even) return sum;
  return sum + (at(0) * taps.weights[static_cast<std::size_t>(radius)] >> 16);
}

}  // namespace mollify::cpu::scalar
