// sep.fused and gauss.decimate on CUDA's tensor cores, whose kernels cuda_emulation.h runs on the processor.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "cases/cases.h"
#include "cuda_in_memory.h"
#include "mollify/cuda.h"
#include "mollify/mollify.h"
#include "reach_support.h"
#include "windows_support.h"

namespace mollify {
namespace {

using cases::Case;
using cases::CaseResult;
using cases::Outcome;

// Each size of kernel, odd widths, regions, borders, and taps that can leave the range of codes.
TEST(CudaMatrices, AgreeWithTheReference) {
  const Device device = Device::open("cuda").value();
  for (const std::string text :
       {"gaussian:sigma=0.5/clamp", "gaussian:sigma=1.3/mirror/roi=61x23+17+9", "gaussian:sigma=2.5/wrap",
        "gaussian:sigma=3.2/constant:value=0.25_0.8_0.1_0.6", "gaussian:sigma=4/reflect/roi=51x21+33+5",
        "gaussian:sigma=5/constant+wrap:value=0.25_0.8_0.1_0.6", "gaussian:sigma=6/mirror", "gaussian:sigma=1x4/clamp/layout=padded"}) {
    for (const std::string image : {"97x41/rgba8/", "130x33/rgba16f/", "197x41/r8/", "230x33/r16f/"}) {
      const Result<Case> c = cases::parse_case("sep.fused:math=coopmat/" + (image + text));
      ASSERT_TRUE(c) << text << ": " << c.error().message;
      const CaseResult result = cases::run_case(device, *c);
      EXPECT_EQ(result.outcome, Outcome::pass) << image << text << ": " << result.message;
      ASSERT_TRUE(result.plan) << text;
      EXPECT_EQ(result.plan->passes.front().kernel, "sep_matrix") << image << text;
    }
  }
}

// Each size of kernel.
TEST(CudaMatrices, ImagesThatBeginAnywhereHaveTheSameBits) {
  const Device device = Device::open("cuda").value();
  for (const PixelFormat format : {PixelFormat::rgba8, PixelFormat::rgba16f}) {
    const ImageDesc image{97, 75, format};
    for (const double sigma : {0.5, 1.3, 2.0, 2.5, 3.2, 4.0, 5.0, 6.0}) {
      BlurSpec spec;
      spec.kernel = Gaussian{{sigma, sigma}};
      spec.border.mode = {BorderMode::mirror, BorderMode::clamp};
      PlanOptions options;
      options.algorithm = *parse_algorithm("sep.fused:math=coopmat");
      const Executable blur = device.prepare(*make_plan(spec, image, image, device.info(), options)).value();
      ASSERT_EQ(blur.plan().passes.front().kernel, "sep_matrix");
      const std::size_t component = format == PixelFormat::rgba8 ? 1 : 2;
      EXPECT_TRUE(test::blurred_in_memory(blur, image, component) == test::blurred_in_memory(blur, image, 0))
          << info(format).name << " " << sigma;
    }
  }
}

// One and two rows of tiles, one and two blocks of rows of coarse samples, odd widths, regions, borders, alone and beside sums of f32.
TEST(CudaMatrices, CoarseSamplesAgreeWithTheReference) {
  const Device device = Device::open("cuda").value();
  for (const std::string text : {"gaussian:sigma=8/clamp", "gaussian:sigma=12/mirror/roi=61x23+17+9", "gaussian:sigma=30x9/wrap",
                                 "gaussian:sigma=20/constant+reflect:value=0.25_0.8_0.1_0.6", "gaussian:sigma=10/reflect/layout=padded",
                                 "gaussian:sigma=9x4.5/reflect/roi=200x65+81+69"}) {
    for (const std::string image : {"297x241/r8/", "297x141/r16f/", "297x141/r32f/"}) {
      for (const std::string math : {"coopmat", "f32"}) {
        const Result<Case> c = cases::parse_case("gauss.decimate:math=" + math + "/" + (image + text));
        ASSERT_TRUE(c) << text << ": " << c.error().message;
        const CaseResult result = cases::run_case(device, *c);
        EXPECT_EQ(result.outcome, Outcome::pass) << math << " " << image << text << ": " << result.message;
        ASSERT_TRUE(result.plan) << text;
        const std::vector<Pass>& passes = result.plan->passes;
        const bool are_bytes = info(result.plan->src.format).is_unorm();
        EXPECT_EQ(passes.front().kernel, math == "coopmat" ? "gauss_matrix" : "gauss_decimate") << image << text;
        EXPECT_EQ(passes.at(1).kernel == "gauss_grid_matrix", math == "coopmat" && are_bytes) << image << text;
        EXPECT_EQ(passes.back().kernel, math == "coopmat" ? "gauss_upsample_matrix" : "gauss_upsample") << image << text;
      }
    }
  }
}

/// Bytes of a region are those of the whole, by an algorithm whose first pass has this kernel.
void expect_bits_of_whole(const std::string& algorithm, const std::string& kernel, PerAxis<double> sigma, const ImageDesc& image,
                          const Rect& region) {
  const Device device = Device::open("cuda").value();
  std::vector<std::byte> source(static_cast<std::size_t>(image.payload_bytes()));
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 2654435761U >> 13);
  const auto blurred = [&](std::optional<Rect> roi) {
    BlurSpec spec;
    spec.kernel = Gaussian{sigma};
    spec.border.mode = {BorderMode::mirror, BorderMode::clamp};
    spec.roi = roi;
    PlanOptions options;
    options.algorithm = *parse_algorithm(algorithm);
    const ImageDesc result{roi ? roi->width : image.width, roi ? roi->height : image.height, image.format};
    const Executable blur = device.prepare(*make_plan(spec, image, result, device.info(), options)).value();
    EXPECT_EQ(blur.plan().passes.front().kernel, kernel);
    std::vector<std::byte> out(static_cast<std::size_t>(result.payload_bytes()), std::byte{0xA5});
    Workspace workspace = blur.make_workspace().value();
    EXPECT_TRUE(blur.run(ConstImageView{image, source.data(), image.row_payload_bytes()},
                         ImageView{result, out.data(), result.row_payload_bytes()}, workspace));
    return out;
  };
  const std::vector<std::byte> whole = blurred(std::nullopt);
  const std::vector<std::byte> part = blurred(region);
  const int pixel = info(image.format).pixel_bytes();
  for (std::int32_t y = 0; y < region.height; ++y) {
    const auto* const expected = whole.data() + ((std::int64_t{region.y} + y) * image.width + region.x) * pixel;
    EXPECT_TRUE(std::equal(expected, expected + region.width * pixel, part.data() + std::int64_t{y} * region.width * pixel)) << "row " << y;
  }
}

// Of what is not finite: products sum up zeros times that, too.
TEST(CudaMatrices, ActNoFurtherThanTheySay) {
  const Device device = Device::open("cuda").value();
  EXPECT_GT(test::expect_reach_holds(device, "gauss.decimate:math=coopmat", test::Borders::in_turn), 0);
}

TEST(CudaMatrices, RegionsHaveTheBitsOfTheWhole) {
  expect_bits_of_whole("sep.fused:math=coopmat", "sep_matrix", {2.3, 3.1}, {131, 57, PixelFormat::rgba8}, {21, 11, 90, 37});
  // Coarse samples of the region begin within blocks of those of the whole.
  expect_bits_of_whole("gauss.decimate:math=coopmat", "gauss_matrix", {9, 14}, {431, 357, PixelFormat::r8}, {201, 131, 150, 97});
}

// Where sums begin follows from blocks of coarse samples and from segments of pixels, whose widths need not be multiples.
TEST(CudaMatrices, WindowsHaveTheBitsOfTheWhole) {
  const Device device = Device::open("cuda").value();
  cases::Random random(1);
  for (const char* text : {"gauss.decimate:factor=10x6,math=coopmat,support=5/901x301/r32f/gaussian:sigma=20/mirror",
                           "gauss.decimate:math=coopmat/701x301/r16f/gaussian:sigma=8/constant+reflect",
                           "gauss.decimate:factor=16,math=coopmat,support=3/701x1201/r8/gaussian:sigma=60/mirror",
                           "gauss.decimate:math=coopmat/701x301/r8/gaussian:sigma=20/clamp"}) {
    const Case c = cases::parse_case(text).value();
    EXPECT_TRUE(test::expect_same_bits(c, c.algorithm, device, random)) << text;
  }
}

}  // namespace
}  // namespace mollify
