// The directories of a result: what says how pixels are stored, and the items of a document as fields.
#pragma once

#include <vector>

#include "files/tiff_exif.h"
#include "files/tiff_layout.h"
#include "files/tiff_structure.h"

namespace mollify::files::tiff {

/// A directory that is to be written, with what it refers to.
struct Directory {
  std::vector<Field> fields;
  ExifDirectories exif;
  std::vector<std::size_t> children;
};

/// The fields that say how pixels are stored, without where.
[[nodiscard]] std::vector<Field> structure_fields(const Page& page, const PageLayout& layout);
[[nodiscard]] Field text_field(std::uint16_t tag, const Bytes& text);
/// `swaps` says that the file has another byte order than the host.
void add_item(const Item& item, bool swaps, Directory& directory);
/// The first of each tag counts: the page's own items come before those of the file, and these before Exif's.
void remove_repeated(std::vector<Field>& fields);

}  // namespace mollify::files::tiff
