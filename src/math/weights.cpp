#include "math/weights.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/half.h"
#include "math/remembered.h"

namespace mollify {
namespace {

constexpr double kGaussianReach = 8.0;  // sigmas; beyond it a float64 weight is below 1e-14 of the sum

void divide_by_sum(std::vector<double>& weights) {
  const double whole = total(weights);
  for (double& w : weights) w /= whole;
}

/// Taps on both sides of the output's place, or of the middle between it and the next.
AxisTaps centred(std::vector<double> weights) {
  const auto anchor = static_cast<std::int32_t>((weights.size() - 1) / 2);
  return {std::move(weights), anchor};
}

std::vector<double> sampled_gaussian(double sigma, std::int64_t radius) {
  std::vector<double> weights(static_cast<std::size_t>(2 * radius + 1));
  for (std::int64_t i = 0; i <= radius; ++i) {
    const double t = static_cast<double>(i) / sigma;
    const double weight = std::exp(-0.5 * t * t);
    weights[static_cast<std::size_t>(radius - i)] = weight;
    weights[static_cast<std::size_t>(radius + i)] = weight;
  }
  divide_by_sum(weights);
  return weights;
}

/// At half pixels. All are divided by the largest, or those of the smallest sigmas would all be 0.
std::vector<double> gaussian_between(double sigma, std::int64_t radius) {
  const auto count = static_cast<std::size_t>(radius) + 1;  // on each side
  std::vector<double> weights(2 * count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto distance = static_cast<double>(i);  // beyond the nearest
    const double weight = i == 0 ? 1.0 : std::exp(-0.5 * (distance / sigma) * ((distance + 1.0) / sigma));
    weights[count - 1 - i] = weight;
    weights[count + i] = weight;
  }
  divide_by_sum(weights);
  return weights;
}

/// Of a window around the middle between two pixels: the part of each pixel that lies in it.
AxisTaps box_between(const BoxExtent& extent) {
  std::vector<double> weights;
  const auto add_side = [&](double reach) {
    for (double covered = reach; covered > 0.0; covered -= 1.0) weights.push_back(std::min(covered, 1.0));
  };
  add_side(extent.before + 0.5);
  std::ranges::reverse(weights);
  const auto anchor = static_cast<std::int32_t>(weights.size()) - 1;
  add_side(extent.after + 0.5);
  for (double& w : weights) w /= extent.before + 1.0 + extent.after;
  return {std::move(weights), anchor};
}

std::vector<double> tent_between(double radius) {
  std::vector<double> side;
  for (double weight = radius + 0.5; weight > 0.0; weight -= 1.0) side.push_back(weight);
  std::vector<double> weights(side.rbegin(), side.rend());
  weights.insert(weights.end(), side.begin(), side.end());
  divide_by_sum(weights);
  return weights;
}

/// Drops as many outer taps on both sides as the budget allows. Dropping a share t of the sum and renormalising moves
/// the kernel by t (what is gone) + t (what the rest grew), in L1.
AxisWeights cut(std::vector<double> weights, double budget) {
  double tail = 0.0;
  std::size_t dropped = 0;
  while (2 * (dropped + 1) < weights.size()) {
    const double next = tail + weights[dropped] + weights[weights.size() - 1 - dropped];
    if (2.0 * next > budget) break;
    tail = next;
    ++dropped;
  }
  weights.erase(weights.end() - static_cast<std::ptrdiff_t>(dropped), weights.end());
  weights.erase(weights.begin(), weights.begin() + static_cast<std::ptrdiff_t>(dropped));
  divide_by_sum(weights);
  return {centred(std::move(weights)), 2.0 * tail};
}

/// u and v with m[i][j] = v[i] * u[j] to within rounding, if there are such: the row and column through the largest
/// entry, held against all others.
std::optional<PerAxis<std::vector<double>>> factors(const Matrix& m) {
  const auto width = static_cast<std::size_t>(m.width);
  const auto largest = std::max_element(m.weights.begin(), m.weights.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
  const double peak = *largest;
  const auto index = static_cast<std::size_t>(largest - m.weights.begin());
  const std::size_t row = index / width;
  const std::size_t column = index % width;
  PerAxis<std::vector<double>> out{std::vector<double>(width), std::vector<double>(static_cast<std::size_t>(m.height))};
  for (std::size_t j = 0; j < out.x.size(); ++j) out.x[j] = m.weights[row * width + j];
  for (std::size_t i = 0; i < out.y.size(); ++i) out.y[i] = peak == 0.0 ? 0.0 : m.weights[i * width + column] / peak;
  constexpr double kTolerance = 1e-12;
  for (std::size_t i = 0; i < out.y.size(); ++i) {
    for (std::size_t j = 0; j < width; ++j) {
      if (std::abs(m.weights[i * width + j] - out.y[i] * out.x[j]) > kTolerance * std::abs(peak)) return std::nullopt;
    }
  }
  return out;
}

struct WeightsOf {
  Axis axis;
  double cut_budget;
  bool between;

  std::optional<AxisWeights> operator()(const Gaussian& g) const {
    const auto [sigma, radius] = on_axis(g, axis);
    if (sigma == 0.0) return AxisWeights{between ? AxisTaps{{0.5, 0.5}, 0} : AxisTaps{}, 0.0};
    const auto sampled = between ? gaussian_between : sampled_gaussian;
    if (radius) return AxisWeights{centred(sampled(sigma, *radius)), 0.0};
    return cut(sampled(sigma, static_cast<std::int64_t>(std::ceil(kGaussianReach * sigma))), cut_budget);
  }

  std::optional<AxisWeights> operator()(const Box& b) const {
    const BoxExtent extent = on(b.extent, axis);
    if (between) return AxisWeights{box_between(extent), 0.0};
    const auto before = static_cast<std::size_t>(std::ceil(extent.before));
    const auto after = static_cast<std::size_t>(std::ceil(extent.after));
    std::vector<double> weights(before + 1 + after, 1.0);
    if (before > 0) weights.front() = 1.0 - (std::ceil(extent.before) - extent.before);
    if (after > 0) weights.back() = 1.0 - (std::ceil(extent.after) - extent.after);
    const double length = extent.before + 1.0 + extent.after;
    for (double& w : weights) w /= length;
    return AxisWeights{{std::move(weights), static_cast<std::int32_t>(before)}, 0.0};
  }

  std::optional<AxisWeights> operator()(const Tent& t) const {
    const double radius = on(t.radius, axis);
    if (between) return AxisWeights{centred(tent_between(radius)), 0.0};
    const auto reach = static_cast<std::int64_t>(std::ceil(radius));
    std::vector<double> weights;
    for (std::int64_t i = -reach; i <= reach; ++i) {
      weights.push_back(radius + 1.0 - static_cast<double>(std::abs(i)));
    }
    divide_by_sum(weights);
    return AxisWeights{centred(std::move(weights)), 0.0};
  }

  std::optional<AxisWeights> operator()(const Taps& t) const {
    AxisTaps taps = axis == Axis::x ? t.x : t.y;
    if (t.normalization == Normalization::unit_sum) divide_by_sum(taps.weights);
    return AxisWeights{std::move(taps), 0.0};
  }

  std::optional<AxisWeights> operator()(const Matrix& given) const {
    const Matrix m = normalized(given);
    std::optional<PerAxis<std::vector<double>>> parts = factors(m);
    if (!parts) return std::nullopt;
    return axis == Axis::x ? AxisWeights{{std::move(parts->x), m.anchor.x}, 0.0} : AxisWeights{{std::move(parts->y), m.anchor.y}, 0.0};
  }
};

}  // namespace

AxisGaussian on_axis(const Gaussian& gaussian, Axis axis) {
  const double sigma = on(gaussian.sigma, axis);
  if (gaussian.radius) return {sigma, on(*gaussian.radius, axis)};
  if (gaussian.truncate) return {sigma, static_cast<std::int64_t>(std::floor(*gaussian.truncate * sigma + 0.5))};
  return {sigma, std::nullopt};
}

std::optional<AxisWeights> axis_weights(const KernelSpec& kernel, Axis axis, double cut_budget, bool between) {
  return std::visit(WeightsOf{axis, cut_budget, between}, kernel);
}

Matrix normalized(const Matrix& matrix) {
  Matrix out = matrix;
  if (matrix.normalization == Normalization::unit_sum) divide_by_sum(out.weights);
  out.normalization = Normalization::none;
  return out;
}

AxisTaps fold(const AxisTaps& taps, BorderMode mode, std::int64_t length) {
  // Offsets that always read the same pixel share one tap: with a periodic border those a period apart, otherwise
  // those that leave the image from every position.
  const std::int64_t period = mode == BorderMode::wrap      ? length
                              : mode == BorderMode::reflect ? 2 * length
                              : mode == BorderMode::mirror  ? std::max<std::int64_t>(2 * (length - 1), 1)
                                                            : 0;
  const std::int64_t farthest = mode == BorderMode::constant ? length : length - 1;
  const std::int64_t low = period > 0 ? -(period / 2) : -farthest;
  const std::int64_t high = period > 0 ? low + period - 1 : farthest;
  const std::int64_t first = -std::int64_t{taps.anchor};
  const std::int64_t last = first + static_cast<std::int64_t>(taps.weights.size()) - 1;
  if (first >= low && last <= high) return taps;

  std::vector<long double> sums(static_cast<std::size_t>(high - low + 1));  // thousands of weights may share a tap
  for (std::int64_t offset = first; offset <= last; ++offset) {
    std::int64_t target = std::clamp(offset, low, high);
    if (period > 0) target = low + ((offset - low) % period + period) % period;
    sums[static_cast<std::size_t>(target - low)] += taps.weights[static_cast<std::size_t>(offset - first)];
  }
  std::vector<double> weights(sums.size());
  std::ranges::transform(sums, weights.begin(), [](long double sum) { return static_cast<double>(sum); });
  return {std::move(weights), static_cast<std::int32_t>(-low)};
}

double magnitude(const std::vector<double>& weights) {
  double sum = 0.0;
  for (const double w : weights) sum += std::abs(w);
  return sum;
}

double total(const std::vector<double>& weights) {
  return std::accumulate(weights.begin(), weights.end(), 0.0);
}

double summation_growth(const std::vector<double>& weights) {
  const double total = magnitude(weights);
  if (total == 0.0) return 0.0;
  double partial = 0.0;
  double growth = 0.0;
  for (const double w : weights) {
    partial += std::abs(w);
    growth += partial;
  }
  constexpr double kWeightAndProduct = 2.0;
  return growth / total + kWeightAndProduct;
}

double blocked_summation_growth(const std::vector<double>& weights, std::size_t block) {
  const double total = magnitude(weights);
  if (total == 0.0) return 0.0;
  double inside = 0.0;
  std::vector<double> blocks;
  for (std::size_t from = 0; from < weights.size(); from += block) {
    const std::size_t to = std::min(from + block, weights.size());
    const std::vector<double> part(weights.begin() + static_cast<std::ptrdiff_t>(from), weights.begin() + static_cast<std::ptrdiff_t>(to));
    blocks.push_back(magnitude(part));
    inside += blocks.back() / total * summation_growth(part);
  }
  double partial = 0.0;
  double between = 0.0;
  for (const double b : blocks) between += (partial += b);
  return inside + between / total;
}

template <class T>
std::vector<T> rounded(const std::vector<double>& weights) {
  std::vector<T> out(weights.begin(), weights.end());
  if (out.empty()) return out;
  double kept = 0.0;
  for (const T w : out) kept += static_cast<double>(w);
  const auto largest = std::max_element(out.begin(), out.end(), [](T a, T b) { return std::abs(a) < std::abs(b); });
  *largest = static_cast<T>(static_cast<double>(*largest) + (total(weights) - kept));
  return out;
}

std::int32_t radius_of(const AxisTaps& taps) {
  return std::max(taps.anchor, static_cast<std::int32_t>(taps.weights.size()) - 1 - taps.anchor);
}

std::vector<float> in_the_middle(const AxisTaps& taps, std::int32_t count) {
  std::vector<float> out(static_cast<std::size_t>(count));
  std::ranges::transform(taps.weights, out.begin() + (count / 2 - taps.anchor), [](double w) { return static_cast<float>(w); });
  return out;
}

namespace {

/// From a half to the next larger or smaller one: their bits are numbered by magnitude.
double next_half(double half, bool up) {
  if (half == 0.0) return std::copysign(0x1p-24, up ? 1.0 : -1.0);
  return half_to_float(static_cast<std::uint16_t>(double_to_half(half) + ((half > 0.0) == up ? 1 : -1)));
}

}  // namespace

HalfWeights rounded_to_half(const std::vector<double>& weights, double scale) {
  HalfWeights out;
  out.scale = scale;
  double left = 0.0;  // of the sum
  for (const double w : weights) {
    const double half = half_to_float(double_to_half(w / scale));
    out.weights.push_back(half);
    left += w / scale - half;
  }
  // Those are rounded the other way that lie most nearly between two halves, until none brings the sum nearer. The rest of the
  // sum shrinks by each, so who is too far away once stays so, until there is too much and the others turn.
  struct Turn {
    std::size_t index;
    double other;
    double cost;  ///< for each unit of the sum
  };
  std::vector<bool> is_turned(weights.size());
  const auto brings_nearer = [&](const Turn& t) { return std::abs(t.other - out.weights[t.index]) < 2.0 * std::abs(left); };
  while (true) {
    const bool up = left > 0.0;
    std::vector<Turn> turns;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (is_turned[i]) continue;
      Turn t{i, next_half(out.weights[i], up), 0.0};
      if (!brings_nearer(t)) continue;
      const double exact = weights[i] / scale;
      t.cost = (std::abs(t.other - exact) - std::abs(out.weights[i] - exact)) / std::abs(t.other - out.weights[i]);
      turns.push_back(t);
    }
    if (turns.empty()) break;
    std::ranges::stable_sort(turns, {}, &Turn::cost);
    for (const Turn& t : turns) {
      if (!brings_nearer(t)) continue;
      is_turned[t.index] = true;
      left -= t.other - out.weights[t.index];
      out.weights[t.index] = t.other;
      if ((left > 0.0) != up) break;
    }
  }
  for (std::size_t i = 0; i < weights.size(); ++i) out.l1_distance += std::abs(out.weights[i] * scale - weights[i]);
  out.missing = left * scale;
  return out;
}

HalfWeights rounded_to_scaled_half(const std::vector<double>& weights) {
  double largest = 0.0;
  for (const double w : weights) largest = std::max(largest, std::abs(w));
  return rounded_to_half(weights, largest > 0.0 ? std::exp2(std::ilogb(largest) + 1) : 1.0);
}

namespace {

/// The nearest halves, and a scale that keeps the sum, unless that is small beside its parts.
HalfWeights halves_times(const std::vector<double>& weights, double scale) {
  HalfWeights out;
  const double whole = total(weights);
  double sum_of_halves = 0.0;
  for (const double w : weights) {
    out.weights.push_back(half_to_float(double_to_half(w / scale)));
    sum_of_halves += out.weights.back();
  }
  constexpr double kLeastShare = 0.1;  // of the sum in the sum of magnitudes: taps that nearly cancel say nothing of the scale
  out.scale = std::abs(whole) > kLeastShare * magnitude(weights) && sum_of_halves != 0.0 ? whole / sum_of_halves : scale;
  out.missing = whole - sum_of_halves * out.scale;
  for (std::size_t i = 0; i < weights.size(); ++i) out.l1_distance += std::abs(out.weights[i] * out.scale - weights[i]);
  return out;
}

HalfWeights find_best_halves(const std::vector<double>& weights) {
  constexpr int kScales = 1000;
  const double size = magnitude(weights);
  if (size == 0.0) return {weights, 1.0, 0.0, 0.0};
  const double base = std::exp2(std::ceil(std::log2(size)));
  // Whole numbers of the least weight are what boxes and tents are made of.
  double least = size;
  for (const double w : weights) least = w == 0.0 ? least : std::min(least, std::abs(w));
  HalfWeights best = halves_times(weights, least * std::exp2(std::ceil(std::log2(size / least))));
  for (int i = 0; i < kScales; ++i) {
    HalfWeights other = halves_times(weights, base * (1.0 + static_cast<double>(i) / kScales));
    if (other.l1_distance < best.l1_distance) best = std::move(other);
  }
  return best;
}

}  // namespace

HalfWeights rounded_to_best_half(const std::vector<double>& weights) {
  static auto& known = *new Remembered<std::vector<double>, HalfWeights>(64);
  return known.get(weights, [&] { return find_best_halves(weights); });
}

std::optional<FixedWeights> rounded_to_fixed(const AxisTaps& taps, int most_halvings, double whole) {
  constexpr double kOne = 65536.0;
  constexpr double kSumSlack = 1e-9;
  const auto middle = static_cast<std::size_t>(taps.anchor);
  const std::vector<double>& w = taps.weights;
  FixedWeights out;
  out.is_even = w.size() == 2 * middle + 2;
  if ((!out.is_even && w.size() != 2 * middle + 1) || std::abs(mollify::total(w) - whole) > kSumSlack) return std::nullopt;
  int level = most_halvings;  // halvings yet to come
  double total = 0.0;         // of what has been summed, in units of the level
  double moved = 0.0;
  for (std::size_t i = 0; i <= middle; ++i) {
    if (w[i] != w[w.size() - 1 - i] || w[i] < 0.0) return std::nullopt;
    const double exact = (i == middle && !out.is_even ? 1.0 : 2.0) * w[i] * kOne;
    // The level must hold this tap and what comes before it.
    for (; level > 0 && total + std::ldexp(exact, level) > kOne - 1.0; --level) {
      total /= 2.0;
      if (i == 0) continue;
      out.runs.push_back(static_cast<std::int64_t>(i));
      out.gained += std::ldexp(0.5, 1 - level);
    }
    // What rounding left over goes to the innermost, where there is room for it.
    const double wanted = i == middle ? std::ldexp(whole * kOne, level) - total : std::nearbyint(std::ldexp(exact, level));
    const double tap = std::clamp(std::nearbyint(wanted), 0.0, kOne - 1.0);
    out.taps.push_back(static_cast<std::uint16_t>(tap));
    out.lost += std::ldexp(1.0, -level);
    total += tap;
    moved += std::abs(std::ldexp(tap, -level) - exact) / kOne;
  }
  out.runs.push_back(static_cast<std::int64_t>(middle + (out.is_even ? 1 : 0)));
  const double missing = std::abs(std::ldexp(total, -level) / kOne - whole);
  out.distance = 0.5 * (moved + missing);
  return out;
}

template std::vector<float> rounded(const std::vector<double>&);
template std::vector<double> rounded(const std::vector<double>&);

}  // namespace mollify
