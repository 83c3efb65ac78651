// Whether two views share a byte.
#pragma once

#include <algorithm>
#include <cstddef>

#include "mollify/image.h"

namespace mollify {

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

}  // namespace mollify
