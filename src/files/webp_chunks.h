// The chunks of RIFF that a WebP file is made of: name, length, body, and a byte of padding after odd lengths.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "files/codec.h"

namespace mollify::files::webp {

using Span = std::span<const std::uint8_t>;
inline constexpr std::int32_t kMostPixels = 16383;  ///< of a side of a picture

inline constexpr std::string_view kExtended = "VP8X";
inline constexpr std::string_view kLossy = "VP8 ";
inline constexpr std::string_view kLossless = "VP8L";
inline constexpr std::string_view kAlpha = "ALPH";
inline constexpr std::string_view kAnimation = "ANIM";
inline constexpr std::string_view kFrame = "ANMF";
inline constexpr std::string_view kProfile = "ICCP";
inline constexpr std::string_view kExif = "EXIF";
inline constexpr std::string_view kXmp = "XMP ";

/// Bits of the first byte of VP8X.
enum Feature : std::uint8_t { kIsAnimated = 0x02, kHasXmp = 0x04, kHasExif = 0x08, kHasAlpha = 0x10, kHasProfile = 0x20 };
/// Bits of the last byte of a frame's head.
enum FrameFlag : std::uint8_t { kDisposeToBackground = 0x01, kDoNotBlend = 0x02 };
inline constexpr std::size_t kFrameHeadBytes = 16;
inline constexpr std::size_t kFileHeadBytes = 12;  ///< "RIFF", the length, "WEBP"

// Numbers in files are little-endian.
[[nodiscard]] inline std::uint32_t get_number(Span bytes, std::size_t at, int count) {
  std::uint32_t number = 0;
  for (int i = count - 1; i >= 0; --i) number = number << 8 | bytes[at + static_cast<std::size_t>(i)];
  return number;
}
inline void put_number(Bytes& to, std::uint32_t number, int count) {
  for (int i = 0; i < count; ++i) to.push_back(static_cast<std::uint8_t>(number >> (8 * i)));
}

struct Chunk {
  std::string_view name;
  Span body;
};

/// Cuts the first chunk off. FileError where it is not whole; the last byte of padding may be missing.
[[nodiscard]] inline Chunk take_chunk(Span& bytes) {
  constexpr std::size_t kHeadBytes = 8;
  if (bytes.size() < kHeadBytes) throw FileError("is damaged: a chunk is cut off");
  const std::size_t length = get_number(bytes, 4, 4);
  if (length > bytes.size() - kHeadBytes) throw FileError("is damaged: a chunk is cut off");
  const Chunk chunk{{reinterpret_cast<const char*>(bytes.data()), 4}, bytes.subspan(kHeadBytes, length)};
  bytes = bytes.subspan(std::min(kHeadBytes + length + (length & 1), bytes.size()));
  return chunk;
}

}  // namespace mollify::files::webp
