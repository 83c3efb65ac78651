// Which VkFormat holds a PixelFormat.
#pragma once

#include "backends/vulkan/functions.h"
#include "mollify/image.h"

namespace mollify::vulkan {

[[nodiscard]] constexpr VkFormat vk_format(PixelFormat format) {
  switch (format) {
    case PixelFormat::r8:
      return VK_FORMAT_R8_UNORM;
    case PixelFormat::rg8:
      return VK_FORMAT_R8G8_UNORM;
    case PixelFormat::rgb8:
      return VK_FORMAT_R8G8B8_UNORM;
    case PixelFormat::rgba8:
      return VK_FORMAT_R8G8B8A8_UNORM;
    case PixelFormat::r16:
      return VK_FORMAT_R16_UNORM;
    case PixelFormat::rg16:
      return VK_FORMAT_R16G16_UNORM;
    case PixelFormat::rgb16:
      return VK_FORMAT_R16G16B16_UNORM;
    case PixelFormat::rgba16:
      return VK_FORMAT_R16G16B16A16_UNORM;
    case PixelFormat::r16f:
      return VK_FORMAT_R16_SFLOAT;
    case PixelFormat::rg16f:
      return VK_FORMAT_R16G16_SFLOAT;
    case PixelFormat::rgb16f:
      return VK_FORMAT_R16G16B16_SFLOAT;
    case PixelFormat::rgba16f:
      return VK_FORMAT_R16G16B16A16_SFLOAT;
    case PixelFormat::r32f:
      return VK_FORMAT_R32_SFLOAT;
    case PixelFormat::rg32f:
      return VK_FORMAT_R32G32_SFLOAT;
    case PixelFormat::rgb32f:
      return VK_FORMAT_R32G32B32_SFLOAT;
    case PixelFormat::rgba32f:
      return VK_FORMAT_R32G32B32A32_SFLOAT;
    default:  // for CPUs only
      break;
  }
  return VK_FORMAT_UNDEFINED;
}

}  // namespace mollify::vulkan
