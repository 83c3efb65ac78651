// What tests see and change between the Vulkan backend and a driver.
#pragma once

#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "examples/tiny_engine.h"

namespace mollify::test {

/// Stands between the backend and the device: counts dispatches, makes limits smaller than they are, and gives no more memory at once
/// than it should.
struct Spy {
  inline static PFN_vkGetInstanceProcAddr instance_functions = nullptr;
  inline static PFN_vkGetDeviceProcAddr device_functions = nullptr;
  inline static PFN_vkGetPhysicalDeviceProperties2 properties = nullptr;
  inline static PFN_vkCmdDispatch dispatch = nullptr;
  inline static PFN_vkAllocateMemory allocate = nullptr;
  inline static PFN_vkCreateComputePipelines create_pipelines = nullptr;
  inline static std::vector<std::uint32_t> layers;                          // of each dispatch since the last look
  inline static std::vector<VkPipelineRobustnessBufferBehaviorEXT> checks;  // of pipelines that say which they want
  inline static VkPhysicalDeviceLimits limits{};
  inline static VkDeviceSize most_bytes = VK_WHOLE_SIZE;  // of one allocation

  explicit Spy(Engine& engine) {
    instance_functions = engine.lent.get_instance_proc_addr;
    engine.lent.get_instance_proc_addr = &instance_function;
    limits = engine.properties.limits;
    layers.clear();
    checks.clear();
    most_bytes = VK_WHOLE_SIZE;
  }

  static std::vector<std::uint32_t> look() { return std::exchange(layers, {}); }

  template <class Function>
  static PFN_vkVoidFunction instead(Function& kept, PFN_vkVoidFunction real, Function own) {
    kept = reinterpret_cast<Function>(real);
    return reinterpret_cast<PFN_vkVoidFunction>(own);
  }
  static PFN_vkVoidFunction instance_function(VkInstance instance, const char* name) {
    const PFN_vkVoidFunction real = instance_functions(instance, name);
    if (std::string_view(name) == "vkGetPhysicalDeviceProperties2") return instead(properties, real, &limited);
    if (std::string_view(name) != "vkGetDeviceProcAddr") return real;
    return instead(device_functions, real, &device_function);
  }
  static PFN_vkVoidFunction device_function(VkDevice device, const char* name) {
    const PFN_vkVoidFunction real = device_functions(device, name);
    if (std::string_view(name) == "vkCmdDispatch") return instead(dispatch, real, &dispatched);
    if (std::string_view(name) == "vkCreateComputePipelines") return instead(create_pipelines, real, &created);
    return std::string_view(name) == "vkAllocateMemory" ? instead(allocate, real, &poisoned) : real;
  }
  static void limited(VkPhysicalDevice device, VkPhysicalDeviceProperties2* out) {
    properties(device, out);
    out->properties.limits = limits;
  }
  /// What nobody has written is NaN, as halves and as floats.
  static VkResult poisoned(VkDevice device, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks* callbacks,
                           VkDeviceMemory* memory) {
    if (info->allocationSize > most_bytes) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    const VkResult result = allocate(device, info, callbacks, memory);
    void* bytes = nullptr;
    const auto map = reinterpret_cast<PFN_vkMapMemory>(device_functions(device, "vkMapMemory"));
    const auto unmap = reinterpret_cast<PFN_vkUnmapMemory>(device_functions(device, "vkUnmapMemory"));
    if (result != VK_SUCCESS || map(device, *memory, 0, VK_WHOLE_SIZE, 0, &bytes) != VK_SUCCESS) return result;
    std::memset(bytes, 0xFF, info->allocationSize);
    unmap(device, *memory);
    return result;
  }
  /// Without what a driver may not know.
  static VkResult created(VkDevice device, VkPipelineCache cache, std::uint32_t count, const VkComputePipelineCreateInfo* infos,
                          const VkAllocationCallbacks* callbacks, VkPipeline* pipelines) {
    VkComputePipelineCreateInfo info = *infos;
    const auto* next = static_cast<const VkPipelineRobustnessCreateInfoEXT*>(std::exchange(info.pNext, nullptr));
    if (next && next->sType == VK_STRUCTURE_TYPE_PIPELINE_ROBUSTNESS_CREATE_INFO_EXT) checks.push_back(next->storageBuffers);
    return create_pipelines(device, cache, count, &info, callbacks, pipelines);
  }
  static void dispatched(VkCommandBuffer commands, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
    layers.push_back(z);
    dispatch(commands, x, y, z);
  }
};

}  // namespace mollify::test
