// The writer of WebP files. libwebp encodes pictures; the chunks around them are written here, so that each frame has exactly the
// duration and every chunk the bytes that the document says.
#include <webp/encode.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <optional>

#include "files/codec.h"
#include "files/memory_limit.h"
#include "files/webp_chunks.h"

namespace mollify::files {
namespace {

using webp::Span;

struct Quality {
  bool lossless = true;
  int percent = 0;
};

Quality quality_of(const Page& page, const WriteOptions& options) {
  constexpr int kDefaultPercent = 90;
  const auto* coding = std::get_if<WebpCoding>(&page.coding);
  const bool lossless = coding != nullptr ? coding->lossless : !options.quality;
  return {lossless, std::clamp(options.quality.value_or(kDefaultPercent), 1, 100)};
}

/// The pixels of one picture, and their compressed form.
class Picture {
 public:
  Picture(std::int32_t width, std::int32_t height) {
    if (WebPPictureInit(&picture_) == 0) throw FileError("cannot be written: libwebp has another version");
    picture_.use_argb = 1;
    picture_.width = width;
    picture_.height = height;
    if (WebPPictureAlloc(&picture_) == 0) throw std::bad_alloc();
  }
  ~Picture() { WebPPictureFree(&picture_); }
  Picture(const Picture&) = delete;
  Picture& operator=(const Picture&) = delete;

  void put_row(std::int32_t y, const std::uint8_t* from, int channels) {
    std::uint32_t* row = row_at(y);
    const bool is_grey = channels < 3;
    const bool has_alpha = channels % 2 == 0;
    for (std::int32_t x = 0; x < picture_.width; ++x, from += channels) {
      const std::uint32_t red = from[0], green = from[is_grey ? 0 : 1], blue = from[is_grey ? 0 : 2];
      const std::uint32_t alpha = has_alpha ? from[channels - 1] : 255;
      row[x] = alpha << 24 | red << 16 | green << 8 | blue;
    }
  }

  void copy_to(std::vector<std::uint32_t>& pixels) const {
    pixels.clear();
    for (std::int32_t y = 0; y < picture_.height; ++y) pixels.insert(pixels.end(), row_at(y), row_at(y) + picture_.width);
  }

  /// The smallest rectangle with all pixels that differ, its corner at even numbers; one pixel where none does.
  [[nodiscard]] Rect difference(const std::vector<std::uint32_t>& before) const {
    std::int32_t left = picture_.width, right = 0, top = picture_.height, bottom = 0;
    for (std::int32_t y = 0; y < picture_.height; ++y) {
      const std::uint32_t* row = row_at(y);
      const std::uint32_t* old = before.data() + static_cast<std::ptrdiff_t>(y) * picture_.width;
      const auto first = static_cast<std::int32_t>(std::mismatch(row, row + picture_.width, old).first - row);
      if (first == picture_.width) continue;
      std::int32_t end = picture_.width;
      while (row[end - 1] == old[end - 1]) --end;
      left = std::min(left, first);
      right = std::max(right, end);
      top = std::min(top, y);
      bottom = y + 1;
    }
    if (bottom == 0) return {0, 0, 1, 1};
    left &= ~1;
    top &= ~1;
    return {left, top, right - left, bottom - top};
  }

  /// The chunks with the pixels of a part.
  [[nodiscard]] Bytes encode(const Rect& rect, const Quality& quality, bool uses_threads) {
    WebPPicture part;
    if (WebPPictureInit(&part) == 0 || WebPPictureView(&picture_, rect.x, rect.y, rect.width, rect.height, &part) == 0) {
      throw FileError("cannot be written: libwebp cannot find a part of the picture");
    }
    WebPMemoryWriter encoded;
    WebPMemoryWriterInit(&encoded);
    part.writer = WebPMemoryWrite;
    part.custom_ptr = &encoded;
    const bool is_done = encode_view(part, encoded, quality, uses_threads);
    const int error = part.error_code;
    Bytes file(encoded.mem, encoded.mem + encoded.size);
    WebPMemoryWriterClear(&encoded);
    WebPPictureFree(&part);
    if (error == VP8_ENC_ERROR_OUT_OF_MEMORY || error == VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY) throw std::bad_alloc();
    if (!is_done) throw FileError("cannot be written: libwebp's error " + std::to_string(error));
    return pixel_chunks(file);
  }

