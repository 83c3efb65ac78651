// The reader of WebP files. Chunks are taken apart here; libwebp decodes pictures and composes the frames of animations.
#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

#include "files/codec.h"
#include "files/memory_limit.h"
#include "files/metadata.h"
#include "files/webp_chunks.h"

namespace mollify::files {
namespace {

using webp::Chunk;
using webp::Span;

struct Frame {
  Rect rect;
  int milliseconds = 0;
  bool clears = false;  ///< its place becomes transparent after it
  bool has_alpha = false;
  bool lossless = false;
};

constexpr int kLosslessBitstream = 2;  ///< WebPBitstreamFeatures::format

bool has_alpha_bit(Span lossless) {
  constexpr std::size_t kByte = 4;
  constexpr int kBit = 0x10;
  return lossless.size() > kByte && (lossless[kByte] & kBit) != 0;
}

/// What describes the pictures of a file and what it holds besides them.
class WebpContents {
 public:
  WebpContents(Bytes file, MemoryLimit& memory) : file_(std::move(file)), memory_(memory) {
    document_.format = FileFormat::webp;
    read_chunks(find_end());
    if (is_animated()) {
      describe_animation();
    } else {
      describe_picture();
    }
    read_trailer();
  }

  [[nodiscard]] Span riff() const { return Span(file_).first(end_); }
  [[nodiscard]] bool is_animated() const { return (features_ & webp::kIsAnimated) != 0; }

  [[nodiscard]] const Document& document() const { return document_; }
  [[nodiscard]] const Messages& messages() const { return messages_; }

 private:
  Span find_end() {
    if (file_.size() < webp::kFileHeadBytes) throw FileError("is cut off");
    const std::uint64_t end = std::uint64_t{webp::get_number(file_, 4, 4)} + 8;
    if (end > file_.size()) throw FileError("is cut off: it has " + std::to_string(file_.size()) + " of " + std::to_string(end) + " bytes");
    if (end < webp::kFileHeadBytes) throw FileError("is damaged: it says that it has " + std::to_string(end) + " bytes");
    end_ = static_cast<std::size_t>(end);
    return riff().subspan(webp::kFileHeadBytes);
  }

  void read_chunks(Span rest) {
    while (!rest.empty()) {
      const Chunk chunk = webp::take_chunk(rest);
      if (chunk.name == webp::kExtended) {
        read_features(chunk.body);
      } else if (chunk.name == webp::kFrame) {
        read_frame(chunk.body);
      } else if (chunk.name == webp::kLossy || chunk.name == webp::kLossless || chunk.name == webp::kAlpha) {
        has_picture_ = true;
      } else {
        read_item(chunk);
      }
    }
  }

  void read_features(Span body) {
    constexpr std::size_t kBytes = 10;
    if (body.size() < kBytes) throw FileError("is damaged: its header is cut off");
    features_ = body[0];
    width_ = static_cast<std::int64_t>(webp::get_number(body, 4, 3)) + 1;
    height_ = static_cast<std::int64_t>(webp::get_number(body, 7, 3)) + 1;
  }

  void read_frame(Span body) {
    if (!is_animated()) return messages_.add("frames in a file that says it is no animation were left out");
    if (body.size() < webp::kFrameHeadBytes) throw FileError("is damaged: a frame is cut off");
    memory_.take(sizeof(Frame) + sizeof(Page) + 4 * sizeof(Channel), "the list of frames");
    const auto number = [body](std::size_t at) { return static_cast<std::int32_t>(webp::get_number(body, at, 3)); };
    Frame frame{{2 * number(0), 2 * number(3), number(6) + 1, number(9) + 1}, number(12)};
    frame.clears = (body[15] & webp::kDisposeToBackground) != 0;
    bool has_pixels = false;
    for (Span rest = body.subspan(webp::kFrameHeadBytes); !rest.empty();) {
      const Chunk chunk = webp::take_chunk(rest);
      const bool is_lossless = chunk.name == webp::kLossless;
      if (is_lossless || chunk.name == webp::kLossy) {
        has_pixels = true;
        frame.lossless = is_lossless;
        frame.has_alpha = frame.has_alpha || (is_lossless && has_alpha_bit(chunk.body));
      } else if (chunk.name == webp::kAlpha) {
        frame.has_alpha = true;
      } else {
        messages_.add("the unknown chunk \"" + std::string(chunk.name) + "\" inside of a frame was left out");
      }
    }
    if (!has_pixels) throw FileError("is damaged: a frame has no pixels");
    frames_.push_back(frame);
  }

