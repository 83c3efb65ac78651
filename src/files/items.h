// What becomes of the items of a file: metadata, tags, chunks. The contract says the outcome, this makes it true.
#pragma once

#include <optional>
#include <vector>

#include "files/codec.h"
#include "files/colour.h"
#include "files/document.h"

namespace mollify::files {

/// What the items belong to, before and after.
struct ItemContext {
  FileFormat from_format;
  FileFormat to_format;
  const Page& from;
  const Page& result;
  std::optional<Rect> region;
  bool keep_unknown = false;
  bool turns = false;            ///< pixels are turned upright
  bool changes_colours = false;  ///< pixels have become sRGB or linear light, which the file's profile does not describe
  const ColourSpace* space = nullptr;
};

/// The items of the result. Throws FileError for what is refused.
[[nodiscard]] std::vector<Item> convert_items(const std::vector<Item>& items, const ItemContext& context, Messages& messages);

}  // namespace mollify::files
