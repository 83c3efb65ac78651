// Numbers as people write them.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>

namespace mollify {

/// The shortest decimal that reads back as `value`.
[[nodiscard]] inline std::string number(double value) {
  char buffer[64];
  const std::to_chars_result result = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, result.ptr};
}

/// With `digits` significant digits, rounded to nearest.
[[nodiscard]] inline std::string number(double value, int digits) {
  char buffer[64];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general, digits);
  return {buffer, result.ptr};
}

/// The same of a bound above zero, rounded up.
[[nodiscard]] inline std::string bound(double value, int digits) {
  const std::string nearest = number(value, digits);
  double rounded = 0.0;
  std::from_chars(nearest.data(), nearest.data() + nearest.size(), rounded);
  if (rounded >= value) return nearest;
  return number(value + 0.5 * std::pow(10.0, std::floor(std::log10(value)) + 1.0 - digits), digits);
}

}  // namespace mollify
