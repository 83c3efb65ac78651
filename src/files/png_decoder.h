// Decodes one picture of a PNG file by libpng, which is given the header, the palette, what is transparent, and the compressed pixels:
// every other chunk is read elsewhere. Frames of animations look like files of their own to it.
#pragma once

#include <png.h>

#include <array>
#include <memory>
#include <vector>

#include "files/png_contents.h"

namespace mollify::files::png {

/// The bytes of a PNG file that holds nothing but one picture, made from the chunks of another.
class PictureStream {
 public:
  PictureStream(ByteSource& source, const Contents& contents, const Picture& picture);
  void read(std::span<std::uint8_t> into);
  /// Checks the checksums of chunks that the decoder did not need. False where there are bytes in them.
  bool skip_rest();

 private:
  std::size_t read_some(std::span<std::uint8_t> into);
  std::size_t read_body(std::span<std::uint8_t> into);
  void begin_chunk();
  void end_chunk();
  void read_source(std::span<std::uint8_t> into);

  ByteSource& source_;
  ChunkType data_;
  std::int64_t next_chunk_;
  std::int64_t chunks_left_;
  Bytes made_;  ///< bytes that are not in the file
  std::size_t made_read_ = 0;
  std::int64_t body_left_ = 0;
  bool in_chunk_ = false;
  bool has_ended_ = false;
  std::uint32_t sum_ = 0;
  Bytes buffer_;  ///< of the source
  std::int64_t buffer_begin_ = 0;
  std::int64_t position_ = 0;
};

class Decoder {
 public:
  /// Messages are added while rows are read.
  Decoder(ByteSource& source, const Contents& contents, const Picture& picture, Messages& messages);
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  /// The next row, in the channels of the document's pages. Of interlaced pictures: `read_all` instead.
  void read_row(std::uint8_t* into);
  void read_all(std::uint8_t* into, std::int64_t row_bytes);
  [[nodiscard]] std::int32_t next_row() const { return next_row_; }

  /// What libpng and its callbacks allocate for a picture of these rows.
  [[nodiscard]] static std::int64_t memory_bytes(std::int64_t row_bytes);

 private:
  void set_up(const Contents& contents);
  void take_palette(const Contents& contents);
  void expand_palette(std::uint8_t* row);
  void finish();
  void take_warning(const char* text);
  static void on_error(png_structp png, png_const_charp text);
  static void on_warning(png_structp png, png_const_charp text);
  static void on_read(png_structp png, png_bytep into, png_size_t count);

  PictureStream stream_;
  Messages& messages_;
  std::int32_t width_, height_;
  std::int32_t next_row_ = 0;
  using Colour = std::array<std::uint8_t, 4>;
  std::vector<Colour> palette_;      ///< of pictures with indices: a colour for each index that can be stored
  std::size_t palette_entries_ = 0;  ///< that the file has; the others are black
  std::size_t palette_channels_ = 0;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace mollify::files::png
