// An engine's side of mollify/vulkan.h: memory of the host that its device reads and writes.
#pragma once

#include <string>

#include "examples/tiny_engine.h"
#include "mollify/vulkan.h"
#include "vulkan_support.h"

namespace mollify::test {

/// Source and destination in one buffer of the host.
struct HostBuffer {
  explicit HostBuffer(Engine& engine, VkDeviceSize bytes = 1 << 17) {
    void* data = nullptr;
    buffer = engine.buffer(bytes, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, data);
    pixels = static_cast<std::byte*>(data);
  }
  VkBuffer buffer = VK_NULL_HANDLE;
  std::byte* pixels = nullptr;
};

inline void host_barrier(const Engine& engine, VkCommandBuffer commands) {
  const VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, VK_ACCESS_SHADER_WRITE_BIT,
                                VK_ACCESS_HOST_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
  engine.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                            VK_PIPELINE_STAGE_HOST_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

/// The first algorithm whose passes leave something for the next.
inline std::string algorithm_with_intermediates(const DeviceInfo& device) {
  for (const AlgorithmInfo& algorithm : algorithms()) {
    const std::string text = std::string(algorithm.id) + ":storage=buffer";
    const Result<Plan> plan = make_plan(kSpec, kDesc, kDesc, device, with(text));
    if (plan && !plan->intermediates.empty()) return text;
  }
  return "";
}

}  // namespace mollify::test
