// The numbers that arrays are made of.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "mollify/image.h"

namespace mollify::python {

enum class NumberKind : std::uint8_t { boolean, unsigned_integer, signed_integer, floating, brain_floating };

/// A kind of number that can be blurred.
struct Element {
  NumberKind kind = NumberKind::floating;
  int bits = 32;

  [[nodiscard]] std::int64_t bytes() const { return bits / 8; }
  [[nodiscard]] bool is_floating() const { return kind == NumberKind::floating || kind == NumberKind::brain_floating; }
  /// Whether float32 cannot hold these numbers. They are summed in float64.
  [[nodiscard]] bool is_wide() const { return bits == 64 || (bits == 32 && !is_floating()); }
  /// Whether the library has pixels of these numbers. Others are converted to between() and back.
  [[nodiscard]] bool is_native() const { return is_wide() || kind == NumberKind::floating || kind == NumberKind::unsigned_integer; }
  /// Whether the library takes them for fractions of their largest.
  [[nodiscard]] bool is_unorm() const { return kind == NumberKind::unsigned_integer && !is_wide(); }
  /// What lies between two runs of a blur that takes several.
  [[nodiscard]] Element between() const { return {NumberKind::floating, is_wide() ? 64 : 32}; }
  /// The smallest number that is no float.
  [[nodiscard]] double smallest() const { return kind == NumberKind::signed_integer ? -std::ldexp(1.0, bits - 1) : 0.0; }
  /// The largest number that is no float.
  [[nodiscard]] double largest() const {
    if (kind == NumberKind::boolean) return 1.0;
    return std::ldexp(1.0, kind == NumberKind::signed_integer ? bits - 1 : bits) - 1.0;
  }

  /// The format of pixels of so many of these numbers. There is one for 1 to 4 if they are native.
  [[nodiscard]] PixelFormat format(int channels) const {
    const ComponentClass integers = kind == NumberKind::signed_integer ? ComponentClass::sint : ComponentClass::uint;
    return *find_format(is_floating() ? ComponentClass::floating : is_unorm() ? ComponentClass::unorm : integers, bits, channels);
  }
  /// The number of an array that is 1 to the library: 255 for uint8.
  [[nodiscard]] double unit() const { return is_unorm() ? largest() : 1.0; }
  /// As NumPy calls it, such as "uint8".
  [[nodiscard]] std::string name() const {
    if (kind == NumberKind::boolean) return "bool";
    if (kind == NumberKind::brain_floating) return "bfloat16";
    const char* const prefix = is_floating() ? "float" : kind == NumberKind::signed_integer ? "int" : "uint";
    return prefix + std::to_string(bits);
  }

  bool operator==(const Element&) const = default;
};

/// What lies between two runs on numbers that float32 can hold.
inline constexpr Element kBetweenRuns{NumberKind::floating, 32};

}  // namespace mollify::python
