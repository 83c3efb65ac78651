#include "files/jpeg2000_structure.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "files/codec.h"

namespace mollify::files {
namespace {

enum Marker : std::uint16_t {
  kStart = 0xff4f,
  kSize = 0xff51,
  kCoding = 0xff52,
  kCodingOfComponent = 0xff53,
  kTilePart = 0xff90,
  kData = 0xff93,
  kEnd = 0xffd9,
};

[[noreturn]] void fail_as_damaged() {
  throw FileError("is damaged: a strip or tile of it is no JPEG 2000");
}
[[noreturn]] void fail_as_cut_off() {
  throw FileError("is cut off: a part of its JPEG 2000 is missing");
}

using Stream = std::span<const std::uint8_t>;

std::uint64_t number_at(Stream stream, std::size_t at, std::size_t bytes) {
  if (at + bytes > stream.size()) fail_as_cut_off();
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | stream[at + i];
  return value;
}

constexpr int kMostLevels = 32;

/// How a component is cut into pieces: exponents of two.
struct Coding {
  int levels = 0;
  int block_width = 6, block_height = 6;
  std::array<int, kMostLevels + 1> precinct_width{}, precinct_height{};
};

/// From the number of levels on.
Coding coding_at(Stream segment, std::size_t at, bool has_precincts) {
  Coding coding;
  coding.levels = static_cast<int>(number_at(segment, at, 1));
  coding.block_width = static_cast<int>(number_at(segment, at + 1, 1) & 15) + 2;
  coding.block_height = static_cast<int>(number_at(segment, at + 2, 1) & 15) + 2;
  if (coding.levels > kMostLevels) fail_as_damaged();
  for (int r = 0; r <= coding.levels; ++r) {
    const auto index = static_cast<std::size_t>(r);
    const std::uint64_t both = has_precincts ? number_at(segment, at + 5 + index, 1) : 0xff;
    coding.precinct_width[index] = static_cast<int>(both & 15);
    coding.precinct_height[index] = static_cast<int>(both >> 4);
  }
  return coding;
}

/// Walks through the markers of a codestream.
class Walk {
 public:
  explicit Walk(Stream stream) : stream_(stream) {
    if (number_at(stream_, 0, 2) != kStart || number_at(stream_, 2, 2) != kSize) fail_as_damaged();
    at_ = 2;
    read_segments(kTilePart);
    if (header_.components.empty()) fail_as_damaged();
  }

  [[nodiscard]] const Jpeg2000Header& header() const { return header_; }

  void read_tile_parts() {
    struct Parts {
      std::uint64_t seen = 0, said = 0;
    };
    std::vector<Parts> parts(static_cast<std::size_t>(header_.tiles));
    while (at_ + 2 <= stream_.size() && number_at(stream_, at_, 2) == kTilePart) {
      const std::size_t begin = at_;
      const std::uint64_t tile = number_at(stream_, begin + 4, 2), size = number_at(stream_, begin + 6, 4);
      if (tile >= parts.size()) fail_as_damaged();
      Parts& of_tile = parts[static_cast<std::size_t>(tile)];
      ++of_tile.seen;
      of_tile.said = std::max(of_tile.said, number_at(stream_, begin + 11, 1));
      at_ += kTilePartHeader;
      if (size != kTilePartHeader) read_segments(kData);
      if (size > stream_.size() - begin) fail_as_cut_off();
      if (size != 0 && begin + size < at_) fail_as_damaged();
      at_ = size == 0 ? stream_.size() : begin + static_cast<std::size_t>(size);
    }
    for (const Parts& each : parts) {
      if (each.seen == 0 || each.seen < each.said) fail_as_cut_off();
    }
  }

  [[nodiscard]] double bytes_to_describe() const {
    // What OpenJPEG has for each tile, and in it for each component, precinct and block.
    constexpr double kTile = 6000, kComponent = 1300;
    const auto components = static_cast<double>(header_.components.size());
    return static_cast<double>(header_.tiles) * (kTile + kComponent * components) + components * bytes_of_pieces_;
  }

 private:
  static constexpr std::size_t kTilePartHeader = 12;
  Stream stream_;
  std::size_t at_ = 0;
  Jpeg2000Header header_;
  std::uint64_t layers_ = 1;
  double bytes_of_pieces_ = 0.0;

  /// Up to the marker that ends them, which stays.
  void read_segments(Marker last) {
    for (;;) {
      const std::uint64_t marker = number_at(stream_, at_, 2);
      if (marker == last) return;
      if (marker < kStart || marker == kEnd) fail_as_damaged();
      const auto size = static_cast<std::size_t>(number_at(stream_, at_ + 2, 2));
      if (size < 2) fail_as_damaged();
      if (at_ + 2 + size > stream_.size()) fail_as_cut_off();
      const Stream segment = stream_.subspan(at_ + 4, size - 2);
      if (marker == kSize) read_size(segment);
      if (marker == kCoding) read_coding(segment);
      if (marker == kCodingOfComponent) read_coding_of_component(segment);
      at_ += 2 + size;
    }
  }

