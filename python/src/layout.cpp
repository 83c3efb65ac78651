#include "layout.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>

namespace mollify::python {
namespace {

constexpr std::int64_t kMostPixels = std::numeric_limits<std::int32_t>::max();  // of a row or a column

class Seer {
 public:
  Seer(std::span<const RunAxis> axes, std::int64_t src_element, std::int64_t dst_element, bool wants_both, bool can_interleave)
      : axes_(axes), src_element_(src_element), dst_element_(dst_element), can_interleave_(can_interleave), is_used_(axes.size(), false) {
    const auto is_single = [](const RunAxis& axis) { return !axis.is_blurred || axis.extent == 1; };
    prefers_single_ = wants_both && std::ranges::all_of(axes, is_single);
  }

  std::optional<ImageLayout> see() {
    const bool is_one_element = std::ranges::all_of(axes_, [](const RunAxis& axis) { return axis.extent == 1; });
    const std::optional<std::size_t> nearest = axis_at_distance(1);
    if (!nearest && !is_one_element) return std::nullopt;
    if (nearest) take_row(*nearest);
    if (!layout_.y_axis && !take_blurred_column()) take_column();
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      if (!is_used_[i] && axes_[i].extent > 1) layout_.images.push_back(axes_[i]);
    }
    const bool must_blur = std::ranges::any_of(axes_, [](const RunAxis& axis) { return axis.is_blurred; });
    if (must_blur && !layout_.x_axis && !layout_.y_axis) return std::nullopt;
    return layout_;
  }

 private:
  /// The axis whose elements are so many elements apart in both arrays. A blurred axis of one element will do where there is no other, or
  /// where it must.
  [[nodiscard]] std::optional<std::size_t> axis_at_distance(std::int64_t elements) const {
    std::optional<std::size_t> single;
    std::optional<std::size_t> other;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      const RunAxis& axis = axes_[i];
      if (is_used_[i]) continue;
      if (axis.extent == 1 && axis.is_blurred) single = i;
      if (axis.extent > 1 && axis.src_stride == elements * src_element_ && axis.dst_stride == elements * dst_element_) other = i;
    }
    return other && !(single && prefers_single_) ? other : single;
  }

  void use(std::size_t axis) { is_used_[axis] = true; }

  void take_row(std::size_t nearest) {
    if (axes_[nearest].is_blurred && fits_row(axes_[nearest].extent)) {
      use_blurred_row(nearest);
      return;
    }
    const std::int64_t channels = axes_[nearest].extent;
    if (channels <= 4 && can_interleave_) {
      is_used_[nearest] = true;
      const std::optional<std::size_t> next = axis_at_distance(channels);
      if (next && axes_[*next].is_blurred && fits_row(axes_[*next].extent)) {
        layout_.channels = static_cast<int>(channels);
        use_blurred_row(*next);
        return;
      }
      is_used_[nearest] = false;
    }
    // Nothing is blurred along rows, so that rows can be all axes that lie before the one that is blurred down columns.
    const std::optional<std::size_t> column = farthest_blurred(nearest);
    if (column) is_used_[*column] = true;
    std::int64_t width = 1;
    for (std::optional<std::size_t> axis = nearest; axis && fits_row(width * axes_[*axis].extent); axis = axis_at_distance(width)) {
      use(*axis);
      width *= axes_[*axis].extent;
    }
    layout_.width = static_cast<std::int32_t>(width);
    if (!column) return;
    is_used_[*column] = false;
    if (can_be_column(axes_[*column])) use_blurred_column(*column);
  }

  void use_blurred_row(std::size_t axis) {
    use(axis);
    layout_.x_axis = axis;
    layout_.width = static_cast<std::int32_t>(axes_[axis].extent);
  }

  [[nodiscard]] static bool fits_row(std::int64_t pixels) { return pixels <= kMostPixels; }

