#include "files/png_encoder.h"

#include <bit>
#include <string>
#include <utility>

namespace mollify::files::png {

Encoder::Encoder(const Header& header, int compression, Take take)
    : take_(std::move(take)),
      rows_left_(header.height),
      interlaced_(header.interlaced),
      row_bytes_(static_cast<std::size_t>(header.width) * static_cast<std::size_t>(header.bits()) / 8) {
  png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
  if (png_ == nullptr) throw std::bad_alloc();
  try {
    set_up(header, compression);
  } catch (...) {
    png_destroy_write_struct(&png_, &info_);
    throw;
  }
}

Encoder::~Encoder() {
  png_destroy_write_struct(&png_, &info_);
}

void Encoder::set_up(const Header& header, int compression) {
  constexpr png_size_t kChunkBytes = 1 << 16;
  info_ = png_create_info_struct(png_);
  if (info_ == nullptr) throw std::bad_alloc();
  png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_write_fn(png_, this, on_write, on_flush);
  png_set_compression_level(png_, compression);
  png_set_compression_buffer_size(png_, kChunkBytes);
  png_set_filter(png_, PNG_FILTER_TYPE_BASE, PNG_FILTER_NONE);
  png_set_IHDR(png_, info_, static_cast<png_uint_32>(header.width), static_cast<png_uint_32>(header.height), header.bit_depth,
               static_cast<int>(header.colour), header.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_BASE,
               PNG_FILTER_TYPE_BASE);
  png_write_info(png_, info_);
  if (std::endian::native == std::endian::little) png_set_swap(png_);
}

void Encoder::write_row(const std::uint8_t* row) {
  --rows_left_;
  if (!interlaced_) {
    png_write_row(png_, row);
  } else {
    picture_.insert(picture_.end(), row, row + row_bytes_);
  }
  if (rows_left_ > 0) return;
  if (interlaced_) {
    const int passes = png_set_interlace_handling(png_);
    for (int pass = 0; pass < passes; ++pass) {
      for (std::size_t at = 0; at < picture_.size(); at += row_bytes_) png_write_row(png_, picture_.data() + at);
    }
  }
  png_write_end(png_, nullptr);
}

void Encoder::on_error(png_structp png, png_const_charp text) {
  // Exceptions pass through libpng, which Debian compiles with tables for unwinding.
  static_cast<void>(png);
  throw FileError("cannot be written: " + std::string(text));
}

void Encoder::on_warning(png_structp png, png_const_charp text) {
  on_error(png, text);
}

void Encoder::on_write(png_structp png, png_bytep from, png_size_t count) {
  const bool is_body = (png_get_io_state(png) & PNG_IO_MASK_LOC) == PNG_IO_CHUNK_DATA;
  if (is_body && png_get_io_chunk_type(png) == kIDAT) static_cast<Encoder*>(png_get_io_ptr(png))->take_({from, count});
}

void Encoder::on_flush(png_structp png) {
  static_cast<void>(png);
}

}  // namespace mollify::files::png
