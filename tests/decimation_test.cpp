// The declared distance of a decimated Gaussian, against the kernel worked out pixel by pixel at every phase.
#include "math/decimation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <tuple>

#include "math/splines.h"

namespace mollify {
namespace {

/// `order` boxes convolved the long way.
std::vector<double> convolved_boxes(int factor, int order) {
  std::vector<double> taps{1.0};
  for (int k = 0; k < order; ++k) {
    std::vector<double> wider(taps.size() + static_cast<std::size_t>(factor) - 1, 0.0);
    for (std::size_t i = 0; i < taps.size(); ++i) {
      for (std::size_t j = 0; j < static_cast<std::size_t>(factor); ++j) wider[i + j] += taps[i] / factor;
    }
    taps = wider;
  }
  return taps;
}

/// The largest L1 distance over all phases between what the three steps make of an impulse and the true Gaussian.
double distance(const AxisGaussian& target, const Decimation& d) {
  const auto taps = static_cast<std::int64_t>(d.spline.size());
  const std::int64_t centre = spline_centre(d.spline.size());
  const std::int64_t reach = static_cast<std::int64_t>(10.0 * target.sigma) + (d.coarse.anchor + 2) * d.factor + 2 * taps;
  std::vector<double> gaussian;
  for (std::int64_t i = -reach; i <= reach; ++i) {
    const double t = static_cast<double>(i) / target.sigma;
    gaussian.push_back(std::abs(i) > target.radius.value_or(reach) ? 0.0 : std::exp(-0.5 * t * t));
  }
  const double sum = std::accumulate(gaussian.begin(), gaussian.end(), 0.0);
  double worst = 0.0;
  for (std::int64_t phase = 0; phase < d.factor; ++phase) {
    std::vector<double> kernel(gaussian.size(), 0.0);
    const std::int64_t support = spline_support(d.spline.size(), d.factor);
    for (std::int64_t sample = -support; sample <= support; ++sample) {
      const std::int64_t at = phase - sample * d.factor + centre;
      if (at < 0 || at >= taps) continue;
      for (std::size_t j = 0; j < d.coarse.weights.size(); ++j) {
        const std::int64_t from = (sample + static_cast<std::int64_t>(j) - d.coarse.anchor) * d.factor - centre - phase + reach;
        const double weight = d.factor * d.spline[static_cast<std::size_t>(at)] * d.coarse.weights[j];
        for (std::int64_t i = 0; i < taps; ++i) {
          kernel[static_cast<std::size_t>(from + i)] += weight * d.spline[static_cast<std::size_t>(i)];
        }
      }
    }
    double l1 = 0.0;
    for (std::size_t i = 0; i < kernel.size(); ++i) {
      const double beside = gaussian[i] != 0.0 ? d.window : 0.0;
      l1 += std::abs(kernel[i] + beside - gaussian[i] / sum);
    }
    worst = std::max(worst, l1);
  }
  return worst;
}

TEST(Decimation, BoxSplinesAreConvolvedBoxes) {
  for (const auto& [factor, order] : {std::pair{1, 3}, {2, 4}, {5, 3}, {64, 7}, {100, 2}}) {
    const std::vector<double> expected = convolved_boxes(factor, order);
    const std::vector<double> taps = box_spline(factor, order);
    ASSERT_EQ(taps.size(), expected.size());
    for (std::size_t i = 0; i < taps.size(); ++i) EXPECT_NEAR(taps[i], expected[i], 1e-13) << factor << " " << order;
  }
}

TEST(Decimation, TheDeclaredDistanceIsAnUpperBoundAndTight) {
  struct Fit {
    AxisGaussian gaussian;
    int factor;
    int size;  ///< of the spline: its boxes, or its support
  };
  for (const Fit& f :
       {Fit{{5}, 2, 4}, Fit{{6.5}, 4, 3}, Fit{{50}, 32, 4}, Fit{{100}, 64, 3}, Fit{{128}, 64, 5}, Fit{{170}, 112, 3}, Fit{{240}, 96, 4},
        Fit{{200}, 100, 6}, Fit{{150}, 75, 7}, Fit{{32.0 / 3, 32}, 2, 3}, Fit{{21, 64}, 5, 4}, Fit{{12, 48}, 4, 4}, Fit{{30, 1000}, 8, 4},
        Fit{{100, 399}, 64, 4}, Fit{{300, 900}, 64, 3}, Fit{{130, 651}, 96, 4}, Fit{{400, 1201}, 256, 3}, Fit{{700, 2500}, 192, 4}}) {
    for (const Spline spline : {Spline(BoxSpline{f.size}), Spline(LeastAliasingSpline{f.size})}) {
      const std::shared_ptr<const Decimation> fit = fit_decimation(f.gaussian, f.factor, spline);
      const double true_distance = distance(f.gaussian, *fit);
      constexpr double kRounding = 1e-12;
      SCOPED_TRACE("sigma " + std::to_string(f.gaussian.sigma) + ", factor " + std::to_string(f.factor));
      EXPECT_GE(fit->l1_distance, true_distance - kRounding) << spline.index();
      // Where the distance is taken from samples, those of errors that change sign more often say less of what lies between.
      const bool is_sampled = f.factor >= 64 && std::holds_alternative<LeastAliasingSpline>(spline);
      EXPECT_LE(fit->l1_distance, (is_sampled ? 1.25 : 1.03) * true_distance) << spline.index();
    }
  }
}

// What the grid misses by the height of the jump, times its spacing, it does not miss where a window makes the jump.
TEST(Decimation, TheMeanOfTwoGaussiansIsAsNearToOneBetweenThemAsItSays) {
  const auto sampled = [](double sigma, double shift, std::int64_t reach) {
    std::vector<double> weights;
    for (std::int64_t i = -reach; i <= reach + 1; ++i)
      weights.push_back(std::exp(-0.5 * std::pow((static_cast<double>(i) - shift) / sigma, 2)));
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (double& w : weights) w /= sum;
    return weights;
  };
  EXPECT_EQ(halved_sigma(0.5), 0.0);
  for (const double sigma : {0.6, 1.0, 3.0, 8.0, 63.0, 64.5, 200.0}) {
    const double narrow = halved_sigma(sigma), promised = halved_distance(sigma);
    const auto reach = static_cast<std::int64_t>(10.0 * sigma) + 2;
    const std::vector<double> here = sampled(narrow, 0.0, reach), next = sampled(narrow, 1.0, reach);
    const std::vector<double> between = sampled(sigma, 0.5, reach);
    double distance = 0.0;
    for (std::size_t i = 0; i < between.size(); ++i) distance += std::abs(0.5 * (here[i] + next[i]) - between[i]);
    EXPECT_GE(promised, distance - 1e-12) << sigma;
    EXPECT_LE(promised, 2.0 * distance + 1e-12) << sigma;
  }
}

TEST(Decimation, AWindowMakesTheJump) {
  for (const auto& [gaussian, factor] :
       {std::pair{AxisGaussian{8, 24}, 2}, {AxisGaussian{32.0 / 3, 32}, 2}, {AxisGaussian{20, 50}, 4}, {AxisGaussian{40, 120}, 8}}) {
    constexpr BoxSpline kSpline{4};
    const std::shared_ptr<const Decimation> fit = fit_decimation(gaussian, factor, kSpline, Jump::window);
    const double true_distance = distance(gaussian, *fit);
    EXPECT_NEAR(fit->l1_distance, true_distance, 1e-12 + 0.03 * true_distance) << gaussian.sigma;
    EXPECT_GE(fit->l1_distance, true_distance - 1e-12) << gaussian.sigma;
    EXPECT_LT(fit->l1_distance, 0.3 * fit_decimation(gaussian, factor, kSpline)->l1_distance) << gaussian.sigma;
    const double support = std::accumulate(fit->coarse.weights.begin(), fit->coarse.weights.end(), 0.0);
    EXPECT_NEAR(support + fit->window * static_cast<double>(2 * *gaussian.radius + 1), 1.0, 1e-12) << gaussian.sigma;
  }
}

// Nothing but the ratio of sigma and factor decides how good a fit is.
TEST(Decimation, FitsAreAsGoodAtEveryScale) {
  const double small = fit_decimation({40}, 20, BoxSpline{4})->l1_distance;
  for (const int scale : {2, 8, 50}) {
    EXPECT_NEAR(fit_decimation({40.0 * scale}, 20 * scale, BoxSpline{4})->l1_distance, small, 0.05 * small) << scale;
  }
  // Of larger factors the splines are fitted at a smaller one.
  constexpr LeastAliasingSpline kSpline{4};
  const double least = distance({160}, *fit_decimation({160}, 80, kSpline));
  for (const int scale : {2, 4}) {
    const AxisGaussian larger{160.0 * scale};
    EXPECT_NEAR(distance(larger, *fit_decimation(larger, 80 * scale, kSpline)), least, 0.15 * least) << scale;
  }
}

// Wherever a pixel lies between coarse samples, what it is expanded by sums to one, and so what is flat stays flat.
TEST(Decimation, SplinesOfLeastAliasesKeepWhatIsFlat) {
  for (const auto& [sigma, factor, support] :
       {std::tuple{5.0, 2, 3}, {5.0, 3, 4}, {8.0, 5, 2}, {100.0, 32, 4}, {300.0, 112, 8}, {64.0, 2, 8}}) {
    const std::vector<double> taps = least_aliasing_spline(sigma, factor, support);
    ASSERT_EQ(taps.size(), static_cast<std::size_t>(factor * support));
    for (int phase = 0; phase < factor; ++phase) {
      double sum = 0.0;
      for (std::size_t i = static_cast<std::size_t>(phase); i < taps.size(); i += static_cast<std::size_t>(factor)) sum += factor * taps[i];
      EXPECT_NEAR(sum, 1.0, 1e-12) << sigma << " " << factor << " " << support;
    }
    for (std::size_t i = 0; i < taps.size(); ++i) EXPECT_NEAR(taps[i], taps[taps.size() - 1 - i], 1e-13) << i;
  }
}

// Sums that only add leave nothing below the least pixel, and a pixel acts no further than the header says.
TEST(Decimation, WeightsAreNotNegativeAndReachIsLimited) {
  int fits = 0;
  for (const double sigma : {0.7, 2.0, 3.0, 5.0, 10.0, 40.0, 200.0, 1000.0}) {
    for (const int factor : {2, 3, 4, 6, 8, 20, 32, 128, 640}) {
      if (sigma / factor < 0.3 || sigma / factor > 12.0) continue;
      for (const Spline& spline : {Spline(BoxSpline{2}), Spline(BoxSpline{4}), Spline(LeastAliasingSpline{2}),
                                   Spline(LeastAliasingSpline{3}), Spline(LeastAliasingSpline{5}), Spline(LeastAliasingSpline{8})}) {
        const std::shared_ptr<const Decimation> fit = fit_decimation({sigma}, factor, spline);
        SCOPED_TRACE("sigma " + std::to_string(sigma) + ", factor " + std::to_string(factor) + ", spline " +
                     std::to_string(fit->spline.size()));
        EXPECT_GE(std::ranges::min(fit->spline), 0.0);
        EXPECT_GE(std::ranges::min(fit->coarse.weights), 0.0);
        const bool is_too_wide = static_cast<std::int64_t>(fit->spline.size()) - 1 > most_reach(sigma, factor);
        EXPECT_EQ(std::isfinite(fit->l1_distance), !is_too_wide);
        if (is_too_wide) continue;
        EXPECT_LE(static_cast<double>(fit->reach()), std::min(7.0 * sigma, 6.0 * sigma + 2.0 * factor));
        ++fits;
      }
    }
  }
  EXPECT_GT(fits, 150);
}

// A grid's kernel need not be longer than the error asks for.
TEST(Decimation, ShorterKernelsMissByNoMoreThanTheySay) {
  for (const auto& [sigma, factor, support] : {std::tuple{5.0, 2, 3}, {5.0, 3, 4}, {10.0, 6, 4}, {20.0, 8, 3}, {30.0, 10, 5}}) {
    const AxisGaussian gaussian{sigma};
    const std::shared_ptr<const Decimation> fit = fit_decimation(gaussian, factor, LeastAliasingSpline{support});
    std::size_t taps = fit->coarse.weights.size();
    for (const double allowed : {1e-5, 1e-4, 1e-3}) {
      const Decimation shorter = shortened(*fit, allowed);
      SCOPED_TRACE(std::to_string(sigma) + " " + std::to_string(factor) + " " + std::to_string(allowed));
      EXPECT_LE(shorter.l1_distance, fit->l1_distance + allowed);
      EXPECT_LE(distance(gaussian, shorter), shorter.l1_distance + 1e-12);
      EXPECT_LE(shorter.coarse.weights.size(), taps);
      EXPECT_EQ(shorter.coarse.weights.size(), static_cast<std::size_t>(2 * shorter.coarse.anchor + 1));
      EXPECT_NEAR(std::accumulate(shorter.coarse.weights.begin(), shorter.coarse.weights.end(), 0.0), 1.0, 1e-12);
      taps = shorter.coarse.weights.size();
    }
    EXPECT_LT(taps, fit->coarse.weights.size());
  }
}

// As far as another program, which fitted all three steps at once; and B-splines of as many boxes miss by several times as much.
TEST(Decimation, SplinesOfLeastAliasesMissLeast) {
  struct Best {
    double sigma;
    int factor;
    int support;
    double distance;
  };
  for (const Best& best :
       {Best{5, 2, 3, 3.1e-5}, Best{5, 2, 4, 1.2e-6}, Best{5, 3, 4, 1.05e-4}, Best{5, 3, 5, 1.6e-5}, Best{8, 4, 3, 5.3e-4},
        Best{8, 4, 4, 3.9e-5}, Best{10, 5, 5, 5.5e-6}, Best{16, 8, 4, 5.6e-5}, Best{32, 16, 4, 6.6e-5}}) {
    const double distance = fit_decimation({best.sigma}, best.factor, LeastAliasingSpline{best.support})->l1_distance;
    EXPECT_LT(distance, 1.1 * best.distance) << best.sigma << " " << best.factor << " " << best.support;
    EXPECT_LT(4.0 * distance, fit_decimation({best.sigma}, best.factor, BoxSpline{best.support})->l1_distance) << best.sigma;
  }
}

}  // namespace
}  // namespace mollify
