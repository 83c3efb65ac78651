// A kernel without negative weights gives nothing below the least value that it reads, nor above the largest: on CPUs.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "cases/compare.h"
#include "signs_support.h"
#include "support.h"

namespace mollify::test {
namespace {

constexpr std::array kSigmas = {0.5, 1.0, 2.0, 3.0, 4.5, 6.0, 10.0, 25.0, 60.0, 300.0};

TEST(Signs, OfWhatThePlannerChooses) {
  EXPECT_GT(expect_signs_hold(cpu(), kSigmas), 0);
}

TEST(Signs, OfDecimatedGaussians) {
  EXPECT_GT(expect_signs_hold(cpu(), kSigmas, "gauss.decimate"), 0);
}

TEST(Signs, OfTaps) {
  EXPECT_GT(expect_signs_hold(cpu(), kSigmas, "sep.fused"), 0);
}

TEST(Signs, OfCutGaussiansOfFloats) {
  for (const double truncate : {3.0, 4.0}) {
    EXPECT_GT(expect_signs_hold(cpu(), std::array{1.0, 3.0, 8.0, 10.0, 25.0, 60.0}, {}, truncate), 0);
    EXPECT_GT(expect_signs_hold(cpu(), std::array{12.0, 20.0, 40.0}, "gauss.cut", truncate), 0);
  }
}

constexpr std::array kCutSigmas = {4.0, 7.4, 8.7, 10.7, 16.0, 21.3};

TEST(Signs, OfCutGaussiansThatThePlannerChooses) {
  EXPECT_GT(expect_bytes_hold(cpu(), kCutSigmas), 0);
}

TEST(Signs, OfCutGaussians) {
  EXPECT_GT(expect_bytes_hold(cpu(), kCutSigmas, "gauss.cut"), 0);
}

/// Halved numbers and a window make a cut Gaussian of bytes. Where they miss it by half a step or more, some of their weights are negative:
/// black or white must not become the other for that.
TEST(Signs, CutGaussiansOfBytesKeepBlackAndWhite) {
  const ImageDesc image{359, 51, PixelFormat::r8};
  BlurSpec spec = spec_of(Gaussian{{34.015, 28.161}, {{59, 73}}, {}});
  spec.border.mode.y = BorderMode::reflect;
  spec.accuracy.max_error = 0.03;
  for (const std::string_view algorithm : {"gauss.cut:levels_x=4,levels_y=3", "gauss.cut"}) {
    const PlanOptions options{parse_algorithm(algorithm).value(), Overlap::none};
    const Result<Plan> plan = make_plan(spec, image, image, cpu().info(), options);
    if (!plan) continue;
    const Executable blur = cpu().prepare(*plan).value();
    Workspace workspace = blur.make_workspace().value();
    for (std::int32_t half = 40; half < 84; half += 4) {  // of what is white, or black
      for (const bool is_white : {false, true}) {
        Pixels src(image), result(image);
        for (std::int32_t y = 0; y < image.height; ++y) {
          for (std::int32_t x = 0; x < image.width; ++x) src.set(x, y, 0, (std::abs(x - 140) <= half) == is_white ? 1.0 : 0.0);
        }
        ASSERT_TRUE(blur.run(std::as_const(src).view(), result.view(), workspace));
        const auto judged = cases::compare_with_reference(spec, std::as_const(src).view(), std::as_const(result).view());
        EXPECT_LE(judged->max_error, plan->predicted_error) << algorithm << " " << half << ": " << judged->worst;
      }
    }
  }
}

}  // namespace
}  // namespace mollify::test
