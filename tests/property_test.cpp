// What holds for every blur, whatever its definition.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "support.h"

namespace mollify::test {
namespace {

std::vector<KernelSpec> smoothing_kernels() {
  return {Gaussian{{1.5, 3.0}, {}, {}},
          Gaussian{{20, 0}, {}, {}},
          Gaussian{{3, 3}, {{9, 9}}, {}},
          Box::of_radius(1, 1),
          Box::of_radius(40, 7),
          Box::of_radius(2.3, 0.6),
          Box{{{1.5, 2.0}, {0.25, 3.0}}},
          Tent{{2.0, 3.5}},
          Taps{{{1, 4, 6, 4, 1}, 2}, {{3, 7, 1}, 0}, Normalization::unit_sum},
          Matrix{3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 10}, {1, 1}, Normalization::unit_sum}};
}

class EveryFormat : public testing::TestWithParam<PixelFormat> {
 protected:
  static double allowed() { return default_max_error(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Property, EveryFormat, testing::ValuesIn([] {
                           std::vector<PixelFormat> all;
                           for (const FormatInfo& format : formats()) all.push_back(format.format);
                           return all;
                         }()),
                         [](const auto& tested) { return std::string(mollify::info(tested.param).name); });

TEST_P(EveryFormat, AConstantStaysConstant) {
  for (const KernelSpec& kernel : smoothing_kernels()) {
    for (const double value : {0.0, 1.0, 0.2, 0.5019}) {
      const Pixels src = Pixels::constant({67, 21, GetParam()}, value);
      const Pixels result = blurred(spec_of(kernel, BorderMode::reflect), src.view(), {GetParam(), {}, 2});
      if (info(GetParam()).is_unorm()) {
        EXPECT_EQ(result, src) << "value " << value;
      } else {
        const double rounding = info(GetParam()).bits == 16 ? value * 0x1p-11 : 0.0;  // of a half
        for (std::int32_t x = 0; x < 67; ++x) EXPECT_NEAR(result.at(x, 10), src.at(0, 0), allowed() + rounding);
      }
    }
  }
}

TEST_P(EveryFormat, ChannelsDoNotMix) {
  const int channels = info(GetParam()).channels;
  for (const KernelSpec& kernel : smoothing_kernels()) {
    for (int lit = 0; lit < channels; ++lit) {
      Pixels src({40, 9, GetParam()});
      for (std::int32_t x = 10; x < 30; ++x) src.set(x, 4, lit, 1.0);
      const Pixels result = blurred(spec_of(kernel), src.view(), {GetParam(), {}, 2});
      for (std::int32_t x = 0; x < 40; ++x) {
        for (int c = 0; c < channels; ++c) {
          if (c != lit) {
            ASSERT_EQ(result.at(x, 4, c), 0.0);
          }
        }
      }
    }
  }
}

TEST_P(EveryFormat, SameInputSameBits) {
  for (const KernelSpec& kernel : sample_kernels()) {
    const Pixels src = Pixels::random({83, 59, GetParam()});
    const How how{GetParam(), {}, 2};
    EXPECT_EQ(blurred(spec_of(kernel), src.view(), how), blurred(spec_of(kernel), src.view(), how));
  }
}

// What is left of a Gaussian behind its cut weighs a thousandth: noise averages it away, and images that are too small have little of it.
TEST(Property, AConstantStaysConstantThroughCutGaussians) {
  for (const PixelFormat format : {PixelFormat::r32f, PixelFormat::rgba32f}) {
    for (const double sigma : {8.0, 12.5, 20.0, 40.0}) {
      BlurSpec spec = spec_of(Gaussian{.sigma = {sigma, sigma}, .radius = {}, .truncate = 4.0});
      const Pixels src = Pixels::constant({1024, 700, format}, 0.75);
      const Pixels result = blurred(spec, src.view(), {format, {"gauss.cut", {}}, 2});
      for (std::int32_t y = 0; y < 700; y += 3) {
        for (std::int32_t x = 0; x < 1024; ++x) {
          ASSERT_NEAR(result.at(x, y), 0.75, default_max_error(format) / 4.0) << "sigma " << sigma << " at " << x << " " << y;
        }
      }
    }
  }
}

TEST(Property, AnImpulseSumsToOne) {
  for (const KernelSpec& kernel : smoothing_kernels()) {
    Pixels src({201, 101, PixelFormat::r32f});
    src.set(100, 50, 0, 1.0);
    const Pixels result = blurred(spec_of(kernel, BorderMode::wrap), src.view(), {PixelFormat::r32f, {}, 2});
    double sum = 0.0;
    for (std::int32_t y = 0; y < 101; ++y) {
      for (std::int32_t x = 0; x < 201; ++x) sum += result.at(x, y);
    }
    EXPECT_NEAR(sum, 1.0, 1e-4);
  }
}

TEST(Property, SymmetricKernelsAnswerAnImpulseSymmetrically) {
  for (const KernelSpec& kernel :
       {KernelSpec(Gaussian{{2.5, 1.0}, {}, {}}), KernelSpec(Box::of_radius(3.5, 2)), KernelSpec(Tent{{4.5, 2.0}})}) {
    Pixels src({61, 41, PixelFormat::r32f});
    src.set(30, 20, 0, 1.0);
    const Pixels result = blurred(spec_of(kernel), src.view(), {PixelFormat::r32f, {}, 2});
    for (std::int32_t y = 0; y <= 20; ++y) {
      for (std::int32_t x = 0; x <= 30; ++x) {
        ASSERT_NEAR(result.at(x, y), result.at(60 - x, y), 1e-7);
        ASSERT_NEAR(result.at(x, y), result.at(x, 40 - y), 1e-7);
      }
    }
  }
}

TEST(Property, TheBlurIsLinear) {
  const ImageDesc desc{53, 37, PixelFormat::rgb32f};
  for (const KernelSpec& kernel : sample_kernels()) {
    const Pixels a = Pixels::random(desc, 1);
    const Pixels b = Pixels::random(desc, 2);
    Pixels sum(desc);
    for (std::int32_t y = 0; y < desc.height; ++y) {
      for (std::int32_t x = 0; x < desc.width; ++x) {
        for (int c = 0; c < 3; ++c) sum.set(x, y, c, 2.0 * a.at(x, y, c) - 0.5 * b.at(x, y, c));
      }
    }
    const How how{PixelFormat::rgb32f, {}, 2};
    const BlurSpec spec = spec_of(kernel, BorderMode::mirror);
    const Pixels of_a = blurred(spec, a.view(), how);
    const Pixels of_b = blurred(spec, b.view(), how);
    const Pixels of_sum = blurred(spec, sum.view(), how);
    for (std::int32_t y = 0; y < desc.height; ++y) {
      for (std::int32_t x = 0; x < desc.width; ++x) {
        for (int c = 0; c < 3; ++c) {
          const double expected = 2.0 * of_a.at(x, y, c) - 0.5 * of_b.at(x, y, c);
          ASSERT_NEAR(of_sum.at(x, y, c), expected, 1e-3);
        }
      }
    }
  }
}

Pixels flipped(const Pixels& image, bool horizontally, bool vertically) {
  const ImageDesc& desc = image.desc();
  Pixels result(desc);
  for (std::int32_t y = 0; y < desc.height; ++y) {
    for (std::int32_t x = 0; x < desc.width; ++x) {
      for (int c = 0; c < info(desc.format).channels; ++c) {
        const std::int32_t from_x = horizontally ? desc.width - 1 - x : x;
        const std::int32_t from_y = vertically ? desc.height - 1 - y : y;
        result.set(x, y, c, image.at(from_x, from_y, c));
      }
    }
  }
  return result;
}

TEST(Property, FlipsCommuteWithSymmetricKernels) {
  const Pixels src = Pixels::random({45, 31, PixelFormat::rgba16});
  for (const BorderModeInfo& border : border_modes()) {
    for (const KernelSpec& kernel : {KernelSpec(Gaussian{{2.5, 1.0}, {}, {}}), KernelSpec(Box::of_radius(3.5, 2)),
                                     KernelSpec(Box::of_radius(60, 1)), KernelSpec(Tent{{4.5, 2.0}})}) {
      const BlurSpec spec = spec_of(kernel, border.mode);
      const How how{PixelFormat::rgba16, {}, 2};
      for (const auto& [horizontally, vertically] : {std::pair{true, false}, {false, true}, {true, true}}) {
        const Pixels flipped_first = blurred(spec, flipped(src, horizontally, vertically).view(), how);
        const Pixels blurred_first = flipped(blurred(spec, src.view(), how), horizontally, vertically);
        for (std::int32_t y = 0; y < 31; ++y) {
          for (std::int32_t x = 0; x < 45; ++x) {
            for (int c = 0; c < 4; ++c) {  // both within the accuracy of the exact result, plus rounding
              ASSERT_NEAR(flipped_first.at(x, y, c), blurred_first.at(x, y, c), 2e-4 + 1.0 / 65535.0) << border.name;
            }
          }
        }
      }
    }
  }
}

TEST(Property, NothingBrightensOrDarkens) {
  // A normalised kernel without negative weights stays within the range of what it averages.
  const Pixels src = Pixels::random({120, 80, PixelFormat::r32f}, 2);
  double low = HUGE_VAL;
  double high = -HUGE_VAL;
  for (std::int32_t y = 0; y < 80; ++y) {
    for (std::int32_t x = 0; x < 120; ++x) {
      low = std::min(low, src.at(x, y));
      high = std::max(high, src.at(x, y));
    }
  }
  for (const KernelSpec& kernel : smoothing_kernels()) {
    const Pixels result = blurred(spec_of(kernel), src.view(), {PixelFormat::r32f, {}, 2});
    for (std::int32_t y = 0; y < 80; ++y) {
      for (std::int32_t x = 0; x < 120; ++x) {
        ASSERT_GE(result.at(x, y), low - 1e-5);
        ASSERT_LE(result.at(x, y), high + 1e-5);
      }
    }
  }
}

TEST(Property, ABoxOverManyRowsDoesNotDrift) {
  // Bright rows, then darkness: a running sum in floats would remember them.
  Pixels src({8, 3000, PixelFormat::r32f});
  for (std::int32_t y = 0; y < 100; ++y) {
    for (std::int32_t x = 0; x < 8; ++x) src.set(x, y, 0, 1e6 + 0.37 * x);
  }
  const Pixels result = blurred(spec_of(Box::of_radius(2, 9)), src.view(), {PixelFormat::r32f, {}, 2});
  for (std::int32_t y = 110; y < 3000; ++y) ASSERT_EQ(result.at(3, y), 0.0) << "row " << y;
}

}  // namespace
}  // namespace mollify::test
