#include "copy.h"

#include <vector>

#include "layout.h"
#include "numbers.h"

namespace mollify::python {
namespace {

struct CopyAxis {
  std::int64_t extent;
  std::ptrdiff_t src_stride;
  std::ptrdiff_t dst_stride;
};

template <class To, class From>
void copy_axes(std::span<const CopyAxis> axes, const std::byte* src, std::byte* dst) {
  const CopyAxis& axis = axes.front();
  for (std::int64_t i = 0; i < axis.extent; ++i, src += axis.src_stride, dst += axis.dst_stride) {
    if (axes.size() > 1) {
      copy_axes<To, From>(axes.subspan(1), src, dst);
    } else {
      store(converted<To>(load<From>(src)), dst);
    }
  }
}

using CopyFunction = void (*)(std::span<const CopyAxis>, const std::byte*, std::byte*);

CopyFunction plain_copy(int bits) {
  if (bits == 8) return copy_axes<std::uint8_t, std::uint8_t>;
  if (bits == 16) return copy_axes<std::uint16_t, std::uint16_t>;
  return bits == 32 ? copy_axes<std::uint32_t, std::uint32_t> : copy_axes<std::uint64_t, std::uint64_t>;
}

/// Between numbers and those that stand for them between runs.
template <class Between, class Number>
CopyFunction conversion_of(bool is_to_between) {
  return is_to_between ? copy_axes<Between, Number> : copy_axes<Number, Between>;
}

CopyFunction function_for(Element src, Element dst) {
  if (src == dst) return plain_copy(src.bits);
  if (dst.bits == 64 && src.kind == NumberKind::boolean) return copy_axes<double, Truth>;
  if (dst.bits == 64 && src == kBetweenRuns) return copy_axes<double, float>;
  const bool is_to_between = dst == dst.between();
  const Element other = is_to_between ? src : dst;
  switch (other.kind) {
    case NumberKind::boolean:
      return conversion_of<float, Truth>(is_to_between);
    case NumberKind::brain_floating:
      return conversion_of<float, Brain>(is_to_between);
    default:
      return other.bits == 8 ? conversion_of<float, std::int8_t>(is_to_between) : conversion_of<float, std::int16_t>(is_to_between);
  }
}

}  // namespace

void copy_array(std::span<const std::int64_t> shape, const Elements<const std::byte>& src, const Elements<std::byte>& dst) {
  std::vector<CopyAxis> axes;  // the outermost first
  for (const std::size_t axis : order_of(dst.strides)) axes.insert(axes.begin(), {shape[axis], src.strides[axis], dst.strides[axis]});
  if (axes.empty()) axes.push_back({1, 0, 0});
  function_for(src.element, dst.element)(axes, src.data, dst.data);
}

}  // namespace mollify::python
