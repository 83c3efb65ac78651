#include <array>

#include "backends/backend.h"
#include "backends/cpu/context.h"
#ifdef MOLLIFY_VULKAN
#include "backends/vulkan/context.h"
#endif

namespace mollify {
namespace {

constexpr std::array kBackends = {
    BackendInfo{Backend::cpu, cpu::list_devices, cpu::open_device},
#ifdef MOLLIFY_VULKAN
    BackendInfo{Backend::vulkan, vulkan::list_devices, vulkan::open_device},
#endif
};

}  // namespace

std::span<const BackendInfo> backends() {
  return kBackends;
}

}  // namespace mollify
