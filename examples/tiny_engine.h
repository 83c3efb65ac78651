// What an engine has anyway: an instance, a device, its functions, memory. Nothing here is about mollify but the LentDevice
// that is filled on the way.
#pragma once

#include <dlfcn.h>
#include <mollify/image.h>
#include <mollify/vulkan.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

inline void must(VkResult result) {
  if (result == VK_SUCCESS) return;
  std::fprintf(stderr, "Vulkan error %d\n", static_cast<int>(result));
  std::exit(1);
}

// A list, whose lines clang-format would break anew each time.
// clang-format off
#define ENGINE_FUNCTIONS(X)                                                                                                 \
  X(AllocateCommandBuffers) X(AllocateMemory) X(BeginCommandBuffer) X(BindBufferMemory) X(BindImageMemory)           \
  X(CmdCopyBuffer) X(CmdCopyBufferToImage) X(CmdCopyImageToBuffer) X(CmdPipelineBarrier) X(CmdResetQueryPool) X(CreateBuffer)         \
  X(CreateCommandPool) X(CreateImage) X(CreateImageView) X(CreateQueryPool) X(DestroyBuffer) X(DestroyCommandPool)   \
  X(DestroyDevice) X(DestroyImage) X(DestroyImageView) X(DestroyQueryPool) X(EndCommandBuffer) X(FreeMemory)         \
  X(GetBufferMemoryRequirements) X(GetDeviceQueue) X(GetImageMemoryRequirements) X(GetQueryPoolResults) X(MapMemory) \
  X(QueueSubmit) X(QueueWaitIdle)                                                                                    \
  X(CreateDevice) X(DestroyInstance) X(EnumerateDeviceExtensionProperties) X(EnumeratePhysicalDevices)               \
  X(GetPhysicalDeviceFeatures2) X(GetPhysicalDeviceMemoryProperties)                                                 \
  X(GetPhysicalDeviceProperties) X(GetPhysicalDeviceQueueFamilyProperties)
// clang-format on

struct Engine {
#define MEMBER(name) PFN_vk##name name = nullptr;
  ENGINE_FUNCTIONS(MEMBER)
#undef MEMBER
  mollify::vulkan::LentDevice lent;
  VkPhysicalDeviceSubgroupSizeControlFeatures subgroups{};
  VkPhysicalDeviceVulkan12Features v12{};
  VkPhysicalDeviceVulkan11Features v11{};
  VkPhysicalDeviceFeatures2 features{};
  VkPhysicalDeviceProperties properties{};
  std::vector<std::function<void()>> undo;  // run backwards at the end

  Engine();
  ~Engine() {
    for (auto step = undo.rbegin(); step != undo.rend(); ++step) (*step)();
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  VkDeviceMemory allocate(const VkMemoryRequirements& needs, VkMemoryPropertyFlags flags);
  VkImage image(const mollify::ImageDesc& desc, VkImageUsageFlags usage, VkImageView& view);
  VkBuffer buffer(VkDeviceSize bytes, VkBufferUsageFlags usage, void*& mapped);
  void run(const std::function<void(VkCommandBuffer)>& record);  // and waits
};

inline Engine::Engine() {
  void* const loader = dlopen("libvulkan.so.1", RTLD_NOW);
  const auto get = loader ? reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(loader, "vkGetInstanceProcAddr")) : nullptr;
  if (!get) must(VK_ERROR_INITIALIZATION_FAILED);
  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.apiVersion = VK_API_VERSION_1_2;
  VkInstanceCreateInfo instance_info{};
  instance_info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  instance_info.pApplicationInfo = &application;
  must(reinterpret_cast<PFN_vkCreateInstance>(get(nullptr, "vkCreateInstance"))(&instance_info, nullptr, &lent.instance));
#define LOAD(name) name = reinterpret_cast<PFN_vk##name>(get(lent.instance, "vk" #name));
  ENGINE_FUNCTIONS(LOAD)
#undef LOAD
  undo.emplace_back([this] { DestroyInstance(lent.instance, nullptr); });

