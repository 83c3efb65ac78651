// VK_KHR_cooperative_matrix, and what VK_NV_cooperative_matrix2 adds to it, as their specifications have them: they are newer than
// the headers of some systems.
#pragma once

#include <cstdint>

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

namespace mollify::vulkan {

inline constexpr const char* kMatrixExtension = "VK_KHR_cooperative_matrix";

// NOLINTBEGIN(readability-identifier-naming): Vulkan's own names

/// VkPhysicalDeviceCooperativeMatrixFeaturesKHR.
struct MatrixFeatures {
  static constexpr auto kType = static_cast<VkStructureType>(1000506000);
  VkStructureType sType = kType;
  void* pNext = nullptr;
  VkBool32 cooperativeMatrix = VK_FALSE;
  VkBool32 cooperativeMatrixRobustBufferAccess = VK_FALSE;
};

inline constexpr const char* kMatrixConversionExtension = "VK_NV_cooperative_matrix2";

/// VkPhysicalDeviceCooperativeMatrix2FeaturesNV.
struct MatrixConversionFeatures {
  static constexpr auto kType = static_cast<VkStructureType>(1000593000);
  VkStructureType sType = kType;
  void* pNext = nullptr;
  VkBool32 cooperativeMatrixWorkgroupScope = VK_FALSE;
  VkBool32 cooperativeMatrixFlexibleDimensions = VK_FALSE;
  VkBool32 cooperativeMatrixReductions = VK_FALSE;
  VkBool32 cooperativeMatrixConversions = VK_FALSE;
  VkBool32 cooperativeMatrixPerElementOperations = VK_FALSE;
  VkBool32 cooperativeMatrixTensorAddressing = VK_FALSE;
  VkBool32 cooperativeMatrixBlockLoads = VK_FALSE;
};

/// VkComponentTypeKHR.
enum class MatrixComponent : std::uint32_t { float16 = 0, float32 = 1, uint8 = 7, uint32 = 9 };

/// VkCooperativeMatrixPropertiesKHR: rows x depth by depth x columns.
struct MatrixProperties {
  static constexpr auto kType = static_cast<VkStructureType>(1000506001);
  static constexpr std::uint32_t kSubgroupScope = 3;
  VkStructureType sType = kType;
  void* pNext = nullptr;
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::uint32_t depth = 0;
  MatrixComponent left{};
  MatrixComponent right{};
  MatrixComponent sum{};
  MatrixComponent result{};
  VkBool32 saturates = VK_FALSE;
  std::uint32_t scope = 0;
};

// NOLINTEND(readability-identifier-naming)

/// vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR.
using GetMatrixProperties = VkResult(VKAPI_PTR*)(VkPhysicalDevice, std::uint32_t*, MatrixProperties*);

}  // namespace mollify::vulkan
