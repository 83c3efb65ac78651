// Transparency masks, which only TIFF holds as pages of their own, as the alpha of the pictures that they belong to.
#pragma once

#include <memory>

#include "files/codec.h"

namespace mollify::files {

/// The reader itself where it has no masks or the result can hold them. A mask is read whole, if it takes at most `memory_bytes`.
[[nodiscard]] std::unique_ptr<Reader> with_masks_as_alpha(std::unique_ptr<Reader> reader, FileFormat result, std::int64_t memory_bytes);

}  // namespace mollify::files
