// Pictures that are stored turned or mirrored, as cameras do, and turned upright for formats that cannot say so.
#pragma once

#include <OpenImageIO/imageio.h>

#include "image_io.h"

namespace mollify::cli {

/// Whether the picture is meant to be shown as it is stored, or says nothing about it.
[[nodiscard]] bool is_upright(const OIIO::ImageSpec& spec);

/// Makes the spec that of the upright picture: its size, tiles and resolution, and no orientation.
void turn_upright(OIIO::ImageSpec& spec);

/// The same for the pixels; `spec` is the one from before.
[[nodiscard]] PixelBytes turned_upright(const OIIO::ImageSpec& spec, const PixelBytes& stored);

}  // namespace mollify::cli
