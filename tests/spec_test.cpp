// Bad requests: each is refused with a message that names what is wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support.h"

namespace mollify::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Bad {
  const char* what;   ///< of the test
  const char* named;  ///< what the message must name
  BlurSpec spec;
  ImageDesc src{16, 12, PixelFormat::rgba8};
  ImageDesc dst{16, 12, PixelFormat::rgba8};
};

BlurSpec with_border_value(double value) {
  BlurSpec spec;
  spec.border.value = {0, 0, value, 0};
  return spec;
}

BlurSpec with_max_error(double value) {
  BlurSpec spec;
  spec.accuracy.max_error = value;
  return spec;
}

BlurSpec with_roi(Rect roi) {
  BlurSpec spec;
  spec.roi = roi;
  return spec;
}

BlurSpec with_stride(Stride x, Stride y, KernelSpec kernel = Gaussian{}) {
  BlurSpec spec = spec_of(std::move(kernel));
  spec.stride = {x, y};
  return spec;
}

std::vector<Bad> bad_requests() {
  using enum Normalization;
  const auto kernel = [](KernelSpec k) { return spec_of(k); };
  BlurSpec premultiply;
  premultiply.alpha = AlphaMode::premultiply;
  std::vector<Bad> list{
      {"NaN sigma", "sigma", kernel(Gaussian{{kNan, 1}, {}, {}})},
      {"NaN sigma on y", "sigma", kernel(Gaussian{{1, kNan}, {}, {}})},
      {"negative sigma", "sigma", kernel(Gaussian{{-1, 1}, {}, {}})},
      {"infinite sigma", "sigma", kernel(Gaussian{{kInfinity, 1}, {}, {}})},
      {"sigma above the limit", "sigma", kernel(Gaussian{{1, 1.1e6}, {}, {}})},
      {"negative Gaussian radius", "radius", kernel(Gaussian{{1, 1}, {{-1, 1}}, {}})},
      {"Gaussian radius above the limit", "radius", kernel(Gaussian{{1, 1}, {{1, (1 << 20) + 1}}, {}})},
      {"negative truncate", "truncat", kernel(Gaussian{{1, 1}, {}, -1.0})},
      {"NaN truncate", "truncat", kernel(Gaussian{{1, 1}, {}, kNan})},
      {"truncate times sigma above the limit", "truncat", kernel(Gaussian{{1e6, 1}, {}, 5.0})},
      {"negative box", "radius", kernel(Box::of_radius(-0.5, 1))},
      {"NaN box", "radius", kernel(Box{{{1, kNan}, {1, 1}}})},
      {"box above the limit", "radius", kernel(Box::of_radius(1, 1048577))},
      {"stride of nothing", "step", with_stride({0, 0}, {})},
      {"stride above the limit", "17", with_stride({}, {17, 0})},
      {"negative phase", "phase", with_stride({2, -1}, {})},
      {"phase of the next pixel", "phase", with_stride({}, {3, 6})},
      {"half a pixel of taps", "taps", with_stride({2, 3}, {}, Taps{})},
      {"half a pixel of a matrix", "matrices", with_stride({}, {2, 1}, Matrix{})},
      {"box anchor outside", "box", kernel(Box::of_size({3, 3}, {3, 0}))},
      {"empty box", "box", kernel(Box::of_size({0, 3}, {0, 0}))},
      {"negative tent", "radius", kernel(Tent{{-1, 1}})},
      {"NaN tent", "radius", kernel(Tent{{1, kNan}})},
      {"no taps", "taps", kernel(Taps{{{}, 0}, {{1}, 0}, none})},
      {"anchor beyond the taps", "anchor", kernel(Taps{{{1, 2}, 2}, {{1}, 0}, none})},
      {"negative anchor", "anchor", kernel(Taps{{{1, 2}, -1}, {{1}, 0}, none})},
      {"NaN tap", "weight", kernel(Taps{{{1, kNan}, 0}, {{1}, 0}, none})},
      {"taps beyond f32", "weights", kernel(Taps{{{1e30}, 0}, {{1e30}, 0}, none})},
      {"matrix beyond f32", "weights", kernel(Matrix{2, 1, {3e38, 3e38}, {0, 0}, none})},
      {"zero-sum taps to normalise", "sum", kernel(Taps{{{1, -1}, 0}, {{1}, 0}, unit_sum})},
      {"matrix too wide", "129", kernel(Matrix{129, 1, std::vector<double>(129, 1.0), {0, 0}, none})},
      {"matrix too high", "129", kernel(Matrix{1, 129, std::vector<double>(129, 1.0), {0, 0}, none})},
      {"empty matrix", "0x3", kernel(Matrix{0, 3, {}, {0, 0}, none})},
      {"matrix with a weight missing", "weights", kernel(Matrix{2, 2, {1, 2, 3}, {0, 0}, none})},
      {"matrix anchor outside", "anchor", kernel(Matrix{2, 1, {1, 2}, {0, 1}, none})},
      {"infinite weight", "weight", kernel(Matrix{2, 1, {1, kInfinity}, {0, 0}, none})},
      {"zero-sum matrix to normalise", "sum", kernel(Matrix{2, 1, {1, -1}, {0, 0}, unit_sum})},
      {"NaN border value", "border", with_border_value(kNan)},
      {"no border mode", "there is no border mode 5", spec_of(Box::of_radius(1, 1), static_cast<BorderMode>(5))},
      {"no pixel format", "the source is of pixel format 200", spec_of(Box::of_radius(1, 1)), {16, 12, static_cast<PixelFormat>(200)}},
      {"border value that unorm cannot hold", "border", with_border_value(1.5)},
      {"NaN accuracy", "error", with_max_error(kNan)},
      {"negative accuracy", "error", with_max_error(-1e-3)},
      {"region to the left", "region", with_roi({-1, 0, 16, 12})},
      {"region too wide", "region", with_roi({1, 0, 16, 12})},
      {"region too high", "region", with_roi({0, 1, 16, 12})},
      {"empty region", "region", with_roi({0, 0, 0, 12})},
      {"region that overflows", "region", with_roi({INT32_MAX, 0, INT32_MAX, 1})},
  };
  list.push_back({"no columns", "0x12", {}, {0, 12, PixelFormat::rgba8}, {0, 12, PixelFormat::rgba8}});
  list.push_back({"negative rows", "16x-1", {}, {16, -1, PixelFormat::rgba8}, {16, -1, PixelFormat::rgba8}});
  list.push_back({"channels differ", "channels", {}, {16, 12, PixelFormat::rgba8}, {16, 12, PixelFormat::rgb8}});
  list.push_back({"destination too small", "15x12", {}, {16, 12, PixelFormat::rgba8}, {15, 12, PixelFormat::rgba8}});
  list.push_back({"more bytes than there are addresses",
                  "2^56",
                  {},
                  {1 << 30, 1 << 30, PixelFormat::rgba32f},
                  {1 << 30, 1 << 30, PixelFormat::rgba32f}});
  list.push_back({"border value that f16 cannot hold",
                  "border",
                  with_border_value(1e5),
                  {16, 12, PixelFormat::rgba16f},
                  {16, 12, PixelFormat::rgba16f}});
  list.push_back({"border value that f32 cannot hold",
                  "border",
                  with_border_value(-1e39),
                  {16, 12, PixelFormat::rgba32f},
                  {16, 12, PixelFormat::rgba32f}});
  list.push_back({"no alpha in rgb", "rgb8", premultiply, {16, 12, PixelFormat::rgb8}, {16, 12, PixelFormat::rgb8}});
  list.push_back({"no alpha in r", "r16f", premultiply, {16, 12, PixelFormat::r16f}, {16, 12, PixelFormat::r16f}});
  return list;
}

