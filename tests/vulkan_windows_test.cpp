// Windows on a GPU give the bits of the whole.
#include <algorithm>
#include <string>

#include "vulkan_support.h"
#include "windows_support.h"

namespace mollify::test {
namespace {

class EveryGpuAlgorithm : public testing::TestWithParam<std::string> {};

TEST_P(EveryGpuAlgorithm, HasTheBitsOfTheWholeOnWindows) {
  expect_same_bits_on_windows(GetParam(), {gpu()}, 12);
}

INSTANTIATE_TEST_SUITE_P(VulkanWindows, EveryGpuAlgorithm, testing::Values("sep.fused", "box.any", "nxn.direct", "gauss.decimate"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

TEST(VulkanWindows, NeedAWorkspaceOfTheirOwn) {
  const Executable executable = prepared_on(gpu(), "sep.fused");
  const Pixels src = Pixels::random(kDesc);
  Pixels made = Pixels::constant(kDesc, 0.0);
  const ConstWindow whole{src.view(), 0, 0};
  Workspace of_images = must(executable.make_workspace());
  EXPECT_FALSE(executable.run(std::span(&whole, 1), {made.view(), 0, 0}, of_images).ok());
  Workspace of_windows = must(executable.make_workspace(PerAxis{kDesc.width, kDesc.height}));
  EXPECT_FALSE(executable.run(src.view(), made.view(), of_windows).ok());
  EXPECT_TRUE(executable.run(std::span(&whole, 1), {made.view(), 0, 0}, of_windows).ok());
  EXPECT_EQ(made, run(executable, src));
}

TEST(VulkanWindows, AreProposedWithinTheBytes) {
  const ImageDesc desc{3000, 2000, PixelFormat::rgba8};
  const Result<Plan> plan = make_plan(spec_of(Gaussian{{9, 9}, {}, {}}), desc, desc, gpu().info(), with("gauss.decimate"));
  ASSERT_TRUE(plan);
  const Result<std::vector<Rect>> strips = windows(*plan, 8 << 20);
  ASSERT_TRUE(strips) << strips.error().message;
  EXPECT_GT(strips->size(), 3U);
  EXPECT_LT(strips->size(), 30U);
}

}  // namespace
}  // namespace mollify::test
