// Sums of codes in f16 held against what they stand for, one rounding after another as a device would.
#include "math/code_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "base/half.h"
#include "math/weights.h"

namespace mollify::test {
namespace {

using Numbers = std::vector<double>;

double to_half(double v) {
  return half_to_float(double_to_half(v));
}

struct Device {
  bool fuses = true;
  [[nodiscard]] double multiply_add(double a, double b, double c) const { return to_half((fuses ? a * b : to_half(a * b)) + c); }

  [[nodiscard]] double sum(const Numbers& v, const Numbers& taps) const {
    double sum = 0.0;
    for (std::size_t t = 0; 2 * t < taps.size(); ++t) {
      const std::size_t other = taps.size() - 1 - t;
      sum = multiply_add(t == other ? v[t] : to_half(v[t] + v[other]), taps[t], sum);
    }
    return sum;
  }
};

/// Of a pixel whose neighbours have these codes, row by row: how far from the exact one, in codes.
double error_of(const Numbers& codes, const PerAxis<Numbers>& weights, const CodeSums& sums, const Device& device) {
  constexpr double kCentre = 128.0;
  const std::size_t nx = weights.x.size();
  double exact = 0.0;
  Numbers rows;
  for (std::size_t y = 0; y < weights.y.size(); ++y) {
    Numbers row(codes.begin() + static_cast<std::ptrdiff_t>(y * nx), codes.begin() + static_cast<std::ptrdiff_t>((y + 1) * nx));
    for (std::size_t x = 0; x < nx; ++x) exact += (row[x] - kCentre) * weights.x[x] * weights.y[y];
    for (double& code : row) code -= kCentre;
    rows.push_back(device.sum(row, sums.taps.x));
  }
  const double sum = device.sum(rows, sums.taps.y);
  return std::abs((device.fuses ? sum * sums.gain : to_half(sum * sums.gain)) - exact);
}

double largest_error(const PerAxis<Numbers>& weights, const CodeSums& sums, const Device& device) {
  std::mt19937 random(11);
  double largest = 0.0;
  Numbers worst;
  for (int i = 0; i < 6000; ++i) {
    Numbers codes(weights.x.size() * weights.y.size());
    if (i % 2 == 1) {  // the worst so far, but for one or two
      codes = worst;
      for (int n = i / 2 % 2; n < 2; ++n) codes[random() % codes.size()] = static_cast<double>(random() % 256);
    } else {  // of any size, near the ends of the range, or at them
      const int least = i % 3 == 0 ? 0 : i % 3 == 1 ? 230 : 255;
      for (double& code : codes) {
        code = std::uniform_int_distribution<int>(least, 255)(random);
        if (i % 4 == 2 && random() % 4 == 0) code = 255.0 - code;
      }
    }
    const double error = error_of(codes, weights, sums, device);
    if (i > 0 && error <= largest) continue;
    largest = error;
    worst = std::move(codes);
  }
  return largest;
}

struct Sample {
  std::string name;
  PerAxis<Numbers> weights;
};

Numbers of(const KernelSpec& kernel) {
  return axis_weights(kernel, Axis::x, 1e-5)->taps.weights;
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  for (const std::int32_t radius : {1, 2, 4, 9}) {
    const Numbers gaussian = of(Gaussian{{radius / 3.0, radius / 3.0}, PerAxis<std::int32_t>{radius, radius}, {}});
    out.push_back({"Gaussian of radius " + std::to_string(radius), {gaussian, gaussian}});
    out.push_back({"the same along x", {gaussian, {1.0}}});
    out.push_back({"the same along y", {{1.0}, gaussian}});
  }
  for (int width = 2; width <= 9; ++width) {
    const Numbers box(static_cast<std::size_t>(width), 1.0 / width);
    out.push_back({"box of " + std::to_string(width), {box, box}});
  }
  out.push_back({"two kernels", {{0.25, 0.5, 0.25}, of(Gaussian{{0.7, 0.7}, {}, {}})}});
  out.push_back({"two rows that weigh most, whose sum is twice as large", {{0.3, 0.4, 0.3}, {0.49, 0.02, 0.49}}});
  out.push_back({"a sharpening", {{-0.2, 0.6, -0.2}, {-0.3, 1.6, -0.3}}});
  return out;
}

TEST(CodeSums, ErrByNoMoreThanTheySay) {
  for (const auto& [name, weights] : samples()) {
    for (const bool fuses : {true, false}) {
      const std::optional<CodeSums> sums = code_sums(weights, fuses);
      ASSERT_TRUE(sums) << name;
      const double largest = largest_error(weights, *sums, {fuses});
      EXPECT_LE(largest, sums->error + 1e-12) << name << (fuses ? "" : ", products rounded");
      EXPECT_GE(largest, 0.2 * sums->error) << name << (fuses ? "" : ", products rounded");
    }
  }
}

TEST(CodeSums, MultiplyByHalves) {
  for (const auto& [name, weights] : samples()) {
    const CodeSums sums = *code_sums(weights, true);
    EXPECT_EQ(sums.gain, to_half(sums.gain)) << name;
    for (const Numbers* taps : {&sums.taps.x, &sums.taps.y}) {
      for (const double tap : *taps) EXPECT_EQ(tap, to_half(tap)) << name;
    }
  }
}

TEST(CodeSums, AreExactForWholeNumbersOfAPowerOfTwo) {
  const Numbers two{0.5, 0.5}, tent{0.25, 0.5, 0.25};
  for (const Numbers& taps : {two, tent}) EXPECT_EQ(code_sums({taps, taps}, false)->error, 0.0);
}

TEST(CodeSums, StayWithinTheDefaultErrorAtSmallRadii) {
  constexpr double kDefault = 0.125;
  for (const std::int32_t radius : {1, 2}) {
    const Numbers gaussian = of(Gaussian{{radius / 3.0, radius / 3.0}, PerAxis<std::int32_t>{radius, radius}, {}});
    EXPECT_LT(code_sums({gaussian, gaussian}, true)->error, kDefault) << radius;
    EXPECT_GT(code_sums({gaussian, gaussian}, false)->error, kDefault) << radius;
  }
}

TEST(CodeSums, AreOfSymmetricTaps) {
  const Numbers even{0.5, 0.5}, uneven{0.6, 0.4};
  EXPECT_FALSE(code_sums({uneven, even}, true));
  EXPECT_FALSE(code_sums({even, uneven}, true));
  EXPECT_TRUE(code_sums({even, even}, true));
}

}  // namespace
}  // namespace mollify::test
