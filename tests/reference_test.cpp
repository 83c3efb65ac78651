// The reference against numbers worked out by hand and identities that hold whatever computes them.
#include "reference/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "reference/pixel.h"
#include "reference/weights.h"
#include "support.h"

namespace mollify::test {
namespace {

using reference::Separable;

Pixels row_image(std::initializer_list<double> values) {
  Pixels image({static_cast<std::int32_t>(values.size()), 1, PixelFormat::r32f});
  std::int32_t x = 0;
  for (const double value : values) image.set(x++, 0, 0, value);
  return image;
}

std::vector<double> reference_of(const BlurSpec& spec, const Pixels& image) {
  const Result<std::vector<double>> result = reference_blur(spec, image.view());
  EXPECT_TRUE(result.ok()) << result.error().message;
  return result.ok() ? *result : std::vector<double>{};
}

void expect_near(const std::vector<double>& got, const std::vector<double>& expected, double tolerance = 1e-14) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], tolerance) << "element " << i;
}

BlurSpec x_taps(std::vector<double> weights, std::int32_t anchor, BorderMode mode) {
  return spec_of(Taps{{std::move(weights), anchor}, {}, Normalization::none}, mode);
}

std::vector<double> x_weights(const KernelSpec& kernel) {
  return std::get<Separable>(reference::kernel_of(kernel)).x.weights;
}

TEST(Reference, BoxOfThreeByHand) {
  const Pixels image = row_image({3, 6, 12});
  const auto blur = [&](BorderMode mode) { return reference_of(spec_of(Box::of_radius(1, 0), mode), image); };
  expect_near(blur(BorderMode::clamp), {4, 7, 10});
  expect_near(blur(BorderMode::mirror), {5, 7, 8});
  expect_near(blur(BorderMode::reflect), {4, 7, 10});
  expect_near(blur(BorderMode::wrap), {7, 7, 7});
  expect_near(blur(BorderMode::constant), {3, 7, 6});
}

TEST(Reference, TapsAreCorrelationAroundTheAnchor) {
  const Pixels image = row_image({1, 10, 100});
  expect_near(reference_of(x_taps({2, 3, 5}, 0, BorderMode::constant), image), {532, 320, 200});
  expect_near(reference_of(x_taps({2, 3, 5}, 2, BorderMode::constant), image), {5, 53, 532});
}

TEST(Reference, FractionalBoxGivesItsEndsTheFraction) {
  expect_near(x_weights(Box::of_radius(1.5, 0)), {0.125, 0.25, 0.25, 0.25, 0.125});
  expect_near(x_weights(Box{{{0.5, 1.0}, {0, 0}}}), {0.2, 0.4, 0.4});
  expect_near(x_weights(Box::of_size({4, 1}, {1, 0})), {0.25, 0.25, 0.25, 0.25});
  EXPECT_EQ(std::get<Separable>(reference::kernel_of(Box::of_size({4, 1}, {1, 0}))).x.first, -1);
}

TEST(Reference, TentByHand) {
  expect_near(x_weights(Tent{{1, 0}}), {0.25, 0.5, 0.25});
  expect_near(x_weights(Tent{{0.5, 0}}), {0.5 / 2.5, 1.5 / 2.5, 0.5 / 2.5});
}

TEST(Reference, GaussianIsTheSampledNormalisedOne) {
  const double w1 = std::exp(-0.125);
  expect_near(x_weights(Gaussian{{2, 2}, {{1, 1}}, {}}), {w1 / (1 + 2 * w1), 1 / (1 + 2 * w1), w1 / (1 + 2 * w1)});
  EXPECT_EQ(x_weights(Gaussian{{3, 3}, {}, {}}).size(), 49U);              // 8 sigma on either side
  EXPECT_EQ(x_weights(Gaussian{{1.3, 1}, {}, 4.0}).size(), 2U * 5U + 1U);  // floor(5.2 + 0.5)
  EXPECT_EQ(x_weights(Gaussian{{1.4, 1}, {}, 4.0}).size(), 2U * 6U + 1U);  // floor(5.6 + 0.5)
  expect_near(x_weights(Gaussian{{0, 1}, {{4, 4}}, {}}), {1});
}

