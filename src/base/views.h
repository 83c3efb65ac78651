// What must hold of the views that a caller gives: they fit the plan, and share no bytes that they should not.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "mollify/image.h"

namespace mollify {

[[nodiscard]] Error invalid(std::string message);

/// An Error where `view`, called `what`, is not of this shape, has no pixels, or its rows lie where they cannot.
[[nodiscard]] Status check_view(std::string_view what, const ConstImageView& view, const ImageDesc& planned);

struct ByteRange {
  const std::byte* begin;
  const std::byte* end;
};

[[nodiscard]] inline ByteRange bytes_of(const ConstImageView& view) {
  const std::byte* first = view.row(0);
  const std::byte* last = view.row(std::int64_t{view.desc.height} - 1);
  return {std::min(first, last), std::max(first, last) + view.desc.row_payload_bytes()};
}

/// True also where the views interleave in one rectangle without sharing a pixel.
[[nodiscard]] inline bool may_overlap(const ConstImageView& a, const ConstImageView& b) {
  const ByteRange x = bytes_of(a);
  const ByteRange y = bytes_of(b);
  return x.begin < y.end && y.begin < x.end;
}

/// Exact where both have the same positive distance of rows, as parts of one larger image have.
[[nodiscard]] inline bool share_bytes(const ConstImageView& a, const ConstImageView& b) {
  if (!may_overlap(a, b)) return false;
  if (a.row_bytes != b.row_bytes || a.row_bytes < a.desc.row_payload_bytes() || b.row_bytes < b.desc.row_payload_bytes()) return true;
  const bool a_first = std::less<>()(a.row(0), b.row(0));
  const ConstImageView& first = a_first ? a : b;
  const ConstImageView& second = a_first ? b : a;
  const std::ptrdiff_t between = second.row(0) - first.row(0);
  const std::ptrdiff_t row = between / first.row_bytes;     // of the first, on which the second begins
  const std::ptrdiff_t column = between % first.row_bytes;  // bytes
  // Its rows begin there, and may go on below where those of the first begin.
  const bool beside = column < first.desc.row_payload_bytes() && row < first.desc.height;
  const bool below = column + second.desc.row_payload_bytes() > first.row_bytes && row + 1 < first.desc.height;
  return beside || below;
}

/// Whether what one image of a batch becomes is written over what another is made from, or becomes.
[[nodiscard]] bool disturb_each_other(std::span<const ConstImageView> src, std::span<const ImageView> dst);

}  // namespace mollify
