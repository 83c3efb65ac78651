// Vulkan devices: the loader's instance, what a device can do, its queue and the pipelines built for it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "backends/vulkan/functions.h"
#include "mollify/vulkan.h"

namespace mollify::vulkan {

[[nodiscard]] std::vector<DeviceInfo> list_devices();
/// `which` is an index, part of a name, or empty: the first that is no software driver, else the first.
[[nodiscard]] Result<std::shared_ptr<DeviceImpl>> open_device(std::string_view which, const DeviceOptions& options);

/// The first queue family that only computes, else the first that computes. Measured on an H200: the work groups of a processor
/// share 100 KB of memory on the first kind, 48 KB on one that draws, too.
[[nodiscard]] std::optional<std::uint32_t> compute_family(std::span<const VkQueueFamilyProperties> families);

/// What drivers of two makers say of multiprocessors, where they say it: else their counts are 0.
[[nodiscard]] Multiprocessors multiprocessors_of(std::uint32_t subgroup_size, const VkPhysicalDeviceShaderSMBuiltinsPropertiesNV& nv,
                                                 const VkPhysicalDeviceShaderCorePropertiesAMD& amd);

/// A VkInstance of our own.
class Instance {
 public:
  static Result<std::shared_ptr<const Instance>> create();
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  [[nodiscard]] const InstanceFunctions& vk() const { return vk_; }
  [[nodiscard]] VkInstance handle() const { return instance_; }
  /// Those with Vulkan 1.2 and a compute queue.
  [[nodiscard]] const std::vector<VkPhysicalDevice>& devices() const { return devices_; }

 private:
  explicit Instance(VkInstance instance);
  VkInstance instance_;
  InstanceFunctions vk_;
  std::vector<VkPhysicalDevice> devices_;
};

/// The feature structures that the backend looks at, chained; those of extensions only where the device has them.
struct Features {
  Features();
  /// What the device offers.
  Features(const InstanceFunctions& vk, VkPhysicalDevice physical);
  Features(const Features&) = delete;
  Features& operator=(const Features&) = delete;
  std::vector<const char*> extensions;  ///< whose structures are in the chain
  VkPhysicalDeviceSubgroupSizeControlFeatures subgroups{};
  MatrixFeatures matrices;
  MatrixConversionFeatures conversions;
  VkPhysicalDevicePipelineRobustnessFeaturesEXT robustness{};
  VkPhysicalDeviceVulkan12Features v12{};
  VkPhysicalDeviceVulkan11Features v11{};
  VkPhysicalDeviceFeatures2 core{};
};

/// A pipeline and what it was made with, which it must not outlive.
struct PipelineObjects {
  VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkPipeline pipeline = VK_NULL_HANDLE;
};

/// A device with what was built for it. Everything that the backend makes holds one of these.
class Context {
 public:
  static Result<std::shared_ptr<Context>> open(std::shared_ptr<const Instance> instance, VkPhysicalDevice physical,
                                               const std::string& cache_folder);
  static Result<std::shared_ptr<Context>> borrow(const LentDevice& lent);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  [[nodiscard]] const DeviceFunctions& vk() const { return vk_; }
  [[nodiscard]] VkDevice device() const { return handles_.device; }
  [[nodiscard]] VkPhysicalDevice physical() const { return handles_.physical_device; }
  [[nodiscard]] const DeviceInfo& info() const { return info_; }
  /// Before anyone else sees it.
  void set_rates(const GpuRates& rates) { info_.gpu.measured = rates; }
  [[nodiscard]] std::uint32_t queue_family() const { return handles_.queue_family; }
  [[nodiscard]] VkQueue queue() const { return handles_.queue; }
  [[nodiscard]] const Handles& handles() const { return handles_; }
  [[nodiscard]] double timestamp_period_ns() const { return timestamp_period_ns_; }
  [[nodiscard]] std::uint64_t timestamp_mask() const { return timestamp_mask_; }
  /// Of the largest heap that is the device's own.
  [[nodiscard]] std::int64_t device_memory_bytes() const;
  /// Images and buffers in one allocation must lie this far apart.
  [[nodiscard]] VkDeviceSize granularity() const { return granularity_; }
  /// What the offset of pixels in a buffer must be a multiple of.
  [[nodiscard]] VkDeviceSize buffer_alignment() const { return buffer_alignment_; }
  /// Of a grid of work groups, along z.
  [[nodiscard]] std::size_t max_layers() const { return max_layers_; }
  /// Whether each pipeline says if accesses of buffers are checked.
  [[nodiscard]] bool sets_robustness() const { return sets_robustness_; }

  /// A memory type that meets `needs`, whose heap is no smaller, with all of `wanted` and as many of `liked` as can be had.
  [[nodiscard]] Result<std::uint32_t> memory_type(const VkMemoryRequirements& needs, VkMemoryPropertyFlags wanted,
                                                  VkMemoryPropertyFlags liked) const;

  /// Hands the commands to the queue, which signals the fence when they are done.
  [[nodiscard]] Status submit(VkCommandBuffer commands, VkFence fence) const;
  [[nodiscard]] Status wait(VkFence fence) const;

  /// Pipelines by shader variant and constants. `make` runs outside the lock; where two threads make the same, the first
  /// one's is kept.
  template <class Make>
  Result<PipelineObjects> pipeline(const std::string& key, const Make& make);
  void destroy(const PipelineObjects& objects) const;
  [[nodiscard]] VkPipelineCache pipeline_cache() const { return pipeline_cache_; }

 private:
  Context() = default;
  void describe(const InstanceFunctions& instance, const Features& enabled);
  void open_pipeline_cache(const std::string& folder);
  void save_pipeline_cache() const;

  std::shared_ptr<const Instance> instance_;  ///< null where the device is lent
  Handles handles_;
  DeviceFunctions vk_;
  DeviceInfo info_;
  VkPhysicalDeviceMemoryProperties memory_{};
  double timestamp_period_ns_ = 1.0;
  std::uint64_t timestamp_mask_ = 0;
  VkDeviceSize granularity_ = 1;
  VkDeviceSize buffer_alignment_ = 1;
  std::size_t max_layers_ = 1;
  bool sets_robustness_ = false;
  mutable std::mutex queue_mutex_;
  std::mutex pipelines_mutex_;
  std::map<std::string, PipelineObjects> pipelines_;
  VkPipelineCache pipeline_cache_ = VK_NULL_HANDLE;
  std::string cache_path_;  ///< empty: not kept on disk
};

template <class Make>
Result<PipelineObjects> Context::pipeline(const std::string& key, const Make& make) {
  {
    const std::scoped_lock lock(pipelines_mutex_);
    if (const auto found = pipelines_.find(key); found != pipelines_.end()) return found->second;
  }
  Result<PipelineObjects> made = make();
  if (!made) return made;
  const std::scoped_lock lock(pipelines_mutex_);
  const auto [position, fresh] = pipelines_.emplace(key, *made);
  if (!fresh) destroy(*made);
  return position->second;
}

/// The device of a public Device that a Vulkan backend opened; null for other backends.
[[nodiscard]] std::shared_ptr<Context> context_of(DeviceImpl& device);
[[nodiscard]] std::shared_ptr<DeviceImpl> make_device(std::shared_ptr<Context> context, std::int32_t threads = 0);

}  // namespace mollify::vulkan
