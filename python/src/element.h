// The numbers that arrays are made of.
#pragma once

#include <cstdint>
#include <string>

#include "mollify/image.h"

namespace mollify::python {

/// A kind of number that the library blurs.
struct Element {
  ComponentClass component_class = ComponentClass::floating;
  int bits = 32;

  [[nodiscard]] std::int64_t bytes() const { return bits / 8; }
  [[nodiscard]] bool is_integer() const { return component_class == ComponentClass::unorm; }
  /// The format of pixels of so many of these numbers. There is one for 1 to 4.
  [[nodiscard]] PixelFormat format(int channels) const { return *find_format(component_class, bits, channels); }
  /// The number of an array that is 1 to the library: 255 for 8-bit integers, 1 for floats.
  [[nodiscard]] double unit() const { return info(format(1)).unit(); }
  /// As NumPy calls it, such as "uint8".
  [[nodiscard]] std::string name() const { return (is_integer() ? "uint" : "float") + std::to_string(bits); }

  bool operator==(const Element&) const = default;
};

/// What lies between two runs of a blur that takes several.
inline constexpr Element kBetweenRuns{ComponentClass::floating, 32};

}  // namespace mollify::python
