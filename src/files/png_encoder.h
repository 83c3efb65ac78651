// Encodes one picture by libpng, of which only the compressed pixels are used: the chunks around them are written elsewhere.
#pragma once

#include <png.h>

#include <functional>

#include "files/png_contents.h"

namespace mollify::files::png {

class Encoder {
 public:
  /// Is given what goes into the chunks for pixels, one call for each of them.
  using Take = std::function<void(Span)>;
  Encoder(const Header& header, int compression, Take take);
  ~Encoder();
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  /// In host byte order. Interlaced pictures are needed as a whole: they are compressed with their last row.
  void write_row(const std::uint8_t* row);

 private:
  void set_up(const Header& header, int compression);
  static void on_error(png_structp png, png_const_charp text);
  static void on_warning(png_structp png, png_const_charp text);
  static void on_write(png_structp png, png_bytep from, png_size_t count);
  static void on_flush(png_structp png);

  Take take_;
  std::int32_t rows_left_;
  bool interlaced_;
  std::size_t row_bytes_;
  Bytes picture_;  ///< of interlaced ones
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace mollify::files::png
