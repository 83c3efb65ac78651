// Streams and errors of OpenEXR.
#include "files/exr.h"

#include <ImfThreading.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

namespace mollify::files::exr {

namespace {

/// What the library needs to know. It reads as many bytes as a type has, whatever the file says, and would lose its place.
bool is_parsed(const Attribute& attribute) {
  struct Row {
    std::string_view name, type;
    std::size_t size;  ///< 0: any
  };
  constexpr std::array<Row, 13> kParsed = {{{"channels", "chlist", 0},
                                            {"chunkCount", "int", 4},
                                            {"compression", "compression", 1},
                                            {"dataWindow", "box2i", 16},
                                            {"displayWindow", "box2i", 16},
                                            {"lineOrder", "lineOrder", 1},
                                            {"name", "string", 0},
                                            {"pixelAspectRatio", "float", 4},
                                            {"screenWindowCenter", "v2f", 8},
                                            {"screenWindowWidth", "float", 4},
                                            {"tiles", "tiledesc", 9},
                                            {"type", "string", 0},
                                            {"version", "int", 4}}};
  return std::any_of(kParsed.begin(), kParsed.end(), [&](const Row& row) {
    return row.name == attribute.name && row.type == attribute.type && (row.size == 0 || row.size == attribute.data.size());
  });
}

}  // namespace

InputStream::InputStream(ByteSource& source, const Headers& headers) : IStream("image"), source_(source) {
  for (const Part& part : headers.parts) {
    for (const Attribute& attribute : part.attributes) {
      if (is_parsed(attribute)) continue;
      const auto begin = static_cast<std::uint64_t>(attribute.type_offset);
      hidden_.push_back({begin, begin + attribute.type.size()});
    }
  }
}

void InputStream::load(std::uint64_t offset, std::span<std::uint8_t> into) {
  if (source_.read_at(static_cast<std::int64_t>(offset), into) != into.size()) throw FileError("is cut off");
  const std::uint64_t end = offset + into.size();
  for (const Range& range : hidden_) {
    for (std::uint64_t i = std::max(range.begin, offset); i < std::min(range.end, end); ++i) into[i - offset] = '?';
  }
}

bool InputStream::read(char* into, int count) {
  constexpr std::uint64_t kBuffer = 16384;
  const auto size = static_cast<std::uint64_t>(source_.size());
  const auto wanted = static_cast<std::size_t>(std::max(count, 0));
  if (position_ > size || wanted > size - position_) throw FileError("is cut off");
  if (wanted >= kBuffer) {
    load(position_, {reinterpret_cast<std::uint8_t*>(into), wanted});
  } else {
    if (position_ < buffer_begin_ || position_ + wanted > buffer_begin_ + buffer_.size()) {
      buffer_.clear();  // it holds nothing if the next line throws
      Bytes block(std::min(kBuffer, size - position_));
      load(position_, block);
      buffer_ = std::move(block);
      buffer_begin_ = position_;
    }
    std::memcpy(into, buffer_.data() + (position_ - buffer_begin_), wanted);
  }
  position_ += wanted;
  return position_ < size;
}

OutputStream::OutputStream(ByteSink& sink) : OStream("image"), sink_(sink) {}

void OutputStream::write(const char* bytes, int count) {
  constexpr std::size_t kMostGathered = 1 << 16;
  gathered_.insert(gathered_.end(), bytes, bytes + count);
  if (gathered_.size() >= kMostGathered) flush();
}

void OutputStream::seekp(std::uint64_t position) {
  if (position == tellp()) return;
  flush();
  begin_ = position;
}

void OutputStream::flush() {
  if (gathered_.empty() || error_) return;
  try {
    sink_.write_at(static_cast<std::int64_t>(begin_), gathered_);
  } catch (...) {
    error_ = std::current_exception();
    throw;
  }
  begin_ += gathered_.size();
  gathered_.clear();
}

void OutputStream::check() {
  flush();
  if (error_) std::rethrow_exception(error_);
}

void throw_as_file_error(const std::exception& error) {
  std::string reason = error.what();
  if (reason.find("is cut off") != std::string::npos) throw FileError("is cut off");
  // "Error reading pixel data from image file "image". Scan line 7 is missing."
  constexpr std::string_view kFileName = "\"image\".";
  if (const std::size_t name = reason.rfind(kFileName); name != std::string::npos) reason.erase(0, name + kFileName.size());
  reason.erase(std::min(reason.find('\n'), reason.size()));
  while (!reason.empty() && (reason.back() == '.' || reason.back() == ' ')) reason.pop_back();
  reason.erase(0, reason.find_first_not_of(' '));
  constexpr std::size_t kMostCharacters = 160;
  if (reason.size() > kMostCharacters) reason.resize(kMostCharacters);
  throw FileError(reason.empty() ? "is damaged" : "is damaged; OpenEXR says: " + reason);
}

double chunk_memory(const Page& page, std::int32_t chunk_width, std::int32_t chunk_rows, bool tiled, int threads) {
  const double chunk = static_cast<double>(page.pixel_bytes()) * chunk_width * chunk_rows;
  const double band = tiled ? static_cast<double>(page.row_bytes()) * chunk_rows : 0.0;
  return band + 3 * chunk * 2 * std::max(threads, 1);
}

void use_threads(int threads) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (threads > 1 && threads > Imf::globalThreadCount()) Imf::setGlobalThreadCount(threads);
}

}  // namespace mollify::files::exr
