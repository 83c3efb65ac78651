#include "png_chunks.h"

#include <algorithm>
#include <string_view>

namespace mollify::cli {
namespace {

constexpr std::size_t kSignatureBytes = 8;
constexpr std::size_t kHeaderBytes = 8;  // length and type
constexpr std::size_t kChecksumBytes = 4;

std::size_t body_bytes(std::string_view chunk) {
  std::size_t length = 0;
  for (const unsigned char byte : chunk.substr(0, 4)) length = length << 8 | byte;
  return length;
}

std::string_view type_of(std::string_view chunk) {
  return chunk.substr(4, 4);
}

bool is_unwanted(std::string_view chunk) {
  constexpr std::size_t kOffsetBytes = 8;  // of x and y, before their unit
  const std::string_view body = chunk.substr(kHeaderBytes, body_bytes(chunk));
  if (type_of(chunk) == "tEXt") return body.starts_with("oiio:");
  const auto is_zero = [](char byte) { return byte == 0; };
  return type_of(chunk) == "oFFs" && std::ranges::all_of(body.substr(0, kOffsetBytes), is_zero);
}

/// Beyond ASCII, in sequences of as many bytes as their first one says.
bool is_utf8_beyond_ascii(std::string_view text) {
  bool is_ascii = true;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i++]);
    if (lead < 0x80) continue;
    is_ascii = false;
    if (lead < 0xC2 || lead > 0xF4) return false;
    for (int more = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3; more > 0; --more, ++i) {
      if (i >= text.size() || (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return false;
    }
  }
  return !is_ascii;
}

std::string big_endian(std::uint32_t number) {
  return {static_cast<char>(number >> 24), static_cast<char>(number >> 16), static_cast<char>(number >> 8), static_cast<char>(number)};
}

std::uint32_t checksum(std::string_view bytes) {
  std::uint32_t sum = ~0U;
  for (const char byte : bytes) {
    sum ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ ((sum & 1) != 0 ? 0xEDB88320U : 0U);
  }
  return ~sum;
}

/// A tEXt chunk, which is Latin-1 by definition, becomes an iTXt chunk where it holds UTF-8.
std::string with_right_text(std::string_view chunk) {
  const std::string_view body = chunk.substr(kHeaderBytes, body_bytes(chunk));
  const std::size_t end = body.find('\0');
  if (type_of(chunk) != "tEXt" || end == std::string_view::npos || !is_utf8_beyond_ascii(body.substr(end + 1))) {
    return std::string(chunk);
  }
  constexpr std::string_view kPlain("\0\0\0\0\0", 5);  // end of keyword, not compressed, no language, no translated keyword
  const std::string typed = "iTXt" + std::string(body.substr(0, end)) + std::string(kPlain) + std::string(body.substr(end + 1));
  return big_endian(static_cast<std::uint32_t>(typed.size() - 4)) + typed + big_endian(checksum(typed));
}

}  // namespace

size_t PngChunkFilter::write(const void* data, size_t size) {
  m_pos += static_cast<std::int64_t>(size);
  if (has_reached_image_) return file_.write(data, size);
  pending_.append(static_cast<const char*>(data), size);
  if (!has_signature_ && pending_.size() >= kSignatureBytes) {
    has_signature_ = true;
    pass_on(kSignatureBytes);
  }
  while (has_signature_ && pending_.size() >= kHeaderBytes) {
    if (type_of(pending_) == "IDAT") {
      has_reached_image_ = true;
      pass_on(pending_.size());
      break;
    }
    const std::size_t bytes = kHeaderBytes + body_bytes(pending_) + kChecksumBytes;
    if (pending_.size() < bytes) break;
    if (!is_unwanted(pending_)) {
      const std::string chunk = with_right_text(std::string_view(pending_).substr(0, bytes));
      file_.write(chunk.data(), chunk.size());
    }
    pending_.erase(0, bytes);
  }
  return size;  // a write that fails is remembered by the file
}

void PngChunkFilter::pass_on(size_t bytes) {
  file_.write(pending_.data(), bytes);
  pending_.erase(0, bytes);
}

}  // namespace mollify::cli
