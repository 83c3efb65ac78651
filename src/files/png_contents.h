// What a PNG file holds, found by one pass over its chunks: the document, and where the compressed pixels of each picture are.
#pragma once

#include <cstdint>
#include <vector>

#include "files/codec.h"
#include "files/document.h"
#include "files/memory_limit.h"
#include "files/png_chunks.h"

namespace mollify::files::png {

enum class ColourType : std::uint8_t { grey = 0, rgb = 2, palette = 3, grey_alpha = 4, rgb_alpha = 6 };

struct Header {
  std::int32_t width = 0;
  std::int32_t height = 0;
  int bit_depth = 8;
  ColourType colour = ColourType::rgb;
  bool interlaced = false;
  /// Of a pixel as stored.
  [[nodiscard]] int bits() const;
};

[[nodiscard]] Bytes body_of(const Header& header);  ///< of its chunk, IHDR

enum class Dispose : std::uint8_t { none, background, previous };
enum class Blend : std::uint8_t { source, over };

/// A picture in the file: the image in IDAT, or a frame in IDAT or fdAT.
struct Picture {
  Rect rect;  ///< on the canvas
  ChunkType data = kIDAT;
  std::int64_t first_chunk = 0;  ///< the position of its first data chunk
  std::int64_t data_chunks = 0;
  std::int64_t data_bytes = 0;
  Dispose dispose = Dispose::none;
  Blend blend = Blend::source;
  Timing timing;
};

struct Contents {
  Header header;
  Bytes palette;            ///< the body of PLTE, of pictures with indices
  Bytes transparency;       ///< the body of tRNS
  bool adds_alpha = false;  ///< frames leave parts of the canvas transparent though the pixels are opaque
  bool first_page_is_frame = false;
  std::vector<Picture> pictures;  ///< one for each page
  Document document;
  Messages messages;
};
/// A frame's delay of so many seconds in whole milliseconds, rounded. PNG takes a denominator of 0 for 100.
[[nodiscard]] Timing timing_of(std::uint16_t numerator, std::uint16_t denominator);
[[nodiscard]] Contents read_contents(ByteSource& source, MemoryLimit& memory);

// Chunks besides pixels, some of which are read and written by what they mean.
inline constexpr ChunkType kBkgd = chunk_type("bKGD");
inline constexpr ChunkType kChrm = chunk_type("cHRM");
inline constexpr ChunkType kCicp = chunk_type("cICP");
inline constexpr ChunkType kClli = chunk_type("cLLI");
inline constexpr ChunkType kExif = chunk_type("eXIf");
inline constexpr ChunkType kGama = chunk_type("gAMA");
inline constexpr ChunkType kHist = chunk_type("hIST");
inline constexpr ChunkType kIccp = chunk_type("iCCP");
inline constexpr ChunkType kIdot = chunk_type("iDOT");
inline constexpr ChunkType kMdcv = chunk_type("mDCV");
inline constexpr ChunkType kPhys = chunk_type("pHYs");
inline constexpr ChunkType kSbit = chunk_type("sBIT");
inline constexpr ChunkType kSrgb = chunk_type("sRGB");
inline constexpr ChunkType kTime = chunk_type("tIME");

inline constexpr double kChromaticityScale = 100000.0;  ///< of cHRM

/// Item::detail of chunks that nobody knows.
inline constexpr std::string_view kBeforePalette = "before PLTE";
inline constexpr std::string_view kBeforePixels = "before IDAT";
inline constexpr std::string_view kAfterPixels = "after IDAT";

}  // namespace mollify::files::png
