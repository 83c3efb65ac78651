#include "message.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>

namespace mollify::cli {
namespace {

bool is_continuation(std::string_view text, std::size_t i) {
  return i < text.size() && (static_cast<unsigned char>(text[i]) & 0xc0U) == 0x80;
}

// Bytes of the character at `i`, if they are valid UTF-8 of a character that is no control character; else 0.
std::size_t visible_bytes(std::string_view text, std::size_t i) {
  const auto at = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char first = at(i);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t count = first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xf0 && first < 0xf5 ? 4 : 0;
  for (std::size_t k = 1; k < count; ++k) {
    if (!is_continuation(text, i + k)) return 0;
  }
  if (count == 0) return 0;
  const unsigned char second = at(i + 1);
  const bool is_control = first == 0xc2 && second < 0xa0;
  const bool is_overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool is_outside = (first == 0xed && second >= 0xa0) || (first == 0xf4 && second >= 0x90);
  // Characters that reverse the direction of text, or end lines, can make a line say something else than it does.
  const bool turns_text =
      first == 0xe2 && second == 0x80 && (at(i + 2) == 0xa8 || at(i + 2) == 0xa9 || (at(i + 2) >= 0xaa && at(i + 2) <= 0xae));
  return is_control || is_overlong || is_outside || turns_text ? 0 : count;
}

std::size_t characters(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size(); ++i) count += is_continuation(text, i) ? 0 : 1;
  return count;
}

// The byte at which character `index` begins.
std::size_t place_of(std::string_view text, std::size_t index) {
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    if (!is_continuation(text, i) && index-- == 0) break;
  }
  return i;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    if (const std::size_t count = visible_bytes(text, i)) {
      result += text.substr(i, count);
      i += count;
      continue;
    }
    const char c = text[i++];
    result += c == '\n' ? "\\n" : c == '\t' ? "\\t" : c == '\r' ? "\\r" : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return result;
}

std::string message_line(std::string_view text) {
  constexpr std::size_t kLongest = 300;
  constexpr std::string_view kGap = " ... ";
  std::string line = printable(text);
  const std::size_t count = characters(line);
  if (count <= kLongest) return line;
  constexpr std::size_t kBegin = (kLongest - kGap.size()) / 2;
  constexpr std::size_t kEnd = kLongest - kGap.size() - kBegin;
  const std::size_t end = place_of(line, count - kEnd);
  return line.substr(0, place_of(line, kBegin)) + std::string(kGap) + line.substr(end);
}

void complain(std::string_view message) {
  constexpr std::string_view kName = "mollify: ";
  const std::string line = message_line(std::string(kName) + std::string(message));
  fmt::print(stderr, "{}\n", line);
}

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array kUnits = {"bytes", "KB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1000.0 && unit + 1 < kUnits.size(); ++unit) value /= 1024.0;
  return unit > 0 && value < 10.0 ? fmt::format("{:.1f} {}", value, kUnits[unit]) : fmt::format("{:.0f} {}", value, kUnits[unit]);
}

}  // namespace mollify::cli
