// One window of a box, pixel by pixel, for the scalar twins of box.any.
#pragma once

#include <array>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/pixel.h"

namespace mollify::cpu::scalar {

/// The sum over the window around (x, y), `S` sums of `T` pixels.
template <class T, class S>
std::array<S, 4> window_sum(const BoxAny& box, const Source& src, std::int64_t x, std::int64_t y) {
  const auto weight = [](const BoxWindow& w, std::int64_t i) {
    return static_cast<S>(i < -w.before ? w.before_fraction : i > w.after ? w.after_fraction : 1.0);
  };
  std::array<S, 4> sum{};
  for (std::int64_t j = -box.y.reach_before(); j <= box.y.reach_after(); ++j) {
    for (std::int64_t i = -box.x.reach_before(); i <= box.x.reach_after(); ++i) {
      const std::array<T, 4> in = read_pixel<T>(box.rows, src, x + i, y + j);
      for (std::size_t c = 0; c < 4; ++c) sum[c] += weight(box.x, i) * weight(box.y, j) * static_cast<S>(in[c]);
    }
  }
  return sum;
}

}  // namespace mollify::cpu::scalar
