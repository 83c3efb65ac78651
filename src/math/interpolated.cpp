#include "math/interpolated.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "math/remembered.h"
#include "math/weights.h"

namespace mollify {
namespace {

constexpr int kHalf = kLerpTaps / 2;
constexpr int kUnknowns = kHalf + 1;
using Column = std::array<double, kLerpReach + 2>;  // a symmetric kernel from its centre on

/// The kernel of taps at +-offset that weigh one together, or of the one at zero.
Column basis(double offset) {
  Column out{};
  const double whole = std::floor(offset);
  const auto index = static_cast<std::size_t>(whole);
  out[index] += 1.0 - (offset - whole);
  out[index + 1] += offset - whole;
  if (offset == 0.0) return out;
  for (std::size_t i = 1; i < out.size(); ++i) out[i] /= 2.0;
  return out;
}

/// Solves the normal equations by elimination with pivots; taps a pixel or more apart make them benign.
std::array<double, kUnknowns> solve(std::array<std::array<double, kUnknowns + 1>, kUnknowns> m) {
  for (std::size_t k = 0; k < kUnknowns; ++k) {
    const auto pivot = std::max_element(m.begin() + static_cast<std::ptrdiff_t>(k), m.end(),
                                        [&](const auto& a, const auto& b) { return std::abs(a[k]) < std::abs(b[k]); });
    std::swap(m[k], *pivot);
    for (std::size_t i = k + 1; i < kUnknowns; ++i) {
      const double factor = m[i][k] / m[k][k];
      for (std::size_t j = k; j <= kUnknowns; ++j) m[i][j] -= factor * m[k][j];
    }
  }
  std::array<double, kUnknowns> x{};
  for (std::size_t k = kUnknowns; k-- > 0;) {
    double rest = m[k][kUnknowns];
    for (std::size_t j = k + 1; j < kUnknowns; ++j) rest -= m[k][j] * x[j];
    x[k] = rest / m[k][k];
  }
  return x;
}

LerpTaps fit_at(float spacing, const std::vector<double>& wanted) {
  std::array<Column, kUnknowns> columns{};
  for (int i = 0; i < kUnknowns; ++i) columns[static_cast<std::size_t>(i)] = basis(static_cast<double>(static_cast<float>(i) * spacing));
  const auto at = [&](std::size_t i) { return i < wanted.size() ? wanted[i] : 0.0; };
  std::array<std::array<double, kUnknowns + 1>, kUnknowns> equations{};
  for (std::size_t p = 0; p < std::tuple_size_v<Column>; ++p) {
    const double both_sides = p == 0 ? 1.0 : 2.0;
    for (std::size_t i = 0; i < kUnknowns; ++i) {
      for (std::size_t j = 0; j < kUnknowns; ++j) equations[i][j] += both_sides * columns[i][p] * columns[j][p];
      equations[i][kUnknowns] += both_sides * columns[i][p] * at(p);
    }
  }
  std::array<double, kUnknowns> x = solve(equations);
  const double sum = std::accumulate(x.begin(), x.end(), 0.0);
  for (double& w : x) w /= sum;

  LerpTaps out{static_cast<double>(spacing), std::vector<double>(kLerpTaps), 0.0};
  for (int i = -kHalf; i <= kHalf; ++i) {
    out.weights[static_cast<std::size_t>(i + kHalf)] = x[static_cast<std::size_t>(std::abs(i))] / (i == 0 ? 1.0 : 2.0);
  }
  for (std::size_t p = 0; p < std::max(wanted.size(), std::tuple_size_v<Column>); ++p) {
    double realised = 0.0;
    for (std::size_t i = 0; p < std::tuple_size_v<Column> && i < kUnknowns; ++i) realised += x[i] * columns[i][p];
    out.l1_distance += (p == 0 ? 1.0 : 2.0) * std::abs(realised - at(p));
  }
  return out;
}

LerpTaps fit(const std::vector<double>& wanted) {
  constexpr int kSteps = 64;  // spacings that are tried, a pixel
  LerpTaps best = fit_at(1.0F, wanted);
  for (int step = kSteps + 1; step <= kSteps * kLerpReach / kHalf; ++step) {
    LerpTaps other = fit_at(static_cast<float>(step) / kSteps, wanted);
    if (other.l1_distance < best.l1_distance) best = std::move(other);
  }
  return best;
}

}  // namespace

PairedTaps paired(const AxisTaps& taps, int fraction_bits) {
  PairedTaps out;
  for (std::size_t i = 0; i < taps.weights.size(); i += 2) {
    const double first = taps.weights[i];
    const double second = i + 1 < taps.weights.size() ? taps.weights[i + 1] : 0.0;
    const double both = first + second;
    const double exact = both > 0.0 ? second / both : 0.0;
    const double fraction = std::ldexp(std::nearbyint(std::ldexp(exact, fraction_bits)), -fraction_bits);
    out.weights.push_back(both);
    out.positions.push_back(static_cast<double>(i) - taps.anchor + fraction);
    out.l1_distance += 2.0 * both * std::abs(fraction - exact);
  }
  const std::vector<float> floats = rounded<float>(out.weights);
  out.weights.assign(floats.begin(), floats.end());
  return out;
}

std::shared_ptr<const LerpTaps> fit_lerp_taps(const AxisTaps& wanted) {
  static auto& fits = *new Remembered<std::vector<double>, std::shared_ptr<const LerpTaps>>(64);
  const std::vector<double> right(wanted.weights.begin() + wanted.anchor, wanted.weights.end());
  return fits.get(right, [&] { return std::make_shared<const LerpTaps>(fit(right)); });
}

}  // namespace mollify
