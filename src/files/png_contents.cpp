#include "files/png_contents.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "files/metadata.h"
#include "files/png_text.h"

namespace mollify::files::png {
namespace {

/// Chunks that become items as they are.
struct PlainChunk {
  ChunkType type;
  ItemKind kind;
  std::uint32_t least, most;  ///< bytes
  bool is_repeated;           ///< a file may have several of them
};
constexpr std::uint32_t kAny = kMostChunkBytes;
constexpr std::array kPlainChunks = {
    PlainChunk{kCicp, ItemKind::cicp, 4, 4, false},
    PlainChunk{kMdcv, ItemKind::mastering_display, 24, 24, false},
    PlainChunk{chunk_type("mDCv"), ItemKind::mastering_display, 24, 24, false},  // the name in drafts
    PlainChunk{kClli, ItemKind::content_light, 8, 8, false},
    PlainChunk{chunk_type("cLLi"), ItemKind::content_light, 8, 8, false},
    PlainChunk{kSrgb, ItemKind::srgb_intent, 1, 1, false},
    PlainChunk{kTime, ItemKind::timestamp, 7, 7, false},
    PlainChunk{chunk_type("oFFs"), ItemKind::known_tag, 9, 9, false},
    PlainChunk{chunk_type("pCAL"), ItemKind::known_tag, 1, kAny, false},
    PlainChunk{chunk_type("sCAL"), ItemKind::known_tag, 4, kAny, false},
    PlainChunk{chunk_type("sTER"), ItemKind::known_tag, 1, 1, false},
    PlainChunk{chunk_type("sPLT"), ItemKind::known_tag, 3, kAny, true},
};

constexpr int kBitsOfBytes = 8;
constexpr int kMostPaletteBytes = 3 * 256;
constexpr double kMostInflation = 1032.0;  ///< deflate makes no more bytes of one byte

bool has_alpha(ColourType colour) {
  return colour == ColourType::grey_alpha || colour == ColourType::rgb_alpha;
}
bool is_grey(ColourType colour) {
  return colour == ColourType::grey || colour == ColourType::grey_alpha;
}

Header header_of(Span body) {
  if (body.size() != 13) throw FileError("is damaged: its header has " + std::to_string(body.size()) + " bytes instead of 13");
  const std::uint32_t width = get_u32(body.data());
  const std::uint32_t height = get_u32(body.data() + 4);
  if (width == 0 || height == 0 || width > kMostChunkBytes || height > kMostChunkBytes) {
    throw FileError("is damaged: it is " + std::to_string(width) + "x" + std::to_string(height) + " pixels large");
  }
  const int depth = body[8];
  const int colour = body[9];
  const bool is_known = colour == 0 || colour == 2 || colour == 3 || colour == 4 || colour == 6;
  const int most = colour == 3 ? 8 : 16;
  const int least = colour == 0 || colour == 3 ? 1 : 8;
  if (!is_known || !std::has_single_bit(static_cast<unsigned>(depth)) || depth < least || depth > most) {
    throw FileError("is damaged: no PNG has colour type " + std::to_string(colour) + " with " + std::to_string(depth) + " bits");
  }
  if (body[10] != 0 || body[11] != 0 || body[12] > 1)
    throw FileError("is compressed, filtered or interlaced in a way that PNG does not define");
  return {static_cast<std::int32_t>(width), static_cast<std::int32_t>(height), depth, static_cast<ColourType>(colour), body[12] == 1};
}

/// Reads one file. Each of the functions for a chunk says false where the chunk is malformed.
class ContentsReader {
 public:
  ContentsReader(ByteSource& source, MemoryLimit& memory) : source_(source), memory_(memory) {}
  Contents read();

 private:
  void read_header(const Chunk& chunk);
  void read_chunk(const Chunk& chunk);
  void read_pixels(const Chunk& chunk);
  void read_frame_pixels(const Chunk& chunk);
  void read_trailer(std::int64_t offset);

