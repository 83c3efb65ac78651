// The reader of PNG files.
#include <cstring>
#include <optional>

#include "files/codec.h"
#include "files/png_canvas.h"
#include "files/png_contents.h"
#include "files/png_decoder.h"

namespace mollify::files {
namespace {

class PngReader final : public Reader {
 public:
  PngReader(std::unique_ptr<ByteSource> source, const ReadOptions& options)
      : source_(std::move(source)),
        memory_(options.memory_bytes),
        contents_(png::read_contents(*source_, memory_)),
        canvas_(*source_, contents_, contents_.messages) {}

  [[nodiscard]] const Document& document() const override { return contents_.document; }
  [[nodiscard]] const Messages& messages() const override { return contents_.messages; }

  void read_rows(int page, std::int32_t y, std::int32_t count, std::uint8_t* into, std::ptrdiff_t row_bytes) override {
    const Page& described = contents_.document.pages[static_cast<std::size_t>(page)];
    if (described.kind == PageKind::frame) {
      copy_rows(described, canvas_.picture(static_cast<std::size_t>(page), memory_), y, count, into, row_bytes);
    } else if (contents_.header.interlaced) {
      copy_rows(described, interlaced_picture(described), y, count, into, row_bytes);
    } else {
      decode_rows(described, y, count, into, row_bytes);
    }
  }

  [[nodiscard]] std::optional<CodecMemory> memory_of(int page) const override {
    const Page& described = contents_.document.pages[static_cast<std::size_t>(page)];
    const std::int64_t picture = described.row_bytes() * described.height;
    const std::int64_t decoder = png::Decoder::memory_bytes(described.row_bytes()) + described.row_bytes();
    constexpr std::int64_t kCanvases = 2;  // what is shown, and what a frame covers
    if (described.kind == PageKind::frame)
      return CodecMemory{(kCanvases + (contents_.header.interlaced ? 1 : 0)) * picture + decoder, "the frames of the animation"};
    if (contents_.header.interlaced) return CodecMemory{picture + decoder, "the interlaced picture"};
    return CodecMemory{decoder, "a row"};
  }

  void finish(int /*page*/) override {
    while (decoder_ && decoder_->next_row() < contents_.document.pages.front().height) decoder_->read_row(row_.data());
  }

 private:
  static void copy_rows(const Page& page, const std::uint8_t* from, std::int32_t y, std::int32_t count, std::uint8_t* into,
                        std::ptrdiff_t row_bytes) {
    for (std::int32_t i = 0; i < count; ++i) {
      std::memcpy(into + i * row_bytes, from + (y + i) * page.row_bytes(), static_cast<std::size_t>(page.row_bytes()));
    }
  }

  void decode_rows(const Page& page, std::int32_t y, std::int32_t count, std::uint8_t* into, std::ptrdiff_t row_bytes) {
    if (!decoder_ && row_.empty()) memory_.take(png::Decoder::memory_bytes(page.row_bytes()) + page.row_bytes(), "a row");
    if (!decoder_ || decoder_->next_row() > y) decoder_.emplace(*source_, contents_, contents_.pictures.front(), contents_.messages);
    row_.resize(static_cast<std::size_t>(page.row_bytes()));
    while (decoder_->next_row() < y) decoder_->read_row(row_.data());
    for (std::int32_t i = 0; i < count; ++i) decoder_->read_row(into + i * row_bytes);
  }

  const std::uint8_t* interlaced_picture(const Page& page) {
    if (interlaced_.empty()) {
      const std::int64_t bytes = page.row_bytes() * page.height;
      memory_.take(bytes + png::Decoder::memory_bytes(page.row_bytes()), "the interlaced picture");
      Bytes picture(static_cast<std::size_t>(bytes));
      png::Decoder(*source_, contents_, contents_.pictures.front(), contents_.messages).read_all(picture.data(), page.row_bytes());
      interlaced_ = std::move(picture);
    }
    return interlaced_.data();
  }

  std::unique_ptr<ByteSource> source_;
  MemoryLimit memory_;
  png::Contents contents_;
  png::Canvas canvas_;
  std::optional<png::Decoder> decoder_;  ///< of a picture that is read row by row
  Bytes row_;
  Bytes interlaced_;
};

}  // namespace

std::unique_ptr<Reader> open_png(std::unique_ptr<ByteSource> source, const ReadOptions& options) {
  return std::make_unique<PngReader>(std::move(source), options);
}

}  // namespace mollify::files
