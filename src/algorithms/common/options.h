// Options of algorithms, each declared once: its name, type, values, range and default, and what else lists, documents, `tune` and covering
// arrays ask of it (info()). Algorithms read it as a value of its type (of(), given()) and write it as text (as()).
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "algorithms/algorithm.h"

namespace mollify {

/// See the members of OptionInfo.
struct OptionTraits {
  bool changes_bits = false;
  Tuned tuned = Tuned::always;
  std::span<const std::string_view> tuned_values{};
  std::int32_t most_in_software = 0;
};

/// What options of all types have. They are constants: their rows refer to them.
class Option {
 public:
  /// As a row of AlgorithmInfo::options.
  [[nodiscard]] constexpr OptionInfo info() const { return info_as(default_value_, summary_); }
  /// The same with other words, for an algorithm that chooses in another way, and of some of the values only.
  [[nodiscard]] constexpr OptionInfo info_as(std::string_view default_value, std::string_view summary, std::size_t first_value = 0,
                                             std::size_t value_count = std::dynamic_extent) const {
    return {name_,
            std::span(values_).first(count_).subspan(first_value, value_count),
            default_value,
            summary,
            is_open_,
            traits_.changes_bits,
            traits_.tuned,
            traits_.tuned_values,
            traits_.most_in_software};
  }
  [[nodiscard]] bool is_given(const Problem& p) const { return p.options.contains(name_); }
  /// Its name, for only_options().
  constexpr operator std::string_view() const { return name_; }  // NOLINT(google-explicit-constructor)

 protected:
  constexpr Option(std::string_view name, std::initializer_list<std::string_view> values, std::string_view default_value,
                   std::string_view summary, bool is_open, const OptionTraits& traits)
      : name_(name), default_value_(default_value), summary_(summary), is_open_(is_open), traits_(traits) {
    for (const std::string_view value : values) values_.at(count_++) = value;
  }
  /// As the caller gave it; null: not at all.
  [[nodiscard]] const std::string* text(const Options& options) const;
  [[nodiscard]] Options::value_type with(std::string_view value) const { return {std::string(name_), std::string(value)}; }

  std::string_view name_;
  std::array<std::string_view, 8> values_;
  std::size_t count_ = 0;

 private:
  std::string_view default_value_, summary_;
  bool is_open_;
  OptionTraits traits_;
};

/// An option whose values are those of an enum, in its order.
template <class Enum>
class EnumOption : public Option {
 public:
  constexpr EnumOption(std::string_view name, std::initializer_list<std::string_view> values, std::string_view default_value,
                       std::string_view summary, const OptionTraits& traits = {})
      : Option(name, values, default_value, summary, false, traits) {}
  [[nodiscard]] std::optional<Enum> given(const Problem& p) const { return in(p.options); }
  /// Of a proposal.
  [[nodiscard]] std::optional<Enum> in(const Options& options) const {
    const std::string* const value = text(options);
    if (value == nullptr) return std::nullopt;
    std::size_t index = 0;
    while (values_.at(index) != *value) ++index;  // the planner lets no other value through
    return static_cast<Enum>(index);
  }
  [[nodiscard]] Enum of(const Problem& p, Enum otherwise) const { return given(p).value_or(otherwise); }
  [[nodiscard]] constexpr std::string_view name_of(Enum value) const { return values_.at(static_cast<std::size_t>(value)); }
  [[nodiscard]] Options::value_type as(Enum value) const { return with(name_of(value)); }
};

/// A number that is one of the values.
class ListedNumberOption : public Option {
 public:
  constexpr ListedNumberOption(std::string_view name, std::initializer_list<std::string_view> values, std::string_view default_value,
                               std::string_view summary, const OptionTraits& traits = {})
      : Option(name, values, default_value, summary, false, traits) {}
  [[nodiscard]] std::optional<std::int32_t> given(const Problem& p) const;
  [[nodiscard]] std::int32_t of(const Problem& p, std::int32_t otherwise) const { return given(p).value_or(otherwise); }
  [[nodiscard]] Options::value_type as(std::int32_t value) const { return with(std::to_string(value)); }
};

/// A number from 1 to `largest`; the values are examples.
class NumberOption : public Option {
 public:
  constexpr NumberOption(std::string_view name, std::initializer_list<std::string_view> examples, std::int32_t largest,
                         std::string_view default_value, std::string_view summary, const OptionTraits& traits = {})
      : Option(name, examples, default_value, summary, true, traits), largest_(largest) {}
  /// `largest`: where the device or the request allows less.
  [[nodiscard]] Result<std::int32_t> of(const Problem& p, std::int32_t otherwise, std::optional<std::int32_t> largest = {}) const;
  [[nodiscard]] Options::value_type as(std::int32_t value) const { return with(std::to_string(value)); }

 private:
  std::int32_t largest_;
};

/// A number from 1 to `largest` for both axes, or one for each: "4" or "4x6"; the values are examples.
class PairOption : public Option {
 public:
  constexpr PairOption(std::string_view name, std::initializer_list<std::string_view> examples, std::int32_t largest,
                       std::string_view default_value, std::string_view summary, const OptionTraits& traits = {})
      : Option(name, examples, default_value, summary, true, traits), largest_(largest) {}
  [[nodiscard]] Result<std::optional<PerAxis<std::int32_t>>> given(const Problem& p) const;
  [[nodiscard]] Options::value_type as(PerAxis<std::int32_t> value) const;

 private:
  std::int32_t largest_;
};

/// Refuses options of the algorithm but these, as `whose` names the form that has them, or the backend.
[[nodiscard]] Status only_options(const Problem& p, std::initializer_list<std::string_view> names, std::string_view whose = {});

/// Refuses these, which another backend has.
[[nodiscard]] Status not_options(const Problem& p, std::initializer_list<std::string_view> names);

}  // namespace mollify
