// The structure of a JPEG file, found without decoding: its segments, its frame, its tables and where the picture ends.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "files/codec.h"
#include "files/document.h"
#include "files/jpeg_prefixes.h"

namespace mollify::files::jpeg {

enum Marker : std::uint8_t {
  kSof0 = 0xC0,
  kSof2 = 0xC2,
  kDht = 0xC4,
  kSof15 = 0xCF,
  kJpg = 0xC8,
  kDac = 0xCC,
  kRst0 = 0xD0,
  kRst7 = 0xD7,
  kSoi = 0xD8,
  kEoi = 0xD9,
  kSos = 0xDA,
  kDqt = 0xDB,
  kDnl = 0xDC,
  kDri = 0xDD,
  kDhp = 0xDE,
  kApp0 = 0xE0,
  kApp1 = 0xE1,
  kApp2 = 0xE2,
  kApp11 = 0xEB,
  kApp13 = 0xED,
  kApp14 = 0xEE,
  kApp15 = 0xEF,
  kCom = 0xFE,
};
/// Of one segment, without its length field.
inline constexpr std::size_t kMostPayload = 65533;
/// The parts of a profile are numbered by a byte each.
inline constexpr std::size_t kMostProfilePart = kMostPayload - kIcc.size() - 2, kMostProfileBytes = 255 * kMostProfilePart;

/// An APPn or COM segment.
struct Segment {
  std::uint8_t marker = 0;
  Bytes payload;

  [[nodiscard]] bool begins_with(std::string_view prefix) const {
    return payload.size() >= prefix.size() && std::string_view(reinterpret_cast<const char*>(payload.data()), prefix.size()) == prefix;
  }
};

struct Structure {
  std::int32_t width = 0;
  std::int32_t height = 0;
  std::int64_t height_offset = 0;  ///< where the frame header says the height, which may be 0
  bool has_late_height = false;    ///< the height is that of a DNL segment
  JpegCoding coding;               ///< without what only the markers of applications say
  std::vector<Segment> segments;   ///< of applications, and comments, in the order of the file
  std::int64_t end = 0;            ///< just after the EOI marker
};

/// Throws FileError for what is cut off, damaged, or of a kind that libjpeg does not decode. The payloads of all segments
/// together stay below `memory_bytes`.
[[nodiscard]] Structure read_structure(ByteSource& source, std::int64_t memory_bytes);

/// Where the JPEG ends that begins at `offset`, just after its EOI marker; the size of the source if it has no end.
[[nodiscard]] std::int64_t end_of_picture(ByteSource& source, std::int64_t offset);

}  // namespace mollify::files::jpeg
