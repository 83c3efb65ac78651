#include "core/decimation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>
#include <tuple>

#include "core/weights.h"

namespace mollify {
namespace {

constexpr int kFittedPhases = 8;       // of a cell, evenly chosen: more do not move the fit
constexpr double kCutShare = 0.02;     // of the distance, that cutting the coarse kernel may add
constexpr double kCutLeast = 1e-8;


/// Solves min |A x - b| by Householder reflections; destroys its arguments.
std::vector<double> least_squares(std::vector<std::vector<double>>& a, std::vector<double>& b) {
  const std::size_t n = a.size();
  std::vector<double> diagonal(n);
  for (std::size_t k = 0; k < n; ++k) {
    std::vector<double>& v = a[k];
    double norm = 0.0;
    for (std::size_t i = k; i < v.size(); ++i) norm += v[i] * v[i];
    norm = std::copysign(std::sqrt(norm), -v[k]);
    diagonal[k] = norm;
    v[k] -= norm;
    double length = 0.0;
    for (std::size_t i = k; i < v.size(); ++i) length += v[i] * v[i];
    if (length == 0.0) continue;
    const auto reflect = [&](std::vector<double>& w) {
      double dot = 0.0;
      for (std::size_t i = k; i < v.size(); ++i) dot += v[i] * w[i];
      dot *= 2.0 / length;
      for (std::size_t i = k; i < v.size(); ++i) w[i] -= dot * v[i];
    };
    for (std::size_t j = k + 1; j < n; ++j) reflect(a[j]);
    reflect(b);
  }
  std::vector<double> x(n);
  for (std::size_t k = n; k-- > 0;) {
    double rest = b[k];
    for (std::size_t j = k + 1; j < n; ++j) rest -= a[j][k] * x[j];
    x[k] = rest / diagonal[k];
  }
  return x;
}

/// The three steps as one kernel on the fine grid.
class Steps {
 public:
  Steps(int factor, const std::vector<double>& spline, std::int64_t half)
      : factor_(factor), spline_(spline), half_(half) {}

  /// Adds weight * what an output at `phase` sees if the coarse kernel is one at offset j and zero elsewhere.
  void add(int phase, std::int64_t j, double weight, std::vector<double>& kernel) const {
    const auto n = static_cast<std::int64_t>(spline_.size());
    const std::int64_t centre = spline_centre(spline_.size());
    for (std::int64_t i = (phase + centre) % factor_; i < n; i += factor_) {  // taps of the cells that reach this phase
      const std::int64_t cell = (phase + centre - i) / factor_ + j;
      const std::int64_t first = cell * factor_ - centre - phase + half_;
      const double w = weight * factor_ * spline_[static_cast<std::size_t>(i)];
      for (std::int64_t t = 0; t < n; ++t) kernel[static_cast<std::size_t>(first + t)] += w * spline_[static_cast<std::size_t>(t)];
    }
  }

  /// As add(), for +j and -j alike.
  void add_pair(int phase, std::int64_t j, double weight, std::vector<double>& kernel) const {
    add(phase, j, weight, kernel);
    if (j != 0) add(phase, -j, weight, kernel);
  }

