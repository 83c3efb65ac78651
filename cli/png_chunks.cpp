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
    if (is_unwanted(pending_)) {
      pending_.erase(0, bytes);
    } else {
      pass_on(bytes);
    }
  }
  return size;  // a write that fails is remembered by the file
}

void PngChunkFilter::pass_on(size_t bytes) {
  file_.write(pending_.data(), bytes);
  pending_.erase(0, bytes);
}

}  // namespace mollify::cli
