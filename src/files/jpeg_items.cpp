#include "files/jpeg_items.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "files/jpeg_prefixes.h"
#include "files/metadata.h"

namespace mollify::files::jpeg {
namespace {

std::uint32_t big32(const std::uint8_t* p) {
  return static_cast<std::uint32_t>(p[0]) << 24 | static_cast<std::uint32_t>(p[1]) << 16 | static_cast<std::uint32_t>(p[2]) << 8 | p[3];
}
Bytes without_prefix(const Segment& segment, std::size_t count) {
  return {segment.payload.begin() + static_cast<std::ptrdiff_t>(count), segment.payload.end()};
}

/// Of an XMP packet that is larger than a segment: the part that is split over segments of its own.
struct ExtendedXmp {
  std::size_t total = 0;
  std::map<std::size_t, Bytes> parts;  ///< by their offset
};

class Meanings {
 public:
  explicit Meanings(Messages& messages) : messages_(messages) {}

  Meaning read(std::vector<Segment> segments) {
    for (Segment& segment : segments) take(segment);
    finish_exif();
    finish_xmp();
    finish_profile();
    if (density_ && (density_->unit != Resolution::Unit::none || !result_.resolution)) result_.resolution = density_;
    finish_photoshop();
    return std::move(result_);
  }

 private:
  void take(Segment& segment) {
    const std::uint8_t marker = segment.marker;
    if (marker == kCom) return add({.kind = ItemKind::comment, .name = "COM", .data = std::move(segment.payload), .number = kCom});
    if (marker == kApp0 && segment.begins_with(kJfif) && segment.payload.size() >= 14) return take_jfif(segment);
    if (marker == kApp0 && segment.begins_with(kJfxx)) return add_segment(ItemKind::thumbnail, "JFXX", segment);
    if (marker == kApp1 && segment.begins_with(kExif)) return take_exif(segment);
    if (marker == kApp1 && segment.begins_with(kXmp)) return take_xmp(segment);
    if (marker == kApp1 && segment.begins_with(kXmpExtension)) return take_extended_xmp(segment);
    if (marker == kApp2 && segment.begins_with(kIcc) && segment.payload.size() > kIcc.size() + 2) return take_profile(segment);
    if (marker == kApp2 && segment.begins_with(kMpf)) return add_segment(ItemKind::second_picture, "MPF", segment);
    if (marker == kApp2 && segment.begins_with(kGainMap)) return add_segment(ItemKind::second_picture, "gain map", segment);
    if (marker == kApp13 && segment.begins_with(kPhotoshop)) return append(photoshop_, without_prefix(segment, kPhotoshop.size()));
    if (marker == kApp14 && segment.begins_with(kAdobe) && segment.payload.size() >= 12) {
      result_.has_adobe = true;
      return;
    }
    take_unknown(segment);
  }

  void add(Item item) { result_.items.push_back(std::move(item)); }
  void add_segment(ItemKind kind, const char* name, Segment& segment) {
    add({.kind = kind, .name = name, .data = std::move(segment.payload), .number = segment.marker});
  }

  void take_jfif(const Segment& segment) {
    result_.has_jfif = true;
    const Bytes& p = segment.payload;
    const Resolution density = {.x = static_cast<double>(p[8] << 8 | p[9]),
                                .y = static_cast<double>(p[10] << 8 | p[11]),
                                .unit = p[7] == 1   ? Resolution::Unit::inch
                                        : p[7] == 2 ? Resolution::Unit::centimetre
                                                    : Resolution::Unit::none};
    if (density.x > 0 && density.y > 0) {
      density_ = density;
    } else {
      messages_.add("the resolution in JFIF is zero and was left out");
    }
    if (p[12] != 0 && p[13] != 0) add({.kind = ItemKind::thumbnail, .name = "JFIF", .data = without_prefix(segment, 12), .number = kApp0});
  }

