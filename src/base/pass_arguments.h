// What a pass tells its kernel beside weights and sizes, as a struct: a proposal writes it into the pass, and the backend reads it from
// there. Such a struct lists its fields by the names that they have in the pass:
//
//   struct Example {
//     bool wide;
//     PerAxis<Narrow<std::int32_t>> skip;  // "skip_x" and "skip_y"
//     static void each(auto& self, auto visit) {
//       visit("wide", self.wide);
//       visit("skip", self.skip);
//     }
//   };
//
// A field is a truth value, a whole number, a double, which is a parameter of the pass, an optional of one of these, one of these for each
// axis, or another such struct, whose names then have the given one in front.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "mollify/experimental/pass.h"
#include "mollify/result.h"

namespace mollify {

/// A whole number that a kernel holds as a T. A proposal may write any; one that does not fit is refused when it is read.
template <std::integral T>
struct Narrow {
  std::int64_t number = 0;
  constexpr Narrow() = default;
  constexpr Narrow(std::integral auto any) : number(static_cast<std::int64_t>(any)) {}  // NOLINT(google-explicit-constructor)
  constexpr operator T() const { return static_cast<T>(number); }                       // NOLINT(google-explicit-constructor)
};

namespace pass_arguments {

template <class T>
inline constexpr bool kIsNumber = std::is_arithmetic_v<T>;
template <class T>
inline constexpr bool kIsNumber<Narrow<T>> = true;
template <class T>
inline constexpr bool kIsNumber<std::optional<T>> = true;
template <class T>
inline constexpr bool kIsPerAxis = false;
template <class T>
inline constexpr bool kIsPerAxis<PerAxis<T>> = true;

/// Calls `visit` with the name in the pass and the number, for each number of a field.
template <class Field, class Visit>
void each_number(const std::string& name, Field& field, const Visit& visit) {
  using Type = std::remove_const_t<Field>;
  if constexpr (kIsNumber<Type>) {
    visit(name, field);
  } else if constexpr (kIsPerAxis<Type>) {
    each_number(name + "_x", field.x, visit);
    each_number(name + "_y", field.y, visit);
  } else {
    Type::each(field, [&](std::string_view own, auto& part) { each_number(name + std::string(own), part, visit); });
  }
}

template <class T>
void put(Pass& pass, const std::string& name, const T& number) {
  if constexpr (std::is_floating_point_v<T>) {
    pass.parameters.insert_or_assign(name, number);
  } else {
    pass.constants.insert_or_assign(name, static_cast<std::int64_t>(number));
  }
}
template <class T>
void put(Pass& pass, const std::string& name, const Narrow<T>& narrow) {
  put(pass, name, narrow.number);
}
template <class T>
void put(Pass& pass, const std::string& name, const std::optional<T>& number) {
  if (number) put(pass, name, *number);
}

/// Leaves what the pass does not have as it is.
template <class T>
void take(const Pass& pass, const std::string& name, T& number) {
  const auto take_of = [&](const auto& numbers) {
    if (const auto found = numbers.find(name); found != numbers.end()) number = static_cast<T>(found->second);
  };
  if constexpr (std::is_floating_point_v<T>) {
    take_of(pass.parameters);
  } else {
    take_of(pass.constants);
  }
}
template <class T>
void take(const Pass& pass, const std::string& name, Narrow<T>& narrow) {
  T number = narrow;
  take(pass, name, number);
  narrow = number;
}
template <class T>
void take(const Pass& pass, const std::string& name, std::optional<T>& number) {
  if (pass.constants.contains(name) || pass.parameters.contains(name)) take(pass, name, number.emplace());
}

/// Refuses a pass that has other arguments than what was read of it.
[[nodiscard]] Status check_all_read(const Pass& pass, const Pass& read);

}  // namespace pass_arguments

template <class Arguments>
void write_arguments(const Arguments& from, Pass& pass) {
  pass_arguments::each_number({}, from, [&](const std::string& name, const auto& number) { pass_arguments::put(pass, name, number); });
}

/// Refuses a pass that has one too many, lacks one, or has one that does not fit its field. A constant by the name `other` is for others
/// than the kernel.
template <class Arguments>
[[nodiscard]] Result<Arguments> read_arguments(const Pass& pass, std::string_view other = {}) {
  Arguments out{};
  pass_arguments::each_number({}, out, [&](const std::string& name, auto& number) { pass_arguments::take(pass, name, number); });
  Pass read;
  write_arguments(out, read);
  if (const auto found = pass.constants.find(other); found != pass.constants.end()) read.constants.insert(*found);
  if (Status s = pass_arguments::check_all_read(pass, read); !s) return s.error();
  return out;
}

}  // namespace mollify
