// The writer of PNG files.
#include <algorithm>
#include <array>
#include <cassert>
#include <optional>

#include "files/codec.h"
#include "files/png_encoder.h"
#include "files/png_items.h"

namespace mollify::files {
namespace {

bool is_frame(const Page& page) {
  return page.kind == PageKind::frame;
}

void check_pages(const std::vector<Page>& pages) {
  if (pages.empty()) throw FileError("has no picture");
  for (const Page& page : pages) {
    const Page& first = pages.front();
    if (&page != &first && !is_frame(page))
      throw FileError("has " + std::to_string(pages.size()) + " pages; a PNG file holds one picture or an animation");
    const bool is_same = page.width == first.width && page.height == first.height && page.channels.size() == first.channels.size() &&
                         page.channels.front().type == first.channels.front().type && page.alpha == first.alpha &&
                         page.model == first.model;
    if (!is_same) throw FileError("has frames of several sizes or kinds, which an animated PNG file cannot hold");
  }
}

/// FileError where PNG has no such pixels.
png::Header header_of(const Page& page) {
  const bool has_alpha = page.alpha != AlphaKind::none;
  const std::size_t colours = page.model == ColourModel::grey ? 1 : page.model == ColourModel::rgb ? 3 : 0;
  const NumberType type = page.channels.empty() ? NumberType::f32 : page.channels.front().type;
  const bool is_one_type =
      std::all_of(page.channels.begin(), page.channels.end(), [type](const Channel& each) { return each.type == type; });
  if (colours == 0 || page.white_is_zero || page.channels.size() != colours + (has_alpha ? 1 : 0)) {
    throw FileError("has other channels than grey or RGB and alpha, which a PNG file cannot hold");
  }
  if (!is_one_type || (type != NumberType::u8 && type != NumberType::u16))
    throw FileError("has other numbers than PNG's, which are integers of 8 or 16 bits");
  if (page.alpha == AlphaKind::associated) throw FileError("has colours multiplied by alpha, which a PNG file cannot hold");
  if (page.width < 1 || page.height < 1) throw FileError("has no pixels");
  const png::ColourType colour = colours == 1 ? (has_alpha ? png::ColourType::grey_alpha : png::ColourType::grey)
                                              : (has_alpha ? png::ColourType::rgb_alpha : png::ColourType::rgb);
  const auto* coding = std::get_if<PngCoding>(&page.coding);
  return {page.width, page.height, 8 * bytes_of(type), colour, coding != nullptr && coding->interlaced};
}

/// A delay as PNG has it: seconds as a fraction of two 16-bit numbers.
std::array<std::uint16_t, 2> delay_of(const Timing& timing) {
  const Timing stored = png::timing_of(timing.numerator, timing.denominator);
  if (timing.denominator != 0 && stored.milliseconds == timing.milliseconds) return {timing.numerator, timing.denominator};
  constexpr std::int64_t kMost = 65535;
  const std::int64_t milliseconds = std::max(timing.milliseconds, 0);
  for (const int parts : {1000, 100, 10, 1}) {
    const std::int64_t count = (milliseconds * parts + 500) / 1000;
    if (count <= kMost) return {static_cast<std::uint16_t>(count), static_cast<std::uint16_t>(parts)};
  }
  throw FileError("shows a frame for " + std::to_string(milliseconds) + " milliseconds, which is longer than an animated PNG file can say");
}

class PngWriter final : public Writer {
 public:
  PngWriter(ByteSink& sink, const Document& document, const WriteOptions& options)
      : document_(document), header_((check_pages(document.pages), header_of(document.pages.front()))), sink_(sink) {
    constexpr int kDefaultCompression = 6;
    compression_ = std::clamp(options.compression.value_or(kDefaultCompression), 0, 9);
    if (header_.interlaced)
      MemoryLimit(options.memory_bytes).take(document.pages.front().row_bytes() * header_.height, "the interlaced picture");
    for_each_item(document_, [](const Item& item) { static_cast<void>(png::place_of(item)); });  // before a byte is written
    write_head();
  }