TEST(Reference, StrideByHand) {
  const Pixels image = row_image({1, 2, 4, 8, 16});
  const auto blur = [&](const KernelSpec& kernel, Stride stride, std::optional<Rect> roi = {}) {
    BlurSpec spec = spec_of(kernel, BorderMode::clamp);
    spec.stride.x = stride;
    spec.roi = roi;
    return reference_of(spec, image);
  };
  const Taps itself;
  expect_near(blur(itself, {2, 0}), {1, 4, 16});
  expect_near(blur(itself, {2, 2}), {2, 8, 16});
  expect_near(blur(itself, {3, 4}), {4, 16});
  expect_near(blur(itself, {2, 0}, Rect{1, 0, 3, 1}), {2, 8});
  const Gaussian point{{0, 0}, {}, {}};
  expect_near(blur(point, Stride::of_blocks(2)), {1.5, 6, 16}, 0);  // the last block is cut by the edge
  expect_near(blur(Box::of_radius(0, 0), {2, 3}), {3, 12, 16});
  expect_near(blur(Box::of_size({2, 1}, {0, 0}), {2, 0}), {1.5, 6, 16});
  expect_near(blur(Box::of_radius(1, 0), {4, 3}), {(1 * 0.5 + 2 + 4 + 8 * 0.5) / 3, 16});
}

TEST(Reference, KernelsBetweenPixelsByHand) {
  const auto weights = [](const KernelSpec& kernel) { return std::get<Separable>(reference::kernel_of(kernel, {{2, 1}, {}})).x; };
  EXPECT_EQ(weights(Gaussian{{0, 0}, {}, {}}).first, 0);
  expect_near(weights(Gaussian{{0, 0}, {}, {}}).weights, {0.5, 0.5});
  expect_near(weights(Gaussian{{1e-3, 1}, {{1, 1}}, {}}).weights, {0, 0.5, 0.5, 0});
  const double far = std::exp(-0.5 * (1.5 * 1.5 - 0.5 * 0.5) / 4.0);  // beside the nearest
  expect_near(weights(Gaussian{{2, 1}, {{1, 1}}, {}}).weights,
              {far / (2 + 2 * far), 1 / (2 + 2 * far), 1 / (2 + 2 * far), far / (2 + 2 * far)});
  EXPECT_EQ(weights(Gaussian{{2, 1}, {{1, 1}}, {}}).first, -1);
  expect_near(weights(Tent{{1, 0}}).weights, {0.5 / 4, 1.5 / 4, 1.5 / 4, 0.5 / 4});
  EXPECT_EQ(weights(Tent{{1, 0}}).first, -1);
  expect_near(weights(Box{{{1, 0.25}, {0, 0}}}).weights, {0.5 / 2.25, 1 / 2.25, 0.75 / 2.25});
  EXPECT_EQ(weights(Box{{{1, 0.25}, {0, 0}}}).first, -1);
  expect_near(weights(Box{{{0.5, 0.5}, {0, 0}}}).weights, {0.5, 0.5});
}

TEST(Reference, GaussianHasItsVariance) {
  const std::vector<double> weights = x_weights(Gaussian{{5, 5}, {}, {}});
  const auto radius = static_cast<double>(weights.size() / 2);
  double sum = 0.0;
  double variance = 0.0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double offset = static_cast<double>(i) - radius;
    sum += weights[i];
    variance += weights[i] * offset * offset;
  }
  EXPECT_NEAR(sum, 1.0, 1e-14);
  EXPECT_NEAR(variance, 25.0, 1e-10);
}

TEST(Reference, MatrixByHand) {
  Pixels image({2, 2, PixelFormat::r32f});
  image.set(0, 0, 0, 1);
  image.set(1, 0, 0, 2);
  image.set(0, 1, 0, 3);
  image.set(1, 1, 0, 4);
  Matrix matrix{2, 2, {1, 10, 100, 1000}, {0, 0}, Normalization::none};
  expect_near(reference_of(spec_of(matrix, BorderMode::constant), image), {4321, 402, 43, 4});
  matrix.anchor = {1, 1};
  expect_near(reference_of(spec_of(matrix, BorderMode::constant), image), {1000, 2100, 3010, 4321});
  matrix.normalization = Normalization::unit_sum;
  expect_near(reference_of(spec_of(matrix, BorderMode::clamp), image), {1, 2121. / 1111., 3311. / 1111., 4321. / 1111.});
}

TEST(Reference, APixelOutsideOnAnyConstantAxisIsTheValue) {
  Pixels image({1, 1, PixelFormat::r32f});
  image.set(0, 0, 0, 1);
  BlurSpec spec = spec_of(Matrix{3, 3, {1, 1, 1, 1, 1, 1, 1, 1, 1}, {1, 1}, Normalization::none});
  spec.border = {{BorderMode::constant, BorderMode::clamp}, {10, 0, 0, 0}};
  expect_near(reference_of(spec, image), {3 * 1 + 6 * 10});
  spec.border.mode = {BorderMode::clamp, BorderMode::constant};
  expect_near(reference_of(spec, image), {3 * 1 + 6 * 10});
  spec.border.mode = {BorderMode::constant, BorderMode::constant};
  expect_near(reference_of(spec, image), {1 + 8 * 10});
  spec.kernel = Box::of_radius(1, 1);
  expect_near(reference_of(spec, image), {81.0 / 9.0});
}

