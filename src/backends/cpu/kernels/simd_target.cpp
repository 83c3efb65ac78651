// Which of the instruction sets that kernels are compiled for this process uses.
#include <cstdint>

#include "backends/cpu/kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd_target.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {
const char* target_name() {
  return hwy::TargetName(HWY_TARGET);
}
}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mollify::cpu {

HWY_EXPORT(target_name);

std::string_view simd_target() {
  return HWY_DYNAMIC_DISPATCH(target_name)();
}

Status use_simd_target(std::string_view name) {
  std::string names;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {  // the best first: they have the lower bits
    if (name == hwy::TargetName(target)) {
      hwy::DisableTargets(target - 1);
      return {};
    }
    names += (names.empty() ? "" : ", ") + std::string(hwy::TargetName(target));
  }
  return Error{ErrorCode::invalid_argument, "there is no instruction set \"" + std::string(name) + "\" here, only " + names, {}};
}

}  // namespace mollify::cpu
#endif  // HWY_ONCE
