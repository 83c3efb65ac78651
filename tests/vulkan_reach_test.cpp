// Plan::reach and signs on GPUs: a NaN or an infinity changes no pixel beyond, and no result is below the least pixel, nor above the
// largest.
#include "reach_support.h"
#include "signs_support.h"
#include "vulkan_support.h"

namespace mollify::test {
namespace {

constexpr std::array kSigmas = {1.0, 3.0, 6.0, 60.0};  // few: pipelines take long to make

/// In quarters, which run side by side.
class VulkanReach : public testing::TestWithParam<std::size_t> {};

TEST_P(VulkanReach, HoldsForEveryAlgorithm) {
  constexpr std::size_t kQuarters = 4;
  const std::vector<std::string> ways =
      ways_to_blur({"gauss.decimate:blur=upsample,write_pixels=4", "gauss.decimate:blur=strips,write_pixels=2",
                    "gauss.decimate:storage=image", "sep.fused:exchange=shuffle", "sep.fused:math=half", "sep.fused:storage=image",
                    "sep.direct:storage=buffer", "nxn.shared:packing=packed"});
  int algorithms_that_ran = 0;
  for (std::size_t i = GetParam(); i < ways.size(); i += kQuarters) {
    SCOPED_TRACE(ways[i]);
    algorithms_that_ran += expect_reach_holds(gpu(), ways[i], Borders::in_turn) > 0 ? 1 : 0;
  }
  EXPECT_GE(algorithms_that_ran, 6);
}

INSTANTIATE_TEST_SUITE_P(Quarters, VulkanReach, testing::Range<std::size_t>(0, 4));

TEST(VulkanSigns, OfWhatThePlannerChooses) {
  EXPECT_GT(expect_signs_hold(gpu(), kSigmas), 0);
}

TEST(VulkanSigns, OfDecimatedGaussians) {
  EXPECT_GT(expect_signs_hold(gpu(), kSigmas, "gauss.decimate"), 0);
}

TEST(VulkanSigns, OfCutGaussians) {
  for (const double truncate : {3.0, 4.0}) EXPECT_GT(expect_signs_hold(gpu(), kSigmas, {}, truncate), 0);
}

}  // namespace
}  // namespace mollify::test
