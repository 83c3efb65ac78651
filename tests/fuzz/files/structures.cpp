// Changes to the structures of each format. PNG, JPEG, OpenEXR, WebP and HDR files are lists of blocks; TIFF files are directories.
#include <zlib.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz/files/mutations.h"

namespace mollify::fuzz {
namespace {

using files::FileFormat;

struct Block {
  Bytes head;  ///< the type of a chunk, the marker of a segment, the name and type of an attribute
  Bytes body;
};

/// A file as blocks between bytes that are none.
struct Blocks {
  Bytes before;
  std::vector<Block> blocks;
  Bytes after;
};

Bytes slice(const Bytes& data, std::size_t begin, std::size_t count) {
  const auto first = data.begin() + static_cast<std::ptrdiff_t>(std::min(begin, data.size()));
  return {first, first + static_cast<std::ptrdiff_t>(std::min(count, data.size() - std::min(begin, data.size())))};
}

enum class Order : std::uint8_t { little, big };

std::uint64_t number_at(const Bytes& data, std::size_t at, std::size_t size, Order order) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size && at + i < data.size(); ++i)
    value |= std::uint64_t{data[at + i]} << (8 * (order == Order::big ? size - 1 - i : i));
  return value;
}

void put_number(Bytes& data, std::uint64_t value, std::size_t size, Order order) {
  for (std::size_t i = 0; i < size; ++i) data.push_back(static_cast<std::uint8_t>(value >> (8 * (order == Order::big ? size - 1 - i : i))));
}

// Each format: from bytes to blocks, and from a block to bytes.

Blocks png_blocks(const Bytes& data) {
  constexpr std::size_t kSignature = 8, kFrame = 12;
  Blocks result{slice(data, 0, kSignature), {}, {}};
  std::size_t at = kSignature;
  while (at + kFrame <= data.size()) {
    const std::uint64_t size = number_at(data, at, 4, Order::big);
    if (size > data.size() - at - kFrame) break;
    result.blocks.push_back({slice(data, at + 4, 4), slice(data, at + 8, size)});
    at += kFrame + size;
  }
  result.after = slice(data, at, data.size());
  return result;
}

void put_png(Bytes& data, const Block& block) {
  put_number(data, block.body.size(), 4, Order::big);
  Bytes checked = block.head;
  files::append(checked, block.body);
  files::append(data, checked);
  put_number(data, crc32(0, checked.data(), static_cast<uInt>(checked.size())), 4, Order::big);
}

/// Segments up to the first scan; what follows is `after`.
Blocks jpeg_blocks(const Bytes& data) {
  constexpr std::uint8_t kStartOfScan = 0xda;
  Blocks result{slice(data, 0, 2), {}, {}};
  std::size_t at = 2;
  while (at + 4 <= data.size() && data[at] == 0xff && data[at + 1] != kStartOfScan) {
    const std::uint64_t size = number_at(data, at + 2, 2, Order::big);
    if (size < 2 || size > data.size() - at - 2) break;
    result.blocks.push_back({slice(data, at, 2), slice(data, at + 4, size - 2)});
    at += 2 + size;
  }
  result.after = slice(data, at, data.size());
  return result;
}

void put_jpeg(Bytes& data, const Block& block) {
  files::append(data, block.head);
  put_number(data, block.body.size() + 2, 2, Order::big);
  files::append(data, block.body);
}

/// The attributes of the first header.
Blocks exr_blocks(const Bytes& data) {
  constexpr std::size_t kVersion = 8;
  Blocks result{slice(data, 0, kVersion), {}, {}};
  std::size_t at = kVersion;
  while (at < data.size() && data[at] != 0) {
    std::size_t end = at;
    for (int text = 0; text < 2; ++text) {
      while (end < data.size() && data[end] != 0) ++end;
      ++end;
    }
    if (end + 4 > data.size()) break;
    const std::uint64_t size = number_at(data, end, 4, Order::little);
    if (size > data.size() - end - 4) break;
    result.blocks.push_back({slice(data, at, end - at), slice(data, end + 4, size)});
    at = end + 4 + size;
  }
  result.after = slice(data, at, data.size());
  return result;
}

void put_exr(Bytes& data, const Block& block) {
  files::append(data, block.head);
  put_number(data, block.body.size(), 4, Order::little);
  files::append(data, block.body);
}

