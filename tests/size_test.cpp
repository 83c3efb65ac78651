// Shapes at which vectors, row batches and segments end, and radii at which borders take over.
#include <gtest/gtest.h>

#include "support.h"

namespace mollify::test {
namespace {

using cases::Case;
using cases::Layout;

Case padded_case(const KernelSpec& kernel, std::int32_t width, std::int32_t height, PixelFormat format,
                 BorderMode mode = BorderMode::mirror) {
  Case c;
  c.spec = spec_of(kernel, mode);
  c.spec.border.value = {0.25, 0.5, 0.75, 1.0};
  c.src = c.dst = {width, height, format};
  c.layout = Layout::padded;
  c.seed = static_cast<std::uint64_t>(width) * 1000 + static_cast<std::uint64_t>(height);
  return c;
}

constexpr std::int32_t kMostLanes = 64;  // of the widest vectors in bytes

class Width : public testing::TestWithParam<PixelFormat> {};

TEST_P(Width, EveryOneUpToTwoVectorsAndOne) {
  for (std::int32_t width = 1; width <= 2 * kMostLanes + 1; ++width) {
    for (const std::int32_t height : {1, 3}) {
      for (const KernelSpec& kernel : sample_kernels()) expect_pass(padded_case(kernel, width, height, GetParam()));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Size, Width,
                         testing::Values(PixelFormat::r8, PixelFormat::rgb8, PixelFormat::rgba16, PixelFormat::rg16f, PixelFormat::rgba32f),
                         [](const auto& tested) { return std::string(mollify::info(tested.param).name); });

TEST(Height, EveryOneAroundBatchesAndSegments) {
  for (std::int32_t height = 1; height <= 140; height += height >= 20 && height < 60 ? 7 : 1) {
    for (const KernelSpec& kernel : sample_kernels()) {
      expect_pass(padded_case(kernel, 5, height, PixelFormat::rgb8));
      expect_pass(padded_case(kernel, 5, height, PixelFormat::rg32f));
    }
  }
}

TEST(Height, TallImagesCrossManySegments) {
  for (const KernelSpec& kernel : sample_kernels()) expect_pass(padded_case(kernel, 3, 1500, PixelFormat::r32f));
}

TEST(Radius, NoneOneAndBeyondTheImage) {
  for (const BorderModeInfo& border : border_modes()) {
    for (const PixelFormat format : {PixelFormat::rgba8, PixelFormat::r16, PixelFormat::rg32f}) {
      for (const std::int32_t radius : {0, 1, 6, 7, 8, 13, 14, 15, 40, 1000}) {
        for (const KernelSpec& kernel : {KernelSpec(Box::of_radius(radius, radius)), KernelSpec(Tent{{radius + 0.0, radius + 0.0}}),
                                         KernelSpec(Gaussian{{radius / 3.0 + 0.1, radius / 3.0 + 0.1}, {{radius, radius}}, {}})}) {
          expect_pass(padded_case(kernel, 7, 5, format, border.mode));
        }
      }
    }
  }
}

TEST(Radius, TheLargestOnASmallImage) {
  for (const BorderModeInfo& border : border_modes()) {
    expect_pass(padded_case(Box::of_radius(1 << 20, 1 << 20), 3, 2, PixelFormat::r8, border.mode));
    expect_pass(padded_case(Box::of_radius(1 << 20, 0.5), 2, 3, PixelFormat::r32f, border.mode));
    expect_pass(padded_case(Gaussian{{1e5, 0.0}, {}, {}}, 5, 1, PixelFormat::rgba16, border.mode));
  }
}

/// Sums of windows many times the image, which are cheaper than all its taps, and coarse samples of sigmas that are larger than it.
TEST(Radius, ManyTimesTheImage) {
  for (const BorderModeInfo& border : border_modes()) {
    for (Case c : {padded_case(Box::of_radius(30000, 7000), 50, 40, PixelFormat::rgba8, border.mode),
                   padded_case(Box::of_radius(5000, 900.25), 33, 21, PixelFormat::rg32f, border.mode)}) {
      c.algorithm.id = "box.any";
      expect_pass(c);
    }
    Case c = padded_case(Gaussian{{2000, 1000}, {}, {}}, 90, 50, PixelFormat::r32f, border.mode);
    c.algorithm.id = "gauss.decimate";
    expect_pass(c);
  }
}

TEST(Sums, OfLongWindowsDoNotOverflow) {
  // White 16-bit images: (2r + 1)^2 * 65535 passes 2^32 from r = 128 on, 8-bit ones from r = 2051 on.
  for (const auto& [radius, format] : {std::pair{130, PixelFormat::r16}, {2060, PixelFormat::r8}}) {
    const Pixels white = Pixels::constant({300, 300, format}, 1.0);
    const Pixels result = blurred(spec_of(Box::of_radius(radius, radius)), white.view(), {format, {}, 2});
    EXPECT_EQ(result, white) << radius;
  }
}

TEST(Inset, RectanglesSeeTheirNeighbours) {
  for (const std::int32_t inset : {0, 1, 13}) {
    for (const KernelSpec& kernel : sample_kernels()) {
      for (const PixelFormat format : {PixelFormat::rgb8, PixelFormat::rgba16f}) {
        Case c = padded_case(kernel, 61, 43, format, BorderMode::wrap);
        c.spec.roi = Rect{inset, inset, c.src.width - 2 * inset, c.src.height - 2 * inset};
        c.dst = destination_desc(c.spec, c.src, format);
        expect_pass(c);
        c.layout = Layout::in_place;
        expect_pass(c);
      }
    }
  }
}

TEST(Inset, OnePixelAnywhere) {
  for (const KernelSpec& kernel : sample_kernels()) {
    for (std::int32_t x = 0; x < 9; ++x) {
      for (std::int32_t y = 0; y < 7; ++y) {
        Case c = padded_case(kernel, 9, 7, PixelFormat::r32f, BorderMode::constant);
        c.spec.roi = Rect{x, y, 1, 1};
        c.dst = {1, 1, PixelFormat::r32f};
        expect_pass(c);
      }
    }
  }
}

}  // namespace
}  // namespace mollify::test
