// Writes what a document holds besides pixels as chunks of PNG.
#pragma once

#include "files/png_contents.h"

namespace mollify::files::png {

enum class Place : std::uint8_t {
  before_palette,
  before_pixels,
  after_pixels,
  after_end,
  elsewhere,  ///< it is written with the pixels, or follows from them
};
/// Where an item goes. Items that PNG has no place for are unaccounted().
[[nodiscard]] Place place_of(const Item& item);
void write_item(ChunkSink& sink, const Item& item, const Page& page);

void write_resolution(ChunkSink& sink, const Resolution& resolution);
/// sBIT, where it says anything.
void write_significant_bits(ChunkSink& sink, const Document& document);

}  // namespace mollify::files::png
