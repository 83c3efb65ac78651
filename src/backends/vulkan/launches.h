// How the images of a batch lie in memory, and which of them one dispatch makes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mollify/vulkan.h"

namespace mollify::vulkan {

class Prepared;

/// From one row of pixels in a buffer to the next.
[[nodiscard]] std::int64_t row_bytes(const BufferResource& buffer, const ImageDesc& desc);
/// Bytes from the first pixel to the last.
[[nodiscard]] std::int64_t extent(const BufferResource& buffer, const ImageDesc& desc);
[[nodiscard]] VkDeviceSize payload(const ImageDesc& desc);
[[nodiscard]] VkDeviceSize pixel_bytes(const ImageDesc& desc);

/// Of sources and destinations that are our own: buffer_row_bytes(), or packed rows where the plan works on images.
[[nodiscard]] VkDeviceSize own_row_bytes(const Prepared& prepared, const ImageDesc& desc);
[[nodiscard]] VkDeviceSize own_image_bytes(const Prepared& prepared, const ImageDesc& desc);

/// Images of a batch that one dispatch of each pass makes.
struct Launch {
  std::size_t first = 0;
  std::size_t count = 1;
  VkDeviceSize source_stride = 0;  ///< bytes from one image to the next
  VkDeviceSize destination_stride = 0;
};

/// What a batch is cut into: images of one launch lie at equal distances in one buffer, so do their results, and none has
/// intermediates in another buffer than the rest.
[[nodiscard]] std::vector<Launch> launches_of(const Prepared& prepared, std::span<const Target> batch);

/// How many images one dispatch can make where they lie in two buffers of our own, one after the other.
[[nodiscard]] std::size_t most_of_launch(const Prepared& prepared);

/// Images whose intermediates one binding can see: they share its buffer. A batch has as many buffers as such shares.
[[nodiscard]] std::size_t images_of_share(const Prepared& prepared);
/// Bytes from one image's intermediate to the next one's.
[[nodiscard]] VkDeviceSize stride_of_intermediate(const ImageDesc& desc);

}  // namespace mollify::vulkan