  void read_item(const Chunk& chunk) {
    if (chunk.name == webp::kAnimation) return read_animation(chunk.body);
    Item item{ItemKind::unknown, std::string(chunk.name)};
    Span body = chunk.body;
    if (chunk.name == webp::kProfile) item.kind = ItemKind::icc_profile;
    if (chunk.name == webp::kXmp) item.kind = ItemKind::xmp;
    if (chunk.name == webp::kExif) {
      item.kind = ItemKind::exif;
      constexpr std::string_view kIntroduction("Exif\0\0", 6);  // of JPEG's segment, which some programs write here, too
      const std::string_view text(reinterpret_cast<const char*>(body.data()), body.size());
      if (text.starts_with(kIntroduction)) body = body.subspan(kIntroduction.size());
    }
    if (item.kind != ItemKind::unknown && !once_.insert(item.kind).second) {
      return messages_.add("a second chunk \"" + item.name + "\" was left out");
    }
    memory_.take(static_cast<std::int64_t>(sizeof(Item) + body.size()), "metadata");
    item.data.assign(body.begin(), body.end());
    document_.items.push_back(std::move(item));
  }

  void read_animation(Span body) {
    constexpr std::size_t kColourBytes = 4;  // blue, green, red, alpha
    if (body.size() < kColourBytes + 2 || !is_animated() || !once_.insert(ItemKind::loop_count).second) {
      return messages_.add("a chunk \"ANIM\" that is malformed or out of place was left out");
    }
    const std::string name(webp::kAnimation);
    document_.items.push_back({ItemKind::background, name, Bytes(body.begin(), body.begin() + kColourBytes)});
    document_.items.push_back({ItemKind::loop_count, name, {}, webp::get_number(body, kColourBytes, 2)});
  }

  void read_trailer() {
    if (end_ == file_.size()) return;
    memory_.take(static_cast<std::int64_t>(file_.size() - end_), "what follows the picture");
    document_.items.push_back({ItemKind::trailer, "after RIFF", Bytes(file_.begin() + static_cast<std::ptrdiff_t>(end_), file_.end())});
  }

  [[nodiscard]] Page make_page(bool has_alpha) const {
    Page page;
    page.width = static_cast<std::int32_t>(width_);
    page.height = static_cast<std::int32_t>(height_);
    for (const char* name : {"R", "G", "B"}) page.channels.push_back({name, NumberType::u8, ChannelRole::colour});
    if (has_alpha) {
      page.channels.push_back({"A", NumberType::u8, ChannelRole::alpha});
      page.alpha = AlphaKind::unassociated;
    }
    for (const Item& item : document_.items) {
      if (item.kind != ItemKind::exif) continue;
      page.orientation = exif_orientation(item.data).value_or(1);
      page.resolution = exif_resolution(item.data);
    }
    return page;
  }

  void describe_picture() {
    WebPBitstreamFeatures features;
    if (!has_picture_ || WebPGetFeatures(file_.data(), end_, &features) != VP8_STATUS_OK)
      throw FileError("is damaged or cut off: it has no picture");
    width_ = features.width;
    height_ = features.height;
    const bool has_alpha = features.has_alpha != 0 || (features_ & webp::kHasAlpha) != 0;
    document_.pages.push_back(make_page(has_alpha));
    document_.pages.back().coding = WebpCoding{features.format == kLosslessBitstream, has_alpha};
  }

  [[nodiscard]] bool covers_canvas(const Frame& frame) const { return frame.rect.width == width_ && frame.rect.height == height_; }

  /// Whether any pixel that is shown can be transparent.
  [[nodiscard]] bool shows_alpha() const {
    if ((features_ & webp::kHasAlpha) != 0 || !covers_canvas(frames_.front())) return true;
    for (std::size_t i = 0; i < frames_.size(); ++i) {
      if (frames_[i].has_alpha || (frames_[i].clears && i + 1 < frames_.size() && !covers_canvas(frames_[i + 1]))) return true;
    }
    return false;
  }

  void describe_animation() {
    if (frames_.empty()) throw FileError("is damaged: it is an animation without frames");
    for (const Frame& frame : frames_) {
      const Rect& rect = frame.rect;
      if (std::int64_t{rect.x} + rect.width > width_ || std::int64_t{rect.y} + rect.height > height_)
        throw FileError("is damaged: a frame lies outside of the picture");
    }
    const Page page = make_page(shows_alpha());
    for (const Frame& frame : frames_) {
      document_.pages.push_back(page);
      document_.pages.back().kind = PageKind::frame;
      document_.pages.back().timing = Timing{.milliseconds = frame.milliseconds, .numerator = 0, .denominator = 0};
      document_.pages.back().coding = WebpCoding{frame.lossless, page.alpha != AlphaKind::none};
    }
  }

  Document document_;
  Messages messages_;
  Bytes file_;
  MemoryLimit& memory_;
  std::size_t end_ = 0;  ///< of the RIFF structure
  std::uint8_t features_ = 0;
  std::int64_t width_ = 0;
  std::int64_t height_ = 0;
  bool has_picture_ = false;  ///< that is no frame
  std::vector<Frame> frames_;
  std::set<ItemKind> once_;
};

class WebpReader final : public Reader {
 public:
  WebpReader(ByteSource& source, const ReadOptions& options)
      : memory_(options.memory_bytes), contents_(read_file(source, memory_), memory_), uses_threads_(options.threads > 1 ? 1 : 0) {}