  /// A block that is larger than a segment goes on in the next, without a byte order.
  void take_exif(Segment& segment) {
    Bytes block = without_prefix(segment, std::min(kExif.size(), segment.payload.size()));
    const bool begins = block.size() >= 4 && (block[0] == 'I' || block[0] == 'M') && block[0] == block[1];
    if (exif_.empty() && !block.empty()) {
      exif_ = std::move(block);
    } else if (!begins && exif_may_go_on_) {
      append(exif_, block);
    } else {
      take_unknown(segment);  // a second block, which nobody reads
      return;
    }
    exif_may_go_on_ = true;
  }
  void finish_exif() {
    if (exif_.empty()) return;
    if (const auto orientation = exif_orientation(exif_)) result_.orientation = *orientation;
    result_.resolution = exif_resolution(exif_);
    add({.kind = ItemKind::exif, .name = "Exif", .data = std::move(exif_)});
    has_exif_ = true;
  }

  void take_xmp(Segment& segment) {
    if (has_xmp_) return take_unknown(segment);
    add({.kind = ItemKind::xmp, .name = "XMP", .data = without_prefix(segment, kXmp.size())});
    has_xmp_ = true;
  }
  void take_extended_xmp(Segment& segment) {
    const std::size_t header = kXmpExtension.size() + 40;
    if (segment.payload.size() < header) return take_unknown(segment);
    const auto guid_begin = segment.payload.begin() + static_cast<std::ptrdiff_t>(kXmpExtension.size());
    ExtendedXmp& extended = extended_[std::string(guid_begin, guid_begin + 32)];
    extended.total = big32(&segment.payload[header - 8]);
    extended.parts.try_emplace(big32(&segment.payload[header - 4]), without_prefix(segment, header));
  }
  void finish_xmp() {
    for (const auto& [guid, extended] : extended_) {
      Bytes bytes;
      bool complete = has_xmp_;
      for (const auto& [offset, part] : extended.parts) {
        complete = complete && offset == bytes.size();
        append(bytes, part);
      }
      if (!complete || bytes.size() != extended.total || !merge(bytes)) {
        messages_.add("a part of the XMP metadata is incomplete in the file and is left out");
      }
    }
  }
  bool merge(const Bytes& extension) {
    const auto packet =
        std::find_if(result_.items.begin(), result_.items.end(), [](const Item& each) { return each.kind == ItemKind::xmp; });
    std::optional<Bytes> merged = merge_xmp(packet->data, extension);
    if (merged) packet->data = std::move(*merged);
    return merged.has_value();
  }

  void take_profile(const Segment& segment) {
    const std::size_t number = segment.payload[kIcc.size()];
    profile_count_ = std::max<std::size_t>(profile_count_, segment.payload[kIcc.size() + 1]);
    profile_.try_emplace(number, without_prefix(segment, kIcc.size() + 2));
  }
  void finish_profile() {
    if (profile_.empty()) return;
    const bool complete = profile_.begin()->first == 1 && profile_.rbegin()->first == profile_.size() && profile_count_ == profile_.size();
    Bytes profile;
    for (const auto& [number, chunk] : profile_) append(profile, chunk);
    if (!complete) {
      messages_.add("the colour profile is incomplete in the file and is left out");
      return;
    }
    add({.kind = ItemKind::icc_profile, .name = "ICC profile", .data = std::move(profile)});
  }

  void finish_photoshop() {
    if (photoshop_.empty()) return;
    PhotoshopParts parts = split_photoshop(photoshop_, messages_);
    if (!result_.resolution) result_.resolution = photoshop_resolution(parts.rest);
    add_part(ItemKind::exif, "Exif", parts.exif, has_exif_);
    add_part(ItemKind::xmp, "XMP", parts.xmp, has_xmp_);
    add_part(ItemKind::icc_profile, "ICC profile", parts.icc_profile, !profile_.empty());
    add_part(ItemKind::iptc, "IPTC", parts.iptc, false);
    if (!parts.rest.empty()) add({.kind = ItemKind::photoshop, .name = "Photoshop", .data = std::move(parts.rest), .number = kApp13});
  }
  void add_part(ItemKind kind, const std::string& name, std::optional<Bytes>& part, bool is_there) {
    if (!part) return;
    if (is_there) {
      messages_.add("a second " + name + " block, inside the Photoshop block, is left out");
      return;
    }
    add({.kind = kind, .name = name, .data = std::move(*part)});
  }

