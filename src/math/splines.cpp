#include "math/splines.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "math/least_squares.h"

namespace mollify {
namespace {

constexpr double kPi = std::numbers::pi;

/// sin(x) / x.
double sinc(double x) {
  return std::abs(x) < 1e-8 ? 1.0 : std::sin(x) / x;
}

/// What box filters of this width pass at frequencies in cycles a pixel.
double passed_by_box(int width, double frequency) {
  return sinc(kPi * frequency * width) / sinc(kPi * frequency);
}

/// A symmetric kernel of lines between knots.
struct Knots {
  double gap = 1.0;    ///< pixels from one to the next; at 1 they are the taps themselves
  double first = 0.0;  ///< the one next to the middle, or on it
  std::size_t count = 1;

  /// Of the (support - 1) * factor + 1 taps that a box is to make those of a spline of. More knots in a grid spacing hardly change the fit.
  Knots(int factor, int support) {
    constexpr int kInSpacing = 12;
    const int length = (support - 1) * std::min(factor, kInSpacing);  // knots on both sides
    gap = std::max(1.0, static_cast<double>(factor) / kInSpacing);
    first = length % 2 / 2.0 * gap;
    count = static_cast<std::size_t>(length / 2 + 1);
  }

  /// The knots before and after a place that is not before the middle, and how far it is from the one to the other.
  struct Place {
    std::size_t before, after;
    double share;
  };
  [[nodiscard]] Place place_of(double x) const {
    const double t = std::max(x - first, 0.0) / gap;
    const auto before = std::min(static_cast<std::size_t>(t), count - 1);
    return {before, std::min(before + 1, count - 1), t - static_cast<double>(before)};
  }
};

/// How high the knots are for a spline that adds least, in proportion.
std::vector<double> fitted_heights(double sigma, int factor, int support) {
  constexpr int kFrequencies = 20;      // of the grid
  constexpr int kMostAliases = 14;      // on either side: boxes pass little of others
  constexpr double kFloor = 1e-8;       // what the Gaussian does not pass counts next to nothing, so that the fit is not left free
  constexpr double kWeightOfSum = 1e3;  // beside aliases
  const Knots knots(factor, support);
  const double half = (support - 1) * factor / 2.0;
  std::vector<std::vector<double>> columns(knots.count);
  std::vector<double> right;
  const auto add_row = [&](double frequency, double weight, double value) {
    for (std::vector<double>& column : columns) column.push_back(0.0);
    // From one tap to the next, so that a cosine takes a product.
    const double twice = 2.0 * std::cos(2.0 * kPi * frequency);
    double x = half - std::floor(half);
    double before = std::cos(2.0 * kPi * frequency * (x - 1.0));
    double cosine = std::cos(2.0 * kPi * frequency * x);
    for (; x <= half; x += 1.0) {
      const double passed = weight * (x == 0.0 ? 1.0 : 2.0) * cosine;
      const Knots::Place place = knots.place_of(x);
      columns[place.before].back() += (1.0 - place.share) * passed;
      if (place.share > 0.0) columns[place.after].back() += place.share * passed;
      before = std::exchange(cosine, twice * cosine - before);
    }
    right.push_back(value);
  };
  add_row(0.0, kWeightOfSum, kWeightOfSum);
  const double highest = std::min(0.5 / factor, 1.0 / sigma);  // beyond which the Gaussian passes nothing
  for (int i = 0; i < kFrequencies; ++i) {
    const double f = (i + 0.5) / kFrequencies * highest;
    const double gaussian = std::exp(-2.0 * std::pow(kPi * sigma * f, 2));
    const double weight = gaussian / std::pow(sinc(kPi * f * factor), support) + kFloor;
    for (int m = -std::min(kMostAliases, (factor - 1) / 2); m <= std::min(kMostAliases, factor / 2); ++m) {
      const double alias = f + static_cast<double>(m) / factor;
      if (m != 0) add_row(alias, weight * passed_by_box(factor, alias), 0.0);
    }
  }
  return least_squares(columns, right);
}

/// Sums of `width` taps that follow one another, none of which is negative.
std::vector<double> sliding_sums(const std::vector<double>& taps, int width) {
  std::vector<double> wider(taps.size() + static_cast<std::size_t>(width) - 1);
  double window = 0.0;
  for (std::size_t i = 0; i < wider.size(); ++i) {
    if (i < taps.size()) window += taps[i];
    if (i >= static_cast<std::size_t>(width)) window -= taps[i - static_cast<std::size_t>(width)];
    wider[i] = std::max(window, 0.0);  // what rounding leaves of the last ones
  }
  return wider;
}

std::vector<double> with_unit_sum(std::vector<double> taps, double sum) {
  for (double& tap : taps) tap /= sum;
  return taps;
}

}  // namespace

std::vector<double> box_spline(int factor, int order) {
  std::vector<double> taps{1.0};
  for (int k = 0; k < order; ++k) taps = sliding_sums(taps, factor);
  return with_unit_sum(std::move(taps), std::pow(factor, order));
}

std::vector<double> least_aliasing_spline(double sigma, int factor, int support) {
  // Where factors are large, splines differ in nothing but their scale.
  constexpr int kLarge = 48;
  const int fitted_factor = std::min(factor, kLarge);
  const std::vector<double> heights = fitted_heights(sigma * fitted_factor / factor, fitted_factor, support);
  const Knots knots(factor, support);
  const double half = (support - 1) * factor / 2.0;
  std::vector<double> taps;
  for (double x = -half; x <= half; x += 1.0) {
    const Knots::Place place = knots.place_of(std::abs(x));
    taps.push_back(std::max(std::lerp(heights[place.before], heights[place.after], place.share), 0.0));
  }
  return with_unit_sum(sliding_sums(taps, factor), factor * std::accumulate(taps.begin(), taps.end(), 0.0));
}

}  // namespace mollify
