// Division of sums by a window's number of pixels, by a multiplication.
#pragma once

#include <cstdint>

namespace mollify::cuda {

/// The integer nearest to sum / window is (sum + half) * factor / 2^(32 + shift), rounded down. Halves are rounded up. Source: Granlund and
/// Montgomery 1994. For results of 8 bits the shift is 0, 8 or 16, so that they are whole bytes of the product.
struct BoxDivision {
  std::uint32_t half = 0;
  std::uint32_t factor = 0;
  std::uint32_t shift = 0;

  /// Whether that is so for all sums of `window` integers up to `largest`.
  [[nodiscard]] constexpr bool is_exact(std::int64_t window, std::int64_t largest) const {
    const double sum = static_cast<double>(window) * static_cast<double>(largest) + half;
    const auto one = static_cast<std::uint64_t>(window) * factor - (std::uint64_t{1} << (32 + shift));  // what 1 comes to, too much
    return sum < 0x1p32 && sum * static_cast<double>(one) < static_cast<double>(std::uint64_t{1} << (32 + shift));
  }
};

/// Of `window` pixels, more than one, whose values are up to `largest`. It may not be exact.
[[nodiscard]] constexpr BoxDivision box_division(std::int64_t window, std::int64_t largest) {
  const auto w = static_cast<std::uint64_t>(window);
  const std::uint32_t step = largest < 256 ? 8 : 1;
  BoxDivision division;
  for (std::uint32_t shift = 0; shift <= 16 && window > (std::int64_t{1} << shift); shift += step) {
    const std::uint64_t power = std::uint64_t{1} << (32 + shift);
    division = {static_cast<std::uint32_t>(w / 2), static_cast<std::uint32_t>((power + w - 1) / w), shift};
    if (division.is_exact(window, largest)) break;
  }
  return division;
}

}  // namespace mollify::cuda
