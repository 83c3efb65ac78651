// PNG's three chunks for texts, and what programs hide in them: XMP, and ImageMagick's profiles in hexadecimal digits.
#pragma once

#include <optional>

#include "files/document.h"
#include "files/memory_limit.h"
#include "files/png_chunks.h"

namespace mollify::files::png {

inline constexpr ChunkType kText = chunk_type("tEXt");
inline constexpr ChunkType kZtxt = chunk_type("zTXt");
inline constexpr ChunkType kItxt = chunk_type("iTXt");

/// What a zlib stream holds, or nothing where it is damaged or cut off.
[[nodiscard]] std::optional<Bytes> inflate(Span stream, MemoryLimit& memory);
[[nodiscard]] Bytes deflate(Span bytes);

/// ISO 8859-1, in which PNG stores keywords and plain texts.
[[nodiscard]] Bytes utf8_of_latin1(Span latin1);
/// Nothing where the text is no UTF-8 or holds other characters.
[[nodiscard]] std::optional<Bytes> latin1_of_utf8(Span utf8);

/// Item::number of a text that was stored as iTXt. Others are written so only where Latin-1 lacks a character of theirs.
inline constexpr std::uint32_t kInternational = 1;

/// A text, an XMP packet, or what a raw profile holds. Nothing where the chunk is malformed.
[[nodiscard]] std::optional<Item> read_text(ChunkType type, Span body, MemoryLimit& memory);

void write_text(ChunkSink& sink, const Item& text);
void write_xmp(ChunkSink& sink, Span packet);
inline constexpr std::string_view kRawProfile = "Raw profile type ";
void write_raw_profile(ChunkSink& sink, std::string_view type, Span profile);
/// IPTC records as ImageMagick stores them: in one of Photoshop's blocks.
void write_iptc(ChunkSink& sink, Span records);

}  // namespace mollify::files::png
