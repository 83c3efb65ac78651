#include "files/exif_fields.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>

#include "files/exif_structure.h"
#include "files/resolution.h"

namespace mollify::files {
namespace {

constexpr std::size_t kHeaderBytes = 8;

/// Reads and writes numbers in the byte order of a block.
class Numbers {
 public:
  explicit Numbers(Bytes& bytes) : bytes_(bytes), is_big_(bytes.size() >= 2 && bytes[0] == 'M') {}

  [[nodiscard]] std::uint32_t get(std::size_t at, int size) const {
    std::uint32_t value = 0;
    for (int i = 0; i < size; ++i)
      value |= static_cast<std::uint32_t>(bytes_[at + static_cast<std::size_t>(i)]) << 8 * (is_big_ ? size - 1 - i : i);
    return value;
  }
  void put(std::size_t at, std::uint32_t value, int size) {
    for (int i = 0; i < size; ++i)
      bytes_[at + static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(value >> 8 * (is_big_ ? size - 1 - i : i));
  }
  void append(std::uint32_t value, int size) {
    bytes_.resize(bytes_.size() + static_cast<std::size_t>(size));
    put(bytes_.size() - static_cast<std::size_t>(size), value, size);
  }
  void append_even() {
    if (bytes_.size() % 2 != 0) bytes_.push_back(0);
  }

 private:
  Bytes& bytes_;
  bool is_big_;
};

struct Entry {
  std::uint16_t tag;
  std::array<std::uint8_t, kEntryBytes> bytes;  ///< as they are stored
};

int unit_bytes(std::uint16_t type) {
  return type == kRational ? 8 : type == kShort ? 2 : 1;
}

/// The value in the byte order of the block.
Bytes stored(const ExifField& field, bool is_big) {
  Bytes data = field.data;
  const std::size_t number = field.type == kRational ? 4 : field.type == kShort ? 2 : 1;
  const bool swaps = is_big != (std::endian::native == std::endian::big);
  for (std::size_t i = 0; swaps && i + number <= data.size(); i += number) {
    std::reverse(data.begin() + static_cast<std::ptrdiff_t>(i), data.begin() + static_cast<std::ptrdiff_t>(i + number));
  }
  return data;
}

ExifField rational(std::uint16_t tag, double value) {
  const std::array<std::uint32_t, 2> parts = rational_of(value);
  ExifField field{tag, kRational, Bytes(sizeof parts)};
  std::memcpy(field.data.data(), parts.data(), sizeof parts);
  return field;
}

ExifField short_field(std::uint16_t tag, std::uint16_t value) {
  ExifField field{tag, kShort, Bytes(sizeof value)};
  std::memcpy(field.data.data(), &value, sizeof value);
  return field;
}

}  // namespace

ExifField exif_field(Orientation orientation) {
  constexpr std::uint16_t kOrientation = 0x112;
  return short_field(kOrientation, static_cast<std::uint16_t>(orientation));
}

std::vector<ExifField> exif_fields(const Resolution& resolution) {
  constexpr std::uint16_t kX = 0x11A, kY = 0x11B, kUnit = 0x128;
  constexpr std::uint16_t kNone = 1, kInch = 2, kCentimetre = 3;
  const std::optional<Resolution> held = resolution_in(FileFormat::webp, resolution);
  if (!held) return {};
  const std::uint16_t unit = held->unit == Resolution::Unit::none ? kNone : held->unit == Resolution::Unit::inch ? kInch : kCentimetre;
  return {rational(kX, held->x), rational(kY, held->y), short_field(kUnit, unit)};
}

void set_exif_fields(Bytes& exif, std::span<const ExifField> fields) {
  if (exif.size() < kHeaderBytes) exif = {'I', 'I', '*', 0, 0, 0, 0, 0};
  const bool is_big = exif[0] == 'M';
  Numbers numbers(exif);
  std::vector<Entry> entries;
  std::uint32_t next = 0;
  const std::uint32_t directory = numbers.get(4, 4);
  if (directory >= kHeaderBytes && directory + 2 <= exif.size()) {
    const std::size_t count = numbers.get(directory, 2);
    const std::size_t end = directory + 2 + count * kEntryBytes;
    if (end + 4 > exif.size()) return;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = directory + 2 + i * kEntryBytes;
      Entry entry{static_cast<std::uint16_t>(numbers.get(at, 2)), {}};
      std::copy_n(exif.begin() + static_cast<std::ptrdiff_t>(at), kEntryBytes, entry.bytes.begin());
      const bool is_replaced = std::ranges::any_of(fields, [&](const ExifField& field) { return field.tag == entry.tag; });
      if (!is_replaced) entries.push_back(entry);
    }
    next = numbers.get(end, 4);
  }
  for (const ExifField& field : fields) {
    const Bytes data = stored(field, is_big);
    Bytes entry_bytes = is_big ? Bytes{'M', 'M'} : Bytes{'I', 'I'};  // the byte order, which the entry is cut from behind
    Numbers entry(entry_bytes);
    entry.append(field.tag, 2);
    entry.append(field.type, 2);
    entry.append(static_cast<std::uint32_t>(data.size()) / static_cast<std::uint32_t>(unit_bytes(field.type)), 4);
    if (data.size() <= 4) {
      entry_bytes.insert(entry_bytes.end(), data.begin(), data.end());
      entry_bytes.resize(2 + kEntryBytes, 0);
    } else {
      numbers.append_even();
      entry.append(static_cast<std::uint32_t>(exif.size()), 4);
      exif.insert(exif.end(), data.begin(), data.end());
    }
    Entry made{field.tag, {}};
    std::copy_n(entry_bytes.begin() + 2, kEntryBytes, made.bytes.begin());
    entries.push_back(made);
  }
  std::ranges::stable_sort(entries, {}, &Entry::tag);
  numbers.append_even();
  numbers.put(4, static_cast<std::uint32_t>(exif.size()), 4);
  numbers.append(static_cast<std::uint32_t>(entries.size()), 2);
  for (const Entry& entry : entries) exif.insert(exif.end(), entry.bytes.begin(), entry.bytes.end());
  numbers.append(next, 4);
}

}  // namespace mollify::files
