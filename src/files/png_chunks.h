// The chunks that a PNG file is made of: length, type, body, checksum.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "files/codec.h"
#include "files/memory_limit.h"

namespace mollify::files::png {

inline constexpr std::string_view kSignature("\x89PNG\r\n\x1a\n", 8);
inline constexpr std::uint32_t kMostChunkBytes = 0x7fffffff;

/// The four letters of a chunk's name, the first one in the highest byte.
using ChunkType = std::uint32_t;
[[nodiscard]] constexpr ChunkType chunk_type(std::string_view letters) {
  ChunkType type = 0;
  for (const char letter : letters) type = type << 8 | static_cast<unsigned char>(letter);
  return type;
}
[[nodiscard]] std::string name_of(ChunkType type);
[[nodiscard]] bool is_valid(ChunkType type);  ///< four ASCII letters
[[nodiscard]] constexpr bool is_critical(ChunkType type) {
  return (type & 0x20000000) == 0;
}

inline constexpr ChunkType kIHDR = chunk_type("IHDR");
inline constexpr ChunkType kPLTE = chunk_type("PLTE");
inline constexpr ChunkType kIDAT = chunk_type("IDAT");
inline constexpr ChunkType kIEND = chunk_type("IEND");
inline constexpr ChunkType kTrns = chunk_type("tRNS");
inline constexpr ChunkType kActl = chunk_type("acTL");
inline constexpr ChunkType kFctl = chunk_type("fcTL");
inline constexpr ChunkType kFdat = chunk_type("fdAT");

// Numbers in files are big-endian.
[[nodiscard]] std::uint16_t get_u16(const std::uint8_t* from);
[[nodiscard]] std::uint32_t get_u32(const std::uint8_t* from);
void put_u16(Bytes& to, std::uint32_t number);
void put_u32(Bytes& to, std::uint32_t number);

/// Where a chunk lies in its file.
struct Chunk {
  ChunkType type = 0;
  std::uint32_t length = 0;  ///< of the body
  std::int64_t body = 0;     ///< the position of the body's first byte
  [[nodiscard]] std::int64_t end() const { return body + length + 4; }
};
/// The chunk at `offset`, which lies wholly in the file, or FileError.
[[nodiscard]] Chunk find_chunk(ByteSource& source, std::int64_t offset);
/// Its body, whose checksum is right. Memory is taken for it.
[[nodiscard]] Bytes read_body(ByteSource& source, const Chunk& chunk, MemoryLimit& memory);

using Span = std::span<const std::uint8_t>;
[[nodiscard]] std::uint32_t checksum(ChunkType type);
[[nodiscard]] std::uint32_t checksum(std::uint32_t so_far, Span bytes);
[[noreturn]] void fail_checksum(ChunkType type);

/// Writes chunks one after the other.
class ChunkSink {
 public:
  explicit ChunkSink(ByteSink& sink) : sink_(sink), position_(sink.size()) {}
  void put_raw(Span bytes);
  /// A chunk whose body is these parts together. FileError where they are more bytes than a chunk can hold.
  void put(ChunkType type, std::initializer_list<Span> parts);
  void put(ChunkType type, Span body) { put(type, {body}); }

 private:
  ByteSink& sink_;
  std::int64_t position_;
};

}  // namespace mollify::files::png
