// What a processor of a GPU shares out to the groups that it runs at once.
#pragma once

#include <cstdint>

namespace mollify {

/// As it is on the devices that the costs of GPUs were measured on, NVIDIA's H100 and H200. Vulkan tells none of it.
struct GpuProcessor {
  std::int64_t schedulers = 4;
  std::int64_t registers_of_scheduler = 16384;
  std::int64_t shared_bytes = 100 << 10;  ///< on a queue that only computes; one that also draws leaves half of it
  [[nodiscard]] constexpr std::int64_t registers() const { return schedulers * registers_of_scheduler; }
};
inline constexpr GpuProcessor kGpuProcessor;

}  // namespace mollify