  std::uint32_t count = 1;
  if (EnumeratePhysicalDevices(lent.instance, &count, &lent.physical_device) < 0 || count == 0) {
    must(VK_ERROR_INITIALIZATION_FAILED);
  }
  GetPhysicalDeviceProperties(lent.physical_device, &properties);
  GetPhysicalDeviceQueueFamilyProperties(lent.physical_device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  GetPhysicalDeviceQueueFamilyProperties(lent.physical_device, &count, families.data());
  while ((families.at(lent.queue_family).queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) ++lent.queue_family;

  // Every feature that the device has. mollify needs uniformBufferStandardLayout; it uses 8- and 16-bit storage for
  // buffers, shaderStorageImageWriteWithoutFormat for images and computeFullSubgroups for swaps between lanes.
  const char* const kFullSubgroups = VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME;
  EnumerateDeviceExtensionProperties(lent.physical_device, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> extensions(count);
  EnumerateDeviceExtensionProperties(lent.physical_device, nullptr, &count, extensions.data());
  bool has_full_subgroups = false;
  for (const VkExtensionProperties& e : extensions) has_full_subgroups |= std::strcmp(e.extensionName, kFullSubgroups) == 0;
  subgroups.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES;
  if (has_full_subgroups) v12.pNext = &subgroups;
  v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  v11.pNext = &v12;
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features.pNext = &v11;
  GetPhysicalDeviceFeatures2(lent.physical_device, &features);
  const float priority = 1.0F;
  VkDeviceQueueCreateInfo queue{};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = lent.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo device_info{};
  device_info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  device_info.pNext = &features;
  device_info.queueCreateInfoCount = 1;
  device_info.pQueueCreateInfos = &queue;
  device_info.enabledExtensionCount = has_full_subgroups ? 1 : 0;
  device_info.ppEnabledExtensionNames = &kFullSubgroups;
  must(CreateDevice(lent.physical_device, &device_info, nullptr, &lent.device));
  undo.emplace_back([this] { DestroyDevice(lent.device, nullptr); });
  GetDeviceQueue(lent.device, lent.queue_family, 0, &lent.queue);
  lent.get_instance_proc_addr = get;
  lent.enabled_features = &features;
}

inline VkDeviceMemory Engine::allocate(const VkMemoryRequirements& needs, VkMemoryPropertyFlags flags) {
  VkPhysicalDeviceMemoryProperties types;
  GetPhysicalDeviceMemoryProperties(lent.physical_device, &types);
  VkMemoryAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  info.allocationSize = needs.size;
  while ((needs.memoryTypeBits >> info.memoryTypeIndex & 1U) == 0 ||
         (types.memoryTypes[info.memoryTypeIndex].propertyFlags & flags) != flags) {
    if (++info.memoryTypeIndex == types.memoryTypeCount) must(VK_ERROR_OUT_OF_DEVICE_MEMORY);
  }
  VkDeviceMemory memory = VK_NULL_HANDLE;
  must(AllocateMemory(lent.device, &info, nullptr, &memory));
  undo.emplace_back([this, memory] { FreeMemory(lent.device, memory, nullptr); });
  return memory;
}

inline VkImage Engine::image(const mollify::ImageDesc& desc, VkImageUsageFlags usage, VkImageView& view) {
  VkImageCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;
  info.imageType = VK_IMAGE_TYPE_2D;
  info.format = VK_FORMAT_R8G8B8A8_UNORM;
  info.extent = {static_cast<std::uint32_t>(desc.width), static_cast<std::uint32_t>(desc.height), 1};
  info.mipLevels = info.arrayLayers = 1;
  info.samples = VK_SAMPLE_COUNT_1_BIT;
  info.usage = usage;
  VkImage image = VK_NULL_HANDLE;
  must(CreateImage(lent.device, &info, nullptr, &image));
  VkMemoryRequirements needs;
  GetImageMemoryRequirements(lent.device, image, &needs);
  must(BindImageMemory(lent.device, image, allocate(needs, 0), 0));
  VkImageViewCreateInfo view_info{};
  view_info.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO;
  view_info.image = image;
  view_info.viewType = VK_IMAGE_VIEW_TYPE_2D;
  view_info.format = info.format;
  view_info.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
  must(CreateImageView(lent.device, &view_info, nullptr, &view));
  undo.emplace_back([this, image, v = view] {
    DestroyImageView(lent.device, v, nullptr);
    DestroyImage(lent.device, image, nullptr);
  });
  return image;
}

inline VkBuffer Engine::buffer(VkDeviceSize bytes, VkBufferUsageFlags usage, void*& mapped) {
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = bytes;
  info.usage = usage;
  VkBuffer buffer = VK_NULL_HANDLE;
  must(CreateBuffer(lent.device, &info, nullptr, &buffer));
  VkMemoryRequirements needs;
  GetBufferMemoryRequirements(lent.device, buffer, &needs);
  const VkDeviceMemory memory = allocate(needs, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
  must(BindBufferMemory(lent.device, buffer, memory, 0));
  must(MapMemory(lent.device, memory, 0, VK_WHOLE_SIZE, 0, &mapped));
  undo.emplace_back([this, buffer] { DestroyBuffer(lent.device, buffer, nullptr); });
  return buffer;
}

inline void Engine::run(const std::function<void(VkCommandBuffer)>& record) {
  VkCommandPoolCreateInfo pool_info{};
  pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool_info.queueFamilyIndex = lent.queue_family;
  VkCommandPool pool = VK_NULL_HANDLE;
  must(CreateCommandPool(lent.device, &pool_info, nullptr, &pool));
  VkCommandBufferAllocateInfo allocate_info{};
  allocate_info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  allocate_info.commandPool = pool;
  allocate_info.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  must(AllocateCommandBuffers(lent.device, &allocate_info, &commands));
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  must(BeginCommandBuffer(commands, &begin));
  record(commands);
  must(EndCommandBuffer(commands));
  VkSubmitInfo submit{};
  submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &commands;
  must(QueueSubmit(lent.queue, 1, &submit, VK_NULL_HANDLE));
  must(QueueWaitIdle(lent.queue));
  DestroyCommandPool(lent.device, pool, nullptr);
}
