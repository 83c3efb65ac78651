// box.any on CUDA, whose kernels cuda_emulation.h runs on the processor: every case of the list, windows wider than a strip, and strides.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "cases/cases.h"
#include "mollify/mollify.h"
#include "stride_support.h"

namespace mollify {
namespace {

using cases::Case;
using cases::CaseResult;
using cases::Outcome;

TEST(CudaBoxes, PassTheirCases) {
  const Device device = Device::open("cuda").value();
  const std::vector<Case> list = cases::pairwise_cases(device.info(), "box.any");
  EXPECT_GT(list.size(), 80U);
  for (const Case& c : list) {
    const CaseResult result = cases::run_case(device, c);
    EXPECT_EQ(result.outcome, Outcome::pass) << name(c) << ": " << result.message;
  }
}

TEST(CudaBoxes, WiderThanAStripTakeTwoPasses) {
  const Device device = Device::open("cuda").value();
  for (const char* text :
       {"auto/1031x67/rgba8/box:radius=256x50/mirror", "auto/700x67/rgba32f/box:radius=300x100/reflect/roi=600x50+13+13",
        "auto/1500x67/rgba16f/box:radius=256x256/clamp", "auto/2300x33/r8/box:radius=1100x20/constant:value=0.25_0.8_0.1_0.6",
        "auto/900x67/rgb8/box:radius=400x50/wrap/roi=700x60+100+5", "auto/1100x40/rg16f/box:radius=600.5x50.25/mirror/roi=1000x17+64+8",
        "auto/1031x67/rgba16/box:radius=300x20/constant+wrap:value=0.25_0.8_0.1_0.6",
        "auto/1300x41/rgba32f/box:radius=400x9/clamp/outliers"}) {
    const Result<Case> c = cases::parse_case(text);
    ASSERT_TRUE(c) << text;
    const CaseResult result = cases::run_case(device, *c);
    EXPECT_EQ(result.outcome, Outcome::pass) << text << ": " << result.message;
    ASSERT_TRUE(result.plan) << text;
    EXPECT_EQ(result.plan->passes.size(), 2U) << text;
    EXPECT_EQ(result.plan->algorithm.id, "box.any") << text;
  }
}

TEST(CudaBoxes, KeepTheirPromiseWithStrides) {
  const Device device = Device::open("cuda").value();
  test::expect_promise_with_strides("box.any", {device}, 60);
  test::expect_same_bits_on_windows_with_strides("box.any", {device}, 8);
}

TEST(CudaBoxes, WithStridesTakeOnePassOrTwo) {
  const Device device = Device::open("cuda").value();
  for (const std::string_view stride : {"2", "2@1", "3@2x1", "1x5@4", "7@4x9@2", "7@3x9@17", "16@30x4@6"}) {
    for (const std::string_view image :
         {"rgba8/box:radius=20", "r16/box:radius=20", "rgb32f/box:radius=20", "rg16f/box:radius=20x5.25", "rgba32f/box:radius=40x9",
          "rgba8/box:radius=256x50", "r8/box:radius=1100x20", "rgba32f/box:radius=300x100", "rgb16f/box:radius=400.5x20"}) {
      const std::string text = "box.any/1031x67/" + std::string(image) + "/mirror/roi=990x57+13+5/stride=" + std::string(stride);
      const Result<Case> c = cases::parse_case(text);
      ASSERT_TRUE(c) << text;
      const CaseResult result = cases::run_case(device, *c);
      EXPECT_EQ(result.outcome, Outcome::pass) << text << ": " << result.message;
    }
  }
}

// Sums of floats must not depend on where a region begins.
TEST(CudaBoxes, RegionsHaveTheBitsOfTheWhole) {
  const Device device = Device::open("cuda").value();
  const ImageDesc image{611, 97, PixelFormat::rgba32f};
  std::vector<float> source(static_cast<std::size_t>(image.width) * image.height * 4);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<float>(i * 2654435761U % 65521U) / 7001.0F;
  const auto blurred = [&](double across, std::optional<Rect> region) {
    BlurSpec spec;
    spec.kernel = Box::of_radius(across, 21);
    spec.border.mode = {BorderMode::mirror, BorderMode::clamp};
    spec.roi = region;
    const ImageDesc result{region ? region->width : image.width, region ? region->height : image.height, image.format};
    const Executable blur = device.prepare(*make_plan(spec, image, result, device.info())).value();
    std::vector<float> out(static_cast<std::size_t>(result.width) * result.height * 4, -1.0F);
    Workspace workspace = blur.make_workspace().value();
    EXPECT_TRUE(blur.run(ConstImageView{image, reinterpret_cast<const std::byte*>(source.data()), image.row_payload_bytes()},
                         ImageView{result, reinterpret_cast<std::byte*>(out.data()), result.row_payload_bytes()}, workspace));
    return out;
  };
  for (const double across : {30.0, 260.0}) {  // in one pass and in two
    const std::vector<float> whole = blurred(across, std::nullopt);
    const Rect region{205, 37, 390, 41};
    const std::vector<float> part = blurred(across, region);
    for (std::int32_t y = 0; y < region.height; ++y) {
      const auto* const expected = whole.data() + ((std::int64_t{region.y} + y) * image.width + region.x) * 4;
      EXPECT_TRUE(std::equal(expected, expected + region.width * 4, part.data() + std::int64_t{y} * region.width * 4))
          << across << " row " << y;
    }
  }
}

}  // namespace
}  // namespace mollify
