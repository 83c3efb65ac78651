// Tails of Gaussians: an endless one less its tails is the one that is cut.
#include "math/gaussian_tail.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "cases/cases.h"
#include "mollify/mollify.h"

namespace mollify {
namespace {

/// What lies beyond the radius of a Gaussian that sums to one over all pixels, worked out by itself.
double beyond(double sigma, std::int64_t radius) {
  double all = 1.0, outside = 0.0;
  for (std::int64_t i = 1; i <= static_cast<std::int64_t>(12.0 * sigma); ++i) {
    const double pair = 2.0 * std::exp(-0.5 * std::pow(static_cast<double>(i) / sigma, 2));
    all += pair;
    if (i > radius) outside += pair;
  }
  return outside / all;
}

TEST(GaussianTails, AreWhatTheCutTakesAway) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 50; ++i) {
    const double sigma = std::uniform_real_distribution(2.0, 40.0)(random);
    const auto radius = static_cast<std::int64_t>(sigma * std::uniform_real_distribution(1.0, 5.0)(random));
    const double most_dropped = std::pow(10.0, std::uniform_real_distribution(-8.0, -3.0)(random));
    SCOPED_TRACE("sigma " + std::to_string(sigma) + ", radius " + std::to_string(radius));
    const GaussianTail tail = gaussian_tail({sigma, radius}, most_dropped);
    EXPECT_LE(tail.dropped, most_dropped);
    EXPECT_NEAR(tail.mass + tail.dropped, beyond(sigma, radius), 1e-12);
    EXPECT_NEAR(total(tail.taps.weights), tail.mass, 1e-15);

    const std::vector<double> cut =
        axis_weights(Gaussian{.sigma = {sigma, sigma}, .radius = {{static_cast<std::int32_t>(radius), 0}}}, Axis::x, 0.0)->taps.weights;
    const auto middle = static_cast<std::int64_t>(tail.taps.anchor);
    for (std::int64_t k = -middle; k <= middle; ++k) {
      const double weight = tail.taps.weights[static_cast<std::size_t>(k + middle)];
      if (std::abs(k) <= radius) {
        EXPECT_EQ(weight, 0.0) << k;
      } else {  // it goes on as the cut one would
        const double t = static_cast<double>(k) / sigma;
        const double cut_middle = cut[cut.size() / 2] * (1.0 - tail.mass - tail.dropped);
        EXPECT_NEAR(weight, cut_middle * std::exp(-0.5 * t * t), 1e-12) << k;
      }
    }
  }
}

/// A pixel takes from all pixels of a sample alike, and all pixels of a sample take alike.
TEST(GaussianTails, OfSeveralPixelsAtOnceAreAsFarOffAsTheySay) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 30; ++i) {
    const double sigma = std::uniform_real_distribution(5.0, 60.0)(random);
    const auto radius = static_cast<std::int64_t>(sigma * std::uniform_real_distribution(3.0, 4.5)(random));
    const std::int64_t factor = std::uniform_int_distribution(2, 8)(random);
    SCOPED_TRACE("sigma " + std::to_string(sigma) + ", radius " + std::to_string(radius) + ", factor " + std::to_string(factor));
    const AxisTaps tails = gaussian_tail({sigma, radius}, 1e-7).taps;
    const CoarseTail coarse = coarse_tail(tails, factor);
    EXPECT_NEAR(total(coarse.taps.weights), total(tails.weights), 1e-15);

    const std::int64_t reach = 2 * factor + std::max(tails.anchor, coarse.taps.anchor * static_cast<std::int32_t>(factor));
    double worst = 0.0;
    for (std::int64_t pixel = 0; pixel < factor; ++pixel) {
      double distance = 0.0;
      for (std::int64_t other = -reach; other <= reach; ++other) {
        const std::int64_t sample = (other + 1000 * factor) / factor - 1000 + coarse.taps.anchor;  // that the other lies in
        const std::int64_t tap = other - pixel + tails.anchor;
        const auto at = [](const std::vector<double>& weights, std::int64_t k) {
          return k >= 0 && k < std::ssize(weights) ? weights[static_cast<std::size_t>(k)] : 0.0;
        };
        distance += std::abs(at(coarse.taps.weights, sample) / static_cast<double>(factor) - at(tails.weights, tap));
      }
      worst = std::max(worst, distance);
    }
    EXPECT_NEAR(coarse.l1_distance, worst, 1e-12);
    EXPECT_LT(worst, 2.0 * total(tails.weights));
  }
}

/// Tails along rows are made of what the endless Gaussian reads, which is less on one side where a border repeats soon.
TEST(GaussianTails, OfNarrowImagesAreAsFarOffAsTheySay) {
  const Device device = Device::open("cpu").value();
  for (const std::string image : {"3x90/r32f/", "4x90/rgba32f/", "5x90/r32f/", "6x90/rgb32f/", "9x90/r32f/"}) {
    for (const std::string border : {"mirror", "reflect", "wrap", "clamp"}) {
      for (const std::string error : {"", "/max_error=0.002"}) {  // within which all are; without it some are refused
        const std::string text = "gauss.cut/" + image + "gaussian:sigma=0.7238x10.5,radius=2x23/" + border + error;
        const cases::CaseResult result = cases::run_case(device, cases::parse_case(text).value());
        const bool is_right = result.outcome == cases::Outcome::pass || (error.empty() && result.outcome == cases::Outcome::refused);
        EXPECT_TRUE(is_right) << text << ": " << result.message;
      }
    }
  }
}

TEST(GaussianTails, OfEndlessGaussiansAreNothing) {
  EXPECT_EQ(gaussian_tail({10.0, {}}, 1e-6).mass, 0.0);
  EXPECT_EQ(gaussian_tail({10.0, 90}, 1e-6).mass, 0.0);
  EXPECT_EQ(gaussian_tail({0.0, 0}, 1e-6).mass, 0.0);
}

}  // namespace
}  // namespace mollify
