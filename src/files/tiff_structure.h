// The structure of TIFF files: headers, directories, fields. Pixels are libtiff's part; directories are read and written here, so that
// every field keeps its number, type, count and value.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "files/codec.h"

namespace mollify::files::tiff {

/// Field types, by their numbers in the file.
enum FieldType : std::uint16_t {
  kByte = 1,
  kAscii,
  kShort,
  kLong,
  kRational,
  kSignedByte,
  kUndefined,
  kSignedShort,
  kSignedLong,
  kSignedRational,
  kFloat,
  kDouble,
  kIfd,
  kLong8 = 16,
  kSignedLong8,
  kIfd8
};
/// Bytes of one value, 0 for types that do not exist.
[[nodiscard]] int bytes_of_type(std::uint32_t type);
/// Bytes of the unit whose byte order is swapped: a rational is two units.
[[nodiscard]] int bytes_of_unit(std::uint32_t type);

/// One field of a directory in memory, its values in host byte order.
struct Field {
  std::uint16_t tag = 0;
  std::uint16_t type = kByte;
  std::uint64_t count = 0;
  Bytes data{};
};
[[nodiscard]] Field shorts_field(std::uint16_t tag, std::span<const std::uint16_t> values);
[[nodiscard]] Field short_field(std::uint16_t tag, std::uint16_t value);
[[nodiscard]] Field long_field(std::uint16_t tag, std::uint32_t value);
/// LONG where all values fit, and `largest` does, LONG8 otherwise.
[[nodiscard]] Field offsets_field(std::uint16_t tag, std::span<const std::uint64_t> values, std::uint64_t largest = 0);
[[nodiscard]] Field rational_field(std::uint16_t tag, std::span<const std::uint32_t> numerators_and_denominators);
[[nodiscard]] Field bytes_field(std::uint16_t tag, FieldType type, std::span<const std::uint8_t> data);

/// Where a field of a file is. The values are read when they are asked for.
struct FieldPlace {
  std::uint16_t tag = 0;
  std::uint16_t type = 0;
  std::uint64_t count = 0;
  std::int64_t offset = 0;  ///< of the first value
};

struct DirectoryPlace {
  std::int64_t offset = 0;
  std::int64_t next = 0;  ///< 0 after the last
  std::vector<FieldPlace> fields;
  [[nodiscard]] const FieldPlace* find(std::uint16_t tag) const;
};

/// A TIFF structure that is read: a file, or an Exif block.
class StructureReader {
 public:
  /// Reads the header. Throws FileError where it is none.
  explicit StructureReader(ByteSource& source);

  [[nodiscard]] bool is_big_endian() const { return big_endian_; }
  [[nodiscard]] bool has_big_offsets() const { return big_offsets_; }
  [[nodiscard]] std::int64_t first() const { return first_; }
  [[nodiscard]] ByteSource& source() const { return source_; }

  [[nodiscard]] DirectoryPlace read_directory(std::int64_t offset) const;
  /// Whether the values lie within the file.
  [[nodiscard]] bool is_whole(const FieldPlace& place) const;
  /// With values in host byte order. Throws FileError where they lie outside of the file.
  [[nodiscard]] Field read(const FieldPlace& place) const;
  /// The bytes as they are in the file.
  [[nodiscard]] Bytes read_raw(const FieldPlace& place) const;
  /// Values of an integer field, at most `most` of them. Empty where the field is missing or of another type.
  [[nodiscard]] std::vector<std::uint64_t> integers(const DirectoryPlace& directory, std::uint16_t tag,
                                                    std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) const;
  [[nodiscard]] std::uint64_t integer(const DirectoryPlace& directory, std::uint16_t tag, std::uint64_t otherwise) const;

 private:
  ByteSource& source_;
  bool big_endian_ = false;
  bool big_offsets_ = false;
  std::int64_t first_ = 0;

  [[nodiscard]] std::uint64_t number(const std::uint8_t* bytes, int count) const;
};

/// Swaps the units of values between host and file byte order, in place.
void swap_values(Bytes& data, std::uint32_t type);

/// How directories are written.
struct Encoding {
  bool big_endian = false;
  bool big_offsets = false;
  [[nodiscard]] std::int64_t header_bytes() const { return big_offsets ? 16 : 8; }
};
[[nodiscard]] Bytes encoded_header(Encoding encoding, std::int64_t first);
[[nodiscard]] std::int64_t encoded_directory_bytes(Encoding encoding, std::span<const Field> fields);
/// A directory that lies at `offset`, an even number, with the values behind it. Sorts the fields.
[[nodiscard]] Bytes encoded_directory(Encoding encoding, std::vector<Field> fields, std::int64_t offset, std::int64_t next);
/// Where the offset of the next directory lies, from the beginning of an encoded directory on.
[[nodiscard]] std::int64_t place_of_next(Encoding encoding, std::size_t fields);
[[nodiscard]] Bytes encoded_offset(Encoding encoding, std::int64_t offset);

/// The integer at an index of values in host byte order.
[[nodiscard]] std::uint64_t integer_at(const Field& field, std::size_t index);

}  // namespace mollify::files::tiff