 private:
  static bool encode_view(WebPPicture& part, WebPMemoryWriter& encoded, const Quality& quality, bool uses_threads) {
    WebPConfig config;
    if (WebPConfigInit(&config) == 0) throw FileError("cannot be written: libwebp has another version");
    constexpr float kEffort = 75.0F;  // what libwebp takes the quality of pictures without losses for
    config.lossless = quality.lossless ? 1 : 0;
    config.quality = quality.lossless ? kEffort : static_cast<float>(quality.percent);
    config.exact = 1;  // colours under alpha 0 stay
    config.thread_level = uses_threads ? 1 : 0;
    if (WebPEncode(&config, &part) != 0) return true;
    if (part.error_code != VP8_ENC_ERROR_PARTITION0_OVERFLOW) return false;
    // A large picture with losses has too many decisions for their part of the file. They can be made coarser.
    constexpr int kCoarsest = 100;
    config.partition_limit = kCoarsest;
    encoded.size = 0;
    part.error_code = VP8_ENC_OK;
    return WebPEncode(&config, &part) != 0;
  }

  static Bytes pixel_chunks(const Bytes& file) {
    Bytes chunks;
    for (Span rest = Span(file).subspan(webp::kFileHeadBytes); !rest.empty();) {
      const Span before = rest;
      if (webp::take_chunk(rest).name == webp::kExtended) continue;
      const Span whole = before.first(before.size() - rest.size());
      chunks.insert(chunks.end(), whole.begin(), whole.end());
    }
    return chunks;
  }

  [[nodiscard]] std::uint32_t* row_at(std::int32_t y) const {
    return picture_.argb + static_cast<std::ptrdiff_t>(y) * picture_.argb_stride;
  }