TEST(Reference, BorderValueIsRoundedToTheSourceFormat) {
  const BlurSpec shift = [] {
    BlurSpec spec = x_taps({0, 1}, 0, BorderMode::constant);
    spec.border.value = {0.3, 0, 0, 0};
    return spec;
  }();
  expect_near(reference_of(shift, Pixels({1, 1, PixelFormat::r8})), {76.0 / 255.0});        // 0.3 * 255 = 76.5, to even
  expect_near(reference_of(shift, Pixels({1, 1, PixelFormat::r16})), {19660.0 / 65535.0});  // 19660.5
  expect_near(reference_of(shift, Pixels({1, 1, PixelFormat::r16f})), {0.300048828125});
  expect_near(reference_of(shift, Pixels({1, 1, PixelFormat::r32f})), {static_cast<double>(0.3F)});
}

TEST(Reference, SeparableKernelsEqualTheirMatrix) {
  const Taps taps{{{1, -2, 4}, 0}, {{3, 5}, 1}, Normalization::none};
  const Matrix matrix{3, 2, {3, -6, 12, 5, -10, 20}, {0, 1}, Normalization::none};
  const Pixels image = Pixels::random({5, 4, PixelFormat::rg32f});
  for (const BorderModeInfo& x : border_modes()) {
    for (const BorderModeInfo& y : border_modes()) {
      BlurSpec spec = spec_of(taps);
      spec.border = {{x.mode, y.mode}, {0.5, -1, 0, 0}};
      const std::vector<double> separable = reference_of(spec, image);
      spec.kernel = matrix;
      expect_near(separable, reference_of(spec, image), 1e-12);
    }
  }
}