Blocks webp_blocks(const Bytes& data) {
  constexpr std::size_t kRiff = 12;
  Blocks result{slice(data, 0, kRiff), {}, {}};
  std::size_t at = kRiff;
  while (at + 8 <= data.size()) {
    const std::uint64_t size = number_at(data, at + 4, 4, Order::little);
    if (size > data.size() - at - 8) break;
    result.blocks.push_back({slice(data, at, 4), slice(data, at + 8, size)});
    at += 8 + size + size % 2;
  }
  result.after = slice(data, at, data.size());
  return result;
}

void put_webp(Bytes& data, const Block& block) {
  files::append(data, block.head);
  put_number(data, block.body.size(), 4, Order::little);
  files::append(data, block.body);
  if (block.body.size() % 2 != 0) data.push_back(0);
}

/// Lines up to that of the size.
Blocks hdr_blocks(const Bytes& data) {
  Blocks result;
  std::size_t at = 0;
  while (at < data.size()) {
    const auto end = std::find(data.begin() + static_cast<std::ptrdiff_t>(at), data.end(), '\n');
    if (end == data.end()) break;
    const Bytes line(data.begin() + static_cast<std::ptrdiff_t>(at), end);
    at += line.size() + 1;
    const bool is_size = !line.empty() && (line.front() == '-' || line.front() == '+');
    result.blocks.push_back({{}, line});
    if (is_size) break;
  }
  result.after = slice(data, at, data.size());
  return result;
}

void put_hdr(Bytes& data, const Block& block) {
  files::append(data, block.body);
  data.push_back('\n');
}

struct BlockFormat {
  FileFormat format;
  Blocks (*parse)(const Bytes& data);
  void (*put)(Bytes& data, const Block& block);
};
constexpr BlockFormat kBlockFormats[] = {
    {FileFormat::png, png_blocks, put_png},    {FileFormat::jpeg, jpeg_blocks, put_jpeg}, {FileFormat::exr, exr_blocks, put_exr},
    {FileFormat::webp, webp_blocks, put_webp}, {FileFormat::hdr, hdr_blocks, put_hdr},
};

Bytes joined(const Blocks& file, const BlockFormat& format, Random& random) {
  Bytes data = file.before;
  for (const Block& block : file.blocks) format.put(data, block);
  files::append(data, file.after);
  if (format.format == FileFormat::webp && data.size() >= 8 && !random.one_in(8)) {
    Bytes size;
    put_number(size, data.size() - 8, 4, Order::little);
    std::copy(size.begin(), size.end(), data.begin() + 4);
  }
  return data;
}

/// The body of a chunk that is compressed, changed before the compression.
void change_compressed(Bytes& body, Random& random) {
  constexpr std::size_t kMostPlain = 1 << 18;
  for (const std::size_t skipped : {std::size_t{0}, std::size_t{4}}) {  // bytes of a frame's number
    if (body.size() <= skipped) continue;
    Bytes plain(kMostPlain);
    uLongf size = plain.size();
    if (uncompress(plain.data(), &size, body.data() + skipped, body.size() - skipped) != Z_OK) continue;
    plain.resize(size);
    change_bytes(plain, random);
    uLongf packed = compressBound(plain.size());
    Bytes result(packed);
    compress(result.data(), &packed, plain.data(), plain.size());
    result.resize(packed);
    body.resize(skipped);
    files::append(body, result);
    return;
  }
  change_bytes(body, random);
}

bool change_blocks(const BlockFormat& format, Bytes& data, const Bytes& other, Random& random) {
  Blocks file = format.parse(data);
  if (file.blocks.empty()) return false;
  const auto any = [&] { return file.blocks.begin() + static_cast<std::ptrdiff_t>(random.below(file.blocks.size())); };
  switch (random.below(10)) {
    case 0: {
      const Block copy = *any();
      file.blocks.insert(any(), copy);
      break;
    }
    case 1:
      file.blocks.erase(any());
      break;
    case 2:
      std::swap(*any(), *any());
      break;
    case 3: {
      const Blocks source = format.parse(other);
      if (!source.blocks.empty()) file.blocks.insert(any(), source.blocks[random.below(source.blocks.size())]);
      break;
    }
    case 4: {
      const Bytes head = any()->head;
      any()->head = head;
      break;
    }
    case 5:
      change_bytes(any()->head, random);
      break;
    case 6:
      change_compressed(any()->body, random);
      break;
    case 7:
      change_bytes(file.after, random);
      break;
    default:
      change_bytes(any()->body, random);
  }
  data = joined(file, format, random);
  return true;
}

// TIFF

