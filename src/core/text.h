// Numbers as people write them.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>

namespace mollify {

/// The shortest decimal that reads back as `value`.
[[nodiscard]] inline std::string number(double value) {
  char buffer[64];
  const std::to_chars_result result = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, result.ptr};
}

/// With `digits` significant digits.
[[nodiscard]] inline std::string number(double value, int digits) {
  char buffer[64];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general, digits);
  return {buffer, result.ptr};
}

}  // namespace mollify