  bool read_named(ChunkType type, Span body);
  bool read_plain(const PlainChunk& plain, Span body);
  bool read_palette(Span body);
  bool read_transparency(Span body);
  bool read_gamma(Span body);
  bool read_chromaticities(Span body);
  bool read_profile(Span body);
  bool read_exif(Span body);
  bool read_background(Span body);
  bool read_resolution(Span body);
  bool read_significant_bits(Span body);
  bool read_text_chunk(ChunkType type, Span body);
  void read_photoshop(const Item& item);
  bool read_animation(Span body);
  bool read_frame(Span body);
  void read_unknown(ChunkType type, Span body);

  void add(Item item);
  [[nodiscard]] bool has(ItemKind kind) const { return has_item_[static_cast<std::size_t>(kind)]; }
  void say(std::string message) { contents_.messages.add(std::move(message)); }
  void check_sequence(std::uint32_t number);
  void start_picture(Picture picture);
  void finish_pictures();
  [[nodiscard]] bool frames_leave_holes() const;
  void make_pages();
  [[nodiscard]] Page make_page() const;
  void adjust_significant_bits(Page& page);

  ByteSource& source_;
  MemoryLimit& memory_;
  Contents contents_;
  Header& header_ = contents_.header;
  std::vector<Item>& items_ = contents_.document.items;
  std::optional<Resolution> resolution_;
  Bytes significant_bits_;
  std::array<bool, kItemKinds> has_item_{};
  std::array<bool, kPlainChunks.size()> has_plain_{};
  ChunkType previous_ = 0;  ///< the type of the chunk before
  bool has_pixels_ = false;
  bool is_animated_ = false;
  std::uint32_t frames_said_ = 0;
  std::uint32_t next_sequence_ = 0;
  std::optional<Picture> first_frame_;  ///< an fcTL that came before IDAT
};

Contents ContentsReader::read() {
  std::int64_t offset = static_cast<std::int64_t>(kSignature.size());
  Chunk chunk = find_chunk(source_, offset);
  read_header(chunk);
  while (chunk.type != kIEND) {
    previous_ = chunk.type;
    chunk = find_chunk(source_, chunk.end());
    read_chunk(chunk);
  }
  if (!has_pixels_) throw FileError("is damaged: it has no pixels");
  if (header_.colour == ColourType::palette && contents_.palette.empty()) throw FileError("is damaged: it has no palette for its indices");
  read_trailer(chunk.end());
  finish_pictures();
  make_pages();
  return std::move(contents_);
}

void ContentsReader::read_header(const Chunk& chunk) {
  if (chunk.type == chunk_type("CgBI"))
    throw FileError("is a PNG file of Apple's own kind, for telephones; \"pngcrush -revert-iphone-optimizations\" converts it");
  if (chunk.type != kIHDR) throw FileError("is damaged: it does not begin with a header");
  header_ = header_of(read_body(source_, chunk, memory_));
}

void ContentsReader::read_chunk(const Chunk& chunk) {
  if (chunk.type == kIDAT) return read_pixels(chunk);
  if (chunk.type == kFdat) return read_frame_pixels(chunk);
  if (chunk.type == kIHDR) throw FileError("is damaged: it has two headers");
  const Bytes body = read_body(source_, chunk, memory_);
  if (!read_named(chunk.type, body)) say("the chunk " + name_of(chunk.type) + " is malformed or comes twice; it was left out");
}

bool ContentsReader::read_named(ChunkType type, Span body) {
  const auto plain = std::find_if(kPlainChunks.begin(), kPlainChunks.end(), [type](const PlainChunk& each) { return each.type == type; });
  if (plain != kPlainChunks.end()) return read_plain(*plain, body);
  switch (type) {
    case kPLTE:
      return read_palette(body);
    case kTrns:
      return read_transparency(body);
    case kGama:
      return read_gamma(body);
    case kChrm:
      return read_chromaticities(body);
    case kIccp:
      return read_profile(body);
    case kExif:
      return read_exif(body);
    case kBkgd:
      return read_background(body);
    case kPhys:
      return read_resolution(body);
    case kSbit:
      return read_significant_bits(body);
    case kText:
    case kZtxt:
    case kItxt:
      return read_text_chunk(type, body);
    case kActl:
      return read_animation(body);
    case kFctl:
      return read_frame(body);
    case kHist:
      return !contents_.palette.empty();  // how often each of its entries is used; it goes with the palette
    case kIdot:
      return true;  // where parts of the compressed pixels begin, which changes with them
    case kIEND:
      return body.empty();
    default:
      break;
  }
  if (is_critical(type))
    throw FileError("has the chunk " + name_of(type) + ", which changes what its pixels mean, and which mollify does not know");
  read_unknown(type, body);
  return true;
}

bool ContentsReader::read_plain(const PlainChunk& plain, Span body) {
  if (body.size() < plain.least || body.size() > plain.most) return false;
  bool& was_read = has_plain_[static_cast<std::size_t>(&plain - kPlainChunks.data())];
  if (std::exchange(was_read, true) && !plain.is_repeated) return false;
  add({plain.kind, name_of(plain.type), Bytes(body.begin(), body.end())});
  return true;
}

bool ContentsReader::read_palette(Span body) {
  if (header_.colour != ColourType::palette) {
    say("the palette, which is a proposal for screens with few colours, was left out");
    return true;
  }
  const bool is_right = !body.empty() && body.size() % 3 == 0 && body.size() <= kMostPaletteBytes;
  if (!is_right || !contents_.palette.empty() || has_pixels_) throw FileError("is damaged: its palette is malformed");
  contents_.palette.assign(body.begin(), body.end());
  return true;
}

bool ContentsReader::read_transparency(Span body) {
  if (has_alpha(header_.colour) || !contents_.transparency.empty() || has_pixels_) return false;
  if (body.empty()) return header_.colour == ColourType::palette;
  const std::size_t bytes = header_.colour == ColourType::grey  ? 2
                            : header_.colour == ColourType::rgb ? 6
                                                                : std::min(body.size(), contents_.palette.size() / 3);
  if (bytes == 0 || body.size() < bytes) throw FileError("is damaged: what says which colours are transparent is malformed");
  contents_.transparency.assign(body.begin(), body.begin() + static_cast<std::ptrdiff_t>(bytes));
  return body.size() == bytes;
}

bool ContentsReader::read_gamma(Span body) {
  if (body.size() != 4 || get_u32(body.data()) == 0 || has(ItemKind::gamma)) return false;
  add({ItemKind::gamma, "gAMA", {}, get_u32(body.data())});
  return true;
}

bool ContentsReader::read_chromaticities(Span body) {
  std::array<float, 8> numbers{};
  if (body.size() != sizeof numbers || has(ItemKind::chromaticities)) return false;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<float>(static_cast<std::int32_t>(get_u32(body.data() + 4 * i)) / kChromaticityScale);
  }
  Item item{ItemKind::chromaticities, "cHRM", Bytes(sizeof numbers)};
  std::memcpy(item.data.data(), numbers.data(), sizeof numbers);
  add(std::move(item));
  return true;
}

bool ContentsReader::read_profile(Span body) {
  const auto end = std::find(body.begin(), body.end(), 0);
  if (body.end() - end < 2 || end[1] != 0 || has(ItemKind::icc_profile)) return false;
  const std::string name(body.begin(), end);
  auto profile = inflate(body.subspan(name.size() + 2), memory_);
  if (!profile) return false;
  add({ItemKind::icc_profile, "iCCP", std::move(*profile), 0, 0, 0, name});
  return true;
}

bool ContentsReader::read_exif(Span body) {
  constexpr std::string_view kIntroduction("Exif\0\0", 6);  // of JPEG's segment; it does not belong here
  const std::string_view text(reinterpret_cast<const char*>(body.data()), body.size());
  if (text.starts_with(kIntroduction)) body = body.subspan(kIntroduction.size());
  if (body.size() < 4 || has(ItemKind::exif)) return false;
  add({ItemKind::exif, "eXIf", Bytes(body.begin(), body.end())});
  return true;
}

/// One number for grey or three for colours, big-endian, of as many bits as the page has.
bool ContentsReader::read_background(Span body) {
  if (has(ItemKind::background)) return false;
  Item item{ItemKind::background, "bKGD", {}, static_cast<std::uint32_t>(std::max(header_.bit_depth, kBitsOfBytes))};
  if (header_.colour == ColourType::palette) {
    if (body.size() != 1 || 3 * std::size_t{body[0]} >= contents_.palette.size()) return false;
    for (std::size_t i = 0; i < 3; ++i) put_u16(item.data, contents_.palette[3 * std::size_t{body[0]} + i]);
  } else if (is_grey(header_.colour)) {
    if (body.size() != 2) return false;
    const std::uint32_t most = (1U << header_.bit_depth) - 1;
    put_u16(item.data, header_.bit_depth < kBitsOfBytes ? (get_u16(body.data()) & most) * 255 / most : get_u16(body.data()));
  } else {
    if (body.size() != 6) return false;
    item.data.assign(body.begin(), body.end());
  }
  add(std::move(item));
  return true;
}

bool ContentsReader::read_resolution(Span body) {
  if (body.size() != 9 || body[8] > 1 || resolution_) return false;
  const std::uint32_t x = get_u32(body.data());
  const std::uint32_t y = get_u32(body.data() + 4);
  if (x == 0 || y == 0) return false;
  resolution_ = Resolution{double(x), double(y), body[8] == 1 ? Resolution::Unit::metre : Resolution::Unit::none};
  return true;
}

bool ContentsReader::read_significant_bits(Span body) {
  constexpr std::array<std::size_t, 7> kCounts = {1, 0, 3, 3, 2, 0, 4};
  const int most = header_.colour == ColourType::palette ? kBitsOfBytes : header_.bit_depth;
  if (!significant_bits_.empty() || body.size() != kCounts[static_cast<std::size_t>(header_.colour)]) return false;
  if (std::any_of(body.begin(), body.end(), [most](int bits) { return bits < 1 || bits > most; })) return false;
  significant_bits_.assign(body.begin(), body.end());
  return true;
}

bool ContentsReader::read_text_chunk(ChunkType type, Span body) {
  auto item = read_text(type, body, memory_);
  const bool comes_again = item && (item->kind == ItemKind::exif || item->kind == ItemKind::icc_profile) && has(item->kind);
  if (!item || comes_again) return false;
  if (item->kind == ItemKind::photoshop) return read_photoshop(*item), true;
  add(std::move(*item));
  return true;
}

/// What Photoshop's blocks hold are items of their own.
void ContentsReader::read_photoshop(const Item& item) {
  PhotoshopParts parts = split_photoshop(item.data, contents_.messages);
  const auto add_part = [this](ItemKind kind, const char* name, std::optional<Bytes>& part) {
    if (!part) return;
    if (has(kind)) return say(std::string("a second ") + name + " block, inside the Photoshop block, was left out");
    add({kind, name, std::move(*part)});
  };
  add_part(ItemKind::exif, "eXIf", parts.exif);
  add_part(ItemKind::xmp, "XMP", parts.xmp);
  add_part(ItemKind::icc_profile, "iCCP", parts.icc_profile);
  add_part(ItemKind::iptc, "iptc", parts.iptc);
  if (!parts.rest.empty()) add({ItemKind::photoshop, "8bim", std::move(parts.rest)});
}

bool ContentsReader::read_animation(Span body) {
  if (body.size() != 8 || is_animated_ || has_pixels_) return false;
  is_animated_ = true;
  frames_said_ = get_u32(body.data());
  add({ItemKind::loop_count, "acTL", {}, get_u32(body.data() + 4)});
  return true;
}

bool ContentsReader::read_frame(Span body) {
  if (!is_animated_) return false;
  if (body.size() != 26) throw FileError("is damaged: a frame's header has " + std::to_string(body.size()) + " bytes instead of 26");
  check_sequence(get_u32(body.data()));
  const std::int64_t width = get_u32(body.data() + 4), height = get_u32(body.data() + 8);
  const std::int64_t x = get_u32(body.data() + 12), y = get_u32(body.data() + 16);
  if (width == 0 || height == 0 || x + width > header_.width || y + height > header_.height)
    throw FileError("is damaged: a frame is empty or lies outside of the picture");
  if (body[24] > 2 || body[25] > 1) throw FileError("is damaged: a frame is combined with others in a way that PNG does not define");
  Picture frame;
  frame.rect = {static_cast<std::int32_t>(x), static_cast<std::int32_t>(y), static_cast<std::int32_t>(width),
                static_cast<std::int32_t>(height)};
  frame.data = has_pixels_ ? kFdat : kIDAT;
  frame.dispose = static_cast<Dispose>(body[24]);
  frame.blend = static_cast<Blend>(body[25]);
  frame.timing = timing_of(get_u16(body.data() + 20), get_u16(body.data() + 22));
  if (has_pixels_) {
    start_picture(frame);
    return true;
  }
  if (first_frame_ || width != header_.width || height != header_.height)
    throw FileError("is damaged: the first frame is not the whole picture, or comes twice");
  first_frame_ = frame;
  return true;
}

void ContentsReader::check_sequence(std::uint32_t number) {
  if (number != next_sequence_) throw FileError("is damaged: parts of its animation are missing or out of order");
  ++next_sequence_;
}

void ContentsReader::start_picture(Picture picture) {
  memory_.take(sizeof(Picture) + sizeof(Page) + 4 * sizeof(Channel), "the list of frames");
  contents_.pictures.push_back(picture);
}

void ContentsReader::read_pixels(const Chunk& chunk) {
  if (!has_pixels_) {
    has_pixels_ = true;
    Picture picture = first_frame_.value_or(Picture());
    picture.rect = {0, 0, header_.width, header_.height};
    picture.first_chunk = chunk.body - 8;
    start_picture(picture);
  } else if (previous_ != kIDAT) {
    throw FileError("is damaged: its pixels are not in one piece");
  }
  ++contents_.pictures.front().data_chunks;
  contents_.pictures.front().data_bytes += chunk.length;
}

void ContentsReader::read_frame_pixels(const Chunk& chunk) {
  if (!is_animated_) return say("frames without a header for the animation (acTL) were left out");
  const bool belongs = contents_.pictures.size() > 1 && chunk.length >= 4;
  if (!belongs) throw FileError("is damaged: pixels of a frame come before its header");
  check_sequence(get_u32(read_exactly(source_, chunk.body, 4).data()));
  Picture& frame = contents_.pictures.back();
  if (frame.data_chunks == 0) frame.first_chunk = chunk.body - 8;
  ++frame.data_chunks;
  frame.data_bytes += chunk.length - 4;
}

void ContentsReader::read_unknown(ChunkType type, Span body) {
  const bool has_palette = !contents_.palette.empty();
  const std::string_view place = has_pixels_ ? kAfterPixels : has_palette ? kBeforePixels : kBeforePalette;
  add({ItemKind::unknown, name_of(type), Bytes(body.begin(), body.end()), 0, 0, 0, std::string(place)});
}

void ContentsReader::read_trailer(std::int64_t offset) {
  const std::int64_t count = source_.size() - offset;
  if (count <= 0) return;
  if (count > memory_.left()) return say(std::to_string(count) + " bytes after the end of the picture were left out");
  memory_.take(count, "what follows the picture");
  add({ItemKind::trailer, "after IEND", read_exactly(source_, offset, count)});
}

void ContentsReader::add(Item item) {
  memory_.take(sizeof(Item), "the list of what the file holds besides pixels");
  has_item_[static_cast<std::size_t>(item.kind)] = true;
  items_.push_back(std::move(item));
}

/// Whether a frame shows through where the one before it was removed from the canvas.
bool ContentsReader::frames_leave_holes() const {
  const auto& pictures = contents_.pictures;
  const std::size_t first = contents_.first_page_is_frame ? 0 : 1;
  for (std::size_t i = first; i + 1 < pictures.size(); ++i) {
    const bool clears = pictures[i].dispose == Dispose::background || (i == first && pictures[i].dispose == Dispose::previous);
    const Picture& next = pictures[i + 1];
    const bool is_covered = next.rect.width == header_.width && next.rect.height == header_.height && next.dispose != Dispose::previous;
    if (clears && !is_covered) return true;
  }
  // Without a first frame on the whole canvas, which only an image in IDAT has to be.
  return first == 1 && pictures.size() > 1 && (pictures[1].rect.width != header_.width || pictures[1].rect.height != header_.height);
}

void ContentsReader::finish_pictures() {
  for (const Picture& picture : contents_.pictures) {
    if (picture.data_chunks == 0) throw FileError("is damaged: a frame has no pixels");
    const double bytes = static_cast<double>(picture.rect.width) * picture.rect.height * header_.bits() / kBitsOfBytes;
    if (bytes > kMostInflation * static_cast<double>(picture.data_bytes)) {
      throw FileError("is cut off or damaged: " + std::to_string(picture.data_bytes) + " bytes cannot hold " +
                      std::to_string(picture.rect.width) + "x" + std::to_string(picture.rect.height) + " pixels");
    }
  }
  if (!is_animated_) return;
  contents_.first_page_is_frame = first_frame_.has_value();
  const std::size_t frames = contents_.pictures.size() - (first_frame_ ? 0 : 1);
  if (frames != frames_said_)
    say("the file says that it has " + std::to_string(frames_said_) + " frames, and has " + std::to_string(frames));
  const bool is_opaque = !has_alpha(header_.colour) && contents_.transparency.empty();
  contents_.adds_alpha = is_opaque && frames_leave_holes();
  if (frames == 0) std::erase_if(items_, [](const Item& item) { return item.kind == ItemKind::loop_count; });
}

void ContentsReader::adjust_significant_bits(Page& page) {
  const int bits = kBitsOfBytes * bytes_of(page.channels.front().type);
  if (header_.colour == ColourType::grey && header_.bit_depth < kBitsOfBytes) page.significant_bits = header_.bit_depth;
  if (significant_bits_.empty()) return;
  const auto colours = significant_bits_.begin() + (is_grey(header_.colour) ? 1 : 3);
  const int most = *std::max_element(significant_bits_.begin(), colours);
  if (most < bits) page.significant_bits = most;
  significant_bits_.resize(page.channels.size(), static_cast<std::uint8_t>(bits));
  add({ItemKind::known_tag, "sBIT", significant_bits_});
}

Page ContentsReader::make_page() const {
  Page page;
  page.width = header_.width;
  page.height = header_.height;
  const NumberType type = header_.bit_depth == 16 ? NumberType::u16 : NumberType::u8;
  if (is_grey(header_.colour)) {
    page.model = ColourModel::grey;
    page.channels = {{"Y", type, ChannelRole::colour}};
  } else {
    page.channels = {{"R", type, ChannelRole::colour}, {"G", type, ChannelRole::colour}, {"B", type, ChannelRole::colour}};
  }
  if (has_alpha(header_.colour) || !contents_.transparency.empty() || contents_.adds_alpha) {
    page.channels.push_back({"A", type, ChannelRole::alpha});
    page.alpha = AlphaKind::unassociated;
  }
  page.resolution = resolution_;
  page.coding = PngCoding{header_.bit_depth, header_.colour == ColourType::palette, header_.interlaced};
  for (const Item& item : items_) {
    if (item.kind == ItemKind::exif) page.orientation = exif_orientation(item.data).value_or(1);
  }
  return page;
}

void ContentsReader::make_pages() {
  Page page = make_page();
  adjust_significant_bits(page);
  for (std::size_t i = 0; i < contents_.pictures.size(); ++i) {
    contents_.document.pages.push_back(page);
    if (!is_animated_ || (i == 0 && !contents_.first_page_is_frame)) continue;
    contents_.document.pages.back().kind = PageKind::frame;
    contents_.document.pages.back().timing = contents_.pictures[i].timing;
  }
}

}  // namespace

Timing timing_of(std::uint16_t numerator, std::uint16_t denominator) {
  const int parts = denominator == 0 ? 100 : denominator;
  return {(2000 * int{numerator} + parts) / (2 * parts), numerator, static_cast<std::uint16_t>(parts)};
}

int Header::bits() const {
  constexpr std::array kChannels = {1, 0, 3, 1, 2, 0, 4};
  return bit_depth * kChannels[static_cast<std::size_t>(colour)];
}

Bytes body_of(const Header& header) {
  Bytes body;
  put_u32(body, static_cast<std::uint32_t>(header.width));
  put_u32(body, static_cast<std::uint32_t>(header.height));
  body.push_back(static_cast<std::uint8_t>(header.bit_depth));
  body.push_back(static_cast<std::uint8_t>(header.colour));
  body.push_back(0);  // the only method of compression
  body.push_back(0);  // the only set of filters
  body.push_back(header.interlaced ? 1 : 0);
  return body;
}

Contents read_contents(ByteSource& source, MemoryLimit& memory) {
  return ContentsReader(source, memory).read();
}

}  // namespace mollify::files::png
