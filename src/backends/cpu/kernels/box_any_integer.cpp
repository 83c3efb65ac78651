// Boxes in integers: which kernel, and its twin.
#include "backends/cpu/kernels/box_any_integer.h"

#include <algorithm>
#include <array>

#include "backends/cpu/kernels/box_window.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/pixel.h"

namespace mollify::cpu {

void box_any_i32(const BoxAny& box, const Tile& tile) {
  const bool is_short = box.rows.source.component == Component::u8 && box.y.size() <= kMostRowsOfU16;
  return is_short ? box_any_16_bit_sums(box, tile) : box_any_32_bit_sums(box, tile);
}

void scalar::box_any_i32(const BoxAny& box, const Tile& tile) {
  for_each_pixel<float>(box.rows, tile, [&](std::int64_t x, std::int64_t y) {
    std::array<float, 4> out;
    const std::array<std::int32_t, 4> sum = window_sum<double, std::int32_t>(box, tile.src, x, y);
    std::transform(sum.begin(), sum.end(), out.begin(), [](std::int32_t v) { return static_cast<float>(v); });
    return out;
  });
}

}  // namespace mollify::cpu