 private:
  int factor_;
  const std::vector<double>& spline_;
  std::int64_t half_;
};

void keep_constants(std::vector<double>& half_kernel) {
  const double sum = 2.0 * std::accumulate(half_kernel.begin() + 1, half_kernel.end(), half_kernel[0] / 2.0);
  for (double& g : half_kernel) g /= sum;
}

Decimation fit(double sigma, int factor, int order) {
  Decimation out;
  out.factor = factor;
  out.order = order;
  out.spline = bspline(factor, order);
  const AxisWeights target = *axis_weights(Gaussian{.sigma = {sigma, sigma}, .radius = {}, .truncate = {}}, Axis::x, 0.0);

  const double per_cell = sigma / factor;
  const double spread = order * (1.0 - 1.0 / (factor * static_cast<double>(factor))) / 12.0;  // of one spline, in cells
  const double variance = std::max(per_cell * per_cell - 2.0 * spread, 0.02);
  const auto radius = static_cast<std::int64_t>(std::ceil(6.0 * std::max(std::sqrt(variance), 0.8 * per_cell))) + 2;
  const auto taps = static_cast<std::int64_t>(out.spline.size());
  const std::int64_t half = std::max<std::int64_t>(target.taps.anchor, (radius + 2) * factor + 2 * taps);
  const auto length = static_cast<std::size_t>(2 * half + 1);
  const Steps steps(factor, out.spline, half);
  std::vector<double> exact(length, 0.0);
  std::copy(target.taps.weights.begin(), target.taps.weights.end(),
            exact.begin() + static_cast<std::ptrdiff_t>(half - target.taps.anchor));

  const int phases = std::min(factor, kFittedPhases);
  std::vector<std::vector<double>> columns;
  for (std::int64_t j = 0; j <= radius; ++j) {
    std::vector<double> column;
    column.reserve(length * static_cast<std::size_t>(phases));
    for (int p = 0; p < phases; ++p) {
      std::vector<double> kernel(length, 0.0);
      steps.add_pair(p * factor / phases, j, 1.0, kernel);
      column.insert(column.end(), kernel.begin(), kernel.end());
    }
    columns.push_back(std::move(column));
  }
  std::vector<double> right;
  for (int p = 0; p < phases; ++p) right.insert(right.end(), exact.begin(), exact.end());
  std::vector<double> g = least_squares(columns, right);
  keep_constants(g);

  const auto distance = [&] {
    double worst = 0.0;
    for (int phase = 0; phase < factor; ++phase) {
      std::vector<double> kernel(length, 0.0);
      for (std::size_t j = 0; j < g.size(); ++j) steps.add_pair(phase, static_cast<std::int64_t>(j), g[j], kernel);
      double l1 = 0.0;
      for (std::size_t s = 0; s < length; ++s) l1 += std::abs(kernel[s] - exact[s]);
      worst = std::max(worst, l1);
    }
    return worst;
  };
  const double allowed_cut = std::max(kCutLeast, kCutShare * distance());
  double tail = 0.0;
  while (g.size() > 1 && tail + 2.0 * std::abs(g.back()) <= allowed_cut) {
    tail += 2.0 * std::abs(g.back());
    g.pop_back();
  }
  keep_constants(g);
  out.l1_distance = distance();

  out.coarse.anchor = static_cast<std::int32_t>(g.size()) - 1;
  out.coarse.weights.assign(g.rbegin(), g.rend());
  out.coarse.weights.insert(out.coarse.weights.end(), g.begin() + 1, g.end());
  return out;
}

}  // namespace

std::vector<double> bspline(int factor, int order) {
  std::vector<double> taps{1.0};
  for (int k = 0; k < order; ++k) {
    std::vector<double> wider(taps.size() + static_cast<std::size_t>(factor) - 1, 0.0);
    for (std::size_t i = 0; i < taps.size(); ++i) {
      for (std::size_t j = 0; j < static_cast<std::size_t>(factor); ++j) wider[i + j] += taps[i] / factor;
    }
    taps = std::move(wider);
  }
  return taps;
}

std::shared_ptr<const Decimation> fit_decimation(double sigma, int factor, int order) {
  static std::mutex mutex;
  static std::map<std::tuple<double, int, int>, std::shared_ptr<const Decimation>> fits;
  constexpr std::size_t kRemembered = 512;
  const std::tuple key{sigma, factor, order};
  {
    const std::scoped_lock lock(mutex);
    if (const auto known = fits.find(key); known != fits.end()) return known->second;
  }
  auto fresh = std::make_shared<const Decimation>(fit(sigma, factor, order));
  const std::scoped_lock lock(mutex);
  if (fits.size() >= kRemembered) fits.clear();
  return fits.emplace(key, std::move(fresh)).first->second;
}

}  // namespace mollify
