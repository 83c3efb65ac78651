// Boxes where they are easily wrong: small differences of large numbers, and windows beyond the image.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "cases/compare.h"
#include "cases/random.h"
#include "reference/reference.h"
#include "support.h"

namespace mollify::test {
namespace {

/// `base` and noise of about `spread`, as terrain in metres is.
Pixels terrain(PerAxis<std::int32_t> size, double base, double spread) {
  cases::Random random(11);
  Pixels image({size.x, size.y, PixelFormat::r32f});
  for (std::int32_t y = 0; y < size.y; ++y) {
    for (std::int32_t x = 0; x < size.x; ++x) image.set(x, y, 0, base + random.uniform(-spread, spread));
  }
  return image;
}

/// The largest error in units in the last place; between powers of two those of the longer step, as a result just above one has.
double worst_ulp(const BlurSpec& spec, const Pixels& source) {
  const Pixels result = blurred(spec, source.view(), {PixelFormat::r32f, {}, 2});
  const std::vector<double> exact = reference_blur(spec, source.view()).value();
  double worst = 0.0;
  for (std::int32_t y = 0; y < source.desc().height; ++y) {
    for (std::int32_t x = 0; x < source.desc().width; ++x) {
      const double e = exact[static_cast<std::size_t>(y) * static_cast<std::size_t>(source.desc().width) + static_cast<std::size_t>(x)];
      const double unit = std::ldexp(1.0, std::max(std::ilogb(e), std::ilogb(result.at(x, y))) - 23);
      worst = larger_error(worst, std::abs(result.at(x, y) - e) / unit);
    }
  }
  return worst;
}

/// Windows of three pixels are sums of f32, whose errors come to a hair more.
TEST(BoxEdges, MeansOfTerrainAreWithinTwoUnitsInTheLastPlace) {
  for (const std::int32_t size : {5, 6, 7, 10, 11, 19, 40, 41, 128, 129, 401}) {
    const BlurSpec spec = spec_of(Box::of_size({size, size}, {size / 2, size / 2}));
    EXPECT_LE(worst_ulp(spec, terrain({450, 210}, 2800.0, 5.0)), 2.0) << size;
    EXPECT_LE(worst_ulp(spec, terrain({450, 210}, 1e4, 0.01)), 2.0) << size;
    EXPECT_LE(worst_ulp(spec, terrain({450, 210}, -500.0, 30.0)), 2.0) << size;
  }
}

TEST(BoxEdges, WindowsBelowAtAndAboveTheLengthOfTheImage) {
  cases::Random random(3);
  for (const PerAxis<std::int32_t> size : {PerAxis<std::int32_t>{1, 40}, {40, 1}, {3, 40}, {40, 3}, {2, 2}, {1, 1}, {150, 5}}) {
    for (const BorderModeInfo& x : border_modes()) {
      for (const BorderModeInfo& y : border_modes()) {
        for (const double radius : {38.0, 39.0, 40.0, 79.5, 241.0, 1000.25}) {
          const double right = random.one_in(3) ? 0.0 : radius;
          const double above = random.one_in(3) ? 0.0 : radius;
          BlurSpec spec = spec_of(Box{{{radius, right}, {above, radius}}});
          spec.border.mode = {x.mode, y.mode};
          spec.border.value = {0.7, 0.2, 0.9, 1.0};
          const PixelFormat format = random.pick(std::array{PixelFormat::r32f, PixelFormat::rgba8, PixelFormat::rg16f, PixelFormat::rgb16});
          if (random.one_in(3)) spec.roi = Rect{size.x / 2, size.y / 3, size.x - size.x / 2, size.y - size.y / 3};
          const Pixels source = Pixels::random({size.x, size.y, format}, 5, spec);
          const How how{format, {"box.any", {}}, 2};
          const Plan plan = prepared(spec, source.desc(), how).plan();
          const Pixels result = blurred(spec, source.view(), how);
          const auto judged = cases::compare_with_reference(spec, source.view(), result.view());
          EXPECT_LE(judged->max_error, plan.predicted_error)
              << size.x << "x" << size.y << " " << x.name << "+" << y.name << " radius " << radius << ": " << judged->worst;
        }
      }
    }
  }
}

TEST(BoxEdges, WindowsMuchWiderThanTheImageCostWhatTheImageCosts) {
  for (const PerAxis<std::int32_t> size : {PerAxis<std::int32_t>{1, 100000}, {100000, 1}}) {
    for (const BorderModeInfo& border : border_modes()) {
      const BlurSpec spec = spec_of(Box::of_radius(1000000, 1000000), border.mode);
      const auto start = std::chrono::steady_clock::now();
      (void)blurred(spec, Pixels::random({size.x, size.y, PixelFormat::r8}).view(), {PixelFormat::r8, {}, 2});
      // 100000 windows of 2000001 pixels would take minutes.
      EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10)) << size.x << "x" << size.y << " " << border.name;
    }
  }
}

/// What lies beyond the image on one side is no part of a window that is far wider than the image on the other side.
TEST(BoxEdges, WideWindowsOfOneSideDoNotReachTheOther) {
  constexpr std::int32_t kLength = 11;
  for (const BorderMode mode : {BorderMode::clamp, BorderMode::constant}) {
    for (const bool along_x : {true, false}) {
      for (const bool backward : {true, false}) {
        const BoxExtent wide = backward ? BoxExtent{4.0 * kLength, 0} : BoxExtent{0, 4.0 * kLength};
        const BoxExtent none{0, 0};
        const BlurSpec spec = spec_of(along_x ? Box{{wide, none}} : Box{{none, wide}}, mode);
        Pixels source = Pixels::random({along_x ? kLength : 1, along_x ? 1 : kLength, PixelFormat::r32f});
        const auto at = [&](std::int32_t i) { return along_x ? std::pair(i, 0) : std::pair(0, i); };
        const auto [bad_x, bad_y] = at(backward ? kLength - 1 : 0);
        source.set(bad_x, bad_y, 0, std::numeric_limits<double>::quiet_NaN());
        const Pixels result = blurred(spec, source.view(), {PixelFormat::r32f, {"box.any", {}}, 2});
        const std::vector<double> exact = reference_blur(spec, source.view()).value();
        for (std::int32_t i = 0; i < kLength; ++i) {
          const auto [x, y] = at(i);
          const double e = exact[static_cast<std::size_t>(i)];
          EXPECT_EQ(std::isnan(result.at(x, y)), std::isnan(e)) << i;
          if (!std::isnan(e)) {
            EXPECT_NEAR(result.at(x, y), e, 1e-6) << i;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace mollify::test