  /// The blurred axis whose elements are farthest apart, other than this one.
  [[nodiscard]] std::optional<std::size_t> farthest_blurred(std::size_t other) const {
    std::optional<std::size_t> out;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      if (i == other || is_used_[i] || !axes_[i].is_blurred) continue;
      if (!out || std::abs(axes_[i].src_stride) > std::abs(axes_[*out].src_stride)) out = i;
    }
    return out;
  }

  [[nodiscard]] std::int64_t pixels_of_row() const { return std::int64_t{layout_.width} * layout_.channels; }

  /// Whether steps along the axis lead from row to row.
  [[nodiscard]] bool can_be_column(const RunAxis& axis) const {
    if (axis.extent == 1) return true;
    return axis.extent <= kMostPixels && std::abs(axis.src_stride) >= pixels_of_row() * src_element_ &&
           std::abs(axis.dst_stride) >= pixels_of_row() * dst_element_;
  }

  void use_blurred_column(std::size_t axis) {
    use(axis);
    layout_.y_axis = axis;
    layout_.height = static_cast<std::int32_t>(axes_[axis].extent);
    set_row_bytes(axes_[axis]);
  }

  void set_row_bytes(const RunAxis& axis) {
    if (axis.extent == 1) return;
    layout_.src_row_bytes = axis.src_stride;
    layout_.dst_row_bytes = axis.dst_stride;
  }

  /// Takes the blurred axis that is nearest, so that the rows of an image are close together.
  bool take_blurred_column() {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      if (is_used_[i] || !axes_[i].is_blurred || !can_be_column(axes_[i])) continue;
      if (!best || std::abs(axes_[i].src_stride) < std::abs(axes_[*best].src_stride)) best = i;
    }
    if (best) use_blurred_column(*best);
    return best.has_value();
  }

  /// Takes axes that are not blurred down the columns, so that many small images are one.
  void take_column() {
    std::int64_t height = 1;
    for (std::optional<std::size_t> axis = next_of_column(height); axis; axis = next_of_column(height)) {
      if (height == 1) set_row_bytes(axes_[*axis]);
      use(*axis);
      height *= axes_[*axis].extent;
    }
    layout_.height = static_cast<std::int32_t>(height);
  }

  [[nodiscard]] std::optional<std::size_t> next_of_column(std::int64_t height) const {
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      const RunAxis& axis = axes_[i];
      if (is_used_[i] || axis.extent == 1 || height * axis.extent > kMostPixels) continue;
      if (height == 1 ? can_be_column(axis)
                      : axis.src_stride == height * layout_.src_row_bytes && axis.dst_stride == height * layout_.dst_row_bytes) {
        return i;
      }
    }
    return std::nullopt;
  }

  std::span<const RunAxis> axes_;
  std::int64_t src_element_;
  std::int64_t dst_element_;
  bool can_interleave_;
  std::vector<bool> is_used_;
  bool prefers_single_ = false;
  ImageLayout layout_;
};

}  // namespace

std::optional<ImageLayout> see_as_images(std::span<const RunAxis> axes, std::int64_t src_element, std::int64_t dst_element, bool wants_both,
                                         bool can_interleave) {
  return Seer(axes, src_element, dst_element, wants_both, can_interleave).see();
}

std::int64_t ImageLayout::image_count() const {
  std::int64_t count = 1;
  for (const RunAxis& axis : images) count *= axis.extent;
  return count;
}

std::vector<std::ptrdiff_t> packed_strides(std::span<const std::int64_t> shape, std::span<const std::size_t> order, std::int64_t element) {
  std::vector<std::ptrdiff_t> out(shape.size());
  std::ptrdiff_t stride = element;
  for (const std::size_t axis : order) {
    out[axis] = stride;
    stride *= shape[axis];
  }
  return out;
}

std::vector<std::size_t> order_of(std::span<const std::ptrdiff_t> strides) {
  std::vector<std::size_t> order(strides.size());
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  std::ranges::stable_sort(order, std::less<>(), [&](std::size_t axis) { return std::abs(strides[axis]); });
  return order;
}

}  // namespace mollify::python