class BadRequest : public testing::TestWithParam<Bad> {};

TEST_P(BadRequest, IsRefusedByName) {
  const Bad& bad = GetParam();
  const Status status = validate(bad.spec, bad.src, bad.dst);
  ASSERT_FALSE(status.ok()) << bad.what;
  EXPECT_EQ(status.error().code, ErrorCode::invalid_argument) << bad.what;
  EXPECT_NE(status.error().message.find(bad.named), std::string::npos) << bad.what << ": " << status.error().message;
  EXPECT_EQ(status.error().message.find('\n'), std::string::npos) << bad.what;

  const Result<Plan> plan = make_plan(bad.spec, bad.src, bad.dst, cpu().info());
  ASSERT_FALSE(plan.ok()) << bad.what;
  EXPECT_EQ(plan.error().message, status.error().message);
}

INSTANTIATE_TEST_SUITE_P(Spec, BadRequest, testing::ValuesIn(bad_requests()), [](const auto& tested) {
  std::string name;
  for (const char* c = tested.param.what; *c != '\0'; ++c) name += std::isalnum(*c) != 0 ? *c : '_';
  return name;
});

TEST(Spec, SampleKernelsAreValid) {
  for (const KernelSpec& kernel : sample_kernels()) {
    EXPECT_TRUE(validate(spec_of(kernel), {16, 12, PixelFormat::rgba8}, {16, 12, PixelFormat::rgba16f}).ok());
  }
}

