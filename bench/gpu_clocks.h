// The clocks of GPUs, each of its backend: by the same names, so that what measures is written once.
#pragma once

#include <memory>

#include "mollify/mollify.h"

#ifdef MOLLIFY_VULKAN
#include "backends/vulkan/timestamps.h"
#endif
#ifdef MOLLIFY_CUDA
#include "backends/cuda/timestamps.h"
#endif

namespace mollify::bench {

#ifdef MOLLIFY_VULKAN
struct VulkanClock {
  using Prepared = vulkan::Prepared;
  using Noise = vulkan::DeviceNoise;
  using Timer = vulkan::DeviceTimer;
  using Contest = vulkan::DeviceContest;
  static std::shared_ptr<const Prepared> prepared_of(const Executable& executable) { return vulkan::prepared_of(Access::impl(executable)); }
  static std::int64_t bytes(const Plan& plan, std::size_t batch) { return vulkan::timer_bytes(plan, batch); }
  static std::int64_t budget(const Prepared& prepared) { return vulkan::timer_budget(*prepared.context()); }
  static bool uses_images(const Prepared& prepared) { return prepared.uses_images(); }
};
#endif

#ifdef MOLLIFY_CUDA
struct CudaClock {
  using Prepared = cuda::Prepared;
  using Noise = cuda::DeviceNoise;
  using Timer = cuda::DeviceTimer;
  using Contest = cuda::DeviceContest;
  static std::shared_ptr<const Prepared> prepared_of(const Executable& executable) { return cuda::prepared_of(Access::impl(executable)); }
  static std::int64_t bytes(const Plan& plan, std::size_t batch) { return cuda::timer_bytes(plan, batch); }
  static std::int64_t budget(const Prepared& prepared) { return cuda::timer_budget(*prepared.context()); }
  static bool uses_images(const Prepared&) { return false; }
};
#endif

}  // namespace mollify::bench
