// Headers of OpenEXR as they are stored. They are read here and not by the library because every attribute is kept byte for
// byte, and because nothing may be allocated before a header's claims are held against the size of the file.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <set>

#include "files/exr.h"

namespace mollify::files::exr {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are copied from files of little-endian numbers");

constexpr std::uint32_t kMagic = 20000630;
constexpr std::uint32_t kTiledFlag = 0x200;
constexpr std::uint32_t kLongNamesFlag = 0x400;
constexpr std::uint32_t kDeepFlag = 0x800;
constexpr std::uint32_t kMultiPartFlag = 0x1000;
constexpr const char* kDeepMessage = "holds deep data, a list of samples for each pixel, which cannot be blurred; flatten it first";

constexpr std::string_view kXmpAttribute = "xmp";  // OpenEXR itself has no name for it

/// Attributes that say how pixels are stored. The document has them as fields of its pages.
constexpr std::array<std::string_view, 10> kStructure = {"channels",  "chunkCount", "compression", "dataWindow", "displayWindow",
                                                         "lineOrder", "name",       "tiles",       "type",       "version"};

/// Bytes one after the other, read ahead in blocks.
class Cursor {
 public:
  Cursor(ByteSource& source, std::int64_t most_bytes) : source_(source), budget_(most_bytes) {}
  [[nodiscard]] std::int64_t position() const { return block_begin_ + static_cast<std::int64_t>(next_); }
  std::uint8_t byte() {
    if (next_ == block_.size()) refill();
    return block_[next_++];
  }
  template <class Number>
  Number number() {
    std::array<std::uint8_t, sizeof(Number)> bytes;
    for (std::uint8_t& each : bytes) each = byte();
    return std::bit_cast<Number>(bytes);
  }
  /// Up to the zero that ends it.
  std::string text(std::size_t most_characters) {
    std::string text;
    while (const std::uint8_t character = byte()) {
      if (text.size() == most_characters) throw FileError("is damaged: a name in its header has no end");
      text.push_back(static_cast<char>(character));
    }
    return text;
  }
  Bytes bytes(std::int64_t count) {
    if (count < 0 || count > source_.size() - position()) throw FileError("is cut off");
    if (count > budget_) throw FileError("has " + std::to_string(count) + " bytes in one attribute, more than may be used");
    budget_ -= count;
    const std::int64_t begin = position();
    Bytes bytes = read_exactly(source_, begin, count);
    block_begin_ = begin + count;
    block_.clear();
    next_ = 0;
    return bytes;
  }