/// Where the parts of a directory lie.
struct Entry {
  std::size_t at;
};
struct TiffShape {
  Order order = Order::little;
  bool is_big = false;
  std::vector<Entry> entries;
  std::vector<std::size_t> counts;  ///< of entries of a directory
  std::vector<std::size_t> links;   ///< to directories
};

TiffShape tiff_shape(const Bytes& data) {
  TiffShape shape;
  if (data.size() < 16) return shape;
  shape.order = data[0] == 'M' ? Order::big : Order::little;
  shape.is_big = number_at(data, 2, 2, shape.order) == 43;
  const std::size_t count_bytes = shape.is_big ? 8 : 2, entry_bytes = shape.is_big ? 20 : 12, link_bytes = shape.is_big ? 8 : 4;
  std::size_t link = shape.is_big ? 8 : 4;
  for (int directory = 0; directory < 16; ++directory) {
    shape.links.push_back(link);
    const std::uint64_t at = number_at(data, link, link_bytes, shape.order);
    if (at == 0 || at + count_bytes > data.size()) break;
    const std::uint64_t count = number_at(data, at, count_bytes, shape.order);
    if (count > (data.size() - at - count_bytes) / entry_bytes) break;
    shape.counts.push_back(at);
    for (std::uint64_t i = 0; i < count; ++i) shape.entries.push_back({at + count_bytes + i * entry_bytes});
    link = at + count_bytes + count * entry_bytes;
    if (link + link_bytes > data.size()) break;
  }
  return shape;
}

/// One field, of so many bytes, set to an extreme or changed in some of its bits.
void change_field(Bytes& data, std::size_t at, std::size_t size, Random& random) {
  if (at + size > data.size()) return;
  Bytes field = slice(data, at, size);
  do {
    change_bytes(field, random);
  } while (random.one_in(4));
  field.resize(size);
  std::copy(field.begin(), field.end(), data.begin() + static_cast<std::ptrdiff_t>(at));
}

bool change_tiff(Bytes& data, Random& random) {
  const TiffShape shape = tiff_shape(data);
  if (shape.entries.empty()) return false;
  const std::size_t word = shape.is_big ? 8 : 4;
  const Entry entry = shape.entries[random.below(shape.entries.size())];
  const Entry other = shape.entries[random.below(shape.entries.size())];
  const auto set = [&](std::size_t at, std::uint64_t value, std::size_t size) {
    Bytes field;
    put_number(field, value, size, shape.order);
    std::copy_n(field.begin(), std::min(size, data.size() - at), data.begin() + static_cast<std::ptrdiff_t>(at));
  };
  switch (random.below(10)) {
    case 0:
      change_field(data, entry.at, 2, random);
      break;  // the tag
    case 1:
      set(entry.at + 2, random.below(20), 2);
      break;  // the type
    case 2:
    case 3:
      change_field(data, entry.at + 4, word, random);
      break;  // the number of values
    case 4:
    case 5:
      change_field(data, entry.at + 4 + word, word, random);
      break;  // a value or its place
    case 6:
      set(entry.at + 4 + word, random.below(70), random.one_in(2) ? 2 : word);
      break;
    case 7: {
      constexpr std::uint64_t kTags[] = {254, 256, 257, 258,   259,   262,   266,   273,   274,   277,   278,  279, 284,
                                         317, 320, 322, 323,   324,   325,   330,   332,   338,   339,   347,  529, 530,
                                         531, 532, 700, 33723, 34377, 34665, 34675, 34853, 37724, 32997, 50839};
      set(entry.at, random.pick(kTags), 2);
      break;
    }
    case 8: {
      const std::size_t size = shape.is_big ? 20 : 12;
      const Bytes copy = slice(data, other.at, size);
      std::copy_n(copy.begin(), copy.size(), data.begin() + static_cast<std::ptrdiff_t>(entry.at));
      break;
    }
    default: {
      const std::size_t link = random.pick(shape.links);
      const bool loops = random.one_in(2) && !shape.counts.empty();
      if (loops) {
        set(link, random.pick(shape.counts), word);
      } else {
        change_field(data, link, word, random);
      }
    }
  }
  return true;
}

}  // namespace

bool change_structure(FileFormat format, Bytes& data, const Bytes& other, Random& random) {
  if (format == FileFormat::tiff) return change_tiff(data, random);
  for (const BlockFormat& each : kBlockFormats) {
    if (each.format == format) return change_blocks(each, data, other, random);
  }
  return false;
}

}  // namespace mollify::fuzz
