#include "backends/vulkan/functions.h"

#include <dlfcn.h>

#include <string>

namespace mollify::vulkan {

PFN_vkGetInstanceProcAddr load_vulkan() {
  static const auto get = [] {
    void* library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);  // stays loaded: drivers dislike being unloaded
    void* symbol = library ? dlsym(library, "vkGetInstanceProcAddr") : nullptr;
    return reinterpret_cast<PFN_vkGetInstanceProcAddr>(symbol);
  }();
  return get;
}

InstanceFunctions load_functions(PFN_vkGetInstanceProcAddr get, VkInstance instance) {
  InstanceFunctions f;
  f.GetInstanceProcAddr = get;
#define MOLLIFY_VULKAN_LOAD(function) f.function = reinterpret_cast<PFN_vk##function>(get(instance, "vk" #function));
  MOLLIFY_VULKAN_INSTANCE_FUNCTIONS(MOLLIFY_VULKAN_LOAD)
#undef MOLLIFY_VULKAN_LOAD
  f.GetMatrices = reinterpret_cast<GetMatrixProperties>(get(instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
  return f;
}

DeviceFunctions load_functions(const InstanceFunctions& instance, VkDevice device) {
  DeviceFunctions f;
#define MOLLIFY_VULKAN_LOAD(function) f.function = reinterpret_cast<PFN_vk##function>(instance.GetDeviceProcAddr(device, "vk" #function));
  MOLLIFY_VULKAN_DEVICE_FUNCTIONS(MOLLIFY_VULKAN_LOAD)
#undef MOLLIFY_VULKAN_LOAD
  return f;
}

Error to_error(VkResult result, const char* doing) {
  const auto make = [doing](ErrorCode code, const std::string& what) { return Error{code, what + ": " + doing, {}}; };
  switch (result) {
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
      return make(ErrorCode::out_of_memory, "out of device memory");
    case VK_ERROR_OUT_OF_HOST_MEMORY:
      return make(ErrorCode::out_of_memory, "out of memory");
    case VK_ERROR_DEVICE_LOST:
      return make(ErrorCode::device_lost, "the device was lost");
    default:
      return make(ErrorCode::internal, "Vulkan error " + std::to_string(static_cast<int>(result)));
  }
}

}  // namespace mollify::vulkan
