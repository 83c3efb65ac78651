// Images of doubles and of integers of 32 bits on CUDA, whose kernels cuda_emulation.h runs on the processor.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "cases/cases.h"
#include "mollify/mollify.h"

namespace mollify {
namespace {

using cases::Case;
using cases::CaseResult;
using cases::Outcome;

// A third of them. Tall images, whose rows take a block of threads each, would take minutes.
TEST(CudaWide, PassesItsCases) {
  constexpr std::int32_t kTall = 10000;
  constexpr std::size_t kShare = 3;
  const Device device = Device::open("cuda").value();
  const std::vector<Case> list = cases::wide_cases(device.info());
  EXPECT_GT(list.size(), 100U);
  for (std::size_t i = std::random_device{}() % kShare; i < list.size(); i += kShare) {
    const Case& c = list[i];
    if (c.src.height > kTall) continue;
    const CaseResult result = cases::run_case(device, c);
    EXPECT_EQ(result.outcome, Outcome::pass) << name(c) << ": " << result.message;
  }
}

// Every format, with all that a request may have.
TEST(CudaWide, KeepsWhatItPromises) {
  const Device device = Device::open("cuda").value();
  for (const std::string request : {"gaussian:sigma=2.3x0.9/mirror", "box:radius=3.5x40/clamp+wrap", "tent:radius=4/reflect/roi=61x23+17+9",
                                    "gaussian:sigma=30/constant:value=2e9_0.8_7_0.6/roi=50x20+9+11/stride=3@2x2",
                                    "gaussian:sigma=4/clamp/layout=padded/stride=16@15"}) {
    for (const std::string channels : {"r", "rg", "rgb", "rgba"}) {
      for (const std::string type : {"32i", "32ui", "64f"}) {
        const std::string text = "auto/97x41/" + channels + type + "/" + request;
        const Result<Case> c = cases::parse_case(text);
        ASSERT_TRUE(c) << text << ": " << c.error().message;
        const CaseResult result = cases::run_case(device, *c);
        EXPECT_EQ(result.outcome, Outcome::pass) << text << ": " << result.message;
      }
    }
  }
}

/// The pixels of a single tap, from one format to another.
template <class From, class To>
std::vector<To> stored(PixelFormat from, PixelFormat to, const std::vector<From>& numbers) {
  const Device device = Device::open("cuda").value();
  const ImageDesc source{static_cast<std::int32_t>(numbers.size()), 1, from};
  const ImageDesc result{source.width, 1, to};
  BlurSpec spec;
  spec.kernel = Gaussian{{0.0, 0.0}};
  const Executable blur = device.prepare(*make_plan(spec, source, result, device.info())).value();
  std::vector<To> out(numbers.size());
  Workspace workspace = blur.make_workspace().value();
  EXPECT_TRUE(blur.run(ConstImageView{source, reinterpret_cast<const std::byte*>(numbers.data()), source.row_payload_bytes()},
                       ImageView{result, reinterpret_cast<std::byte*>(out.data()), result.row_payload_bytes()}, workspace));
  return out;
}

// Seven and eight numbers: four at once, and one by one.
TEST(CudaWide, RoundsAndHoldsWithinTheRange) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr std::int32_t kLeast = std::numeric_limits<std::int32_t>::min(), kMost = std::numeric_limits<std::int32_t>::max();
  const std::vector<double> numbers = {-3e9, 2147483646.5, 2.5, -1.5, kNan, kInfinity, -kInfinity, 4294967294.5};
  EXPECT_EQ((stored<double, std::int32_t>(PixelFormat::r64f, PixelFormat::r32i, numbers)),
            (std::vector<std::int32_t>{kLeast, kMost - 1, 2, -2, 0, kMost, kLeast, kMost}));
  EXPECT_EQ((stored<double, std::uint32_t>(PixelFormat::r64f, PixelFormat::r32ui, numbers)),
            (std::vector<std::uint32_t>{0, 2147483646U, 2, 0, 0, 4294967295U, 0, 4294967294U}));
  const std::vector<std::int32_t> integers = {kLeast, kMost, -1, 0, 16777217, -16777217, 7};  // which floats cannot tell apart
  EXPECT_EQ((stored<std::int32_t, std::int32_t>(PixelFormat::r32i, PixelFormat::r32i, integers)), integers);
  const std::vector<double> wide(integers.begin(), integers.end());
  EXPECT_EQ((stored<std::int32_t, double>(PixelFormat::r32i, PixelFormat::r64f, integers)), wide);
}

TEST(CudaWide, RegionsHaveTheBitsOfTheWhole) {
  const Device device = Device::open("cuda").value();
  const ImageDesc image{131, 57, PixelFormat::rgb64f};
  std::mt19937 random(std::random_device{}());
  std::vector<double> source(std::size_t{131} * 57 * 3);
  for (double& number : source) number = std::uniform_real_distribution<double>(-1.0, 1.0)(random);
  const auto blurred = [&](std::optional<Rect> region) {
    BlurSpec spec;
    spec.kernel = Gaussian{{2.3, 3.1}};
    spec.border.mode = {BorderMode::mirror, BorderMode::clamp};
    spec.roi = region;
    const ImageDesc result = destination_desc(spec, image, image.format);
    const Executable blur = device.prepare(*make_plan(spec, image, result, device.info())).value();
    std::vector<double> out(static_cast<std::size_t>(result.width) * result.height * 3);
    Workspace workspace = blur.make_workspace().value();
    EXPECT_TRUE(blur.run(ConstImageView{image, reinterpret_cast<const std::byte*>(source.data()), image.row_payload_bytes()},
                         ImageView{result, reinterpret_cast<std::byte*>(out.data()), result.row_payload_bytes()}, workspace));
    return out;
  };
  const std::vector<double> whole = blurred(std::nullopt);
  const Rect region{21, 11, 90, 37};
  const std::vector<double> part = blurred(region);
  for (std::int32_t y = 0; y < region.height; ++y) {
    const auto* const expected = whole.data() + ((std::int64_t{region.y} + y) * image.width + region.x) * 3;
    EXPECT_TRUE(std::equal(expected, expected + region.width * 3, part.data() + std::int64_t{y} * region.width * 3)) << "row " << y;
  }
}

TEST(CudaWide, SumsOfFloatsAreRefused) {
  const Device device = Device::open("cuda").value();
  const ImageDesc image{64, 64, PixelFormat::r64f};
  for (const char* algorithm : {"sep.fused:accumulator=f32", "nxn.direct:accumulator=f32", "gauss.decimate"}) {
    BlurSpec spec;
    spec.kernel = Gaussian{{2.0, 2.0}};
    PlanOptions options;
    options.algorithm = *parse_algorithm(algorithm);
    const Result<Plan> plan = make_plan(spec, image, image, device.info(), options);
    ASSERT_FALSE(plan) << algorithm;
    EXPECT_NE(plan.error().message.find("r64f"), std::string::npos) << plan.error().message;
  }
}

}  // namespace
}  // namespace mollify