  WebPPicture picture_{};
};

bool is_frame(const Page& page) {
  return page.kind == PageKind::frame;
}

void check_page(const Page& page, const Document& document) {
  const Page& first = document.pages.front();
  if (document.pages.size() > 1 && !is_frame(page)) {
    throw FileError("has " + std::to_string(document.pages.size()) + " pages; a WebP file holds one picture or an animation");
  }
  if (page.width != first.width || page.height != first.height || page.channels.size() != first.channels.size()) {
    throw FileError("has frames of several sizes or kinds, which a WebP file cannot hold");
  }
  if (page.width > webp::kMostPixels || page.height > webp::kMostPixels || page.width < 1 || page.height < 1) {
    throw FileError("is " + std::to_string(page.width) + "x" + std::to_string(page.height) + " pixels large; a WebP file holds at most " +
                    std::to_string(webp::kMostPixels) + "x" + std::to_string(webp::kMostPixels));
  }
  const bool is_bytes =
      std::all_of(page.channels.begin(), page.channels.end(), [](const Channel& each) { return each.type == NumberType::u8; });
  if (!is_bytes) throw FileError("has other numbers than WebP's, which are integers of 8 bits");
  const std::size_t colours = page.model == ColourModel::grey ? 1 : page.model == ColourModel::rgb ? 3 : 0;
  if (colours == 0 || page.white_is_zero || page.channels.size() != colours + (page.alpha != AlphaKind::none ? 1 : 0)) {
    throw FileError("has other channels than grey or RGB and alpha, which a WebP file cannot hold");
  }
  if (page.alpha == AlphaKind::associated) throw FileError("has colours multiplied by alpha, which a WebP file cannot hold");
}

/// Whether an item is a chunk that nobody knows.
bool is_free_chunk(const Item& item) {
  constexpr std::array kTaken = {webp::kExtended, webp::kLossy,   webp::kLossless, webp::kAlpha, webp::kAnimation,
                                 webp::kFrame,    webp::kProfile, webp::kExif,     webp::kXmp};
  return item.kind == ItemKind::unknown && item.name.size() == 4 && std::find(kTaken.begin(), kTaken.end(), item.name) == kTaken.end();
}

void check_item(const Item& item) {
  constexpr std::array kKinds = {ItemKind::icc_profile, ItemKind::exif,       ItemKind::xmp,
                                 ItemKind::loop_count,  ItemKind::background, ItemKind::trailer};
  if (std::find(kKinds.begin(), kKinds.end(), item.kind) == kKinds.end() && !is_free_chunk(item)) unaccounted(item, FileFormat::webp);
}

/// Blue, green, red, alpha.
Bytes background_of(const Item& item) {
  const Bytes& data = item.data;
  if (item.name == webp::kAnimation && data.size() == 4) return data;
  if (item.name == "bKGD" && (data.size() == 2 || data.size() == 6)) {  // PNG's: big-endian numbers of 16 bits, `number` of which count
    const std::size_t low = item.number == 16 ? 0 : 1;
    const std::size_t step = data.size() == 6 ? 2 : 0;
    return {data[2 * step + low], data[step + low], data[low], 255};
  }
  unaccounted(item, FileFormat::webp);
}

class WebpWriter final : public Writer {
 public:
  WebpWriter(ByteSink& sink, const Document& document, const WriteOptions& options) : sink_(sink), document_(document), options_(options) {
    if (document.pages.empty()) throw FileError("has no picture");
    for (const Page& page : document.pages) check_page(page, document);
    for_each_item(document_, check_item);
    constexpr std::int64_t kPixelBytes = 4;
    const Page& first = document.pages.front();
    MemoryLimit(options.memory_bytes).take(kPixelBytes * first.width * first.height * (is_animated() ? 2 : 1), "the picture");
    write_head();
  }

  void write_rows(int page, std::int32_t y, std::int32_t count, const std::uint8_t* from, std::ptrdiff_t row_bytes) override {
    const Page& described = document_.pages[static_cast<std::size_t>(page)];
    if (y == 0 && !picture_) picture_.emplace(described.width, described.height);
    for (std::int32_t i = 0; i < count; ++i) picture_->put_row(y + i, from + i * row_bytes, static_cast<int>(described.channels.size()));
    if (y + count == described.height) write_picture(described, page);
  }

  void finish() override {
    write_items(ItemKind::exif, webp::kExif);
    write_items(ItemKind::xmp, webp::kXmp);
    for_each_item(document_, [this](const Item& item) {
      if (is_free_chunk(item)) put_chunk(item.name, item.data);
    });
    Bytes length;
    webp::put_number(length, static_cast<std::uint32_t>(position_ - 8), 4);
    sink_.write_at(4, length);
    for_each_item(document_, [this](const Item& item) {
      if (item.kind == ItemKind::trailer) put(item.data);
    });
  }

 private:
  [[nodiscard]] const Item* find_item(ItemKind kind) const {
    const Item* found = nullptr;
    for_each_item(document_, [&](const Item& item) {
      if (item.kind == kind && found == nullptr) found = &item;
    });
    return found;
  }
  [[nodiscard]] bool is_animated() const { return is_frame(document_.pages.front()); }

  void put(Span bytes) {
    constexpr std::int64_t kMostBytes = 0xfffffffe;
    if (position_ + static_cast<std::int64_t>(bytes.size()) > kMostBytes)
      throw FileError("is larger than the 4 GB that a WebP file can be");
    sink_.write_at(position_, bytes);
    position_ += static_cast<std::int64_t>(bytes.size());
  }

  void put_chunk(std::string_view name, Span body) {
    Bytes head(name.begin(), name.end());
    webp::put_number(head, static_cast<std::uint32_t>(body.size()), 4);
    put(head);
    put(body);
    constexpr std::array<std::uint8_t, 1> kPadding{};
    if (body.size() % 2 != 0) put(kPadding);
  }

