// Weights as halves: that they are some, how well they keep the sum, and how near they are to what was rounded.
#include "math/weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <string>

#include "base/half.h"
#include "reference/weights.h"

namespace mollify::test {
namespace {

using Weights = std::vector<double>;

double sum(const Weights& weights) {
  return std::accumulate(weights.begin(), weights.end(), 0.0);
}

/// So many halves above the nearest one.
double half_beside(double value, int steps = 0) {
  const int bits = double_to_half(value);
  const int place = ((bits & 0x8000) != 0 ? -(bits & 0x7FFF) : bits) + steps;
  const double magnitude = half_to_float(static_cast<std::uint16_t>(std::abs(place)));
  return place < 0 ? -magnitude : magnitude;
}

/// What halves, times a scale, make of weights.
struct Difference {
  double l1 = 0.0;
  double missing = 0.0;  ///< of the sum
};

Difference difference(const Weights& weights, const Weights& halves, double scale) {
  Difference out;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    out.l1 += std::abs(halves[i] * scale - weights[i]);
    out.missing += weights[i] - halves[i] * scale;
  }
  return out;
}

Weights nearest_halves(const Weights& weights, double scale) {
  Weights out;
  for (const double w : weights) out.push_back(half_beside(w / scale));
  return out;
}

struct Rounded {
  std::string name;
  Weights weights;
  double scale = 1.0;
};

/// Gaussians by the scales that matrices try, and weights of many sizes.
std::vector<Rounded> samples() {
  std::vector<Rounded> out;
  for (const double sigma : {0.4, 0.5, 0.7, 1.0, 1.5, 2.2, 3.0, 4.1, 5.0, 7.0}) {
    for (const double scale : {1.0, 1.25, 1.484375, 1.0 / 1.25, 1.0 / 1.484375}) {
      const std::string name = "sigma " + std::to_string(sigma) + ", scale " + std::to_string(scale);
      out.push_back({name, axis_weights(Gaussian{{sigma, sigma}, {}, {}}, Axis::x, 1e-4)->taps.weights, scale});
    }
  }
  out.push_back({"a sharpening", {-0.3, 1.6, -0.3}});
  out.push_back({"an edge", {1.0 / 3.0, 0.0, 0.1, -1.0 / 3.0, 0.9}});
  // Downwards from a power of two halves lie twice as close as upwards.
  out.push_back({"powers of two and a little less", {0.5 - 0.45 * 0x1p-12, 0.5 - 0.45 * 0x1p-12}});
  out.push_back({"the same below zero", {0.45 * 0x1p-12 - 0.5, 0.45 * 0x1p-12 - 0.5}});
  std::mt19937 random(7);
  std::uniform_real_distribution<double> halvings(0.0, 8.0);
  for (int i = 0; i < 300; ++i) {
    Weights weights(static_cast<std::size_t>(1 + i % 6));
    for (double& w : weights) w = std::exp2(-halvings(random));
    const double total = sum(weights);
    for (double& w : weights) w /= total;
    out.push_back({"random weights " + std::to_string(i), weights});
  }
  return out;
}

// The reference has its own formulas.
TEST(Weights, BetweenPixelsAreThoseOfTheReference) {
  const std::vector<KernelSpec> kernels{Gaussian{{0, 0}, {}, {}},
                                        Gaussian{{1e-3, 1}, {}, {}},
                                        Gaussian{{0.7, 1}, {}, {}},
                                        Gaussian{{3, 1}, {{4, 1}}, {}},
                                        Gaussian{{5, 1}, {}, 2.5},
                                        Box::of_radius(0, 0),
                                        Box::of_radius(3, 0),
                                        Box{{{0.25, 1.75}, {0, 0}}},
                                        Box{{{4, 0}, {0, 0}}},
                                        Tent{{0, 0}},
                                        Tent{{2.75, 0}},
                                        Tent{{3, 0}}};
  for (const KernelSpec& kernel : kernels) {
    const AxisTaps taps = axis_weights(kernel, Axis::x, 0.0, true)->taps;
    const auto expected = std::get<reference::Separable>(reference::kernel_of(kernel, {{2, 1}, {}})).x;
    // Both may have weights of 0 at their ends.
    for (std::int64_t at = -60; at <= 60; ++at) {
      const auto weight = [&](const Weights& weights, std::int64_t first) {
        const std::int64_t i = at - first;
        return i >= 0 && i < static_cast<std::int64_t>(weights.size()) ? weights[static_cast<std::size_t>(i)] : 0.0;
      };
      EXPECT_NEAR(weight(taps.weights, -taps.anchor), weight(expected.weights, expected.first), 1e-14) << kernel.index() << " at " << at;
    }
  }
}

TEST(Weights, BetweenPixelsAreCutOnBothSides) {
  const AxisWeights cut = *axis_weights(Gaussian{{4, 4}, {}, {}}, Axis::x, 1e-3, true);
  EXPECT_EQ(cut.taps.weights.size() % 2, 0U);
  EXPECT_EQ(static_cast<std::size_t>(cut.taps.anchor), cut.taps.weights.size() / 2 - 1);
  EXPECT_LT(cut.taps.weights.size(), 40U);
  EXPECT_GT(cut.cut_error, 0.0);
  EXPECT_LE(cut.cut_error, 1e-3);
}

TEST(WeightsAsHalves, SayHowFarTheyAre) {
  for (const auto& [name, weights, scale] : samples()) {
    const HalfWeights half = rounded_to_half(weights, scale);
    EXPECT_EQ(half.scale, scale);
    const auto [l1, missing] = difference(weights, half.weights, scale);
    EXPECT_NEAR(half.l1_distance, l1, 1e-15) << name;
    EXPECT_NEAR(half.missing, missing, 1e-15) << name;
  }
}

TEST(WeightsAsHalves, AreTheNearestOrBesideThem) {
  for (const auto& [name, weights, scale] : samples()) {
    const Weights halves = rounded_to_half(weights, scale).weights;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      EXPECT_EQ(halves[i], half_beside(halves[i])) << name << ": no half";
      EXPECT_GE(halves[i], half_beside(weights[i] / scale, -1)) << name;
      EXPECT_LE(halves[i], half_beside(weights[i] / scale, 1)) << name;
    }
  }
}

