#include "files/png_decoder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string_view>

namespace mollify::files::png {
namespace {

constexpr std::size_t kBufferBytes = 1 << 16;
constexpr const char* kTooMuch = "the file holds more compressed bytes than its pixels need; they were left out";
constexpr const char* kNoColour = "indices without a colour in the palette became black";
constexpr std::uint32_t kNoChecksum = 0;  // libpng is told not to look: the stream has compared those of the file

void put_chunk(Bytes& to, ChunkType type, Span body) {
  put_u32(to, static_cast<std::uint32_t>(body.size()));
  put_u32(to, type);
  for (const std::uint8_t byte : body) to.push_back(byte);
  put_u32(to, kNoChecksum);
}

}  // namespace

PictureStream::PictureStream(ByteSource& source, const Contents& contents, const Picture& picture)
    : source_(source),
      data_(picture.data),
      next_chunk_(picture.first_chunk),
      chunks_left_(picture.data_chunks),
      made_(kSignature.begin(), kSignature.end()) {
  Header header = contents.header;
  header.width = picture.rect.width;
  header.height = picture.rect.height;
  put_chunk(made_, kIHDR, body_of(header));
  if (!contents.palette.empty()) put_chunk(made_, kPLTE, contents.palette);
  if (!contents.transparency.empty()) put_chunk(made_, kTrns, contents.transparency);
}

void PictureStream::read(std::span<std::uint8_t> into) {
  while (!into.empty()) into = into.subspan(read_some(into));
}

std::size_t PictureStream::read_some(std::span<std::uint8_t> into) {
  if (made_read_ < made_.size()) {
    const std::size_t count = std::min(into.size(), made_.size() - made_read_);
    std::copy_n(made_.begin() + static_cast<std::ptrdiff_t>(made_read_), count, into.begin());
    made_read_ += count;
    return count;
  }
  made_.clear();
  made_read_ = 0;
  if (body_left_ > 0) return read_body(into);
  if (in_chunk_) {
    end_chunk();
  } else if (chunks_left_ > 0) {
    begin_chunk();
  } else {
    if (has_ended_) throw FileError("is damaged: its compressed pixels end too early");
    has_ended_ = true;
    put_chunk(made_, kIEND, {});
  }
  return 0;
}

std::size_t PictureStream::read_body(std::span<std::uint8_t> into) {
  const std::size_t count = std::min<std::size_t>(into.size(), static_cast<std::size_t>(body_left_));
  read_source(into.first(count));
  sum_ = checksum(sum_, into.first(count));
  body_left_ -= static_cast<std::int64_t>(count);
  return count;
}

/// Finds the next chunk of the picture. Others may lie between those of a frame.
void PictureStream::begin_chunk() {
  Chunk chunk = find_chunk(source_, next_chunk_);
  while (chunk.type != data_) chunk = find_chunk(source_, chunk.end());
  next_chunk_ = chunk.end();
  --chunks_left_;
  position_ = chunk.body;
  body_left_ = chunk.length;
  sum_ = checksum(data_);
  in_chunk_ = true;
  if (data_ == kFdat) {
    std::array<std::uint8_t, 4> sequence{};
    read_body(sequence);
  }
  put_u32(made_, static_cast<std::uint32_t>(body_left_));
  put_u32(made_, kIDAT);
}

void PictureStream::end_chunk() {
  std::array<std::uint8_t, 4> said{};
  read_source(said);
  if (get_u32(said.data()) != sum_) fail_checksum(data_);
  in_chunk_ = false;
  put_u32(made_, kNoChecksum);
}

void PictureStream::read_source(std::span<std::uint8_t> into) {
  while (!into.empty()) {
    const std::int64_t at = position_ - buffer_begin_;
    if (at < 0 || at >= static_cast<std::int64_t>(buffer_.size())) {
      buffer_.resize(kBufferBytes);
      buffer_begin_ = position_;
      buffer_.resize(source_.read_at(position_, buffer_));
      if (buffer_.empty()) throw FileError("is cut off");
      continue;
    }
    const std::size_t count = std::min(into.size(), buffer_.size() - static_cast<std::size_t>(at));
    std::memcpy(into.data(), buffer_.data() + at, count);
    position_ += static_cast<std::int64_t>(count);
    into = into.subspan(count);
  }
}

bool PictureStream::skip_rest() {
  bool is_all = body_left_ == 0;
  Bytes scratch(kBufferBytes);
  while (in_chunk_ || chunks_left_ > 0) {
    if (!in_chunk_) {
      begin_chunk();
      is_all = is_all && body_left_ == 0;
    }
    while (body_left_ > 0) read_body(scratch);
    end_chunk();
    made_.clear();
  }
  return is_all;
}

Decoder::Decoder(ByteSource& source, const Contents& contents, const Picture& picture, Messages& messages)
    : stream_(source, contents, picture), messages_(messages), width_(picture.rect.width), height_(picture.rect.height) {
  png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
  if (png_ == nullptr) throw std::bad_alloc();
  try {
    set_up(contents);
  } catch (...) {
    png_destroy_read_struct(&png_, &info_, nullptr);
    throw;
  }
}

Decoder::~Decoder() {
  png_destroy_read_struct(&png_, &info_, nullptr);
}

void Decoder::set_up(const Contents& contents) {
  info_ = png_create_info_struct(png_);
  if (info_ == nullptr) throw std::bad_alloc();
  png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_crc_action(png_, PNG_CRC_QUIET_USE, PNG_CRC_QUIET_USE);
  png_set_option(png_, PNG_MAXIMUM_INFLATE_WINDOW, PNG_OPTION_ON);  // some programs write too small a size of the window
  png_set_read_fn(png_, this, on_read);
  png_read_info(png_, info_);
  if (contents.header.colour == ColourType::palette) {
    take_palette(contents);
  } else {
    png_set_expand(png_);
    constexpr png_uint_32 kOpaque = 0xffff;
    if (contents.adds_alpha) png_set_add_alpha(png_, kOpaque, PNG_FILLER_AFTER);
  }
  if (std::endian::native == std::endian::little) png_set_swap(png_);
  if (contents.header.interlaced) png_set_interlace_handling(png_);
  png_start_read_image(png_);
}

/// libpng hands out indices, one a byte, and colours are looked up here: libpng would not say that one is missing.
void Decoder::take_palette(const Contents& contents) {
  constexpr std::size_t kIndices = 256;
  constexpr std::uint8_t kOpaque = 255;
  png_set_packing(png_);
  png_set_check_for_invalid_index(png_, 0);
  palette_.assign(kIndices, Colour{0, 0, 0, kOpaque});
  palette_entries_ = std::min(contents.palette.size() / 3, kIndices);
  for (std::size_t i = 0; i < palette_entries_; ++i) std::copy_n(&contents.palette[3 * i], 3, palette_[i].begin());
  for (std::size_t i = 0; i < std::min(contents.transparency.size(), kIndices); ++i) palette_[i][3] = contents.transparency[i];
  palette_channels_ = contents.transparency.empty() && !contents.adds_alpha ? 3 : 4;
}

/// From the last pixel to the first, since colours take more room than indices.
void Decoder::expand_palette(std::uint8_t* row) {
  std::size_t largest = 0;
  for (std::size_t x = static_cast<std::size_t>(width_); x-- > 0;) {
    const std::size_t index = row[x];
    largest = std::max(largest, index);
    std::copy_n(palette_[index].begin(), palette_channels_, row + x * palette_channels_);
  }
  if (largest >= palette_entries_) messages_.add(kNoColour);
}

void Decoder::read_row(std::uint8_t* into) {
  png_read_row(png_, into, nullptr);
  if (!palette_.empty()) expand_palette(into);
  if (++next_row_ == height_) finish();
}

void Decoder::read_all(std::uint8_t* into, std::int64_t row_bytes) {
  for (int pass = 0; pass < PNG_INTERLACE_ADAM7_PASSES; ++pass) {
    for (std::int32_t y = 0; y < height_; ++y) png_read_row(png_, into + y * row_bytes, nullptr);
  }
  for (std::int32_t y = 0; y < height_ && !palette_.empty(); ++y) expand_palette(into + y * row_bytes);
  next_row_ = height_;
  finish();
}

void Decoder::finish() {
  if (!stream_.skip_rest()) messages_.add(kTooMuch);
  png_read_end(png_, nullptr);
}

std::int64_t Decoder::memory_bytes(std::int64_t row_bytes) {
  constexpr std::int64_t kRows = 2;
  constexpr std::int64_t kOthers = 1 << 18;  // zlib's window, buffers
  return kRows * (row_bytes + 64) + kOthers;
}

void Decoder::take_warning(const char* text) {
  const std::string_view warning(text);
  const auto says = [warning](std::string_view words) { return warning.find(words) != std::string_view::npos; };
  if (says("Extra compressed data") || says("Too much image data")) {
    return messages_.add(kTooMuch);
  }
  throw FileError("is damaged: " + std::string(warning));
}

void Decoder::on_error(png_structp png, png_const_charp text) {
  // Exceptions pass through libpng, which Debian compiles with tables for unwinding. A decoder is not used any more after one.
  static_cast<void>(png);
  throw FileError("is damaged: " + std::string(text));
}

void Decoder::on_warning(png_structp png, png_const_charp text) {
  static_cast<Decoder*>(png_get_error_ptr(png))->take_warning(text);
}

void Decoder::on_read(png_structp png, png_bytep into, png_size_t count) {
  static_cast<Decoder*>(png_get_io_ptr(png))->stream_.read({into, count});
}

}  // namespace mollify::files::png