 private:
  void refill() {
    constexpr std::size_t kBlock = 4096;
    block_begin_ += static_cast<std::int64_t>(block_.size());
    block_.resize(kBlock);
    block_.resize(source_.read_at(block_begin_, block_));
    next_ = 0;
    if (block_.empty()) throw FileError("is cut off");
  }
  ByteSource& source_;
  std::int64_t budget_;
  Bytes block_;
  std::int64_t block_begin_ = 0;
  std::size_t next_ = 0;
};

template <class Number>
Number number_at(const Bytes& data, std::size_t offset) {
  Number number;
  if (data.size() < sizeof number || offset > data.size() - sizeof number) throw FileError("is damaged: an attribute is too short");
  std::memcpy(&number, data.data() + offset, sizeof number);
  return number;
}

std::string as_text(const Bytes& data) {
  return {data.begin(), data.end()};
}

const Attribute& required(const Part& part, std::string_view name, std::string_view type) {
  const Attribute* attribute = part.find(name);
  if (attribute == nullptr || attribute->type != type) throw FileError("is damaged: its header has no \"" + std::string(name) + "\"");
  return *attribute;
}

/// What an attribute of one byte says, of `count` choices.
int choice_of(const Attribute& attribute) {
  return number_at<std::uint8_t>(attribute.data, 0);
}

Window window_of(const Attribute& attribute) {
  const auto at = [&](std::size_t i) { return number_at<std::int32_t>(attribute.data, 4 * i); };
  const Window window{at(0), at(1), at(2), at(3)};
  constexpr std::int32_t kLimit = 1 << 30;  // OpenEXR's own
  for (const std::int32_t each : {window.min_x, window.min_y, window.max_x, window.max_y}) {
    if (each >= kLimit || each <= -kLimit) throw FileError("is damaged: its \"" + attribute.name + "\" is beyond all limits");
  }
  if (window.max_x < window.min_x || window.max_y < window.min_y) throw FileError("is damaged: its \"" + attribute.name + "\" is empty");
  return window;
}

std::vector<StoredChannel> channels_of(const Bytes& data) {
  std::vector<StoredChannel> channels;
  std::size_t i = 0;
  while (number_at<std::uint8_t>(data, i) != 0) {
    StoredChannel channel;
    while (const auto character = number_at<std::uint8_t>(data, i++)) channel.name.push_back(static_cast<char>(character));
    const auto type = number_at<std::uint32_t>(data, i);
    constexpr std::array kTypes = {NumberType::u32, NumberType::f16, NumberType::f32};
    if (type >= kTypes.size())
      throw FileError("has channel " + channel.name + " of type " + std::to_string(type) + ", which OpenEXR does not know");
    channel.type = kTypes[type];
    channel.x_sampling = number_at<std::int32_t>(data, i + 8);  // behind "pLinear" and three bytes that are not used
    channel.y_sampling = number_at<std::int32_t>(data, i + 12);
    if (channel.x_sampling < 1 || channel.y_sampling < 1)
      throw FileError("is damaged: channel " + channel.name + " has a sampling below 1");
    channels.push_back(std::move(channel));
    i += 16;
  }
  if (i + 1 != data.size()) throw FileError("is damaged: its list of channels has another size than it says");
  if (channels.empty()) throw FileError("has no channels");
  return channels;
}

void read_tiles(Part& part) {
  const Bytes& data = required(part, "tiles", "tiledesc").data;
  const auto width = number_at<std::uint32_t>(data, 0);
  const auto height = number_at<std::uint32_t>(data, 4);
  const int mode = number_at<std::uint8_t>(data, 8);
  constexpr std::uint32_t kLimit = 1U << 30;
  if (width == 0 || height == 0 || width > kLimit || height > kLimit) throw FileError("is damaged: its tiles have no valid size");
  constexpr int kLevelModes = 3;
  if ((mode & 0xf) >= kLevelModes || (mode >> 4) > 1) throw FileError("is damaged: its levels are of no known kind");
  part.tile_width = static_cast<std::int32_t>(width);
  part.tile_height = static_cast<std::int32_t>(height);
  part.level_mode = static_cast<LevelMode>(mode & 0xf);
  part.rounding = static_cast<Rounding>(mode >> 4);
}

/// As a double, because a header may claim more tiles than integers can count.
double count_chunks(const Part& part) {
  if (!part.tiled) return std::ceil(static_cast<double>(part.data_window.height()) / rows_of_chunk(part.compression));
  double chunks = 0;
  for (const Level& level : levels_of(part.data_window.width(), part.data_window.height(), part.level_mode, part.rounding)) {
    chunks +=
        std::ceil(static_cast<double>(level.width) / part.tile_width) * std::ceil(static_cast<double>(level.height) / part.tile_height);
  }
  return chunks;
}

void read_structure(Part& part, std::uint32_t flags) {
  const bool multi_part = (flags & kMultiPartFlag) != 0;
  std::string type = (flags & kTiledFlag) != 0 ? "tiledimage" : "scanlineimage";
  if (const Attribute* attribute = part.find("type");
      attribute != nullptr && (multi_part || as_text(attribute->data).starts_with("deep"))) {
    type = as_text(attribute->data);
  }
  if (type.starts_with("deep") || (!multi_part && (flags & kDeepFlag) != 0)) throw FileError(kDeepMessage);
  if (type != "tiledimage" && type != "scanlineimage")
    throw FileError("has a part of type \"" + type.substr(0, 40) + "\", which OpenEXR does not know");
  part.tiled = type == "tiledimage";
  part.channels = channels_of(required(part, "channels", "chlist").data);
  part.data_window = window_of(required(part, "dataWindow", "box2i"));
  part.display_window = window_of(required(part, "displayWindow", "box2i"));
  part.compression = choice_of(required(part, "compression", "compression"));
  part.line_order = choice_of(required(part, "lineOrder", "lineOrder"));
  if (rows_of_chunk(part.compression) == 0) {
    throw FileError("is compressed by method " + std::to_string(part.compression) + " of OpenEXR, which this build cannot read");
  }
  if (part.tiled) read_tiles(part);
  if (const Attribute* name = part.find("name")) part.name = as_text(name->data);
}

/// One header, without the zero that begins no other attribute. False where there is none.
bool read_attributes(Cursor& cursor, Part& part, std::size_t most_characters) {
  std::set<std::string> names;
  for (;;) {
    Attribute attribute;
    attribute.name = cursor.text(most_characters);
    if (attribute.name.empty()) return !part.attributes.empty();
    // OpenEXR's library would read the second into the first, whatever its size.
    if (!names.insert(attribute.name).second) throw FileError("is damaged: its header says \"" + attribute.name + "\" twice");
    attribute.type_offset = cursor.position();
    attribute.type = cursor.text(most_characters);
    const auto size = cursor.number<std::int32_t>();
    attribute.data = cursor.bytes(size);
    part.attributes.push_back(std::move(attribute));
  }
}

/// The tables of chunk offsets follow each other behind the headers. A chunk takes 9 bytes at least.
void place_tables(Headers& headers, std::int64_t begin, std::int64_t file_size) {
  constexpr double kLeastChunk = 9;
  constexpr double kOffset = 8;
  double needed = 0;
  for (Part& part : headers.parts) {
    const double chunks = count_chunks(part);
    needed += chunks * (kLeastChunk + kOffset);
    if (needed > static_cast<double>(file_size - begin)) throw FileError("is cut off");
    part.chunks = static_cast<std::int64_t>(chunks);
    part.table_offset = begin;
    begin += part.chunks * static_cast<std::int64_t>(kOffset);
  }
}

std::array<float, 8> moved(const std::array<float, 8>& from, int places) {
  std::array<float, 8> to = from;
  std::rotate(to.begin(), to.begin() + places, to.end());
  return to;
}

/// OpenEXR has white last, items have it first.
Bytes chromaticities(const Bytes& data, int places) {
  std::array<float, 8> numbers;
  std::memcpy(numbers.data(), data.data(), sizeof numbers);
  numbers = moved(numbers, places);
  Bytes bytes(sizeof numbers);
  std::memcpy(bytes.data(), numbers.data(), sizeof numbers);
  return bytes;
}
constexpr std::size_t kChromaticityBytes = 32;
bool is_chromaticities(const Attribute& attribute) {
  return attribute.name == "chromaticities" && attribute.type == "chromaticities" && attribute.data.size() == kChromaticityBytes;
}

std::optional<float> positive_float(const Part& part, std::string_view name) {
  const Attribute* attribute = part.find(name);
  if (attribute == nullptr || attribute->type != "float" || attribute->data.size() != sizeof(float)) return std::nullopt;
  const auto number = number_at<float>(attribute->data, 0);
  return std::isfinite(number) && number > 0 ? std::optional(number) : std::nullopt;
}

/// Every header has these three. What they say in nearly all files is no news to the reader of another format.
bool says_nothing(const Attribute& attribute) {
  static const Bytes one = {0, 0, 0x80, 0x3f};
  if (attribute.name == "pixelAspectRatio" || attribute.name == "screenWindowWidth")
    return attribute.type == "float" && attribute.data == one;
  return attribute.name == "screenWindowCenter" && attribute.type == "v2f" && attribute.data == Bytes(2 * sizeof(float));
}

}  // namespace

