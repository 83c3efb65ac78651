#include "parse.h"

#include <fmt/format.h>

#include <charconv>

#include "failure.h"

namespace mollify::cli {
namespace {

// std::from_chars takes no leading plus, people do.
std::string_view without_plus(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-' && text[1] != '+') text.remove_prefix(1);
  return text;
}

template <class T>
std::optional<T> whole_text(std::string_view text) {
  text = without_plus(text);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

[[noreturn]] void wrong(std::string_view option, std::string_view text, std::string_view expected) {
  fail_usage(fmt::format("{}: {} is not {}", option, in_quotes(text), expected));
}

// Splits at `separator` into exactly two, or returns nothing.
std::optional<std::pair<std::string_view, std::string_view>> halves(std::string_view text, char separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos) return std::nullopt;
  return std::pair{text.substr(0, at), text.substr(at + 1)};
}

template <class T>
std::optional<PerAxis<T>> pair_of(std::string_view text, char separator) {
  const auto parts = halves(text, separator);
  if (!parts) return std::nullopt;
  const std::optional<T> x = whole_text<T>(parts->first);
  const std::optional<T> y = whole_text<T>(parts->second);
  if (!x || !y) return std::nullopt;
  return PerAxis<T>{*x, *y};
}

}  // namespace

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string result = "'";
  for (const char c : text.substr(0, kLongest)) result += c >= 0x20 && c < 0x7f ? c : '?';
  return result + (text.size() > kLongest ? "...'" : "'");
}

void require_name(std::string_view name, std::string_view option) {
  if (name.empty()) fail_usage(fmt::format("{}: the name is empty", option));
}

std::optional<double> to_number(std::string_view text) {
  return whole_text<double>(text);
}

double parse_number(std::string_view text, std::string_view option) {
  const std::optional<double> number = to_number(text);
  if (!number) wrong(option, text, "a number");
  return *number;
}

std::vector<double> parse_numbers(std::string_view text, std::string_view option) {
  std::vector<double> numbers;
  std::string_view rest = text;
  while (const auto parts = halves(rest, ',')) {
    numbers.push_back(parse_number(parts->first, option));
    rest = parts->second;
  }
  numbers.push_back(parse_number(rest, option));
  return numbers;
}

PerAxis<double> parse_number_pair(std::string_view text, std::string_view option) {
  if (const std::optional<double> both = to_number(text)) return {*both, *both};
  const auto pair = pair_of<double>(text, 'x');
  if (!pair) wrong(option, text, "a number, or two as in 3x1.5");
  return *pair;
}

PerAxis<std::int32_t> parse_whole_pair(std::string_view text, std::string_view option) {
  if (const auto both = whole_text<std::int32_t>(text)) return {*both, *both};
  const auto pair = pair_of<std::int32_t>(text, 'x');
  if (!pair) wrong(option, text, "a whole number of pixels, or two as in 9x4");
  return *pair;
}

PerAxis<std::int32_t> parse_size(std::string_view text, std::string_view option) {
  const auto pair = pair_of<std::int32_t>(text, 'x');
  if (!pair) wrong(option, text, "a size in pixels, as in 640x480");
  return *pair;
}

PerAxis<std::int32_t> parse_point(std::string_view text, std::string_view option) {
  const auto pair = pair_of<std::int32_t>(text, ',');
  if (!pair) wrong(option, text, "a pixel, as in 1,2");
  return *pair;
}

Rect parse_rect(std::string_view text, std::string_view option) {
  const std::size_t plus = text.find('+');
  if (plus != std::string_view::npos) {
    const auto size = pair_of<std::int32_t>(text.substr(0, plus), 'x');
    const auto origin = pair_of<std::int32_t>(text.substr(plus + 1), '+');
    if (size && origin) return {origin->x, origin->y, size->x, size->y};
  }
  wrong(option, text, "a region WxH+X+Y, as in 64x48+10+20");
}

PixelFormat parse_format_name(std::string_view text) {
  const std::optional<PixelFormat> format = parse_format(text);
  if (!format) {
    fail_usage(fmt::format("{} is not a pixel format; 'mollify list formats' shows them", in_quotes(text)));
  }
  return *format;
}

}  // namespace mollify::cli
