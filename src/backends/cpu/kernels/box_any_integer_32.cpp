// Boxes of integers whose columns are added up in 32 bits.
#include "backends/cpu/kernels/box_any_integer.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/box_any_integer_32.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include "backends/cpu/kernels/box_integer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

void box_any_32_bit_sums(const BoxAny& box, const Tile& tile) {
  if (box.rows.source.component == Component::u16) return box_integer<std::uint16_t, std::uint32_t>(box, tile);
  box_integer<std::uint8_t, std::uint32_t>(box, tile);
}

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mollify::cpu {

HWY_EXPORT(box_any_32_bit_sums);

void box_any_32_bit_sums(const BoxAny& box, const Tile& tile) {
  HWY_DYNAMIC_DISPATCH(box_any_32_bit_sums)(box, tile);
}

}  // namespace mollify::cpu
#endif  // HWY_ONCE