  void write_items(ItemKind kind, std::string_view name) {
    if (const Item* item = find_item(kind)) put_chunk(name, item->data);
  }

  void write_head() {
    constexpr std::array<std::uint8_t, webp::kFileHeadBytes> kHead = {'R', 'I', 'F', 'F', 0, 0, 0, 0, 'W', 'E', 'B', 'P'};
    put(kHead);
    write_features();
    write_items(ItemKind::icc_profile, webp::kProfile);
    if (is_animated()) write_animation();
  }

  /// A file with nothing but a picture without alpha needs none.
  void write_features() {
    int features = is_animated() ? webp::kIsAnimated : 0;
    bool has_chunks = false;
    for_each_item(document_, [&](const Item& item) { has_chunks = has_chunks || is_free_chunk(item); });
    if (document_.pages.front().alpha != AlphaKind::none) features |= webp::kHasAlpha;
    if (find_item(ItemKind::icc_profile) != nullptr) features |= webp::kHasProfile;
    if (find_item(ItemKind::exif) != nullptr) features |= webp::kHasExif;
    if (find_item(ItemKind::xmp) != nullptr) features |= webp::kHasXmp;
    if (features == 0 && !has_chunks) return;
    Bytes body = {static_cast<std::uint8_t>(features), 0, 0, 0};
    webp::put_number(body, static_cast<std::uint32_t>(document_.pages.front().width - 1), 3);
    webp::put_number(body, static_cast<std::uint32_t>(document_.pages.front().height - 1), 3);
    put_chunk(webp::kExtended, body);
  }

  void write_animation() {
    constexpr std::uint32_t kMostLoops = 0xffff;
    const Item* background = find_item(ItemKind::background);
    const Item* loops = find_item(ItemKind::loop_count);
    Bytes body = background != nullptr ? background_of(*background) : Bytes(4);
    webp::put_number(body, loops != nullptr ? std::min(loops->number, kMostLoops) : 0, 2);
    put_chunk(webp::kAnimation, body);
  }

  void write_picture(const Page& page, int index) {
    const Rect whole{0, 0, page.width, page.height};
    if (is_animated()) {
      write_frame(page, index == 0 ? whole : picture_->difference(before_));
      picture_->copy_to(before_);
    } else {
      put(picture_->encode(whole, quality_of(page, options_), options_.threads > 1));
    }
    picture_.reset();
  }

  /// Replaces a part of the picture before.
  void write_frame(const Page& page, const Rect& rect) {
    constexpr std::int32_t kMostMilliseconds = 0xffffff;
    const std::int32_t milliseconds = page.timing.value_or(Timing{}).milliseconds;
    if (milliseconds < 0 || milliseconds > kMostMilliseconds) {
      throw FileError("shows a frame for " + std::to_string(milliseconds) + " milliseconds, which a WebP file cannot say");
    }
    Bytes body;
    for (const std::int32_t number : {rect.x / 2, rect.y / 2, rect.width - 1, rect.height - 1, milliseconds})
      webp::put_number(body, static_cast<std::uint32_t>(number), 3);
    body.push_back(webp::kDoNotBlend);
    const Bytes pixels = picture_->encode(rect, quality_of(page, options_), options_.threads > 1);
    body.insert(body.end(), pixels.begin(), pixels.end());
    put_chunk(webp::kFrame, body);
  }

  ByteSink& sink_;
  const Document document_;
  const WriteOptions options_;
  std::int64_t position_ = 0;
  std::optional<Picture> picture_;
  std::vector<std::uint32_t> before_;  ///< the frame before
};

}  // namespace

std::unique_ptr<Writer> make_webp_writer(ByteSink& sink, const Document& document, const WriteOptions& options) {
  return std::make_unique<WebpWriter>(sink, document, options);
}

}  // namespace mollify::files
