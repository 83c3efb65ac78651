// Windows on a GPU give the bits of the whole.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "vulkan_support.h"
#include "windows_support.h"

namespace mollify::test {
namespace {

/// So many cases of an algorithm, which may err by so much of full scale.
struct Tried {
  std::string_view algorithm;
  int cases = 2;
  std::optional<double> max_error{};
};

class EveryGpuAlgorithm : public testing::TestWithParam<Tried> {};

TEST_P(EveryGpuAlgorithm, HasTheBitsOfTheWholeOnWindows) {
  const Tried& tried = GetParam();
  expect_same_bits_on_windows(tried.algorithm, {gpu()}, tried.cases, tried.max_error);
}

/// All but those that read through a linear sampler.
INSTANTIATE_TEST_SUITE_P(VulkanWindows, EveryGpuAlgorithm,
                         testing::Values(Tried{"sep.fused", 12}, Tried{"box.any", 12}, Tried{"nxn.direct", 4}, Tried{"gauss.decimate", 12},
                                         Tried{"nxn.shared"}, Tried{"quad.3x3"}, Tried{"matrix.lowrank"}, Tried{"sep.inline"},
                                         Tried{"sep.inline_shared"}, Tried{"sep.inline_sliding"}, Tried{"sep.inline_sliding_shared"},
                                         Tried{"sep.direct"}, Tried{"sep.shared"}, Tried{"sep.sliding"}, Tried{"box.nxn"}, Tried{"box.sep"},
                                         Tried{"box.running"}, Tried{"box.scan"}, Tried{"gauss.recursive"}, Tried{"gauss.half_res", 2, 1.0},
                                         Tried{"gauss.lerp_taps", 2, 1.0}, Tried{"gauss.boxes", 2, 1.0}, Tried{"kawase.dual", 2, 1.0}),
                         [](const auto& tested) {
                           std::string name(tested.param.algorithm);
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
