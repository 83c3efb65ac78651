// Photoshop's image resource blocks: signature, number, name, length, bytes; names and bytes are padded to even lengths.
#include <algorithm>
#include <string_view>

#include "files/metadata.h"

namespace mollify::files {
namespace {

using View = std::span<const std::uint8_t>;

enum Resource : std::uint16_t {
  kResolution = 1005,
  kIptc = 1028,
  kOldThumbnail = 1033,
  kThumbnail = 1036,
  kProfile = 1039,
  kExif = 1058,
  kSecondExif = 1059,
  kXmp = 1060,
};

struct Block {
  std::uint16_t number = 0;
  View whole;  ///< with its padding
  View data;
};

std::uint32_t big(View bytes, std::size_t at, std::size_t count) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value = value << 8 | bytes[at + i];
  return value;
}

bool has_signature(View bytes) {
  if (bytes.size() < 4) return false;
  const std::string_view signature(reinterpret_cast<const char*>(bytes.data()), 4);
  return signature == "8BIM" || signature == "MeSa" || signature == "PHUT" || signature == "AgHg" || signature == "DCSR" ||
         signature == "8B64";
}

/// The block at the beginning; an empty one if there is no whole one. The padding of the last may be missing.
Block first_block(View bytes) {
  if (!has_signature(bytes) || bytes.size() < 12) return {};
  const std::size_t name = (std::size_t{bytes[6]} + 2) & ~std::size_t{1};
  const std::size_t data = 6 + name + 4;
  if (bytes.size() < data) return {};
  const std::size_t size = big(bytes, data - 4, 4);
  if (size > bytes.size() - data) return {};
  const std::size_t end = std::min(data + size + size % 2, bytes.size());
  return Block{static_cast<std::uint16_t>(big(bytes, 4, 2)), bytes.first(end), bytes.subspan(data, size)};
}

void append_even(Bytes& to, View bytes) {
  append(to, bytes);
  if (bytes.size() % 2 != 0) to.push_back(0);
}

bool is_padding(View bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; });
}

constexpr const char* kThumbnailMessage = "the thumbnail in the Photoshop metadata is removed";
constexpr const char* kPictureMessage = "a picture in the Photoshop metadata is removed";

class Splitter {
 public:
  explicit Splitter(Messages& messages) : messages_(messages) {}

  PhotoshopParts split(View blocks) {
    for (Block block = first_block(blocks); !block.whole.empty(); block = first_block(blocks)) {
      take(block);
      blocks = blocks.subspan(block.whole.size());
    }
    if (!is_padding(blocks)) messages_.add("the Photoshop metadata is damaged, and what follows the damage is left out");
    if (parts_.iptc && !correct_iptc(*parts_.iptc, messages_)) {
      messages_.add("the IPTC metadata is damaged and left out");
      parts_.iptc.reset();
    }
    return std::move(parts_);
  }

 private:
  void take(const Block& block) {
    switch (block.number) {
      case kIptc:
        if (!parts_.iptc) parts_.iptc.emplace();
        return append(*parts_.iptc, block.data);
      case kProfile:
        return take_part(parts_.icc_profile, block, "colour profile");
      case kExif:
      case kSecondExif:
        return take_part(parts_.exif, block, "Exif block");
      case kXmp:
        return take_part(parts_.xmp, block, "XMP packet");
      case kOldThumbnail:
      case kThumbnail:
        return messages_.add(kThumbnailMessage);
      default:
        break;
    }
    if (holds_picture(block.data)) return messages_.add(kPictureMessage);
    append_even(parts_.rest, block.whole);
  }
  void take_part(std::optional<Bytes>& part, const Block& block, const char* name) {
    if (block.data.empty()) return;
    if (part) return messages_.add(std::string("a second ") + name + " in the Photoshop metadata is left out");
    part.emplace(block.data.begin(), block.data.end());
  }

  Messages& messages_;
  PhotoshopParts parts_;
};

}  // namespace

bool correct_photoshop(Bytes& blocks, Messages& messages) {
  Bytes kept;
  View rest(blocks);
  for (Block block = first_block(rest); !block.whole.empty(); block = first_block(rest)) {
    rest = rest.subspan(block.whole.size());
    Bytes iptc(block.data.begin(), block.data.end());
    if (block.number == kOldThumbnail || block.number == kThumbnail) {
      messages.add(kThumbnailMessage);
    } else if (!holds_picture(block.data)) {
      append_even(kept, block.whole);
    } else if (block.number == kIptc && correct_iptc(iptc, messages)) {
      kept = join_photoshop(kept, iptc);
    } else {
      messages.add(kPictureMessage);
    }
  }
  if (!is_padding(rest)) return false;
  blocks = std::move(kept);
  return true;
}

PhotoshopParts split_photoshop(View blocks, Messages& messages) {
  return Splitter(messages).split(blocks);
}

Bytes join_photoshop(View rest, View iptc) {
  Bytes blocks(rest.begin(), rest.end());
  if (iptc.empty()) return blocks;
  for (const int byte : {int{'8'}, int{'B'}, int{'I'}, int{'M'}, int{kIptc} >> 8, int{kIptc} & 255, 0, 0})
    blocks.push_back(static_cast<std::uint8_t>(byte));
  for (const int shift : {24, 16, 8, 0}) blocks.push_back(static_cast<std::uint8_t>(iptc.size() >> shift));
  append_even(blocks, iptc);
  return blocks;
}

std::optional<Resolution> photoshop_resolution(View blocks) {
  constexpr double kFixedPoint = 65536;
  for (Block block = first_block(blocks); !block.whole.empty(); block = first_block(blocks)) {
    blocks = blocks.subspan(block.whole.size());
    if (block.number != kResolution || block.data.size() < 12) continue;
    const Resolution resolution = {
        .x = big(block.data, 0, 4) / kFixedPoint, .y = big(block.data, 8, 4) / kFixedPoint, .unit = Resolution::Unit::inch};
    if (resolution.x > 0 && resolution.y > 0) return resolution;
  }
  return std::nullopt;
}

}  // namespace mollify::files
