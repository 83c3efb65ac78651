// Directories of a block of Exif, which is built like a TIFF file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mollify::files {

/// Types of entries.
enum ExifType : std::uint16_t { kShort = 3, kLong = 4, kRational = 5 };
/// Of an entry.
inline constexpr std::size_t kEntryBytes = 12;

struct ByteRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  [[nodiscard]] bool contains(std::size_t at) const { return at >= begin && at < end; }
  [[nodiscard]] std::size_t size() const { return end - begin; }
};

struct ExifEntry {
  std::size_t at = 0;  ///< of its first byte
  std::uint16_t tag = 0;
  std::uint16_t type = 0;
  std::uint32_t count = 0;
  ByteRange value;  ///< empty where it is not within the block
  [[nodiscard]] bool is_inline() const { return value.begin == at + 8; }
};

struct ExifDirectory {
  ByteRange place;
  std::vector<ExifEntry> entries;
  std::size_t next_at = 0;  ///< where the offset of the next directory is; 0: nowhere
  [[nodiscard]] const ExifEntry* find(std::uint16_t tag) const;
};

/// A block, or the maker's note inside, whose offsets may count from elsewhere.
struct ExifView {
  std::span<const std::uint8_t> bytes;
  bool is_big_endian = false;
  std::size_t base = 0;  ///< what offsets count from

  [[nodiscard]] std::uint16_t get16(std::size_t at) const;
  [[nodiscard]] std::uint32_t get32(std::size_t at) const;
  /// The directory at a position of the block; none if its entries are not all within.
  [[nodiscard]] std::optional<ExifDirectory> directory(std::size_t at) const;
  /// The directory that an entry or a header points to.
  [[nodiscard]] std::optional<ExifDirectory> directory_at_offset(std::uint32_t offset) const { return directory(base + offset); }
  /// A whole number of an entry, of a BYTE, SHORT or LONG.
  [[nodiscard]] std::optional<std::uint32_t> number(const ExifEntry& entry, std::size_t index = 0) const;
  [[nodiscard]] std::optional<double> rational(const ExifEntry& entry) const;
  /// Bytes [base + offset, ... + count) as far as they are in the block.
  [[nodiscard]] ByteRange range(std::uint32_t offset, std::uint32_t count) const;
};

/// The view of a block that begins with a byte order at `at`, with its first directory's position; none if it is none.
struct ExifHeader {
  ExifView view;
  std::size_t first_directory = 0;
};
[[nodiscard]] std::optional<ExifHeader> exif_header(std::span<const std::uint8_t> bytes, std::size_t at);

}  // namespace mollify::files
