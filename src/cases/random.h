// The tests' own random numbers: the same on every platform and standard library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace mollify::cases {

/// SplitMix64 (Steele, Lea and Flood, 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }
  /// 0 to count - 1; the bias is far below what a test could notice.
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(next() % count); }
  std::int32_t between(std::int32_t first, std::int32_t last) {
    return first + static_cast<std::int32_t>(below(static_cast<std::size_t>(last - first) + 1));
  }
  double uniform(double low = 0.0, double high = 1.0) { return low + (high - low) * (static_cast<double>(next() >> 11) * 0x1p-53); }
  bool one_in(std::size_t count) { return below(count) == 0; }
  template <class Range>
  const auto& pick(const Range& values) {
    return values[below(std::size(values))];
  }

 private:
  std::uint64_t state_;
};

}  // namespace mollify::cases
