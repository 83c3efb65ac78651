// Previews that makers of cameras put into their notes inside a block of Exif.
#pragma once

#include <optional>
#include <vector>

#include "files/exif_structure.h"

namespace mollify::files {

struct MakerNote {
  struct Preview {
    ByteRange place;
    std::optional<ExifEntry> length;  ///< the entry that says how long it is
  };
  std::vector<Preview> previews;
  std::vector<ByteRange> structure;  ///< directories, and values that are no previews
};

/// What is known of the note at `note`. Previews that its tags do not tell are found by their signatures, by others.
[[nodiscard]] MakerNote read_maker_note(const ExifView& exif, const ByteRange& note);

}  // namespace mollify::files
