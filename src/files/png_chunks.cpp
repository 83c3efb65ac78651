#include "files/png_chunks.h"

#include <zlib.h>

#include <array>

namespace mollify::files::png {
namespace {

std::array<std::uint8_t, 4> big_endian(std::uint32_t number) {
  return {static_cast<std::uint8_t>(number >> 24), static_cast<std::uint8_t>(number >> 16), static_cast<std::uint8_t>(number >> 8),
          static_cast<std::uint8_t>(number)};
}

}  // namespace

std::string name_of(ChunkType type) {
  const auto bytes = big_endian(type);
  return {bytes.begin(), bytes.end()};
}

bool is_valid(ChunkType type) {
  for (const std::uint8_t byte : big_endian(type)) {
    const int letter = byte | 0x20;
    if (letter < 'a' || letter > 'z') return false;
  }
  return true;
}

std::uint16_t get_u16(const std::uint8_t* from) {
  return static_cast<std::uint16_t>(from[0] << 8 | from[1]);
}

std::uint32_t get_u32(const std::uint8_t* from) {
  return std::uint32_t{get_u16(from)} << 16 | get_u16(from + 2);
}

void put_u16(Bytes& to, std::uint32_t number) {
  to.push_back(static_cast<std::uint8_t>(number >> 8));
  to.push_back(static_cast<std::uint8_t>(number));
}

void put_u32(Bytes& to, std::uint32_t number) {
  put_u16(to, number >> 16);
  put_u16(to, number);
}

Chunk find_chunk(ByteSource& source, std::int64_t offset) {
  std::array<std::uint8_t, 8> head{};
  if (source.read_at(offset, head) != head.size()) throw FileError("is cut off");
  const Chunk chunk{get_u32(head.data() + 4), get_u32(head.data()), offset + 8};
  if (!is_valid(chunk.type) || chunk.length > kMostChunkBytes)
    throw FileError("is damaged: there is no chunk at byte " + std::to_string(offset));
  if (chunk.end() > source.size()) throw FileError("is cut off in its chunk " + name_of(chunk.type));
  return chunk;
}

Bytes read_body(ByteSource& source, const Chunk& chunk, MemoryLimit& memory) {
  memory.take(chunk.length + 4, ("the chunk " + name_of(chunk.type)).c_str());
  Bytes bytes = read_exactly(source, chunk.body, chunk.end() - chunk.body);
  const std::uint32_t said = get_u32(bytes.data() + chunk.length);
  bytes.resize(chunk.length);
  if (said != checksum(checksum(chunk.type), bytes)) fail_checksum(chunk.type);
  return bytes;
}

std::uint32_t checksum(ChunkType type) {
  return checksum(0, big_endian(type));
}

std::uint32_t checksum(std::uint32_t so_far, Span bytes) {
  return static_cast<std::uint32_t>(crc32_z(so_far, bytes.data(), bytes.size()));
}

void fail_checksum(ChunkType type) {
  throw FileError("is damaged: the checksum of a chunk " + name_of(type) + " is wrong");
}

void ChunkSink::put_raw(Span bytes) {
  sink_.write_at(position_, bytes);
  position_ += static_cast<std::int64_t>(bytes.size());
}

void ChunkSink::put(ChunkType type, std::initializer_list<Span> parts) {
  std::size_t length = 0;
  std::uint32_t sum = checksum(type);
  for (const Span part : parts) {
    length += part.size();
    if (!part.empty()) sum = checksum(sum, part);
  }
  if (length > kMostChunkBytes)
    throw FileError("has " + std::to_string(length) + " bytes for a PNG chunk " + name_of(type) + ", which is too many");
  put_raw(big_endian(static_cast<std::uint32_t>(length)));
  put_raw(big_endian(type));
  for (const Span part : parts) {
    if (!part.empty()) put_raw(part);
  }
  put_raw(big_endian(sum));
}

}  // namespace mollify::files::png