/// Until every tap that is still the nearest has steps too long to help.
TEST(WeightsAsHalves, KeepTheSumAsWellAsAnotherTurnWould) {
  for (const auto& [name, weights, scale] : samples()) {
    const HalfWeights half = rounded_to_half(weights, scale);
    const Weights nearest = nearest_halves(weights, scale);
    EXPECT_LE(std::abs(half.missing), std::abs(difference(weights, nearest, scale).missing) + 1e-15) << name;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (half.weights[i] != nearest[i]) continue;
      const double other = half_beside(nearest[i], half.missing > 0.0 ? 1 : -1);
      const double turned = half.missing - (other - nearest[i]) * scale;
      EXPECT_GE(std::abs(turned), std::abs(half.missing) - 1e-15) << name << ", tap " << i;
    }
  }
}

/// Held against all halves that are the nearest or beside them and keep the sum as well.
TEST(WeightsAsHalves, AreHardlyFurtherThanTheSumNeeds) {
  int counted = 0;
  for (const auto& [name, weights, scale] : samples()) {
    constexpr std::size_t kMost = 7;  // taps, for 3^7 choices
    if (weights.size() > kMost) continue;
    ++counted;
    const HalfWeights half = rounded_to_half(weights, scale);
    double best = half.l1_distance;
    std::vector<int> steps(weights.size(), -1);
    while (true) {
      Weights choice;
      for (std::size_t i = 0; i < weights.size(); ++i) choice.push_back(half_beside(weights[i] / scale, steps[i]));
      const auto [l1, missing] = difference(weights, choice, scale);
      if (std::abs(missing) <= std::abs(half.missing) + 1e-15) best = std::min(best, l1);
      std::size_t i = 0;
      while (i < steps.size() && ++steps[i] > 1) steps[i++] = -1;
      if (i == steps.size()) break;
    }
    const double lost = std::abs(difference(weights, nearest_halves(weights, scale), scale).missing);
    EXPECT_LE(half.l1_distance, best + 2.0 * lost + 1e-15) << name;
  }
  EXPECT_GT(counted, 300);
}

