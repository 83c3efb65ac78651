// Windows wider than the image on a GPU: none is refused, and each costs what the image costs.
#include "vulkan_support.h"
#include "wide_support.h"

namespace mollify::test {
namespace {

TEST(VulkanWide, KernelsOfAnyWidthAreRight) {
  expect_wide_kernels_right(gpu(), 8);
}

}  // namespace
}  // namespace mollify::test
