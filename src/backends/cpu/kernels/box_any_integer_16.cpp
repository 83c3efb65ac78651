// Boxes of 8-bit numbers whose columns add up to 16 bits at most.
#include "backends/cpu/kernels/box_any_integer.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/box_any_integer_16.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include "backends/cpu/kernels/box_integer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

void box_any_16_bit_sums(const BoxAny& box, const Tile& tile) {
  if (box.y.size() <= kMostRowsOfI16) return box_integer<std::uint8_t, std::int16_t>(box, tile);
  box_integer<std::uint8_t, std::uint16_t>(box, tile);
}

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mollify::cpu {

HWY_EXPORT(box_any_16_bit_sums);

void box_any_16_bit_sums(const BoxAny& box, const Tile& tile) {
  HWY_DYNAMIC_DISPATCH(box_any_16_bit_sums)(box, tile);
}

}  // namespace mollify::cpu
#endif  // HWY_ONCE
