#include "files/exif_structure.h"

#include <algorithm>
#include <array>

namespace mollify::files {
namespace {

std::size_t bytes_of_type(std::uint16_t type) {
  constexpr std::array<std::uint8_t, 14> kBytes = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4};
  return type < kBytes.size() ? kBytes[type] : 0;
}

}  // namespace

const ExifEntry* ExifDirectory::find(std::uint16_t tag) const {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const ExifEntry& each) { return each.tag == tag; });
  return found == entries.end() ? nullptr : &*found;
}

std::uint16_t ExifView::get16(std::size_t at) const {
  const int first = bytes[at];
  const int second = bytes[at + 1];
  return static_cast<std::uint16_t>(is_big_endian ? first << 8 | second : second << 8 | first);
}

std::uint32_t ExifView::get32(std::size_t at) const {
  const std::uint32_t first = get16(at);
  const std::uint32_t second = get16(at + 2);
  return is_big_endian ? first << 16 | second : second << 16 | first;
}

ByteRange ExifView::range(std::uint32_t offset, std::uint32_t count) const {
  const std::size_t begin = std::min(bytes.size(), base + offset);
  return {begin, begin + std::min<std::size_t>(count, bytes.size() - begin)};
}

std::optional<ExifDirectory> ExifView::directory(std::size_t at) const {
  if (at < 2 || at > bytes.size() || bytes.size() - at < 2) return std::nullopt;
  const std::size_t count = get16(at);
  const std::size_t end = at + 2 + count * kEntryBytes;
  if (count == 0 || end > bytes.size()) return std::nullopt;
  ExifDirectory directory;
  for (std::size_t i = 0; i < count; ++i) {
    ExifEntry entry;
    entry.at = at + 2 + i * kEntryBytes;
    entry.tag = get16(entry.at);
    entry.type = get16(entry.at + 2);
    entry.count = get32(entry.at + 4);
    const std::size_t size = bytes_of_type(entry.type) * std::size_t{entry.count};
    const std::size_t begin = size <= 4 ? entry.at + 8 : base + get32(entry.at + 8);
    if (size > 0 && begin <= bytes.size() && size <= bytes.size() - begin) entry.value = {begin, begin + size};
    directory.entries.push_back(entry);
  }
  const bool has_next = bytes.size() - end >= 4;
  directory.place = {at, has_next ? end + 4 : end};
  directory.next_at = has_next ? end : 0;
  return directory;
}

std::optional<std::uint32_t> ExifView::number(const ExifEntry& entry, std::size_t index) const {
  const std::size_t size = bytes_of_type(entry.type);
  if (entry.value.size() < (index + 1) * size) return std::nullopt;
  const std::size_t at = entry.value.begin + index * size;
  switch (entry.type) {
    case 1:
      return bytes[at];
    case 3:
      return get16(at);
    case 4:
    case 13:
      return get32(at);
    default:
      return std::nullopt;
  }
}

std::optional<double> ExifView::rational(const ExifEntry& entry) const {
  constexpr int kRational = 5;
  if (entry.type != kRational || entry.value.size() < 8) return std::nullopt;
  const std::uint32_t below = get32(entry.value.begin + 4);
  if (below == 0) return std::nullopt;
  return static_cast<double>(get32(entry.value.begin)) / below;
}

std::optional<ExifHeader> exif_header(std::span<const std::uint8_t> bytes, std::size_t at) {
  if (at > bytes.size() || bytes.size() - at < 8 || bytes[at] != bytes[at + 1] || (bytes[at] != 'I' && bytes[at] != 'M'))
    return std::nullopt;
  const ExifView view = {.bytes = bytes, .is_big_endian = bytes[at] == 'M', .base = at};
  if (view.get16(at + 2) != 42) return std::nullopt;
  return ExifHeader{view, at + view.get32(at + 4)};
}

}  // namespace mollify::files
