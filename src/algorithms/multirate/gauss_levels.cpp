#include "algorithms/multirate/gauss_levels.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text.h"

namespace mollify {

LevelTaps level_taps(const std::vector<double>& fitted, double l1_distance, double l1_budget) {
  std::size_t cut = 0;
  double dropped = 0.0;
  for (; cut < fitted.size() / 2 && dropped + 2.0 * std::abs(fitted[cut]) <= l1_budget / 2.0; ++cut) {
    dropped += 2.0 * std::abs(fitted[cut]);
  }
  LevelTaps out;
  const auto shorter = static_cast<std::ptrdiff_t>(cut);
  out.taps.weights.assign(fitted.begin() + shorter, fitted.end() - shorter);
  out.taps.anchor = static_cast<std::int32_t>(out.taps.weights.size() / 2);
  double sum = 0.0;
  for (double& w : out.taps.weights) sum += w = std::max(w, 0.0);
  const double whole = std::accumulate(fitted.begin(), fitted.end(), 0.0);
  for (double& w : out.taps.weights) w *= whole / sum;
  double changed = dropped;
  for (std::size_t i = 0; i < out.taps.weights.size(); ++i) changed += std::abs(out.taps.weights[i] - fitted[cut + i]);
  out.l1_distance = l1_distance + changed;
  return out;
}

std::string level_obstacle(double sigma, int levels) {
  const double span = sigma / (1 << levels);
  if (span >= kLeastLevelSpan && span <= kMostLevelSpan) return {};
  return "sigma " + number(sigma) + " is not 1.25 to 16 pixels of an image halved " + std::to_string(levels) +
         (levels == 1 ? " time" : " times");
}

}  // namespace mollify
