// Exif in TIFF files: directories there, one block in mollify's model.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "files/tiff_structure.h"

namespace mollify::files::tiff {

/// A block with the Exif and GPS directories that a directory refers to and its own fields about the camera; unset where there are none.
/// Directories that are damaged are left out, with a message.
[[nodiscard]] std::optional<Bytes> exif_block(const StructureReader& file, const DirectoryPlace& directory, Messages& messages);

/// The directories of a block, to be written into a file.
struct ExifDirectories {
  std::vector<Field> main;  ///< the fields of the block's first directory
  std::vector<Field> exif, gps, interoperability;
};
[[nodiscard]] ExifDirectories exif_directories(std::span<const std::uint8_t> block);

}  // namespace mollify::files::tiff