const Attribute* Part::find(std::string_view wanted) const {
  const auto found = std::find_if(attributes.begin(), attributes.end(), [&](const Attribute& each) { return each.name == wanted; });
  return found == attributes.end() ? nullptr : &*found;
}

std::vector<Level> levels_of(std::int32_t width, std::int32_t height, LevelMode mode, Rounding rounding) {
  const auto at_level = [rounding](std::int32_t size, int level) {
    const std::int64_t added = rounding == Rounding::up ? (std::int64_t{1} << level) - 1 : 0;
    return static_cast<std::int32_t>(std::max<std::int64_t>((size + added) >> level, 1));
  };
  const auto count = [&](std::int32_t size) {
    int levels = 1;
    while (at_level(size, levels - 1) > 1) ++levels;
    return levels;
  };
  const int columns = mode == LevelMode::one ? 1 : count(mode == LevelMode::mip ? std::max(width, height) : width);
  const int rows = mode == LevelMode::rip ? count(height) : 1;
  std::vector<Level> levels;
  for (int y = 0; y < rows; ++y) {
    for (int x = 0; x < columns; ++x) {
      const int level_y = mode == LevelMode::mip ? x : y;
      levels.push_back({x, level_y, at_level(width, x), at_level(height, level_y)});
    }
  }
  return levels;
}

