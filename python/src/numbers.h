// The numbers of arrays as types of C++, and conversions between them.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>

namespace mollify::python {

/// A number of an array of bool.
enum class Truth : std::uint8_t { no, yes };
/// A number of an array of bfloat16: the upper half of a float32.
enum class Brain : std::uint16_t {};

[[nodiscard]] inline float widened(Brain value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16U);
}

/// The nearest bfloat16, of two the even one.
[[nodiscard]] inline Brain narrowed(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<Brain>(bits >> 16U | 0x40U);  // rounding could make it infinite
  return static_cast<Brain>((bits + 0x7FFFU + (bits >> 16U & 1U)) >> 16U);
}

/// Integers are rounded to the nearest and held within their range; a bool is true from 0.5 up.
template <class To, class From>
[[nodiscard]] To converted(From value) {
  if constexpr (std::same_as<To, From>) {
    return value;
  } else if constexpr (std::same_as<From, Brain>) {
    return static_cast<To>(widened(value));
  } else if constexpr (std::same_as<To, Brain>) {
    return narrowed(static_cast<float>(value));
  } else if constexpr (std::floating_point<To>) {
    return static_cast<To>(value);
  } else if constexpr (std::same_as<To, Truth>) {
    return value >= From(0.5) ? Truth::yes : Truth::no;
  } else {
    constexpr auto kSmallest = static_cast<From>(std::numeric_limits<To>::min());
    constexpr auto kLargest = static_cast<From>(std::numeric_limits<To>::max());
    static_assert(static_cast<double>(kLargest) == static_cast<double>(std::numeric_limits<To>::max()));
    return static_cast<To>(std::nearbyint(std::clamp(value, kSmallest, kLargest)));
  }
}

/// Numbers in memory need not lie at multiples of their size.
template <class Number>
[[nodiscard]] Number load(const std::byte* from) {
  Number out;
  std::memcpy(&out, from, sizeof(Number));
  return out;
}
template <class Number>
void store(Number value, std::byte* to) {
  std::memcpy(to, &value, sizeof(Number));
}

}  // namespace mollify::python
