// gauss.decimate on CUDA by sums of spans of 16 bytes, and by strips that blur its grid and make pixels of it, in an emulation.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cases/cases.h"
#include "cuda_in_memory.h"
#include "mollify/mollify.h"
#include "reach_support.h"
#include "windows_support.h"

namespace mollify {
namespace {

// Each support that kernels are compiled for, factors of one step and of several, spans that begin before the image and end behind it,
// every border, regions, strides.
TEST(CudaSpans, AgreeWithTheReference) {
  const Device device = Device::open("cuda").value();
  for (const std::string image : {"297x141/rgba16f/", "141x297/rgba32f/", "533x91/rgba8/"}) {
    for (const std::string text :
         {":factor=4,support=3/gaussian:sigma=20/clamp/max_error=0.001",
          ":factor=3x5,support=4/gaussian:sigma=15x18/mirror/roi=61x23+17+9/max_error=0.001",
          ":factor=12x16,support=5/gaussian:sigma=50x60/wrap/max_error=0.001", "/gaussian:sigma=20/constant+reflect:value=0.25_0.8_0.1_0.6",
          "/gaussian:sigma=10/reflect+constant:value=0.25_0.8_0.1_0.6/layout=padded",
          ":factor=2,support=3/gaussian:sigma=5/clamp/max_error=0.01", ":factor=3,support=4/gaussian:sigma=7x12/mirror/max_error=0.01",
          ":factor=1x4,support=1x4/gaussian:sigma=1x12/constant:value=0.25_0.8_0.1_0.6/max_error=0.001",
          ":factor=4,support=6/gaussian:sigma=9/reflect/max_error=0.001", "/gaussian:sigma=12x9/clamp/stride=3x2"}) {
      // Bytes have kernels for up to four, halves for up to five.
      const auto has = [&](std::string_view support) { return text.find(support) != std::string::npos; };
      if (image.ends_with("rgba8/") && (has("support=5") || has("support=6"))) continue;
      if (image.ends_with("rgba16f/") && has("support=6")) continue;
      const std::size_t slash = text.find('/');
      const Result<cases::Case> c = cases::parse_case("gauss.decimate" + text.substr(0, slash) + "/" + image + text.substr(slash + 1));
      ASSERT_TRUE(c) << text << ": " << c.error().message;
      const cases::CaseResult result = cases::run_case(device, *c);
      EXPECT_EQ(result.outcome, cases::Outcome::pass) << image << text << ": " << result.message;
      ASSERT_TRUE(result.plan) << text;
      EXPECT_EQ(result.plan->passes.front().kernel, "gauss_spans") << image << text;
      // Four pixels of bytes would be made of many coarse samples that lie closer.
      const bool is_close = image.ends_with("rgba8/") && (has("factor=1x") || has("factor=2,"));
      EXPECT_EQ(result.plan->passes.at(1).kernel, has("stride") || is_close ? "gauss_grid_tile" : "gauss_strips") << image << text;
    }
  }
}

// At a multiple of 16 bytes, of a pixel, of a component.
TEST(CudaSpans, ImagesThatBeginAnywhereHaveTheSameBits) {
  const Device device = Device::open("cuda").value();
  for (const PixelFormat format : {PixelFormat::rgba8, PixelFormat::rgba16f, PixelFormat::rgba32f}) {
    const ImageDesc image{197, 75, format};
    BlurSpec spec;
    spec.kernel = Gaussian{{10.0, 10.0}};
    spec.border.mode = {BorderMode::mirror, BorderMode::constant};
    const PlanOptions options{.algorithm = *parse_algorithm("gauss.decimate")};
    const Executable blur = device.prepare(*make_plan(spec, image, image, device.info(), options)).value();
    ASSERT_EQ(blur.plan().passes.front().kernel, "gauss_spans");
    const std::vector<std::byte> aligned = test::blurred_in_memory(blur, image, 16);
    for (const std::size_t first : {static_cast<std::size_t>(info(format).component_bytes()), std::size_t{4}, std::size_t{8}}) {
      EXPECT_TRUE(test::blurred_in_memory(blur, image, first) == aligned) << info(format).name << " " << first;
    }
  }
}

// Of what is not finite: strips sum up zeros times that, too.
TEST(CudaSpans, ActNoFurtherThanTheySay) {
  const Device device = Device::open("cuda").value();
  EXPECT_GT(test::expect_reach_holds(device, "gauss.decimate:math=f32", test::Borders::in_turn), 0);
}

TEST(CudaSpans, WindowsHaveTheBitsOfTheWhole) {
  const Device device = Device::open("cuda").value();
  cases::Random random(1);
  for (const char* text :
       {"gauss.decimate/701x301/rgba16f/gaussian:sigma=20/clamp", "gauss.decimate/301x201/rgba32f/gaussian:sigma=9/mirror",
        "gauss.decimate/701x201/rgba8/gaussian:sigma=9/constant:value=0.25_0.8_0.1_0.6"}) {
    const cases::Case c = cases::parse_case(text).value();
    EXPECT_TRUE(test::expect_same_bits(c, c.algorithm, device, random)) << text;
  }
}

}  // namespace
}  // namespace mollify
