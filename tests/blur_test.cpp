// The one call, and what it keeps.
#include <gtest/gtest.h>

#include <cstdlib>

#include "support.h"

namespace mollify::test {
namespace {

const ImageDesc kDesc{64, 48, PixelFormat::rgba8};

/// Destroyed after everything that blur() has made.
struct AtExit {
  bool used = false;
  ~AtExit() {
    if (!used) return;
    const Pixels src(kDesc);
    Pixels dst(kDesc);
    for (const KernelSpec& kernel : {KernelSpec(Box::of_radius(3, 3)), KernelSpec(Gaussian{{9, 7}, {}, {}})}) {  // known, and planned anew
      if (!blur(src.view(), dst.view(), spec_of(kernel))) std::_Exit(1);
    }
  }
} at_exit;

TEST(Blur, StillWorksWhereMainHasReturned) {
  const Pixels src(kDesc);
  Pixels dst(kDesc);
  ASSERT_TRUE(blur(src.view(), dst.view(), spec_of(Box::of_radius(3, 3))).ok());
  at_exit.used = true;
}

TEST(Blur, IsTheSameWhenItBeginsAnew) {
  const Pixels src = Pixels::random(kDesc);
  const BlurSpec spec = spec_of(Gaussian{{2, 3}, {}, {}});
  Pixels first(kDesc), second(kDesc);
  ASSERT_TRUE(blur(src.view(), first.view(), spec).ok());
  clear_blur_cache();
  ASSERT_TRUE(blur(src.view(), second.view(), spec).ok());
  EXPECT_EQ(first, second);
}

TEST(Blur, OfARegionInPlaceIsThatOfTheRegion) {
  BlurSpec spec = spec_of(Gaussian{{4, 4}, {}, {}});
  spec.roi = Rect{20, 10, 30, 25};
  const ImageDesc part{30, 25, kDesc.format};
  const Pixels src = Pixels::random(kDesc);
  Pixels apart(part);
  ASSERT_TRUE(blur(src.view(), apart.view(), spec).ok());
  Pixels whole = src;
  ASSERT_TRUE(blur(whole.view(), crop(whole.view(), *spec.roi), spec).ok());
  for (std::int32_t y = 0; y < kDesc.height; ++y) {
    for (std::int32_t x = 0; x < kDesc.width; ++x) {
      const bool inside = x >= 20 && x < 50 && y >= 10 && y < 35;
      ASSERT_EQ(whole.at(x, y), inside ? apart.at(x - 20, y - 10) : src.at(x, y)) << x << ", " << y;
    }
  }
}

}  // namespace
}  // namespace mollify::test
