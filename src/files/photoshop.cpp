#include "files/metadata.h"

namespace mollify::files {

PhotoshopParts split_photoshop(std::span<const std::uint8_t>, Messages&) { return {}; }
Bytes join_photoshop(std::span<const std::uint8_t>, std::span<const std::uint8_t>) { return {}; }


std::optional<Resolution> photoshop_resolution(std::span<const std::uint8_t>) { return {}; }
}  // namespace mollify::files
