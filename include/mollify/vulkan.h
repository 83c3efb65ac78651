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

/// Blurs inside an engine's own Vulkan: on its device, between its images or buffers, in its command buffers.
namespace mollify::vulkan {

/// The Vulkan objects that are needed to work on a device.
struct Handles {
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;  ///< The loader's entry point.
  VkInstance instance = VK_NULL_HANDLE;                        ///< The instance that the device belongs to.
  VkPhysicalDevice physical_device = VK_NULL_HANDLE;           ///< The GPU.
  VkDevice device = VK_NULL_HANDLE;                            ///< The device.
  /// A queue of the device. On a lent device only Executable::run() uses it, and must not run at the same time as the caller's own
  /// submissions to it. It may be null if run() is never called.
  VkQueue queue = VK_NULL_HANDLE;
  /// The queue family on which blurs will run. On an H200 some blurs are faster on a family that only computes.
  std::uint32_t queue_family = 0;
};

/// A device of the caller, of Vulkan 1.2 or newer. It must outlive everything that is made from it.
struct LentDevice : Handles {
  /// The features that the caller enabled. The chain may hold VkPhysicalDeviceVulkan11Features to VkPhysicalDeviceVulkan13Features, or the
  /// structures of extensions that these replace.
  ///
  /// Needed: uniformBufferStandardLayout; for images also shaderStorageImageWriteWithoutFormat.
  ///
  /// Faster: 8- and 16-bit storage and shaderFloat16, so that pixels can lie in buffers; computeFullSubgroups, for subgroup shuffles;
  /// VkPhysicalDeviceCooperativeMatrixFeaturesKHR with vulkanMemoryModel, for cooperative matrices, and with shaderInt8 for those of 8-bit
  /// integers; VkPhysicalDeviceCooperativeMatrix2FeaturesNV with `api_version` 1.3, so that sums of matrices stay in registers. With
  /// VkPhysicalDevicePipelineRobustnessFeaturesEXT enabled, by that structure itself, bounds checks of buffers are disabled for pipelines
  /// that do not need them; some blurs run up to 20 % faster.
  const VkPhysicalDeviceFeatures2* enabled_features = nullptr;
  /// The version that the instance was made with, VkApplicationInfo::apiVersion.
  std::uint32_t api_version = VK_API_VERSION_1_2;
};
/// Makes a Device of a device that the caller owns. The error says what it lacks.
[[nodiscard]] Result<Device> adopt(const LentDevice& lent);

/// The Vulkan objects of a device, lent or opened by Device::open(), for making images and buffers on it. It is an error if the device
/// is not of the Vulkan backend.
[[nodiscard]] Result<Handles> handles(const Device& device);

/// An image of the planned size and format. A source needs VK_IMAGE_USAGE_SAMPLED_BIT, a destination VK_IMAGE_USAGE_STORAGE_BIT.
struct ImageResource {
  VkImageView view = VK_NULL_HANDLE;  ///< A view of the whole image.
  /// The layout while the commands run: GENERAL or SHADER_READ_ONLY_OPTIMAL for a source, always GENERAL for a destination.
  VkImageLayout layout = VK_IMAGE_LAYOUT_GENERAL;
};

/// Pixels in a buffer that was made with VK_BUFFER_USAGE_STORAGE_BUFFER_BIT.
struct BufferResource {
  VkBuffer buffer = VK_NULL_HANDLE;  ///< The buffer.
  /// The first byte of the pixels, a multiple of minStorageBufferOffsetAlignment. Recorder::create() says what holds for batches.
  VkDeviceSize offset = 0;
  /// Bytes from a row to the next one, a multiple of the pixel's bytes; 0 means rows without gaps. If rows begin at multiples of 16
  /// pixels, all shaders read and write whole words. If not, the fast ones may have to go pixel by pixel.
  std::int64_t row_bytes = 0;
};

/// Pixels of the caller, in an image or in a buffer. The option "storage" of the plan's algorithm says which of the two it takes. The
/// planner mostly chooses buffers, which are faster. To blur images, force it: "sep.fused:storage=image".
using Resource = std::variant<ImageResource, BufferResource>;

/// The memory that a recorder needs for what one pass leaves for the next.
struct ScratchNeeds {
  VkDeviceSize size = 0;                 ///< Bytes. 0 means that no memory is needed.
  VkDeviceSize alignment = 1;            ///< What the offset must be a multiple of.
  std::uint32_t memory_type_bits = ~0U;  ///< Bit i says whether memory type i will do.
};
/// The memory that a recorder of this many images needs. It is an error if the executable is not of the Vulkan backend.
[[nodiscard]] Result<ScratchNeeds> scratch_needs(const Executable& executable, std::int32_t images = 1);

/// Scratch memory of the caller. It is used from the first recorded command to the last of each execution. Without it, the recorder
/// allocates its own.
struct Scratch {
  VkDeviceMemory memory = VK_NULL_HANDLE;  ///< The memory, or null.
  VkDeviceSize offset = 0;                 ///< The first byte to use.
};

class RecorderImpl;

/// One image of a batch.
struct Target {
  Resource source;       ///< What is read.
  Resource destination;  ///< What is written.
};

/// One executable bound to one source and one destination, or to a batch of them. It must live until the recorded commands have run. If the
/// plan has intermediate images, only one execution of them may run at a time.
class Recorder {
 public:
  /// Binds the executable to one source and one destination, and allocates what recording needs. The error says what is wrong with them.
  [[nodiscard]] static Result<Recorder> create(const Executable& executable, const Resource& source, const Resource& destination,
                                               const Scratch& scratch = {});
  /// Binds the executable to a batch of images of the planned shapes. Barriers are those of one image: between them a pass may run on all
  /// images at once, so that small images fill the device together. No destination may overlap a source or another destination.
  ///
  /// Images at equal distances of whole pixels in one buffer, whose results lie at equal distances too, as in a tensor in NHWC, share a
  /// dispatch of each pass, as many as one binding can see. Only the first of them must be aligned. Pipelines for this are compiled when a
  /// device first needs them.
  [[nodiscard]] static Result<Recorder> create(const Executable& executable, std::span<const Target> batch, const Scratch& scratch = {});
  /// Moves it. The recorder moved from can only be destroyed or assigned to.
  Recorder(Recorder&&) noexcept;
  /// Moves it. The recorder moved from can only be destroyed or assigned to.
  Recorder& operator=(Recorder&&) noexcept;
  ~Recorder();

  /// Writes the dispatches and the barriers between them, and allocates nothing. Before them, writes to the source must be visible to reads
  /// of compute shaders (VK_ACCESS_SHADER_READ_BIT), and the destination must be free to be written. After them, the caller makes the
  /// destination's writes visible: VK_ACCESS_SHADER_WRITE_BIT of VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT.
  void record(VkCommandBuffer commands) const;
  /// Writes the same with a timestamp before the work, in query `first_query`, and one after it, in the next query. Both must have been
  /// reset.
  void record(VkCommandBuffer commands, VkQueryPool queries, std::uint32_t first_query) const;

 private:
  explicit Recorder(std::unique_ptr<RecorderImpl> impl);
  std::unique_ptr<RecorderImpl> impl_;
};

}  // namespace mollify::vulkan
