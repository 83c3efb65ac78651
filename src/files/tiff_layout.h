// How the pages of a result are stored as TIFF.
#pragma once

#include <tiff.h>

#include <cstdint>

#include "files/codec.h"
#include "files/tiff_samples.h"

namespace mollify::files::tiff {

/// How a page is stored.
struct PageLayout {
  SampleLayout sample;
  NumberType type = NumberType::u8;
  int samples = 1;
  int compression = COMPRESSION_ADOBE_DEFLATE;
  int predictor = 1;
  int photometric = PHOTOMETRIC_MINISBLACK;
  bool planar = false, tiled = false, reverses_bits = false, is_complex = false;
  std::uint32_t strile_width = 0, strile_rows = 0;

  [[nodiscard]] int planes() const { return planar ? samples : 1; }
  [[nodiscard]] int strile_samples() const { return planar ? 1 : samples; }
  [[nodiscard]] std::int64_t strile_row_bytes() const { return sample.row_bytes(std::int64_t{strile_width} * strile_samples()); }
};

/// Throws FileError where TIFF has no such pixels.
[[nodiscard]] PageLayout layout_of(const Page& page, Messages& messages);
/// libtiff's number of the kind of samples.
[[nodiscard]] int sample_format(const PageLayout& layout);
/// How many channels are no extra samples.
[[nodiscard]] int colours_of(const Page& page);

}  // namespace mollify::files::tiff
