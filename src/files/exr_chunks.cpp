// Chunks of OpenEXR: where they lie and whether they are complete.
#include <algorithm>
#include <cstring>

#include "files/exr.h"

namespace mollify::files::exr {
namespace {

enum Compression : int { kNone = 0, kRle = 1 };  // OpenEXR's numbers

std::int64_t offset_of(ByteSource& source, const Part& part, std::int64_t index) {
  const Bytes bytes = read_exactly(source, part.table_offset + 8 * index, 8);
  std::int64_t offset = 0;
  std::memcpy(&offset, bytes.data(), sizeof offset);
  return offset;
}

/// A chunk begins with the number of its part, where there are several, its coordinates and its size.
struct Place {
  std::int64_t data = 0;
  std::int32_t size = 0;
};
Place place_at(ByteSource& source, const Headers& headers, const Part& part, std::int64_t offset) {
  const std::int64_t size_at = offset + (headers.multi_part ? 4 : 0) + (part.tiled ? 16 : 4);
  const Bytes bytes = read_exactly(source, size_at, 4);
  Place place{.data = size_at + 4};
  std::memcpy(&place.size, bytes.data(), sizeof place.size);
  if (place.size < 0 || place.size > source.size() - place.data) throw FileError("is cut off");
  return place;
}

/// How many bytes the runs stand for: a count below zero says how many bytes follow, another one how often the next is repeated.
std::int64_t size_of_runs(const Bytes& runs) {
  std::int64_t size = 0;
  for (std::size_t i = 0; i < runs.size();) {
    const auto count = static_cast<std::int8_t>(runs[i++]);
    const std::size_t follow = count < 0 ? static_cast<std::size_t>(-int{count}) : 1;
    if (follow > runs.size() - i) return -1;
    size += count < 0 ? -int{count} : count + 1;
    i += follow;
  }
  return size;
}

void check_chunk(ByteSource& source, const Headers& headers, const Part& part, std::int64_t index, std::int64_t expected) {
  const Place place = place_at(source, headers, part, offset_of(source, part, index));
  std::int64_t size = place.size;
  // What runs do not make smaller is stored as it is.
  if (part.compression == kRle && size < expected) size = size_of_runs(read_exactly(source, place.data, size));
  if (size != expected) throw FileError("is damaged: chunk " + std::to_string(index) + " of its pixels has another size than its rows");
}

}  // namespace

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  return a >= 0 ? a / b : -((b - 1 - a) / b);
}

bool has_unchecked_chunks(const Part& part) {
  return part.compression == kNone || part.compression == kRle;
}

void check_scanline_chunk(ByteSource& source, const Headers& headers, const Part& part, std::int64_t index) {
  const Window& window = part.data_window;
  const int rows = rows_of_chunk(part.compression);
  const std::int64_t first = window.min_y + index * rows;
  const std::int64_t last = std::min<std::int64_t>(first + rows - 1, window.max_y);
  // How many multiples of the sampling lie between two numbers, both included.
  const auto samples = [](std::int64_t from, std::int64_t to, int sampling) {
    return floor_divide(to, sampling) - floor_divide(from - 1, sampling);
  };
  std::int64_t expected = 0;
  for (const StoredChannel& channel : part.channels) {
    expected += samples(window.min_x, window.max_x, channel.x_sampling) * samples(first, last, channel.y_sampling) * bytes_of(channel.type);
  }
  check_chunk(source, headers, part, index, expected);
}

void check_tile_chunk(ByteSource& source, const Headers& headers, const Part& part, std::int64_t index, std::int32_t width,
                      std::int32_t height) {
  std::int64_t expected = 0;
  for (const StoredChannel& channel : part.channels) expected += std::int64_t{width} * height * bytes_of(channel.type);
  check_chunk(source, headers, part, index, expected);
}

std::int64_t end_of_chunks(ByteSource& source, const Headers& headers) {
  constexpr std::int64_t kBlock = 8192;  // offsets
  std::int64_t last = 0;
  const Part* part_of_last = nullptr;
  for (const Part& part : headers.parts) {
    for (std::int64_t done = 0; done < part.chunks; done += kBlock) {
      const std::int64_t count = std::min(kBlock, part.chunks - done);
      const Bytes table = read_exactly(source, part.table_offset + 8 * done, 8 * count);
      for (std::int64_t i = 0; i < count; ++i) {
        std::int64_t offset = 0;
        std::memcpy(&offset, table.data() + 8 * i, sizeof offset);
        if (offset <= 0) throw FileError("is not complete: its table of chunks has gaps");
        if (offset >= source.size()) throw FileError("is cut off");
        if (offset > last) {
          last = offset;
          part_of_last = &part;
        }
      }
    }
  }
  const Place place = place_at(source, headers, *part_of_last, last);
  return place.data + place.size;
}

}  // namespace mollify::files::exr
