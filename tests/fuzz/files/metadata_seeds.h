// Blocks of metadata that files carry, made by hand.
#pragma once

#include "cases/random.h"
#include "files/document.h"

namespace mollify::fuzz {

/// From its byte order on: a camera's directory, a maker note, a thumbnail that is a whole JPEG file.
[[nodiscard]] files::Bytes exif_block(cases::Random& random);
[[nodiscard]] files::Bytes xmp_packet();
/// Records of caption and keywords.
[[nodiscard]] files::Bytes iptc_records();
/// Resolution, a thumbnail, a path.
[[nodiscard]] files::Bytes photoshop_blocks();
/// A matrix and curves.
[[nodiscard]] files::Bytes icc_profile();

}  // namespace mollify::fuzz
