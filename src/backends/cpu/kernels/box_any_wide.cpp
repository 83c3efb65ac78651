// Boxes of pixels as 64-bit floats.
#include "backends/cpu/kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/box_any_wide.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include "backends/cpu/kernels/box_float-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

void box_any_wide(const BoxAny& box, const Tile& tile) {
  box_float<double>(box, tile);
}

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mollify::cpu {

HWY_EXPORT(box_any_wide);

void box_any_wide(const BoxAny& box, const Tile& tile) {
  HWY_DYNAMIC_DISPATCH(box_any_wide)(box, tile);
}

}  // namespace mollify::cpu
#endif  // HWY_ONCE
