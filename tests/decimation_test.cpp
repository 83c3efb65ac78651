// The declared distance of a decimated Gaussian, against the kernel worked out pixel by pixel at every phase.
#include "core/decimation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

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
    for (std::int64_t cell = -d.order - 1; cell <= d.order + 1; ++cell) {
      const std::int64_t at = phase - cell * d.factor + centre;
      if (at < 0 || at >= taps) continue;
      for (std::size_t j = 0; j < d.coarse.weights.size(); ++j) {
        const std::int64_t from = (cell + static_cast<std::int64_t>(j) - d.coarse.anchor) * d.factor - centre - phase + reach;
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

TEST(Decimation, SplinesAreConvolvedBoxes) {
  for (const auto& [factor, order] : {std::pair{1, 3}, {2, 4}, {5, 3}, {64, 7}, {100, 2}}) {
    const std::vector<double> expected = convolved_boxes(factor, order);
    const std::vector<double> taps = bspline(factor, order);
    ASSERT_EQ(taps.size(), expected.size());
    for (std::size_t i = 0; i < taps.size(); ++i) EXPECT_NEAR(taps[i], expected[i], 1e-13) << factor << " " << order;
  }
}

TEST(Decimation, TheDeclaredDistanceIsAnUpperBoundAndTight) {
  struct Fit {
    AxisGaussian gaussian;
    int factor;
    int order;
  };
  for (const Fit& f : {Fit{{5}, 2, 4}, Fit{{6.5}, 4, 3}, Fit{{50}, 32, 4}, Fit{{100}, 64, 3}, Fit{{128}, 64, 5},
                       Fit{{170}, 112, 3}, Fit{{240}, 96, 4}, Fit{{200}, 100, 6}, Fit{{150}, 75, 7}, Fit{{32.0 / 3, 32}, 2, 3},
                       Fit{{21, 64}, 5, 4}, Fit{{12, 48}, 4, 4}, Fit{{30, 1000}, 8, 4}, Fit{{100, 399}, 64, 4},
                       Fit{{300, 900}, 64, 3}, Fit{{130, 651}, 96, 4}, Fit{{400, 1201}, 256, 3}, Fit{{700, 2500}, 192, 4}}) {
    const std::shared_ptr<const Decimation> fit = fit_decimation(f.gaussian, f.factor, f.order);
    const double true_distance = distance(f.gaussian, *fit);
    constexpr double kRounding = 1e-12;
    EXPECT_GE(fit->l1_distance, true_distance - kRounding) << "sigma " << f.gaussian.sigma << ", factor " << f.factor;
    EXPECT_LE(fit->l1_distance, 1.03 * true_distance) << "sigma " << f.gaussian.sigma << ", factor " << f.factor;
  }
}

// What cells miss by the height of the jump, times how far they lie apart, they do not miss beside a window.
TEST(Decimation, AWindowMakesTheJump) {
  for (const auto& [gaussian, factor] : {std::pair{AxisGaussian{8, 24}, 2}, {AxisGaussian{32.0 / 3, 32}, 2},
                                         {AxisGaussian{20, 50}, 4}, {AxisGaussian{40, 120}, 8}}) {
    constexpr int kOrder = 4;
    const std::shared_ptr<const Decimation> fit = fit_decimation(gaussian, factor, kOrder, Jump::window);
    const double true_distance = distance(gaussian, *fit);
    EXPECT_NEAR(fit->l1_distance, true_distance, 1e-12 + 0.03 * true_distance) << gaussian.sigma;
    EXPECT_GE(fit->l1_distance, true_distance - 1e-12) << gaussian.sigma;
    EXPECT_LT(fit->l1_distance, 0.3 * fit_decimation(gaussian, factor, kOrder)->l1_distance) << gaussian.sigma;
    const double cells = std::accumulate(fit->coarse.weights.begin(), fit->coarse.weights.end(), 0.0);
    EXPECT_NEAR(cells + fit->window * static_cast<double>(2 * *gaussian.radius + 1), 1.0, 1e-12) << gaussian.sigma;
  }
}

// Nothing but the ratio of sigma and factor decides how good a fit is.
TEST(Decimation, FitsAreAsGoodAtEveryScale) {
  const double small = fit_decimation({40}, 20, 4)->l1_distance;
  for (const int scale : {2, 8, 50}) {
    EXPECT_NEAR(fit_decimation({40.0 * scale}, 20 * scale, 4)->l1_distance, small, 0.05 * small) << scale;
  }
}

}  // namespace
}  // namespace mollify
