#include "math/code_sums.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>

#include "base/half.h"
#include "math/remembered.h"
#include "math/weights.h"

namespace mollify {
namespace {

constexpr int kBits = 11;  // of a half's significand
constexpr double kLeastNormal = 0x1p-14;
constexpr double kCentre = 128.0;

/// Numbers in f16: how large they can be, what all of them are multiples of, and how far they may be from what they stand for.
struct Numbers {
  double size = kCentre;
  double grain = 1.0;
  double error = 0.0;
};

// Powers of two are read off the bits of doubles, since sums are rounded by the hundred thousand before the best scale is found.
constexpr int kMantissaBits = 52;
constexpr std::uint64_t kMantissa = (std::uint64_t{1} << kMantissaBits) - 1;

/// The power of two that is `value` or the next larger one, times 2^-bits. Both are normal.
double power_from(double value, int bits) {
  const std::uint64_t up = std::bit_cast<std::uint64_t>(value) + kMantissa;
  return std::bit_cast<double>((up & ~kMantissa) - (static_cast<std::uint64_t>(bits) << kMantissaBits));
}

/// What rounding a sum of such numbers moves it by. Multiples of what halves of that size are spaced by stay as they are. Devices
/// may take subnormal sums for zero.
double rounding(double size, double grain) {
  if (size == 0.0) return 0.0;
  const double last = power_from(size, kBits);  // what the largest below `size` are spaced by
  return last <= grain ? 0.0 : std::max(last / 2.0, kLeastNormal);
}

/// The power of two that a half is an odd multiple of.
double grain_of(double half) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(half);
  const int zeros = std::countr_zero((bits & kMantissa) | (kMantissa + 1));
  return power_from(std::bit_cast<double>(bits & ~kMantissa & ~(std::uint64_t{1} << 63)), kMantissaBits - zeros);
}

/// What symmetric taps that are halves make of `in`, summed from the outermost on.
Numbers summed(const std::vector<double>& taps, const Numbers& in, bool fuses) {
  Numbers out{0.0, in.grain, in.error * magnitude(taps)};
  double grain = 1.0;
  for (const double tap : taps) grain = tap == 0.0 ? grain : std::min(grain, grain_of(tap));
  out.grain *= grain;
  const std::size_t count = taps.size();
  for (std::size_t i = 0; 2 * i < count; ++i) {
    const bool is_middle = 2 * i + 1 == count;
    const double tap = std::abs(taps[i]);
    const double added = is_middle ? in.size : 2.0 * in.size;
    if (!is_middle) out.error += tap * rounding(added, in.grain);
    if (tap < kLeastNormal) out.error += tap * added;
    if (!fuses && tap > 0.0) out.error += rounding(tap * added, in.grain * grain_of(tap));
    out.size += tap * added;
    out.error += rounding(out.size, out.grain);
  }
  return out;
}

struct Halves {
  std::vector<double> taps;
  double distance = 0.0;  ///< L1, of taps times scale from the weights
};

Halves nearest_halves(const std::vector<double>& weights, double scale) {
  Halves out;
  for (const double w : weights) {
    out.taps.push_back(half_to_float(double_to_half(w / scale)));
    out.distance += std::abs(out.taps.back() * scale - w);
  }
  return out;
}

/// Taps of x are divided by `scale`, those of y by gain / scale. What errs by more than `enough` is given up, without taps.
CodeSums sums_by(const PerAxis<std::vector<double>>& weights, bool fuses, double scale, double gain, double enough) {
  Halves x = nearest_halves(weights.x, scale);
  CodeSums out;
  out.gain = gain;
  out.error = kCentre * x.distance * magnitude(weights.y);
  if (out.error > enough) return out;
  const Numbers rows = summed(x.taps, {}, fuses);
  Halves y = nearest_halves(weights.y, gain / scale);
  const Numbers sums = summed(y.taps, rows, fuses);
  out.error += gain * sums.error + kCentre * y.distance * magnitude(x.taps) * scale;
  if (!fuses) out.error += rounding(gain * sums.size, sums.grain * grain_of(gain));
  out.taps = {std::move(x.taps), std::move(y.taps)};
  return out;
}

CodeSums find_sums(const PerAxis<std::vector<double>>& weights, bool fuses) {
  CodeSums best = sums_by(weights, fuses, 1.0, 1.0, std::numeric_limits<double>::infinity());
  const auto consider = [&](double scale, double gain) {
    CodeSums other = sums_by(weights, fuses, scale, gain, best.error);
    if (other.error < best.error) best = std::move(other);
  };
  // Sums round most finely where they stay just below 128: x is divided by a little more than one, and what that loses grows with it.
  constexpr int kScales = 512;
  for (int i = 1; i < kScales; ++i) consider(1.0 + i / (32.0 * kScales), 1.0);
  // Boxes and tents are whole numbers of their outermost taps.
  const PerAxis<double> least{std::abs(weights.x.front()), std::abs(weights.y.front())};
  const double gain = half_to_float(double_to_half(least.x * least.y));
  constexpr double kMost = 0x1p15;  // halves end at twice that
  if (gain > 0.0 && kCentre * magnitude(weights.y) <= kMost * gain) consider(least.x, gain);
  return best;
}

bool is_symmetric(const std::vector<double>& taps) {
  return std::equal(taps.begin(), taps.end(), taps.rbegin());
}

}  // namespace

std::optional<CodeSums> code_sums(const PerAxis<std::vector<double>>& weights, bool fuses) {
  if (!is_symmetric(weights.x) || !is_symmetric(weights.y)) return std::nullopt;
  static auto& known = *new Remembered<std::tuple<std::vector<double>, std::vector<double>, bool>, CodeSums>(64);
  return known.get({weights.x, weights.y, fuses}, [&] { return find_sums(weights, fuses); });
}

}  // namespace mollify