  void write_rows(int page, std::int32_t y, std::int32_t count, const std::uint8_t* from, std::ptrdiff_t row_bytes) override {
    if (y == 0) start_picture(page);
    for (std::int32_t i = 0; i < count; ++i) encoder_->write_row(from + i * row_bytes);
  }

  void finish() override {
    assert(page_ + 1 == static_cast<int>(document_.pages.size()));
    encoder_.reset();
    write_items(png::Place::after_pixels);
    sink_.put(png::kIEND, png::Span());
    write_items(png::Place::after_end);
  }

 private:
  void write_items(png::Place place) {
    for_each_item(document_, [&](const Item& item) {
      if (png::place_of(item) == place) png::write_item(sink_, item, document_.pages.front());
    });
  }

  void write_head() {
    sink_.put_raw({reinterpret_cast<const std::uint8_t*>(png::kSignature.data()), png::kSignature.size()});
    sink_.put(png::kIHDR, png::body_of(header_));
    write_items(png::Place::before_palette);
    png::write_significant_bits(sink_, document_);
    write_animation();
    if (const auto& resolution = document_.pages.front().resolution) png::write_resolution(sink_, *resolution);
    write_items(png::Place::before_pixels);
  }

  void write_animation() {
    const auto frames = std::count_if(document_.pages.begin(), document_.pages.end(), is_frame);
    if (frames == 0) return;
    Bytes body;
    png::put_u32(body, static_cast<std::uint32_t>(frames));
    std::uint32_t loops = 0;
    for_each_item(document_, [&](const Item& item) { loops = item.kind == ItemKind::loop_count ? item.number : loops; });
    png::put_u32(body, loops);
    sink_.put(png::kActl, body);
  }

  void start_picture(int page) {
    assert(page == page_ + 1);
    page_ = page;
    const Page& described = document_.pages[static_cast<std::size_t>(page)];
    if (is_frame(described)) write_frame(described);
    encoder_.emplace(header_, compression_, [this](png::Span data) { write_data(data); });
  }

  /// Each frame is the whole picture and replaces the one before.
  void write_frame(const Page& page) {
    Bytes body;
    png::put_u32(body, sequence_++);
    for (const std::int32_t number : {page.width, page.height, 0, 0}) png::put_u32(body, static_cast<std::uint32_t>(number));
    for (const std::uint16_t number : delay_of(page.timing.value_or(Timing{}))) png::put_u16(body, number);
    body.push_back(static_cast<std::uint8_t>(png::Dispose::none));
    body.push_back(static_cast<std::uint8_t>(png::Blend::source));
    sink_.put(png::kFctl, body);
  }

  void write_data(png::Span data) {
    if (page_ == 0) return sink_.put(png::kIDAT, data);
    Bytes sequence;
    png::put_u32(sequence, sequence_++);
    sink_.put(png::kFdat, {sequence, data});
  }

  const Document document_;
  png::Header header_;
  png::ChunkSink sink_;
  int compression_;
  int page_ = -1;
  std::uint32_t sequence_ = 0;
  std::optional<png::Encoder> encoder_;
};

}  // namespace

CodecMemory memory_of_png_writer(const Page& page) {
  constexpr std::int64_t kRows = 4, kDeflate = 1 << 20;
  const std::int64_t encoder = kRows * page.row_bytes() + kDeflate;
  const auto* coding = std::get_if<PngCoding>(&page.coding);
  if (coding == nullptr || !coding->interlaced) return {encoder, "a row"};
  constexpr std::int64_t kGrowth = 2;  // it is gathered in a buffer that doubles
  return {encoder + kGrowth * page.row_bytes() * page.height, "the interlaced picture"};
}

std::unique_ptr<Writer> make_png_writer(ByteSink& sink, const Document& document, const WriteOptions& options) {
  return std::make_unique<PngWriter>(sink, document, options);
}

}  // namespace mollify::files
