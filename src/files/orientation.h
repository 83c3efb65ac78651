// Pictures that are stored turned or mirrored, as cameras do, and turned upright for formats that cannot say so.
#pragma once

#include <cstdint>

#include "files/document.h"

namespace mollify::files {

/// Whether rows of the picture are stored as columns.
[[nodiscard]] constexpr bool swaps_axes(Orientation orientation) {
  return orientation >= 5 && orientation <= 8;
}

/// Makes the page that of the upright picture: its size, tiles and resolution.
void turn_upright(Page& page);

/// The same for the pixels: `stored` has the shape that `page` had before.
void turn_upright(const Page& page, const std::uint8_t* stored, std::uint8_t* upright);

}  // namespace mollify::files
