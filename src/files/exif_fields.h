// Fields of Exif that other formats hold as tags or headers of their own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "files/document.h"

namespace mollify::files {

/// A field of the first directory: ASCII text (type 2) or one rational (type 5: two 32-bit numbers) or short (type 3).
struct ExifField {
  std::uint16_t tag = 0;
  std::uint16_t type = 2;
  Bytes data;  ///< in host byte order
};

/// The fields that say a resolution.
[[nodiscard]] std::vector<ExifField> exif_fields(const Resolution& resolution);

/// The field that says an orientation.
[[nodiscard]] ExifField exif_field(Orientation orientation);

/// Puts the fields into the block, in place of fields of the same tags; makes a block of an empty one. The directory is written anew at the
/// end, so that every other byte stays where it is.
void set_exif_fields(Bytes& exif, std::span<const ExifField> fields);

}  // namespace mollify::files
