// Reads JPEG: the structure first, by ourselves, then the pixels, by libjpeg-turbo in the calling thread.
#include <algorithm>
#include <array>
#include <string>

#include "files/codec.h"
#include "files/jpeg_items.h"
#include "files/jpeg_library.h"
#include "files/jpeg_structure.h"
#include "files/memory_limit.h"

namespace mollify::files {
namespace {

using jpeg::Decoder;
using jpeg::Structure;

/// The fewest bytes that a picture takes: a block of 64 coefficients has a code of its first one, and unless scans part them, one that
/// ends it. A header that claims more than the file can hold costs no memory.
std::int64_t least_bytes(const jpeg_decompress_struct& info) {
  std::int64_t blocks = 0;
  for (int c = 0; c < info.num_components; ++c) {
    const jpeg_component_info& each = info.comp_info[c];
    const std::int64_t width = std::int64_t{info.image_width} * each.h_samp_factor / info.max_h_samp_factor;
    const std::int64_t height = std::int64_t{info.image_height} * each.v_samp_factor / info.max_v_samp_factor;
    blocks += (width / DCTSIZE) * (height / DCTSIZE);
  }
  return blocks * (info.progressive_mode != FALSE ? 1 : 2) / 8;
}

Decoder::Patch height_of(const Structure& structure) {
  if (!structure.has_late_height) return {};
  return {.offset = structure.height_offset, .value = static_cast<std::uint16_t>(structure.height)};
}

void set_channels(Page& page, const jpeg_decompress_struct& info) {
  const auto set = [&](ColourModel model, std::initializer_list<const char*> names) {
    page.model = model;
    for (const char* name : names) page.channels.push_back({.name = name});
  };
  switch (info.out_color_space) {
    case JCS_GRAYSCALE:
      return set(ColourModel::grey, {"Y"});
    case JCS_RGB:
      return set(ColourModel::rgb, {"R", "G", "B"});
    case JCS_CMYK:
      return set(ColourModel::cmyk, {"C", "M", "Y", "K"});
    default:
      page.model = ColourModel::other;
  }
  for (int c = 0; c < info.num_components; ++c) page.channels.push_back({.name = std::to_string(c + 1), .role = ChannelRole::data});
}

class JpegReader final : public Reader {
 public:
  JpegReader(std::unique_ptr<ByteSource> source, const ReadOptions& options)
      : source_(std::move(source)),
        structure_(jpeg::read_structure(*source_, options.memory_bytes)),
        decoder_(*source_, height_of(structure_), messages_),
        memory_bytes_(options.memory_bytes) {
    read_header();
    check_memory();
    describe();
  }

  [[nodiscard]] const Document& document() const override { return document_; }
  [[nodiscard]] const Messages& messages() const override { return messages_; }

  void read_rows(int, std::int32_t y, std::int32_t count, std::uint8_t* into, std::ptrdiff_t row_bytes) override {
    jpeg_decompress_struct& info = decoder_.info();
    if (!started_) jpeg_start_decompress(&info);
    started_ = true;
    skip_to(y);
    for (std::int32_t row = 0; row < count;) {
      std::array<JSAMPROW, kRowsAtOnce> rows{};
      const std::int32_t wanted = std::min<std::int32_t>(count - row, kRowsAtOnce);
      for (std::int32_t i = 0; i < wanted; ++i) rows[static_cast<std::size_t>(i)] = into + (row + i) * row_bytes;
      row += static_cast<std::int32_t>(jpeg_read_scanlines(&info, rows.data(), static_cast<JDIMENSION>(wanted)));
    }
    if (has_inverted_ink()) invert(count, into, row_bytes);
    if (info.output_scanline == info.output_height) jpeg_finish_decompress(&info);
  }

  [[nodiscard]] std::optional<CodecMemory> memory_of(int /*page*/) const override { return memory_; }

  void finish(int /*page*/) override {
    jpeg_decompress_struct& info = decoder_.info();
    if (!started_ || info.output_scanline == info.output_height) return;
    skip_to(static_cast<std::int32_t>(info.output_height));
    jpeg_finish_decompress(&info);
  }