TEST(Reference, KernelsLongerThanTheImageSumUpWhatTheBorderRepeats) {
  // More taps than pixels: held against a copy of the image that is wide enough to need no border.
  const std::vector<double> weights{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const std::vector<double> values{2, 3, 7};
  const Pixels image = row_image({2, 3, 7});
  for (const BorderModeInfo& row : border_modes()) {
    std::vector<double> expected;
    for (int x = 0; x < 3; ++x) {
      double sum = 0.0;
      for (int i = 0; i < 11; ++i) {
        const std::int64_t index = reference::source_index(row.mode, x + i - 4, 3);
        sum += weights[i] * (index < 0 ? 0.0 : values[index]);
      }
      expected.push_back(sum);
    }
    expect_near(reference_of(x_taps(weights, 4, row.mode), image), expected, 1e-12);
  }
}

TEST(Reference, RegionIsACropAndAtIsOnePixel) {
  const Pixels image = Pixels::random({19, 11, PixelFormat::rgba8});
  for (const KernelSpec& kernel : sample_kernels()) {
    BlurSpec spec = spec_of(kernel, BorderMode::mirror);
    const std::vector<double> whole = reference_of(spec, image);
    spec.roi = Rect{4, 3, 9, 6};
    const std::vector<double> part = reference_of(spec, image);
    for (int y = 0; y < 6; ++y) {
      for (int x = 0; x < 9; ++x) {
        const auto pixel = reference_at(spec, image.view(), x, y);
        ASSERT_TRUE(pixel.ok());
        for (int c = 0; c < 4; ++c) {
          const double expected = whole[((y + 3) * 19 + x + 4) * 4 + c];
          EXPECT_NEAR(part[(y * 9 + x) * 4 + c], expected, 1e-14);
          EXPECT_NEAR((*pixel)[c], expected, 1e-14);
        }
      }
    }
  }
}

TEST(Reference, PremultipliesAndDivides) {
  Pixels image({2, 1, PixelFormat::rg32f});
  image.set(0, 0, 0, 0.8);
  image.set(0, 0, 1, 0.25);
  image.set(1, 0, 0, 0.2);
  image.set(1, 0, 1, 0.75);
  BlurSpec spec = spec_of(Taps{{{0.5, 0.5}, 0}, {}, Normalization::none});
  spec.alpha = AlphaMode::premultiply;
  expect_near(reference_of(spec, image), {(0.8 * 0.25 + 0.2 * 0.75) / 1.0, 0.5, 0.2, 0.75}, 1e-7);
}

TEST(Reference, ColourOfAlphaZeroIsZero) {
  Pixels image({1, 1, PixelFormat::rgba8});
  for (int c = 0; c < 3; ++c) image.set(0, 0, c, 1);
  BlurSpec spec = spec_of(Box::of_radius(1, 1));
  spec.alpha = AlphaMode::premultiply;
  spec.transfer = TransferFunction::srgb;
  expect_near(reference_of(spec, image), {0, 0, 0, 0});
}

TEST(Reference, SrgbIsBlurredInLinearLight) {
  // Half black, half white is 0.5 in linear light: 188 of 255 when encoded.
  const Pixels image = row_image({0, 1});
  BlurSpec spec = spec_of(Taps{{{0.5, 0.5}, 0}, {}, Normalization::none}, BorderMode::wrap);
  spec.transfer = TransferFunction::srgb;
  const std::vector<double> result = reference_of(spec, image);
  EXPECT_NEAR(result[0] * 255.0, 187.516, 1e-3);
}

TEST(Reference, SrgbAlphaStaysLinear) {
  Pixels image({2, 1, PixelFormat::rg32f});
  image.set(0, 0, 0, 0.5);
  image.set(0, 0, 1, 0.5);
  image.set(1, 0, 0, 0.5);
  image.set(1, 0, 1, 1.0);
  BlurSpec spec = spec_of(Taps{{{0.5, 0.5}, 0}, {}, Normalization::none});
  spec.transfer = TransferFunction::srgb;
  spec.alpha = AlphaMode::premultiply;
  const std::vector<double> result = reference_of(spec, image);
  EXPECT_NEAR(result[0], 0.5, 1e-12);
  EXPECT_NEAR(result[1], 0.75, 1e-12);
}

TEST(Reference, SrgbCurveIsOddContinuousAndInvertible) {
  EXPECT_NEAR(reference::srgb_decode(0.04045), 0.0031308, 1e-7);
  EXPECT_NEAR(reference::srgb_decode(0.5), 0.21404114048, 1e-10);
  EXPECT_EQ(reference::srgb_decode(1.0), 1.0);
  for (double v = -2.0; v <= 2.0; v += 0.01) {
    EXPECT_EQ(reference::srgb_decode(-v), -reference::srgb_decode(v));
    EXPECT_NEAR(reference::srgb_encode(reference::srgb_decode(v)), v, 3e-8) << v;  // the standard's own rounded constants
  }
}

TEST(Reference, HalfDecodesEveryBitPattern) {
  EXPECT_EQ(reference::decode_half(0x3C00), 1.0);
  EXPECT_EQ(reference::decode_half(0xC000), -2.0);
  EXPECT_EQ(reference::decode_half(0x7BFF), 65504.0);
  EXPECT_EQ(reference::decode_half(0x0001), std::ldexp(1.0, -24));
  EXPECT_EQ(reference::decode_half(0x0400), std::ldexp(1.0, -14));
  EXPECT_EQ(reference::decode_half(0x7C00), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(reference::decode_half(0x7C01)));
  for (std::uint32_t bits = 0; bits < 0x7C00; ++bits) {  // a half is its own nearest half
    const double value = reference::decode_half(static_cast<std::uint16_t>(bits));
    ASSERT_EQ(reference::round_to_half(value), value);
  }
}

TEST(Reference, HalfRoundsToNearestEven) {
  EXPECT_EQ(reference::round_to_half(1.0 + std::ldexp(1.0, -11)), 1.0);
  EXPECT_EQ(reference::round_to_half(1.0 + std::ldexp(3.0, -11)), 1.0 + std::ldexp(1.0, -9));
  EXPECT_EQ(reference::round_to_half(std::ldexp(1.0, -25)), 0.0);
  EXPECT_EQ(reference::round_to_half(65519.0), 65504.0);
  EXPECT_EQ(reference::round_to_half(65520.0), std::numeric_limits<double>::infinity());
}

TEST(Reference, BadRequestsAreErrors) {
  const Pixels image = Pixels::random({4, 4, PixelFormat::rgb8});
  BlurSpec spec;
  spec.roi = Rect{2, 0, 3, 1};
  EXPECT_FALSE(reference_blur(spec, image.view()).ok());
  spec.roi.reset();
  spec.alpha = AlphaMode::premultiply;
  EXPECT_FALSE(reference_blur(spec, image.view()).ok());
  EXPECT_FALSE(reference_at(BlurSpec{}, image.view(), 4, 0).ok());
}

}  // namespace
}  // namespace mollify::test
