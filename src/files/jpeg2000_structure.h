// What a JPEG 2000 codestream says of itself. It is read before a library is given the stream: libraries allocate what headers claim, and
// fill in what is missing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace mollify::files {

struct Jpeg2000Component {
  int bits = 8;
  bool is_signed = false;
  int dx = 1, dy = 1;  ///< pixels of the picture for one of the component
};

struct Jpeg2000Header {
  std::int64_t x0 = 0, y0 = 0, x1 = 0, y1 = 0;  ///< of the picture on the reference grid
  std::int64_t tile_width = 0, tile_height = 0;
  std::int64_t tiles = 0;
  std::vector<Jpeg2000Component> components;
  /// The first three components are coded as luminance and chrominances, and decoders make RGB of them.
  bool has_colour_transform = false;

  [[nodiscard]] std::int64_t width() const { return x1 - x0; }
  [[nodiscard]] std::int64_t height() const { return y1 - y0; }
};

/// The codestream in a JP2 file; others are one.
[[nodiscard]] std::span<const std::uint8_t> jpeg2000_codestream(std::span<const std::uint8_t> bytes);
/// Of the first bytes of a codestream, up to its first tile. Throws FileError where they are none.
[[nodiscard]] Jpeg2000Header read_jpeg2000_header(std::span<const std::uint8_t> codestream);
/// What describing its tiles takes in a decoder, beside the samples, at most. Throws FileError where a part of the stream is missing.
[[nodiscard]] double bytes_to_describe_jpeg2000(std::span<const std::uint8_t> codestream);

}  // namespace mollify::files
