#include "backends/vulkan/memory.h"

#include <algorithm>

#include "backends/vulkan/formats.h"

namespace mollify::vulkan {

Arena::~Arena() {
  const DeviceFunctions& vk = context_->vk();
  const VkDevice device = context_->device();
  for (const Item& item : items_) {
    if (item.view != VK_NULL_HANDLE) vk.DestroyImageView(device, item.view, nullptr);
    if (item.image != VK_NULL_HANDLE) vk.DestroyImage(device, item.image, nullptr);
    if (item.buffer != VK_NULL_HANDLE) vk.DestroyBuffer(device, item.buffer, nullptr);
  }
  if (memory_ != VK_NULL_HANDLE) vk.FreeMemory(device, memory_, nullptr);
}

std::size_t Arena::add(Item item, const VkMemoryRequirements& needs) {
  const VkDeviceSize alignment = std::max(needs.alignment, context_->granularity());
  item.offset = (needs_.size + alignment - 1) / alignment * alignment;
  needs_.size = item.offset + needs.size;
  needs_.alignment = std::max(needs_.alignment, alignment);
  needs_.memoryTypeBits &= needs.memoryTypeBits;
  items_.push_back(item);
  return items_.size() - 1;
}

Result<std::size_t> Arena::add_buffer(VkDeviceSize bytes, VkBufferUsageFlags usage) {
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = std::max<VkDeviceSize>(bytes, 16);
  info.usage = usage;
  Item item;
  if (const VkResult r = context_->vk().CreateBuffer(context_->device(), &info, nullptr, &item.buffer); r != VK_SUCCESS) {
    return to_error(r, "creating a buffer");
  }
  VkMemoryRequirements needs;
  context_->vk().GetBufferMemoryRequirements(context_->device(), item.buffer, &needs);
  return add(item, needs);
}

Result<std::size_t> Arena::add_image(const ImageDesc& desc, VkImageUsageFlags usage) {
  VkImageCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;
  info.imageType = VK_IMAGE_TYPE_2D;
  info.format = vk_format(desc.format);
  info.extent = {static_cast<std::uint32_t>(desc.width), static_cast<std::uint32_t>(desc.height), 1};
  info.mipLevels = 1;
  info.arrayLayers = 1;
  info.samples = VK_SAMPLE_COUNT_1_BIT;
  info.usage = usage;
  Item item;
  item.format = info.format;
  if (const VkResult r = context_->vk().CreateImage(context_->device(), &info, nullptr, &item.image); r != VK_SUCCESS) {
    return to_error(r, "creating an image");
  }
  VkMemoryRequirements needs;
  context_->vk().GetImageMemoryRequirements(context_->device(), item.image, &needs);
  return add(item, needs);
}

Status Arena::allocate(VkMemoryPropertyFlags wanted, VkMemoryPropertyFlags liked) {
  if (items_.empty()) return {};
  const Result<std::uint32_t> type = context_->memory_type(needs_, wanted, liked);
  if (!type) return type.error();
  VkMemoryAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  info.allocationSize = needs_.size;
  info.memoryTypeIndex = *type;
  const DeviceFunctions& vk = context_->vk();
  if (const VkResult r = vk.AllocateMemory(context_->device(), &info, nullptr, &memory_); r != VK_SUCCESS) {
    memory_ = VK_NULL_HANDLE;
    Error error = to_error(r, "allocating device memory");
    error.message += " (" + std::to_string(needs_.size) + " bytes)";
    return error;
  }
  if ((wanted & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) != 0) {
    void* data = nullptr;
    const VkResult r = vk.MapMemory(context_->device(), memory_, 0, VK_WHOLE_SIZE, 0, &data);
    if (r != VK_SUCCESS) return to_error(r, "mapping memory");
    mapped_ = static_cast<std::byte*>(data);
  }
  return bind(memory_, 0);
}

Status Arena::bind(VkDeviceMemory memory, VkDeviceSize offset) {
  const DeviceFunctions& vk = context_->vk();
  for (Item& item : items_) {
    if (item.buffer != VK_NULL_HANDLE) {
      const VkResult r = vk.BindBufferMemory(context_->device(), item.buffer, memory, offset + item.offset);
      if (r != VK_SUCCESS) return to_error(r, "binding memory to a buffer");
      continue;
    }
    const VkResult r = vk.BindImageMemory(context_->device(), item.image, memory, offset + item.offset);
    if (r != VK_SUCCESS) return to_error(r, "binding memory to an image");
    const Result<VkImageView> view = make_view(*context_, item.image, item.format);
    if (!view) return view.error();
    item.view = *view;
  }
  return {};
}

Result<VkImageView> make_view(const Context& context, VkImage image, VkFormat format) {
  VkImageViewCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO;
  info.image = image;
  info.viewType = VK_IMAGE_VIEW_TYPE_2D;
  info.format = format;
  info.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
  VkImageView view = VK_NULL_HANDLE;
  if (const VkResult r = context.vk().CreateImageView(context.device(), &info, nullptr, &view); r != VK_SUCCESS) {
    return to_error(r, "viewing an image");
  }
  return view;
}

}  // namespace mollify::vulkan