TEST(Spec, LimitsThemselvesAreValid) {
  const ImageDesc desc{4, 4, PixelFormat::r32f};
  EXPECT_TRUE(validate(spec_of(Gaussian{{1e6, 0}, {}, {}}), desc, desc).ok());
  EXPECT_TRUE(validate(spec_of(Gaussian{{1, 1}, {{1 << 20, 0}}, {}}), desc, desc).ok());
  EXPECT_TRUE(validate(spec_of(Box::of_radius(1 << 20, 0)), desc, desc).ok());
  EXPECT_TRUE(validate(spec_of(Matrix{128, 128, std::vector<double>(128 * 128, 1.0), {127, 127}, Normalization::none}), desc, desc).ok());
}

TEST(Spec, AFloatBorderValueMayBeAnything) {
  BlurSpec spec = spec_of(Box{}, BorderMode::constant);
  spec.border.value = {-3, 100, 0, 0};
  const ImageDesc desc{4, 4, PixelFormat::rg32f};
  EXPECT_TRUE(validate(spec, desc, desc).ok());
}

TEST(Spec, DestinationHasTheSizeOfTheRegion) {
  BlurSpec spec;
  const ImageDesc src{16, 12, PixelFormat::rgba8};
  EXPECT_EQ(destination_desc(spec, src, PixelFormat::rgba16), (ImageDesc{16, 12, PixelFormat::rgba16}));
  spec.roi = Rect{1, 2, 3, 4};
  EXPECT_EQ(destination_desc(spec, src, PixelFormat::rgba16), (ImageDesc{3, 4, PixelFormat::rgba16}));
}

TEST(Spec, AStrideDividesTheSizeAndRoundsUp) {
  const auto size = [](const BlurSpec& spec, std::int32_t width, std::int32_t height) {
    const ImageDesc desc = destination_desc(spec, {width, height, PixelFormat::r8}, PixelFormat::r8);
    return PerAxis<std::int32_t>{desc.width, desc.height};
  };
  const BlurSpec spec = with_stride(Stride::of_blocks(2), {5, 0});
  EXPECT_EQ(size(spec, 8, 10), (PerAxis<std::int32_t>{4, 2}));
  EXPECT_EQ(size(spec, 7, 11), (PerAxis<std::int32_t>{4, 3}));
  EXPECT_EQ(size(spec, 1, 1), (PerAxis<std::int32_t>{1, 1}));
  BlurSpec region = spec;
  region.roi = Rect{1, 1, 6, 5};
  EXPECT_EQ(size(region, 8, 10), (PerAxis<std::int32_t>{3, 1}));
  EXPECT_TRUE(validate(region, {8, 10, PixelFormat::r8}, {3, 1, PixelFormat::r8}));
}

TEST(Spec, PhasesOfHalvesAreForKernelsWithAFormula) {
  const ImageDesc src{8, 8, PixelFormat::r8}, dst{4, 8, PixelFormat::r8};
  for (const KernelSpec& kernel : {KernelSpec(Gaussian{}), KernelSpec(Box{}), KernelSpec(Tent{})}) {
    EXPECT_TRUE(validate(with_stride({2, 1}, {}, kernel), src, dst));
  }
  for (const KernelSpec& kernel : {KernelSpec(Taps{}), KernelSpec(Matrix{})}) {
    EXPECT_TRUE(validate(with_stride({2, 2}, {}, kernel), src, dst));
    EXPECT_FALSE(validate(with_stride({2, 1}, {}, kernel), src, dst));
  }
}

TEST(Spec, BoxOfSizePutsTheAnchor) {
  EXPECT_EQ(Box::of_size({4, 1}, {1, 0}).extent, (PerAxis<BoxExtent>{{1, 2}, {0, 0}}));
  EXPECT_EQ(Box::of_radius(1.5, 2).extent, (PerAxis<BoxExtent>{{1.5, 1.5}, {2, 2}}));
}

TEST(Spec, DefaultErrorsAreAsPromised) {
  EXPECT_EQ(default_max_error(PixelFormat::rgb8), 0.125 / 255.0);
  EXPECT_EQ(default_max_error(PixelFormat::rgb16), 1e-4);
  EXPECT_EQ(default_max_error(PixelFormat::r16f), 1e-4);
  EXPECT_EQ(default_max_error(PixelFormat::r32f), 2e-5);
  EXPECT_EQ(exact_max_error(PixelFormat::r8), 0.02 / 255.0);
  EXPECT_EQ(exact_max_error(PixelFormat::rgba16), 0.02 / 65535.0);
  EXPECT_EQ(exact_max_error(PixelFormat::r16f), 1e-4);
  EXPECT_EQ(exact_max_error(PixelFormat::rgba32f), 1e-6);
}

}  // namespace
}  // namespace mollify::test
