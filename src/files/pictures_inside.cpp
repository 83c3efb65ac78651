#include "files/metadata.h"

namespace mollify::files {

bool holds_picture(std::span<const std::uint8_t>) { return false; }

}  // namespace mollify::files