  /// What a program had to split over several segments is one item, so that it is judged as one: `detail` has the lengths.
  void take_unknown(Segment& segment) {
    Item* last = result_.items.empty() ? nullptr : &result_.items.back();
    const std::size_t size = segment.payload.size();
    if (last != nullptr && last->kind == ItemKind::unknown && last->number == segment.marker && goes_on(*last, segment)) {
      append(last->data, segment.payload);
      last->detail += " " + std::to_string(size);
      last_size_ = size;
      return;
    }
    last_size_ = size;
    add({.kind = ItemKind::unknown,
         .name = "APP" + std::to_string(segment.marker - kApp0),
         .data = std::move(segment.payload),
         .number = segment.marker,
         .detail = std::to_string(size)});
  }
  [[nodiscard]] bool goes_on(const Item& item, const Segment& segment) const {
    constexpr std::size_t kFull = 0xF000;
    constexpr std::size_t kPrefix = 4;
    if (last_size_ >= kFull) return true;
    return item.data.size() >= kPrefix && segment.payload.size() >= kPrefix &&
           std::equal(item.data.begin(), item.data.begin() + kPrefix, segment.payload.begin());
  }

  Messages& messages_;
  Meaning result_;
  std::optional<Resolution> density_;
  Bytes exif_;
  Bytes photoshop_;
  bool exif_may_go_on_ = false;
  bool has_exif_ = false;
  bool has_xmp_ = false;
  std::map<std::string, ExtendedXmp> extended_;  ///< by their digest
  std::map<std::size_t, Bytes> profile_;         ///< chunks by their number
  std::size_t profile_count_ = 0;
  std::size_t last_size_ = 0;  ///< of the last unknown segment
};

/// Where the next picture or video begins, from `offset` on; the size of the source if there is none.
std::int64_t next_picture(ByteSource& source, std::int64_t offset) {
  constexpr std::size_t kOverlap = 8;
  Bytes window(std::size_t{1} << 16);
  for (std::int64_t start = offset; start < source.size(); start += static_cast<std::int64_t>(window.size() - kOverlap)) {
    const std::size_t count = source.read_at(start, window);
    for (std::size_t i = 0; i + 3 < count; ++i) {
      if (window[i] == 0xFF && window[i + 1] == kSoi && window[i + 2] == 0xFF) return start + static_cast<std::int64_t>(i);
      const bool is_video = i >= 4 && std::equal(&window[i], &window[i] + 4, "ftyp");
      if (is_video) return start + static_cast<std::int64_t>(i) - 4;
    }
    if (count < window.size()) break;
  }
  return source.size();
}

}  // namespace

Meaning meaning_of(std::vector<Segment> segments, Messages& messages) {
  return Meanings(messages).read(std::move(segments));
}

std::vector<Item> items_after(ByteSource& source, std::int64_t offset, std::int64_t memory_bytes) {
  std::vector<Item> items;
  const std::int64_t size = source.size();
  if (size - offset > memory_bytes) {
    throw FileError("has " + std::to_string(size - offset) + " bytes after the picture, more than the memory that may be used for them");
  }
  const auto add = [&](ItemKind kind, const char* name, std::int64_t from, std::int64_t to) {
    if (to > from) items.push_back({.kind = kind, .name = name, .data = read_exactly(source, from, to - from), .number = kEoi});
  };
  while (offset < size) {
    const std::int64_t picture = next_picture(source, offset);
    add(ItemKind::trailer, "bytes after the picture", offset, picture);
    if (picture == size) break;
    std::array<std::uint8_t, 2> head{};
    const bool is_jpeg = source.read_at(picture, head) == 2 && head[1] == kSoi;
    offset = is_jpeg ? end_of_picture(source, picture) : size;
    add(ItemKind::second_picture, is_jpeg ? "a second picture" : "a video", picture, offset);
  }
  return items;
}

}  // namespace mollify::files::jpeg