TEST(WeightsAsHalves, OfBoxesAndTentsAreExactByTheBestScale) {
  for (const int width : {1, 3, 4, 5, 33, 65, 257}) {
    Weights box(static_cast<std::size_t>(width), 1.0 / width);
    Weights tent;
    for (int i = 1; i <= width; ++i) tent.push_back(std::min(i, width + 1 - i));
    const double total = sum(tent);
    for (double& w : tent) w /= total;
    EXPECT_LE(rounded_to_best_half(box).l1_distance, 1e-14) << width;
    EXPECT_LE(rounded_to_best_half(tent).l1_distance, 1e-14) << width;
  }
}

TEST(WeightsAsHalves, ByTheBestScaleAreNearerAndKeepTheSum) {
  double all = 0.0;
  double all_plain = 0.0;
  for (const auto& [name, weights, scale] : samples()) {
    const HalfWeights best = rounded_to_best_half(weights);
    for (const double half : best.weights) EXPECT_EQ(half, half_beside(half)) << name << ": no half";
    EXPECT_LE(magnitude(best.weights), 1.0 + 0x1p-11) << name << ": sums of pixels of f16 must fit it, too";
    const auto [l1, missing] = difference(weights, best.weights, best.scale);
    EXPECT_NEAR(best.l1_distance, l1, 1e-15) << name;
    if (std::abs(sum(weights)) > 0.5 * magnitude(weights)) {
      EXPECT_NEAR(missing, 0.0, 1e-14) << name;
    }
    all += l1;
    all_plain += rounded_to_half(weights).l1_distance;
  }
  EXPECT_LT(all, 0.5 * all_plain);
}

TEST(WeightsAsHalves, OfLongGaussiansKeepTheirSum) {
  for (const double sigma : {5.0, 6.0, 7.0, 20.0}) {
    const Weights weights = axis_weights(Gaussian{{sigma, sigma}, {}, {}}, Axis::x, 1e-4)->taps.weights;
    const HalfWeights half = rounded_to_half(weights);
    // The shortest step there is: that of the smallest taps.
    EXPECT_NEAR(sum(half.weights), 1.0, 0x1p-24) << sigma;
    EXPECT_LE(half.l1_distance, 0x1p-11) << sigma << ": half a step of every tap";
    EXPECT_GT(half.l1_distance, 0.0);
  }
}

TEST(WeightsAsHalves, ScaledByThePowerOfTwoThatTheLargestNeeds) {
  for (const double largest : {0.3, 0.5, 1.0, 7.0, 1e-4}) {
    const HalfWeights half = rounded_to_scaled_half({0.1 * largest, largest, -0.2 * largest});
    EXPECT_EQ(half.scale, std::exp2(std::round(std::log2(half.scale))));
    EXPECT_GE(half.weights[1], 0.5);
    EXPECT_LE(half.weights[1], 1.0);
    EXPECT_NEAR(half.weights[2] * half.scale, -0.2 * largest, 0x1p-11 * largest);
  }
  const HalfWeights nothing = rounded_to_scaled_half({0.0, 0.0});
  EXPECT_EQ(nothing.weights, (Weights{0.0, 0.0}));
  EXPECT_EQ(nothing.scale, 1.0);
}

}  // namespace
}  // namespace mollify::test
