// What both passes of a decimated Gaussian share, for one instruction set.

#if defined(MOLLIFY_GAUSS_AXIS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MOLLIFY_GAUSS_AXIS_INL_H_
#undef MOLLIFY_GAUSS_AXIS_INL_H_
#else
#define MOLLIFY_GAUSS_AXIS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

#include "backends/cpu/kernels/layout.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

/// Calls body(integral_constant) with `value`, 1 to kMaxSupport, as a compile-time number.
template <class Body>
HWY_INLINE void with_support(std::int64_t value, Body body) {
  switch (value) {
    case 1:
      return body(std::integral_constant<int, 1>{});
    case 2:
      return body(std::integral_constant<int, 2>{});
    case 3:
      return body(std::integral_constant<int, 3>{});
    case 4:
      return body(std::integral_constant<int, 4>{});
    case 5:
      return body(std::integral_constant<int, 5>{});
    case 6:
      return body(std::integral_constant<int, 6>{});
    case 7:
      return body(std::integral_constant<int, 7>{});
    default:
      return body(std::integral_constant<int, kMaxSupport>{});
  }
}

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // MOLLIFY_GAUSS_AXIS_INL_H_
