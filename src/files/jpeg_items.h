// What the segments of a JPEG file mean as items of a document, and back.
#pragma once

#include <optional>
#include <vector>

#include "files/codec.h"
#include "files/document.h"
#include "files/jpeg_structure.h"

namespace mollify::files::jpeg {

struct Meaning {
  std::vector<Item> items;
  std::optional<Resolution> resolution;
  Orientation orientation = 1;
  bool has_jfif = false;
  bool has_adobe = false;
};
[[nodiscard]] Meaning meaning_of(std::vector<Segment> segments, Messages& messages);
/// What follows the picture: other pictures, videos, and bytes that are neither.
[[nodiscard]] std::vector<Item> items_after(ByteSource& source, std::int64_t offset, std::int64_t memory_bytes);

struct Layout {
  std::vector<Segment> segments;  ///< in the order in which they are written
  Bytes after;                    ///< what follows the picture
};
/// With a JFIF segment first and an Adobe segment last, where they are asked for.
[[nodiscard]] Layout layout_of(const Document& document, bool has_jfif, std::optional<int> adobe_transform);

}  // namespace mollify::files::jpeg
