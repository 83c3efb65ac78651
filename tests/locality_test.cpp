// A NaN or an infinity stays where a window holds it.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support.h"

namespace mollify::test {
namespace {

constexpr std::int32_t kWidth = 90;
constexpr std::int32_t kHeight = 170;

struct Reach {
  KernelSpec kernel;
  std::int32_t left, right, up, down;  ///< a pixel (x, y) reaches outputs (x - right .. x + left, y - down .. y + up)
};

std::vector<Reach> reaches() {
  return {{Gaussian{{2, 1}, {{6, 3}}, {}}, 6, 6, 3, 3},
          {Box::of_radius(4, 7), 4, 4, 7, 7},
          {Box::of_radius(2.5, 1.25), 3, 3, 2, 2},
          {Box{{{1, 5}, {0, 3}}}, 1, 5, 0, 3},
          {Box::of_radius(20, 66), 20, 20, 66, 66},
          {Tent{{3, 2}}, 3, 3, 2, 2},
          {Matrix{3, 2, {1, 2, 3, -1, 5, 2}, {2, 0}, Normalization::unit_sum}, 2, 0, 0, 1}};
}

void expect_local(double bad, PixelFormat format, std::int32_t bad_x, std::int32_t bad_y) {
  for (const Reach& reach : reaches()) {
    const Pixels clean = Pixels::random({kWidth, kHeight, format}, 2);
    Pixels dirty = clean;
    dirty.set(bad_x, bad_y, 0, bad);
    const BlurSpec spec = spec_of(reach.kernel);
    for (const AlgorithmInfo& algorithm : algorithms()) {
      const AlgorithmChoice choice{std::string(algorithm.id), {}};
      if (!make_plan(spec, clean.desc(), clean.desc(), cpu().info(), {choice, Overlap::none}).ok()) continue;
      const Pixels expected = blurred(spec, clean.view(), {format, choice, 2});
      const Pixels result = blurred(spec, dirty.view(), {format, choice, 2});
      std::int32_t spread = 0;
      for (std::int32_t y = 0; y < kHeight; ++y) {
        for (std::int32_t x = 0; x < kWidth; ++x) {
          const bool reached = x >= bad_x - reach.right && x <= bad_x + reach.left && y >= bad_y - reach.down && y <= bad_y + reach.up;
          for (int c = 0; c < info(format).channels; ++c) {
            if (!reached || c != 0) {
              spread += result.at(x, y, c) == expected.at(x, y, c) ? 0 : 1;
            } else {
              EXPECT_FALSE(std::isfinite(result.at(x, y, c))) << algorithm.id << " hides it at " << x << ", " << y;
            }
          }
        }
      }
      EXPECT_EQ(spread, 0) << algorithm.id << ": values changed out of reach of (" << bad_x << ", " << bad_y << ")";
    }
  }
}

TEST(Locality, NotANumber) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_local(nan, PixelFormat::r32f, 40, 80);
  expect_local(nan, PixelFormat::rgb32f, 63, 64);
  expect_local(nan, PixelFormat::rg32f, 30, 127);
}

TEST(Locality, Infinity) {
  expect_local(std::numeric_limits<double>::infinity(), PixelFormat::rgba32f, 45, 70);
}

}  // namespace
}  // namespace mollify::test