 private:
  static constexpr std::int32_t kRowsAtOnce = 16;

  void read_header() {
    jpeg_decompress_struct& info = decoder_.info();
    jpeg_read_header(&info, TRUE);
    if (info.jpeg_color_space == JCS_YCCK) info.out_color_space = JCS_CMYK;
    info.dct_method = JDCT_ISLOW;
    info.do_fancy_upsampling = TRUE;  // which also keeps upsampling apart from the conversion of colours
  }

  void describe() {
    const jpeg_decompress_struct& info = decoder_.info();
    document_.format = FileFormat::jpeg;
    Page page;
    page.width = structure_.width;
    page.height = structure_.height;
    set_channels(page, info);
    jpeg::Meaning meaning = jpeg::meaning_of(std::move(structure_.segments), messages_);
    page.orientation = meaning.orientation;
    page.resolution = meaning.resolution;
    JpegCoding coding = std::move(structure_.coding);
    coding.is_rgb = info.jpeg_color_space == JCS_RGB || info.jpeg_color_space == JCS_CMYK;
    coding.has_jfif_marker = meaning.has_jfif;
    coding.has_adobe_marker = meaning.has_adobe;
    page.coding = std::move(coding);
    document_.pages.push_back(std::move(page));
    document_.items = std::move(meaning.items);
    for (Item& item : jpeg::items_after(*source_, structure_.end, memory_bytes_)) document_.items.push_back(std::move(item));
  }

  /// Before a row is asked for, since nothing is allocated until then.
  void check_memory() {
    const jpeg_decompress_struct& info = decoder_.info();
    if (least_bytes(info) > source_->size())
      throw FileError("is cut off: its pixels cannot be in " + std::to_string(source_->size()) + " bytes");
    const std::int64_t bytes = jpeg::coefficient_bytes(info.comp_info, info.num_components, info.image_width, info.image_height);
    const bool is_progressive = jpeg_has_multiple_scans(&decoder_.info()) != FALSE;
    const std::int64_t rows = jpeg::kRowsInWork * std::int64_t{info.image_width} * info.num_components;
    memory_ = {rows + (is_progressive ? bytes : 0), is_progressive ? "the coefficients of the progressive JPEG" : "some rows"};
    if (!is_progressive || bytes <= memory_bytes_) return;
    throw MemoryError("is a progressive JPEG, which takes " + std::to_string(bytes) + " bytes to decode, more than the " +
                      std::to_string(memory_bytes_) + " that may be used");
  }

  void skip_to(std::int32_t y) {
    jpeg_decompress_struct& info = decoder_.info();
    Bytes unused(info.output_scanline < static_cast<JDIMENSION>(y) ? static_cast<std::size_t>(document_.pages.front().row_bytes()) : 0);
    for (JSAMPROW row = unused.data(); info.output_scanline < static_cast<JDIMENSION>(y);) jpeg_read_scanlines(&info, &row, 1);
  }

  /// Adobe's programs store inks as their negative, and say that they wrote the file.
  [[nodiscard]] bool has_inverted_ink() {
    return decoder_.info().out_color_space == JCS_CMYK && std::get<JpegCoding>(document_.pages.front().coding).has_adobe_marker;
  }
  void invert(std::int32_t count, std::uint8_t* into, std::ptrdiff_t row_bytes) {
    const std::int64_t numbers = document_.pages.front().row_bytes();
    for (std::int32_t y = 0; y < count; ++y) {
      std::uint8_t* row = into + y * row_bytes;
      std::transform(row, row + numbers, row, [](std::uint8_t ink) { return static_cast<std::uint8_t>(255 - ink); });
    }
  }

  std::unique_ptr<ByteSource> source_;
  Messages messages_;
  Structure structure_;
  Decoder decoder_;
  std::int64_t memory_bytes_;
  CodecMemory memory_;
  Document document_;
  bool started_ = false;
};

}  // namespace

std::unique_ptr<Reader> open_jpeg(std::unique_ptr<ByteSource> source, const ReadOptions& options) {
  return std::make_unique<JpegReader>(std::move(source), options);
}

}  // namespace mollify::files