  [[nodiscard]] const Document& document() const override { return contents_.document(); }
  [[nodiscard]] const Messages& messages() const override { return contents_.messages(); }

  void read_rows(int page, std::int32_t y, std::int32_t count, std::uint8_t* into, std::ptrdiff_t row_bytes) override {
    const Page& described = contents_.document().pages[static_cast<std::size_t>(page)];
    const std::uint8_t* from = contents_.is_animated() ? composed_frame(described, page) : decoded_picture(described);
    const bool drops_alpha = contents_.is_animated() && described.alpha == AlphaKind::none;
    const std::int64_t step = contents_.is_animated() ? 4 * std::int64_t{described.width} : described.row_bytes();
    for (std::int32_t i = 0; i < count; ++i) {
      const std::uint8_t* row = from + (y + i) * step;
      if (drops_alpha) {
        copy_colours(row, into + i * row_bytes, described.width);
      } else {
        std::memcpy(into + i * row_bytes, row, static_cast<std::size_t>(described.row_bytes()));
      }
    }
  }

 private:
  struct Delete {
    void operator()(WebPAnimDecoder* decoder) const { WebPAnimDecoderDelete(decoder); }
  };

  static Bytes read_file(ByteSource& source, MemoryLimit& memory) {
    memory.take(source.size(), "the compressed picture");
    return read_exactly(source, 0, source.size());
  }

  static void copy_colours(const std::uint8_t* rgba, std::uint8_t* rgb, std::int32_t count) {
    for (std::int32_t x = 0; x < count; ++x) std::copy_n(rgba + 4 * std::ptrdiff_t{x}, 3, rgb + 3 * std::ptrdiff_t{x});
  }

  const std::uint8_t* decoded_picture(const Page& page) {
    if (!pixels_.empty()) return pixels_.data();
    const std::int64_t pixels = std::int64_t{page.width} * page.height;
    const bool is_lossless = std::get<WebpCoding>(page.coding).lossless;
    memory_.take(pixels * page.pixel_bytes() + (is_lossless ? 4 : page.alpha != AlphaKind::none ? 1 : 0) * pixels, "the picture");
    Bytes decoded(static_cast<std::size_t>(page.row_bytes() * page.height));
    WebPDecoderConfig config;
    if (WebPInitDecoderConfig(&config) == 0) throw FileError("cannot be read: libwebp has another version");
    config.options.use_threads = uses_threads_;
    config.output.colorspace = page.alpha == AlphaKind::none ? MODE_RGB : MODE_RGBA;
    config.output.is_external_memory = 1;
    config.output.u.RGBA = {decoded.data(), static_cast<int>(page.row_bytes()), decoded.size()};
    const Span file = contents_.riff();
    const VP8StatusCode status = WebPDecode(file.data(), file.size(), &config);
    if (status == VP8_STATUS_OUT_OF_MEMORY) throw std::bad_alloc();
    if (status != VP8_STATUS_OK) throw FileError("is damaged or cut off");
    pixels_ = std::move(decoded);
    return pixels_.data();
  }

  /// The canvas, four bytes a pixel.
  const std::uint8_t* composed_frame(const Page& page, int index) {
    if (!animation_) start_animation(page);
    if (index + 1 < next_frame_) {
      WebPAnimDecoderReset(animation_.get());
      next_frame_ = 0;
    }
    for (; next_frame_ <= index; ++next_frame_) {
      int end_time = 0;
      if (WebPAnimDecoderGetNext(animation_.get(), &canvas_, &end_time) == 0)
        throw FileError("is damaged or cut off in frame " + std::to_string(next_frame_ + 1));
    }
    return canvas_;
  }

  void start_animation(const Page& page) {
    constexpr std::int64_t kBytes = 3 * 4;  // the picture, the one before, and a frame
    memory_.take(kBytes * page.width * page.height, "an animation's picture");
    WebPAnimDecoderOptions options;
    if (WebPAnimDecoderOptionsInit(&options) == 0) throw FileError("cannot be read: libwebp has another version");
    options.color_mode = MODE_RGBA;
    options.use_threads = uses_threads_;
    const Span file = contents_.riff();
    const WebPData data{file.data(), file.size()};
    animation_.reset(WebPAnimDecoderNew(&data, &options));
    WebPAnimInfo info;
    const bool is_right =
        animation_ && WebPAnimDecoderGetInfo(animation_.get(), &info) != 0 && info.frame_count == contents_.document().pages.size();
    if (!is_right) throw FileError("is damaged: its frames cannot be found");
  }

  MemoryLimit memory_;
  WebpContents contents_;
  int uses_threads_;
  Bytes pixels_;
  std::unique_ptr<WebPAnimDecoder, Delete> animation_;
  int next_frame_ = 0;
  std::uint8_t* canvas_ = nullptr;  ///< the decoder's own
};

}  // namespace

std::unique_ptr<Reader> open_webp(std::unique_ptr<ByteSource> source, const ReadOptions& options) {
  return std::make_unique<WebpReader>(*source, options);
}

}  // namespace mollify::files
