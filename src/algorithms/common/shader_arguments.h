// What the structs of NAME_arguments.h, which shaders/compile.py makes of each shader, consist of: numbers that a pass gives to the shader.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "mollify/experimental/pass.h"

namespace mollify::glsl {

/// A whole number, a truth value or a value of an axis; unset: the backend knows it, or this variant does not have it.
struct Whole {
  constexpr Whole() = default;
  template <class T, class = std::enable_if_t<std::is_integral_v<T> || std::is_enum_v<T>>>
  constexpr Whole(T number) : value(static_cast<std::int64_t>(number)) {}  // NOLINT(google-explicit-constructor)
  std::optional<std::int64_t> value;
};

struct Real {
  constexpr Real() = default;
  constexpr Real(double number) : value(number) {}  // NOLINT(google-explicit-constructor)
  std::optional<double> value;
};

/// Of both axes.
template <class Number>
struct Pair {
  constexpr Pair() = default;
  constexpr Pair(Number of_x, Number of_y) : x(of_x), y(of_y) {}
  template <class T>
  constexpr Pair(const PerAxis<T>& both) : x(both.x), y(both.y) {}  // NOLINT(google-explicit-constructor)
  Number x, y;
};

inline void put(Pass& pass, std::string_view name, const Whole& number) {
  if (number.value) pass.constants.insert_or_assign(std::string(name), *number.value);
}
inline void put(Pass& pass, std::string_view name, const Real& number) {
  if (number.value) pass.parameters.insert_or_assign(std::string(name), *number.value);
}
template <class Number>
void put(Pass& pass, std::string_view name, const Pair<Number>& pair) {
  put(pass, std::string(name) + "_x", pair.x);
  put(pass, std::string(name) + "_y", pair.y);
}
inline void put(Pass& pass, std::string_view name, const std::array<Real, 4>& numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i) put(pass, std::string(name) + "_" + "xyzw"[i], numbers.at(i));
}

}  // namespace mollify::glsl