  void read_size(Stream segment) {
    if (!header_.components.empty()) fail_as_damaged();
    const auto at = [&](std::size_t place) { return static_cast<std::int64_t>(number_at(segment, place, 4)); };
    header_.x1 = at(2);
    header_.y1 = at(6);
    header_.x0 = at(10);
    header_.y0 = at(14);
    header_.tile_width = at(18);
    header_.tile_height = at(22);
    const std::int64_t tile_x = at(26), tile_y = at(30);
    const auto components = static_cast<std::size_t>(number_at(segment, 34, 2));
    constexpr std::size_t kFixed = 36, kComponent = 3;
    constexpr std::int64_t kMostTiles = 65535;
    const bool is_sound = header_.width() > 0 && header_.height() > 0 && header_.tile_width > 0 && header_.tile_height > 0 &&
                          tile_x <= header_.x0 && tile_y <= header_.y0 && components > 0 &&
                          segment.size() == kFixed + kComponent * components;
    if (!is_sound) fail_as_damaged();
    const std::int64_t across = (header_.x1 - tile_x + header_.tile_width - 1) / header_.tile_width;
    const std::int64_t down = (header_.y1 - tile_y + header_.tile_height - 1) / header_.tile_height;
    if (across > kMostTiles || down > kMostTiles / across) fail_as_damaged();
    header_.tiles = across * down;
    for (std::size_t i = 0; i < components; ++i) {
      const std::uint64_t depth = number_at(segment, kFixed + kComponent * i, 1);
      const Jpeg2000Component component{.bits = static_cast<int>(depth & 127) + 1,
                                        .is_signed = depth > 127,
                                        .dx = static_cast<int>(segment[kFixed + kComponent * i + 1]),
                                        .dy = static_cast<int>(segment[kFixed + kComponent * i + 2])};
      if (component.dx == 0 || component.dy == 0) fail_as_damaged();
      header_.components.push_back(component);
    }
  }

  void read_coding(Stream segment) {
    layers_ = std::max(layers_, number_at(segment, 2, 2));
    header_.has_colour_transform = number_at(segment, 4, 1) != 0;
    pay_for(coding_at(segment, 5, (number_at(segment, 0, 1) & 1) != 0));
  }

  void read_coding_of_component(Stream segment) {
    const std::size_t index = header_.components.size() < 257 ? 1 : 2;
    pay_for(coding_at(segment, index + 1, (number_at(segment, index, 1) & 1) != 0));
  }

  /// Of a component of a tile.
  void pay_for(const Coding& coding) {
    constexpr double kPrecinct = 600, kBlock = 250, kIncluded = 2;
    double bytes = 0, most_precincts = 0;
    for (int r = 0; r <= coding.levels; ++r) {
      const auto index = static_cast<std::size_t>(r);
      const double scale = std::exp2(r - coding.levels);
      const double width = 1 + static_cast<double>(std::min(header_.tile_width, header_.width())) * scale;
      const double height = 1 + static_cast<double>(std::min(header_.tile_height, header_.height())) * scale;
      const auto pieces = [&](int width_exponent, int height_exponent) {
        return (1 + width * std::exp2(-width_exponent)) * (1 + height * std::exp2(-height_exponent));
      };
      const double precincts = pieces(coding.precinct_width[index], coding.precinct_height[index]);
      // The blocks of a precinct lie in three bands of half its size.
      const int half = r == 0 ? 0 : 1;
      const double blocks = pieces(std::min(coding.block_width, std::max(0, coding.precinct_width[index] - half)),
                                   std::min(coding.block_height, std::max(0, coding.precinct_height[index] - half)));
      bytes += kPrecinct * precincts + kBlock * (blocks + precincts);
      most_precincts = std::max(most_precincts, precincts);
    }
    bytes += kIncluded * static_cast<double>(layers_ + 1) * (coding.levels + 1) * most_precincts;
    bytes_of_pieces_ = std::max(bytes_of_pieces_, bytes);
  }
};

}  // namespace

std::span<const std::uint8_t> jpeg2000_codestream(std::span<const std::uint8_t> bytes) {
  constexpr std::uint64_t kSignature = 12, kOfCodestream = 0x6a703263;  // "jp2c"
  if (bytes.size() < kSignature || number_at(bytes, 0, 4) != kSignature) return bytes;
  for (std::size_t at = 0;;) {
    const std::uint64_t kind = number_at(bytes, at + 4, 4);
    std::uint64_t size = number_at(bytes, at, 4), header = 8;
    if (size == 1) {
      size = number_at(bytes, at + 8, 8);
      header = 16;
    }
    if (kind == kOfCodestream) {
      const std::uint64_t left = bytes.size() - at;
      if (size == 0) size = left;
      if (size < header || header > left) fail_as_damaged();
      return bytes.subspan(at + static_cast<std::size_t>(header), static_cast<std::size_t>(std::min(size, left) - header));
    }
    if (size < header) fail_as_damaged();
    if (size > bytes.size() - at) fail_as_cut_off();
    at += static_cast<std::size_t>(size);
  }
}

Jpeg2000Header read_jpeg2000_header(std::span<const std::uint8_t> codestream) {
  return Walk(codestream).header();
}

double bytes_to_describe_jpeg2000(std::span<const std::uint8_t> codestream) {
  Walk walk(codestream);
  walk.read_tile_parts();
  return walk.bytes_to_describe();
}

}  // namespace mollify::files
