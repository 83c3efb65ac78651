// WebP for OpenImageIO, in place of its own reader and writer. Those of version 2.4 multiply colour by alpha in 8 bits
// whatever is asked, encode with losses by default, and drop the colour profile, XMP and what is wrong with the file.
#pragma once

namespace mollify::cli {

/// Call once, before the first image file.
void register_webp();

}  // namespace mollify::cli
