#include "wide_support.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <string>

#include "cases/random.h"

namespace mollify::test {
namespace {

using cases::Case;
using cases::Random;

/// On an axis, half of a window of 1.2 to 50 lengths of the image.
double wide_radius(Random& random, std::int32_t length) {
  return 0.5 * length * std::exp(random.uniform(std::log(1.2), std::log(50.0)));
}

KernelSpec wide_kernel(Random& random, PerAxis<std::int32_t> size) {
  const auto radius = [&](std::int32_t length) { return wide_radius(random, length); };
  const auto whole = [&](std::int32_t length) { return std::ceil(radius(length)); };
  switch (random.below(5)) {
    case 0:
      return Box::of_radius(whole(size.x), whole(size.y));
    case 1: {
      // On one side no wider than the image.
      const auto extent = [&](std::int32_t length) {
        const double narrow = random.uniform(0.0, length);
        return random.one_in(2) ? BoxExtent{narrow, radius(length)} : BoxExtent{2.0 * radius(length), std::floor(narrow)};
      };
      return Box{{extent(size.x), extent(size.y)}};
    }
    case 2:
      return Gaussian{{radius(size.x), radius(size.y)}, {}, {}};
    case 3: {
      const PerAxis<double> reach{whole(size.x), whole(size.y)};
      const double sigmas = random.uniform(1.0, 4.0);
      return Gaussian{{reach.x / sigmas, reach.y / sigmas}, {{static_cast<std::int32_t>(reach.x), static_cast<std::int32_t>(reach.y)}}, {}};
    }
    default:
      return Tent{{radius(size.x), radius(size.y)}};
  }
}

Case wide_case(Random& random, BorderMode mode) {
  using enum PixelFormat;
  constexpr std::array kFormats = {r8, rgba8, rg8, rg16, r16f, rgba16f, r32f, rgba32f};
  constexpr std::array kLengths = {1, 2, 7, 33, 64, 101, 250, 400};
  Case c;
  c.src = {random.pick(kLengths), random.pick(kLengths), random.pick(kFormats)};
  c.dst = c.src;
  c.spec = spec_of(wide_kernel(random, {c.src.width, c.src.height}), mode);
  c.spec.border.value = {0.3, 0.9, 0.2, 1.0};
  c.seed = random.next() >> 32;
  return c;
}

}  // namespace

void expect_wide_kernels_right(const Device& device, int cases) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < cases && !testing::Test::HasFailure(); ++i) {
    for (const BorderMode mode : kBorderModes) expect_pass(wide_case(random, mode), device);
  }
}

}  // namespace mollify::test
