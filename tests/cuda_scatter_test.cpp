// sep.fused on CUDA with sums or filtered rows in registers, whose kernels cuda_emulation.h runs on the processor.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "cases/cases.h"
#include "cuda_in_memory.h"
#include "mollify/mollify.h"
#include "windows_support.h"

namespace mollify {
namespace {

using cases::Case;
using cases::CaseResult;
using cases::Outcome;

std::string taps(std::int32_t count, std::int32_t anchor) {
  std::string out;
  for (std::int32_t i = 0; i < count; ++i) out += (i == 0 ? "" : "_") + std::to_string((i * 7 + 3) % 11 - 4) + "e-1";
  return out + "@" + std::to_string(anchor);
}

/// By this kernel.
void expect_pass(const Device& device, std::string_view kernel, const std::string& text) {
  const Result<Case> c = cases::parse_case("sep.fused:math=f32/" + text);
  ASSERT_TRUE(c) << text << ": " << c.error().message;
  const CaseResult result = cases::run_case(device, *c);
  EXPECT_EQ(result.outcome, Outcome::pass) << text << ": " << result.message;
  ASSERT_TRUE(result.plan) << text;
  EXPECT_EQ(result.plan->passes.front().kernel, kernel) << text;
}

// Few taps, by single warps: strips of one and several, odd sizes, regions, borders, rows at any distance, and what is not finite.
TEST(CudaWarps, AgreeWithTheReference) {
  const Device device = Device::open("cuda").value();
  for (const std::string text :
       {"gaussian:sigma=1,radius=1/clamp", "gaussian:sigma=1,radius=2/mirror/roi=61x23+16+9",
        "gaussian:sigma=2,radius=2/wrap/layout=padded", "gaussian:sigma=1,radius=1/constant+reflect:value=0.25_0.8_0.1_0.6",
        "gaussian:sigma=1,radius=2/wrap+constant:value=0.25_0.8_0.1_0.6", "gaussian:sigma=1x2,radius=2x1/reflect/roi=51x21+33+5/outliers",
        "gaussian:sigma=1,radius=1/constant:value=0.25_0.8_0.1_0.6/bad"}) {
    for (const std::string image : {"530x53/r8/", "297x51/rgba8/", "530x53/r16f/", "297x51/rgba16f/", "530x53/r32f/", "297x51/rgba32f/",
                                    "70x30/r8/", "61x33/rgba8/", "70x30/rgba16f/", "3x2/rgba8/", "2x2/r16f/", "7x5/r32f/"}) {
      if (text.find("roi") != std::string::npos && !image.starts_with("530") && !image.starts_with("297")) continue;
      const bool is_of_floats = image.find("f/") != std::string::npos;
      if (!is_of_floats && (text.ends_with("outliers") || text.ends_with("bad"))) continue;  // which there are none of
      if (text.find("radius=2") != std::string::npos && image.find("rgba8") != std::string::npos) continue;
      expect_pass(device, "sep_warps", image + text);
    }
  }
}

// Each kernel, by as many taps as it has, of any sign, and by fewer along y, with any anchor and every border.
TEST(CudaWarps, HaveEachNumberOfTaps) {
  const Device device = Device::open("cuda").value();
  for (const auto& [image, most] : {std::pair{"521x29/r8/", 7},
                                    {"137x29/rgba8/", 3},
                                    {"521x29/r16f/", 29},
                                    {"137x29/rgba16f/", 7},
                                    {"521x29/r32f/", 29},
                                    {"137x29/rgba32f/", 9}}) {
    for (std::int32_t count = 3; count <= most; count += 2) {
      for (const std::string border : {"clamp", "mirror", "reflect+wrap", "constant:value=0.25_0.8_0.1_0.6"}) {
        expect_pass(device, "sep_warps",
                    image + ("taps:x=" + taps(count, count / 2)) + ",y=" + taps(count - count / 8, count / 2 - count / 16) + "/" + border);
      }
    }
  }
}

// The last rows of a chunk only fill a stage. There they are beyond the image, and those that are filtered are not.
TEST(CudaWarps, LeaveOutRowsThatOnlyFillAStage) {
  const Device device = Device::open("cuda").value();
  for (std::int32_t height = 5; height < 13; ++height) {
    const std::string region = "/roi=64x" + std::to_string(height) + "+72+" + std::to_string(50 - height);
    for (const std::string image : {"530x51/r32f/", "530x51/rgba8/", "530x51/r8/"}) {
      expect_pass(device, "sep_warps", image + "gaussian:sigma=1,radius=1/clamp+constant:value=0.25_0.8_0.1_0.6" + region);
    }
  }
}

// Pixels and rows may begin at any multiple of a component.
TEST(CudaWarps, TakePixelsAnywhere) {
  const Device device = Device::open("cuda").value();
  for (const PixelFormat format :
       {PixelFormat::r8, PixelFormat::rgba8, PixelFormat::r16f, PixelFormat::rgba16f, PixelFormat::r32f, PixelFormat::rgba32f}) {
    const ImageDesc image{297, 21, format};
    BlurSpec spec;
    spec.kernel = Gaussian{{1.0, 1.0}, PerAxis<std::int32_t>{1, 1}};
    const Executable blur = device.prepare(*make_plan(spec, image, image, device.info())).value();
    ASSERT_EQ(blur.plan().passes.front().kernel, "sep_warps");
    const std::vector<std::byte> aligned = test::blurred_in_memory(blur, image, 0);
    const std::size_t component = static_cast<std::size_t>(info(format).component_bytes());
    for (const std::size_t first : {component, 3 * component}) {
      EXPECT_TRUE(test::blurred_in_memory(blur, image, first) == aligned) << info(format).name << " " << first;
    }
  }
}

// What is not finite does not leave its line where only one axis is filtered.
TEST(CudaWarps, AreNotForOneAxis) {
  const Device device = Device::open("cuda").value();
  for (const char* text :
       {"90x40/r32f/gaussian:sigma=0.5x0/clamp", "90x40/rgba32f/gaussian:sigma=0x1/clamp", "90x1/r16f/gaussian:sigma=0/clamp"}) {
    const Case c = cases::parse_case("sep.fused:math=f32/" + std::string(text)).value();
    PlanOptions options;
    options.algorithm = c.algorithm;
    EXPECT_EQ(make_plan(c.spec, c.src, c.dst, device.info(), options)->passes.front().kernel, "sep_fused") << text;
  }
}

// Strips of one and several, odd sizes, regions, borders, rows at any distance, and what is not finite.
TEST(CudaScatter, AgreesWithTheReference) {
  const Device device = Device::open("cuda").value();
  for (const std::string text :
       {"gaussian:sigma=3.6/clamp", "gaussian:sigma=3.7/mirror/roi=61x23+16+9", "gaussian:sigma=3.6/wrap/layout=padded",
        "gaussian:sigma=3.8/constant:value=0.25_0.8_0.1_0.6", "gaussian:sigma=4/reflect/roi=51x21+32+5/outliers",
        "gaussian:sigma=3.9/constant+wrap:value=0.25_0.8_0.1_0.6/bad", "gaussian:sigma=3.6/mirror/bad"}) {
    for (const std::string image : {"297x51/rgba32f/", "530x53/r32f/", "53x70/rgba32f/", "61x59/r32f/"}) {
      if (text.find("roi") == std::string::npos || image.starts_with("297") || image.starts_with("530")) {
        expect_pass(device, "sep_scatter", image + text);
      }
    }
  }
}

// Each kernel, by as many taps as it has and by some that stand among zeros, with any anchor.
TEST(CudaScatter, HasEachNumberOfTaps) {
  const Device device = Device::open("cuda").value();
  for (const std::int32_t count : {11, 13, 15, 17, 19, 21, 25, 29, 33, 37, 41, 45, 23, 31, 40, 16}) {
    for (const std::string image : {"137x29/rgba32f/", "521x29/r32f/"}) {
      if (count <= 29 && image.find("/r32f") != std::string::npos) continue;  // which single warps make
      expect_pass(device, "sep_scatter",
                  image + "taps:x=" + taps(count, count / 2) + ",y=" + taps(count - count / 12, count / 2 - count / 16) + "/mirror");
    }
  }
}

// Both axes have about as many taps, and images are only blurred.
TEST(CudaScatter, OtherFiltersTakeSharedMemory) {
  const Device device = Device::open("cuda").value();
  for (const std::string text : {"90x40/rgba32f/gaussian:sigma=2x5/clamp", "90x40/rgba32f/gaussian:sigma=2/clamp/premultiply",
                                 "90x40/rg32f/gaussian:sigma=2/clamp", "90x40/rgba16/gaussian:sigma=2/clamp"}) {
    const Result<Case> c = cases::parse_case("sep.fused:math=f32/" + text);
    ASSERT_TRUE(c) << text;
    PlanOptions options;
    options.algorithm = *parse_algorithm("sep.fused:math=f32");
    const Result<Plan> plan = make_plan(c->spec, c->src, c->dst, device.info(), options);
    ASSERT_TRUE(plan) << text << ": " << plan.error().message;
    EXPECT_EQ(plan->passes.front().kernel, "sep_fused") << text;
  }
}

/// Windows that begin at any column are planned as images of their own, and have to be made by the kernel of the whole.
TEST(CudaSums, WindowsByColumnsHaveTheBitsOfTheWhole) {
  const Device device = Device::open("cuda").value();
  cases::Random random(1);
  for (const char* text :
       {"211x61/r32f/gaussian:sigma=2.2/mirror", "211x61/r32f/gaussian:sigma=3.6/wrap+clamp/roi=150x40+17+9",
        "211x61/rgba32f/gaussian:sigma=2.2/mirror", "211x61/rgba32f/gaussian:sigma=1/constant:value=0.25_0.8_0.1_0.6",
        "211x61/r16f/gaussian:sigma=1/mirror", "211x61/rgba8/gaussian:sigma=1,radius=1/constant:value=0.25_0.8_0.1_0.6"}) {
    const Case c = cases::parse_case("sep.fused:math=f32/" + std::string(text)).value();
    for (int i = 0; i < 6; ++i) EXPECT_TRUE(test::expect_same_bits(c, c.algorithm, device, random)) << text;
  }
}

/// A NaN comes as far in a region as in the whole, too.
TEST(CudaSums, RegionsHaveTheBitsOfTheWhole) {
  const Device device = Device::open("cuda").value();
  for (const auto& [format, sigma, expected_kernel] : {std::tuple{PixelFormat::r32f, 3.6, "sep_scatter"},
                                                       {PixelFormat::rgba32f, 2.4, "sep_scatter"},
                                                       {PixelFormat::r32f, 2.0, "sep_warps"},
                                                       {PixelFormat::rgba32f, 0.7, "sep_warps"}}) {
    const ImageDesc image{211, 61, format};
    const int channels = info(format).channels;
    std::vector<float> source(static_cast<std::size_t>(image.width * image.height * channels));
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<float>(i * 2654435761U >> 8 & 0xFFFFU) / 65535.0F - 0.5F;
    source[static_cast<std::size_t>((45 * image.width + 40) * channels)] = std::numeric_limits<float>::quiet_NaN();
    const auto blurred = [&, format = format, sigma = sigma](std::optional<Rect> roi, std::string& kernel) {
      BlurSpec spec;
      spec.kernel = Gaussian{{sigma, sigma}};
      spec.border.mode = {BorderMode::mirror, BorderMode::clamp};
      spec.roi = roi;
      PlanOptions options;
      options.algorithm = *parse_algorithm("sep.fused:math=f32");
      const ImageDesc result{roi ? roi->width : image.width, roi ? roi->height : image.height, format};
      const Executable blur = device.prepare(*make_plan(spec, image, result, device.info(), options)).value();
      kernel = blur.plan().passes.front().kernel;
      std::vector<float> out(static_cast<std::size_t>(result.width * result.height * channels), -7.0F);
      Workspace workspace = blur.make_workspace().value();
      EXPECT_TRUE(blur.run(ConstImageView{image, reinterpret_cast<std::byte*>(source.data()), image.row_payload_bytes()},
                           ImageView{result, reinterpret_cast<std::byte*>(out.data()), result.row_payload_bytes()}, workspace));
      return out;
    };
    std::string kernel;
    const std::vector<float> whole = blurred(std::nullopt, kernel);
    EXPECT_EQ(kernel, expected_kernel);
    for (const Rect region : {Rect{24, 7, 100, 30}, Rect{17, 30, 53, 31}}) {
      const std::vector<float> part = blurred(region, kernel);
      EXPECT_EQ(kernel, expected_kernel);
      for (std::int32_t y = 0; y < region.height; ++y) {
        const auto* const expected = whole.data() + ((region.y + y) * image.width + region.x) * channels;
        const std::size_t bytes = region.width * channels * sizeof(float);
        EXPECT_EQ(std::memcmp(expected, part.data() + y * region.width * channels, bytes), 0) << "row " << y;
      }
    }
  }
}

}  // namespace
}  // namespace mollify
