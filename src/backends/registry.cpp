#include <array>

#include "backends/backend.h"
#include "backends/cpu/context.h"
#ifdef MOLLIFY_CUDA
#include "backends/cuda/context.h"
#endif
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
#ifdef MOLLIFY_CUDA
    BackendInfo{Backend::cuda, cuda::list_devices, cuda::open_device},
#endif
};

}  // namespace

std::span<const BackendInfo> backends() {
  return kBackends;
}

}  // namespace mollify
