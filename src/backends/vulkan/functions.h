// The Vulkan functions that the backend calls, loaded at run time: the library runs where no Vulkan is installed, and
// beside an application that links Vulkan or another loader itself, whose symbols it must not touch.
#pragma once

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include "backends/vulkan/matrices.h"
#include "mollify/result.h"

namespace mollify::vulkan {

#define MOLLIFY_VULKAN_INSTANCE_FUNCTIONS(X) \
  X(CreateDevice)                            \
  X(DestroyInstance)                         \
  X(EnumerateDeviceExtensionProperties)      \
  X(EnumeratePhysicalDevices)                \
  X(GetDeviceProcAddr)                       \
  X(GetPhysicalDeviceFeatures2)              \
  X(GetPhysicalDeviceFormatProperties)       \
  X(GetPhysicalDeviceMemoryProperties)       \
  X(GetPhysicalDeviceProperties2)            \
  X(GetPhysicalDeviceQueueFamilyProperties)

#define MOLLIFY_VULKAN_DEVICE_FUNCTIONS(X) \
  X(AllocateCommandBuffers)                \
  X(AllocateDescriptorSets)                \
  X(AllocateMemory)                        \
  X(BeginCommandBuffer)                    \
  X(BindBufferMemory)                      \
  X(BindImageMemory)                       \
  X(CmdBindDescriptorSets)                 \
  X(CmdBindPipeline)                       \
  X(CmdCopyBuffer)                         \
  X(CmdCopyBufferToImage)                  \
  X(CmdCopyImage)                          \
  X(CmdCopyImageToBuffer)                  \
  X(CmdDispatch)                           \
  X(CmdPipelineBarrier)                    \
  X(CmdPushConstants)                      \
  X(CmdResetQueryPool)                     \
  X(CmdWriteTimestamp)                     \
  X(CreateBuffer)                          \
  X(CreateCommandPool)                     \
  X(CreateComputePipelines)                \
  X(CreateDescriptorPool)                  \
  X(CreateDescriptorSetLayout)             \
  X(CreateFence)                           \
  X(CreateImage)                           \
  X(CreateImageView)                       \
  X(CreatePipelineCache)                   \
  X(CreatePipelineLayout)                  \
  X(CreateQueryPool)                       \
  X(CreateSampler)                         \
  X(CreateShaderModule)                    \
  X(DestroyBuffer)                         \
  X(DestroyCommandPool)                    \
  X(DestroyDescriptorPool)                 \
  X(DestroyDescriptorSetLayout)            \
  X(DestroyDevice)                         \
  X(DestroyFence)                          \
  X(DestroyImage)                          \
  X(DestroyImageView)                      \
  X(DestroyPipeline)                       \
  X(DestroyPipelineCache)                  \
  X(DestroyPipelineLayout)                 \
  X(DestroyQueryPool)                      \
  X(DestroySampler)                        \
  X(DestroyShaderModule)                   \
  X(EndCommandBuffer)                      \
  X(FreeMemory)                            \
  X(GetBufferMemoryRequirements)           \
  X(GetDeviceQueue)                        \
  X(GetImageMemoryRequirements)            \
  X(GetPipelineCacheData)                  \
  X(GetQueryPoolResults)                   \
  X(MapMemory)                             \
  X(QueueSubmit)                           \
  X(ResetFences)                           \
  X(UpdateDescriptorSets)                  \
  X(WaitForFences)

#define MOLLIFY_VULKAN_MEMBER(function) PFN_vk##function function = nullptr;

// NOLINTBEGIN(readability-identifier-naming): Vulkan's own names
struct InstanceFunctions {
  PFN_vkGetInstanceProcAddr GetInstanceProcAddr = nullptr;
  MOLLIFY_VULKAN_INSTANCE_FUNCTIONS(MOLLIFY_VULKAN_MEMBER)
  GetMatrixProperties GetMatrices = nullptr;
};

struct DeviceFunctions {
  MOLLIFY_VULKAN_DEVICE_FUNCTIONS(MOLLIFY_VULKAN_MEMBER)
};
// NOLINTEND(readability-identifier-naming)

#undef MOLLIFY_VULKAN_MEMBER

/// The entry point of the system's Vulkan loader; null where there is none.
[[nodiscard]] PFN_vkGetInstanceProcAddr load_vulkan();
[[nodiscard]] InstanceFunctions load_functions(PFN_vkGetInstanceProcAddr get, VkInstance instance);
[[nodiscard]] DeviceFunctions load_functions(const InstanceFunctions& instance, VkDevice device);

/// What a failed call means to a caller: "out of device memory: creating an image".
[[nodiscard]] Error to_error(VkResult result, const char* doing);

}  // namespace mollify::vulkan
