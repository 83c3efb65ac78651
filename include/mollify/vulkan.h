// For engines that have a VkDevice already: blurs recorded into their command buffers, between their images or buffers.
// Not part of mollify.h: it includes the Vulkan headers, whose prototypes it neither needs nor calls.
//
//   Device device = vulkan::adopt(lent)            once
//   Executable blur = device.prepare(make_plan(...))
//   Recorder recorder = Recorder::create(blur, source, destination)   when images change; allocates
//   recorder.record(commands)                      each frame; allocates nothing
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <memory>
#include <span>
#include <variant>

#include "mollify/device.h"

namespace mollify::vulkan {

/// What is needed to work on a device.
struct Handles {
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
  VkInstance instance = VK_NULL_HANDLE;
  VkPhysicalDevice physical_device = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  /// Of a lent device, used by Executable::run() alone, which then must not run beside the caller's own submissions; may be
  /// null.
  VkQueue queue = VK_NULL_HANDLE;
  /// Where blurs will run. On an H200 some are faster on a family that only computes.
  std::uint32_t queue_family = 0;
};

/// A device of the caller, which must outlive everything made from it. Vulkan 1.2 at least.
struct LentDevice : Handles {
  /// What the caller enabled; its chain may hold VkPhysicalDeviceVulkan11Features to ...13Features, or the extension
  /// structures that these replace. `uniformBufferStandardLayout` is needed, shaderStorageImageWriteWithoutFormat for
  /// images; 8- and 16-bit storage and shaderFloat16 for buffers, the faster form; computeFullSubgroups for lanes that lend
  /// each other pixels. With VkPhysicalDeviceCooperativeMatrixFeaturesKHR and vulkanMemoryModel as well, blurs multiply
  /// matrices, and with shaderInt8 those of 8-bit integers. With VkPhysicalDevicePipelineRobustnessFeaturesEXT, that structure alone,
  /// drivers check no accesses that need no checks, which takes up to a fifth of the time of some blurs. With `api_version` 1.3 and
  /// VkPhysicalDeviceCooperativeMatrix2FeaturesNV, sums of matrices stay in registers.
  const VkPhysicalDeviceFeatures2* enabled_features = nullptr;
  /// What the instance was made with, VkApplicationInfo::apiVersion.
  std::uint32_t api_version = VK_API_VERSION_1_2;
};
[[nodiscard]] Result<Device> adopt(const LentDevice& lent);

/// Of a device of the Vulkan backend, lent or not: for making images and buffers on it.
[[nodiscard]] Result<Handles> handles(const Device& device);

/// An image of the planned size and format. A source needs VK_IMAGE_USAGE_SAMPLED_BIT, a destination
/// VK_IMAGE_USAGE_STORAGE_BIT.
struct ImageResource {
  VkImageView view = VK_NULL_HANDLE;
  /// While the commands run: GENERAL or SHADER_READ_ONLY_OPTIMAL for a source; a destination is always in GENERAL.
  VkImageLayout layout = VK_IMAGE_LAYOUT_GENERAL;
};

/// Pixels in a buffer with VK_BUFFER_USAGE_STORAGE_BUFFER_BIT.
struct BufferResource {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceSize offset = 0;     ///< a multiple of minStorageBufferOffsetAlignment, see Recorder for batches
  /// A multiple of the pixel; 0: rows without gaps. Where rows begin at multiples of 16 pixels all kernels read and write whole
  /// words; elsewhere the fast ones may have to go pixel by pixel.
  std::int64_t row_bytes = 0;
};

/// Which of the two a plan takes is its option "storage"; the planner's own choice is mostly buffers, which are faster.
/// Who has images asks for them by name: "sep.fused:storage=image".
using Resource = std::variant<ImageResource, BufferResource>;

/// Memory for what one pass leaves for the next.
struct ScratchNeeds {
  VkDeviceSize size = 0;  ///< 0: none
  VkDeviceSize alignment = 1;
  std::uint32_t memory_type_bits = ~0U;
};
/// Of a recorder of so many images.
[[nodiscard]] Result<ScratchNeeds> scratch_needs(const Executable& executable, std::int32_t images = 1);

/// The caller's memory; used from the first recorded command to the last of each execution. Unset: the recorder has its own.
struct Scratch {
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkDeviceSize offset = 0;
};

class RecorderImpl;

/// What is read and what is written.
struct Target {
  Resource source;
  Resource destination;
};

/// One executable bound to one source and one destination, or to a batch of them. Recorded commands use it while they run,
/// one execution at a time where the plan has intermediates.
class Recorder {
 public:
  [[nodiscard]] static Result<Recorder> create(const Executable& executable, const Resource& source,
                                               const Resource& destination, const Scratch& scratch = {});
  /// A batch of images of the planned shapes. Barriers are those of one image: in between, a pass of all images is free to
  /// run at once, so that small ones fill the device together. No destination may overlap a source or another destination.
  /// Images that follow each other at equal distances of whole pixels in one buffer, and whose results do too, such as
  /// those of a tensor in NHWC, share a dispatch of each pass, as many as one binding can see. Only the first of them must
  /// be aligned. For these, pipelines of their own are compiled when a device first meets them.
  [[nodiscard]] static Result<Recorder> create(const Executable& executable, std::span<const Target> batch,
                                               const Scratch& scratch = {});
  Recorder(Recorder&&) noexcept;
  Recorder& operator=(Recorder&&) noexcept;
  ~Recorder();

  /// Writes dispatches and the barriers between them. Before: writes to the source must be visible to reads of compute
  /// shaders (VK_ACCESS_SHADER_READ_BIT), and the destination must be free to write. After: the destination's writes are
  /// VK_ACCESS_SHADER_WRITE_BIT of VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT; making them visible is the caller's.
  void record(VkCommandBuffer commands) const;
  /// The same with a timestamp at `first_query` before and one at `first_query` + 1 after the work; both queries must have
  /// been reset.
  void record(VkCommandBuffer commands, VkQueryPool queries, std::uint32_t first_query) const;

 private:
  explicit Recorder(std::unique_ptr<RecorderImpl> impl);
  std::unique_ptr<RecorderImpl> impl_;
};

}  // namespace mollify::vulkan