int rows_of_chunk(int compression) {
  constexpr std::array kRows = {1, 1, 1, 16, 32, 16, 32, 32, 32, 256};
  return compression >= 0 && compression < static_cast<int>(kRows.size()) ? kRows[static_cast<std::size_t>(compression)] : 0;
}

Headers read_headers(ByteSource& source, std::int64_t most_bytes) {
  Cursor cursor(source, most_bytes);
  if (cursor.number<std::uint32_t>() != kMagic) throw FileError("is no OpenEXR file");
  const auto flags = cursor.number<std::uint32_t>();
  const std::size_t most_characters = (flags & kLongNamesFlag) != 0 ? 255 : 31;
  Headers headers;
  headers.multi_part = (flags & kMultiPartFlag) != 0;
  do {
    Part part;
    if (!read_attributes(cursor, part, most_characters)) break;
    read_structure(part, flags);
    headers.parts.push_back(std::move(part));
  } while (headers.multi_part);
  if (headers.parts.empty()) throw FileError("is damaged: it has no header");
  place_tables(headers, cursor.position(), source.size());
  return headers;
}

bool is_structure(std::string_view name) {
  return std::find(kStructure.begin(), kStructure.end(), name) != kStructure.end();
}

std::vector<Item> items_of(const Part& part) {
  std::vector<Item> items;
  for (const Attribute& attribute : part.attributes) {
    if (is_structure(attribute.name) || says_nothing(attribute)) continue;
    const bool is_resolution = attribute.name == "xDensity" || attribute.name == "pixelAspectRatio";
    if (is_resolution && positive_float(part, attribute.name)) continue;  // Page::resolution has it
    Item item{.kind = ItemKind::attribute, .name = attribute.name, .data = attribute.data, .detail = attribute.type};
    if (attribute.type == "preview") item.kind = ItemKind::thumbnail;
    if (attribute.name == kXmpAttribute && attribute.type == "string") {
      item.kind = ItemKind::xmp;
    }
    if (is_chromaticities(attribute)) {
      item.kind = ItemKind::light_primaries;
      item.data = chromaticities(attribute.data, 6);
    }
    items.push_back(std::move(item));
  }
  return items;
}

Attribute attribute_of(const Item& item) {
  switch (item.kind) {
    case ItemKind::attribute:
    case ItemKind::thumbnail:
      if (item.detail.empty() && item.kind == ItemKind::thumbnail) break;  // of another format
      return {.name = item.name.empty() ? "comment" : item.name, .type = item.detail.empty() ? "string" : item.detail, .data = item.data};
    case ItemKind::light_primaries:
      if (item.data.size() != kChromaticityBytes) break;
      return {.name = "chromaticities", .type = "chromaticities", .data = chromaticities(item.data, 2)};
    case ItemKind::xmp:
      return {.name = std::string(kXmpAttribute), .type = "string", .data = item.data};
    case ItemKind::text:
      return {.name = item.name.empty() ? "text" : item.name, .type = "string", .data = item.data};
    case ItemKind::comment:
      return {.name = "comments", .type = "string", .data = item.data};
    default:
      break;
  }
  unaccounted(item, FileFormat::exr);
}

std::optional<Resolution> resolution_of(const Part& part) {
  const std::optional<float> density = positive_float(part, "xDensity");
  const double aspect = positive_float(part, "pixelAspectRatio").value_or(1.0F);
  if (!density && aspect == 1.0) return std::nullopt;
  if (!density) return Resolution{1.0, aspect, Resolution::Unit::none};
  return Resolution{*density, *density * aspect, Resolution::Unit::inch};
}

}  // namespace mollify::files::exr
