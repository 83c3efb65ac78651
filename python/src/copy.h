// Copies of arrays into another order, and into other numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "element.h"

namespace mollify::python {

/// Elements of an array.
template <class Byte>
struct Elements {
  Element element;
  Byte* data;
  std::span<const std::ptrdiff_t> strides;  ///< in bytes, of each axis
};

/// Copies every element. The numbers are the same, or one of them, which the library has no pixels of, lies between() runs of the other, or
/// bool or float32 become float64. Integers are rounded to the nearest and held within their range; a bool is true from 0.5 up.
void copy_array(std::span<const std::int64_t> shape, const Elements<const std::byte>& src, const Elements<std::byte>& dst);

}  // namespace mollify::python
