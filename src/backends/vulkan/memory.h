// Device memory: images and buffers that live and die together share one allocation.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "backends/vulkan/context.h"

namespace mollify::vulkan {

class Arena {
 public:
  explicit Arena(std::shared_ptr<const Context> context) : context_(std::move(context)) {}
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Both give the index of what was added; usable once memory is there.
  [[nodiscard]] Result<std::size_t> add_buffer(VkDeviceSize bytes, VkBufferUsageFlags usage);
  [[nodiscard]] Result<std::size_t> add_image(const ImageDesc& desc, VkImageUsageFlags usage);

  /// What everything added so far needs.
  [[nodiscard]] const VkMemoryRequirements& needs() const { return needs_; }
  [[nodiscard]] Status allocate(VkMemoryPropertyFlags wanted, VkMemoryPropertyFlags liked);
  /// Somebody else's memory, which outlives the arena.
  [[nodiscard]] Status bind(VkDeviceMemory memory, VkDeviceSize offset);

  [[nodiscard]] VkBuffer buffer(std::size_t index) const { return items_[index].buffer; }
  [[nodiscard]] VkImage image(std::size_t index) const { return items_[index].image; }
  [[nodiscard]] VkImageView view(std::size_t index) const { return items_[index].view; }
  /// Of a buffer in memory that the host can see.
  [[nodiscard]] std::byte* data(std::size_t index) const { return mapped_ + items_[index].offset; }

 private:
  struct Item {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkImage image = VK_NULL_HANDLE;
    VkImageView view = VK_NULL_HANDLE;
    VkFormat format = VK_FORMAT_UNDEFINED;
    VkDeviceSize offset = 0;
  };
  std::size_t add(Item item, const VkMemoryRequirements& needs);

  std::shared_ptr<const Context> context_;
  std::vector<Item> items_;
  VkMemoryRequirements needs_{0, 1, ~0U};
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  std::byte* mapped_ = nullptr;
};

/// A view of a whole image.
[[nodiscard]] Result<VkImageView> make_view(const Context& context, VkImage image, VkFormat format);

}  // namespace mollify::vulkan
