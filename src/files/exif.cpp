#include "files/metadata.h"

namespace mollify::files {

bool correct_exif(Bytes&, const Corrections&, Messages&) { return false; }
std::optional<Orientation> exif_orientation(std::span<const std::uint8_t>) { return std::nullopt; }
std::optional<Resolution> exif_resolution(std::span<const std::uint8_t>) { return std::nullopt; }

}  // namespace mollify::files
