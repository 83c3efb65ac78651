// How the axes of an array become images: which axis lies along rows, which down columns, and which count images.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mollify::python {

/// An axis of the source and of the destination of one run. Strides are in bytes.
struct RunAxis {
  std::int64_t extent = 1;
  std::ptrdiff_t src_stride = 0;
  std::ptrdiff_t dst_stride = 0;
  bool is_blurred = false;  ///< by this run, or by a later one
};

/// An array seen as images of one shape. The numbers of `x_axis` and `y_axis` are of the array; they are unset where nothing is blurred in
/// this direction.
struct ImageLayout {
  int channels = 1;
  std::optional<std::size_t> x_axis;
  std::optional<std::size_t> y_axis;
  std::int32_t width = 1;
  std::int32_t height = 1;
  std::ptrdiff_t src_row_bytes = 0;
  std::ptrdiff_t dst_row_bytes = 0;
  std::vector<RunAxis> images;  ///< the axes that count images
  [[nodiscard]] std::int64_t image_count() const;
};

/// Sees the array as images that a run can blur along one or two of its axes, as many as it can; along none if no axis is blurred.
/// Nothing where no axis has neighbouring elements in both the source and the destination. Sizes of elements are in bytes. `wants_both`
/// says that one run must blur two axes, even if that makes many images of one element. Without `can_interleave` an image has one channel.
[[nodiscard]] std::optional<ImageLayout> see_as_images(std::span<const RunAxis> axes, std::int64_t src_element, std::int64_t dst_element,
                                                       bool wants_both, bool can_interleave = true);

/// Strides of an array without gaps whose axes lie in this order, the one of neighbouring elements first.
[[nodiscard]] std::vector<std::ptrdiff_t> packed_strides(std::span<const std::int64_t> shape, std::span<const std::size_t> order,
                                                         std::int64_t element);
/// The axes, the one whose elements are closest first.
[[nodiscard]] std::vector<std::size_t> order_of(std::span<const std::ptrdiff_t> strides);

}  // namespace mollify::python
