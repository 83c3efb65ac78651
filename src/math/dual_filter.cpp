#include "math/dual_filter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "math/decimation.h"
#include "math/remembered.h"
#include "math/weights.h"

namespace mollify {
namespace {

constexpr float kLeastOffset = 0.25F;
constexpr float kMostOffset = 2.0F;

/// Weights of samples from (first, first) on, `size` on both axes.
struct Grid {
  std::int64_t first = 0;
  std::int64_t size = 1;
  std::vector<double> weights{1.0};

  [[nodiscard]] double& at(std::int64_t x, std::int64_t y) { return weights[static_cast<std::size_t>((y - first) * size + x - first)]; }
};

/// Adds `weight` times a linear interpolation at (base + offset) on both axes.
void add_sample(Grid& grid, std::int64_t x, std::int64_t y, float dx, float dy, double weight) {
  const float whole_x = std::floor(dx);
  const float whole_y = std::floor(dy);
  const double fx = static_cast<double>(dx - whole_x);
  const double fy = static_cast<double>(dy - whole_y);
  x += static_cast<std::int64_t>(whole_x);
  y += static_cast<std::int64_t>(whole_y);
  grid.at(x, y) += weight * (1.0 - fx) * (1.0 - fy);
  grid.at(x + 1, y) += weight * fx * (1.0 - fy);
  grid.at(x, y + 1) += weight * (1.0 - fx) * fy;
  grid.at(x + 1, y + 1) += weight * fx * fy;
}

Grid grid_of(std::int64_t first, std::int64_t last) {
  const std::int64_t size = last - first + 1;
  return {first, size, std::vector<double>(static_cast<std::size_t>(size * size), 0.0)};
}

/// What of the level below the samples of `grid` are made of.
Grid through_down(Grid& grid, float offset) {
  const auto margin = static_cast<std::int64_t>(std::ceil(offset));
  const std::int64_t last = grid.first + grid.size - 1;
  Grid out = grid_of(2 * grid.first - margin, 2 * last + 1 + margin);
  for (std::int64_t y = grid.first; y <= last; ++y) {
    for (std::int64_t x = grid.first; x <= last; ++x) {
      const double w = grid.at(x, y);
      if (w == 0.0) continue;
      add_sample(out, 2 * x, 2 * y, 0.5F, 0.5F, w / 2.0);
      for (const float dx : {-offset, offset}) {
        for (const float dy : {-offset, offset}) add_sample(out, 2 * x, 2 * y, 0.5F + dx, 0.5F + dy, w / 8.0);
      }
    }
  }
  return out;
}

/// What of the level above the samples of `grid` are made of.
Grid through_up(Grid& grid, float offset) {
  const auto margin = static_cast<std::int64_t>(std::ceil(offset)) + 1;
  const std::int64_t last = grid.first + grid.size - 1;
  Grid out = grid_of(floor_div(grid.first, 2) - margin, floor_div(last, 2) + margin);
  for (std::int64_t y = grid.first; y <= last; ++y) {
    for (std::int64_t x = grid.first; x <= last; ++x) {
      const double w = grid.at(x, y);
      if (w == 0.0) continue;
      const std::int64_t cx = floor_div(x, 2);
      const std::int64_t cy = floor_div(y, 2);
      const float px = x - 2 * cx == 0 ? -0.25F : 0.25F;
      const float py = y - 2 * cy == 0 ? -0.25F : 0.25F;
      for (const float d : {-offset, offset}) {
        add_sample(out, cx, cy, px + d, py, w / 12.0);
        add_sample(out, cx, cy, px, py + d, w / 12.0);
        for (const float e : {-offset, offset}) add_sample(out, cx, cy, px + 0.5F * d, py + 0.5F * e, w / 6.0);
      }
    }
  }
  return out;
}

/// Of a linear interpolation, in samples; the same at x and -x.
double interpolation_variance(double position) {
  const double f = position - std::floor(position);
  return f * (1.0 - f);
}

/// Interpolations do not move the mean, so variances of steps add up, at every phase. Those of a level are four times those
/// of the level before.
double variance(int levels, double offset) {
  const double o2 = offset * offset;
  const double down = 0.5 * interpolation_variance(0.5) + 0.5 * (o2 + interpolation_variance(0.5 + offset));
  const auto around = [](double d) { return 0.5 * (interpolation_variance(0.25 + d) + interpolation_variance(0.25 - d)); };
  const double up = (2.0 * (o2 + around(offset)) + 2.0 * around(0.0) + 8.0 * (o2 / 4.0 + around(offset / 2.0))) / 12.0;
  return (std::ldexp(1.0, 2 * levels) - 1.0) / 3.0 * (down + 4.0 * up);
}

std::optional<float> offset_for(double sigma, int levels) {
  constexpr int kSteps = 512;  // offsets that are tried, a sample
  constexpr double kTolerance = 0.01;
  std::optional<float> best;
  double least = kTolerance * sigma * sigma;
  for (int i = static_cast<int>(kLeastOffset * kSteps); i <= static_cast<int>(kMostOffset * kSteps); ++i) {
    const float offset = static_cast<float>(i) / kSteps;
    const double miss = std::abs(variance(levels, static_cast<double>(offset)) - sigma * sigma);
    if (miss >= least) continue;
    best = offset;
    least = miss;
  }
  return best;
}

/// Phases that are mirror images or transposes of each other are alike.
double distance(double sigma, int levels, float offset, double enough) {
  const AxisTaps exact = axis_weights(Gaussian{{sigma, sigma}, {}, {}}, Axis::x, 0.0)->taps;
  const auto gaussian = [&](std::int64_t i) {
    const std::int64_t index = i + exact.anchor;
    return index >= 0 && index < static_cast<std::int64_t>(exact.weights.size()) ? exact.weights[static_cast<std::size_t>(index)] : 0.0;
  };
  double worst = 0.0;
  const std::int64_t half = std::int64_t{1} << (levels - 1);
  for (std::int64_t py = 0; py < half; ++py) {
    for (std::int64_t px = 0; px <= py; ++px) {
      Grid grid = grid_of(std::min(px, py), std::max(px, py));
      grid.at(px, py) = 1.0;
      for (int level = 0; level < levels; ++level) grid = through_up(grid, offset);
      for (int level = 0; level < levels; ++level) grid = through_down(grid, offset);
      double l1 = 0.0;
      double inside = 0.0;
      for (std::int64_t y = grid.first; y < grid.first + grid.size; ++y) {
        for (std::int64_t x = grid.first; x < grid.first + grid.size; ++x) {
          const double g = gaussian(x - px) * gaussian(y - py);
          inside += g;
          l1 += std::abs(grid.at(x, y) - g);
        }
      }
      worst = std::max(worst, l1 + std::max(0.0, 1.0 - inside));
      if (worst > enough) return worst;
    }
  }
  return worst;
}

std::optional<DualFilter> fit(double sigma, int levels) {
  std::optional<DualFilter> best;
  for (int n = levels > 0 ? levels : 1; n <= (levels > 0 ? levels : kMostDualLevels); ++n) {
    const std::optional<float> offset = offset_for(sigma, n);
    if (!offset) continue;
    const auto from_one = [](float o) { return std::abs(std::log(o)); };
    if (!best || from_one(*offset) < from_one(best->offset)) best = DualFilter{n, *offset};
  }
  return best;
}

}  // namespace

std::optional<DualFilter> fit_dual_filter(double sigma, int levels) {
  static auto& fits = *new Remembered<std::pair<double, int>, std::optional<DualFilter>>(512);
  return fits.get({sigma, levels}, [&] { return fit(sigma, levels); });
}

double dual_filter_distance(const DualFilter& filter, double sigma, double enough) {
  // A distance beyond `enough` is that of the phases looked at until then: another `enough` would stop at another.
  static auto& whole = *new Remembered<std::tuple<double, int, float>, double>(512);
  static auto& stopped = *new Remembered<std::tuple<double, int, float, double>, double>(512);
  const std::tuple key{sigma, filter.levels, filter.offset};
  if (const std::optional<double> known = whole.find(key); known && *known <= enough) return *known;
  return stopped.get({sigma, filter.levels, filter.offset, enough}, [&] {
    const double fresh = distance(sigma, filter.levels, filter.offset, enough);
    if (fresh <= enough) whole.put(key, fresh);
    return fresh;
  });
}

}  // namespace mollify
