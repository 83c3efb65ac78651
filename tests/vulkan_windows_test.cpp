// Windows on a GPU give the bits of the whole.
#include <algorithm>
#include <optional>
#include <random>
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

/// A box of floats, whose sums round by where strips and bands begin.
struct FloatBox {
  std::string_view algorithm;
  std::string_view rest;
};

class EveryFormOfFloatBoxes : public testing::TestWithParam<FloatBox> {};

TEST_P(EveryFormOfFloatBoxes, HasTheBitsOfTheWholeOnWindows) {
  if (!gpu().info().gpu.small_storage) GTEST_SKIP() << "most forms are for buffers";
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  cases::Random random(seed);
  for (const std::string_view content : {"", "/bad"}) {
    cases::Case c = must(cases::parse_case(std::string(GetParam().algorithm) + "/" + std::string(GetParam().rest) + std::string(content)));
    c.seed = seed;
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(expect_same_bits(c, c.algorithm, gpu(), random)) << cases::name(c);
  }
}

INSTANTIATE_TEST_SUITE_P(
    VulkanWindows, EveryFormOfFloatBoxes,
    testing::Values(FloatBox{"box.any:form=column_sums,sums=f32,chunks=9", "501x397/rgba32f/box:radius=5x9/mirror/max_error=1e-4"},
                    FloatBox{"box.any:form=column_sums,sums=f32x2,chunks=7", "501x397/r32f/box:radius=20.5x9.25/wrap"},
                    FloatBox{"box.any:form=column_sums,sums=f32,chunks=9", "501x397/rg16f/box:radius=3x4/constant/stride=3@1x2@3"},
                    FloatBox{"box.any:form=four_corner,chunks=25", "703x397/r32f/box:radius=90x31/reflect"},
                    FloatBox{"box.any:form=four_corner,chunks=25", "703x397/rgba16f/box:radius=9x31/wrap"},
                    FloatBox{"box.any:form=row_segments,chunks=11", "703x397/rgba16f/box:radius=9x12/clamp"},
                    FloatBox{"box.any:form=row_segments,chunks=5,threads=64", "903x597/r32f/box:radius=20x90/mirror"}));

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
