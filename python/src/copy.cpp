#include "copy.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "layout.h"

namespace mollify::python {
namespace {

struct CopyAxis {
  std::int64_t extent;
  std::ptrdiff_t src_stride;
  std::ptrdiff_t dst_stride;
};

/// A number of an array of bool.
enum class Truth : std::uint8_t { no, yes };

template <class To, class From>
To converted(From value) {
  if constexpr (std::is_same_v<To, From> || std::is_same_v<To, float>) {
    return static_cast<To>(value);
  } else if constexpr (std::is_same_v<To, Truth>) {
    return value >= 0.5F ? Truth::yes : Truth::no;
  } else {
    constexpr auto kSmallest = static_cast<float>(std::numeric_limits<To>::min());
    constexpr auto kLargest = static_cast<float>(std::numeric_limits<To>::max());
    return static_cast<To>(std::nearbyint(std::clamp(value, kSmallest, kLargest)));
  }
}

/// Elements need not lie at multiples of their size.
template <class To, class From>
void copy_axes(std::span<const CopyAxis> axes, const std::byte* src, std::byte* dst) {
  const CopyAxis& axis = axes.front();
  for (std::int64_t i = 0; i < axis.extent; ++i, src += axis.src_stride, dst += axis.dst_stride) {
    if (axes.size() > 1) {
      copy_axes<To, From>(axes.subspan(1), src, dst);
      continue;
    }
    From from;
    std::memcpy(&from, src, sizeof(From));
    const To to = converted<To>(from);
    std::memcpy(dst, &to, sizeof(To));
  }
}

using CopyFunction = void (*)(std::span<const CopyAxis>, const std::byte*, std::byte*);

/// Between float32 and numbers that are not native.
template <class Number>
CopyFunction conversion_of(bool is_to_float) {
  return is_to_float ? copy_axes<float, Number> : copy_axes<Number, float>;
}

CopyFunction function_for(Element src, Element dst) {
  if (src == dst) {
    if (src.bits == 8) return copy_axes<std::uint8_t, std::uint8_t>;
    return src.bits == 16 ? copy_axes<std::uint16_t, std::uint16_t> : copy_axes<std::uint32_t, std::uint32_t>;
  }
  const bool is_to_float = dst.is_floating();
  const Element other = is_to_float ? src : dst;
  if (other.kind == NumberKind::boolean) return conversion_of<Truth>(is_to_float);
  return other.bits == 8 ? conversion_of<std::int8_t>(is_to_float) : conversion_of<std::int16_t>(is_to_float);
}

}  // namespace

void copy_array(std::span<const std::int64_t> shape, const Elements<const std::byte>& src, const Elements<std::byte>& dst) {
  std::vector<CopyAxis> axes;  // the outermost first
  for (const std::size_t axis : order_of(dst.strides)) axes.insert(axes.begin(), {shape[axis], src.strides[axis], dst.strides[axis]});
  if (axes.empty()) axes.push_back({1, 0, 0});
  function_for(src.element, dst.element)(axes, src.data, dst.data);
}

}  // namespace mollify::python
