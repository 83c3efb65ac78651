#include "algorithms/common/options.h"

#include <algorithm>
#include <charconv>

#include "algorithms/common/propose.h"

namespace mollify {

const std::string* Option::text(const Options& options) const {
  const auto found = options.find(name_);
  return found == options.end() ? nullptr : &found->second;
}

std::optional<std::int32_t> ListedNumberOption::given(const Problem& p) const {
  const std::string* const value = text(p.options);
  if (value == nullptr) return std::nullopt;
  std::int32_t number = 0;
  std::from_chars(value->data(), value->data() + value->size(), number);  // the planner lets nothing through but the values
  return number;
}

Result<std::int32_t> NumberOption::of(const Problem& p, std::int32_t otherwise, std::optional<std::int32_t> largest) const {
  const std::string* const given = text(p.options);
  if (given == nullptr) return otherwise;
  const std::int32_t most = std::min(largest_, largest.value_or(largest_));
  const char* const end = given->data() + given->size();
  std::int32_t value = 0;
  const auto [rest, error] = std::from_chars(given->data(), end, value);
  if (error != std::errc() || rest != end || value < 1 || value > most) {
    return refusal("option " + std::string(name_) + " is a number from 1 to " + std::to_string(most) + ", not \"" + *given + "\"");
  }
  return value;
}

Result<std::optional<PerAxis<std::int32_t>>> PairOption::given(const Problem& p) const {
  const std::string* const given = text(p.options);
  if (given == nullptr) return std::optional<PerAxis<std::int32_t>>();
  const char* const end = given->data() + given->size();
  PerAxis<std::int32_t> value;
  auto [rest, error] = std::from_chars(given->data(), end, value.x);
  value.y = value.x;
  if (error == std::errc() && rest != end && *rest == 'x') {
    const auto second = std::from_chars(rest + 1, end, value.y);
    rest = second.ptr;
    error = second.ec;
  }
  const auto in_range = [&](std::int32_t v) { return v >= 1 && v <= largest_; };
  if (error != std::errc() || rest != end || !in_range(value.x) || !in_range(value.y)) {
    return refusal("option " + std::string(name_) + " is 1 to " + std::to_string(largest_) + " or two such as 2x4, not \"" + *given + "\"");
  }
  return std::optional(value);
}

Options::value_type PairOption::as(PerAxis<std::int32_t> value) const {
  const std::string x = std::to_string(value.x);
  return with(value.x == value.y ? x : x + "x" + std::to_string(value.y));
}

namespace {

Error not_for(const Problem& p, std::string_view option, std::string_view whose = {}) {
  const std::string backend = "the " + std::string(name(p.device.backend)) + " backend";
  return refusal("option " + std::string(option) + " is not for " + (whose.empty() ? backend : std::string(whose)));
}

}  // namespace

Status only_options(const Problem& p, std::initializer_list<std::string_view> names, std::string_view whose) {
  for (const auto& [key, value] : p.options) {
    if (std::ranges::find(names, key) == names.end()) return not_for(p, key, whose);
  }
  return {};
}

Status not_options(const Problem& p, std::initializer_list<std::string_view> names) {
  for (const std::string_view option : names) {
    if (p.options.contains(option)) return not_for(p, option);
  }
  return {};
}

}  // namespace mollify
