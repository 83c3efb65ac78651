#include "files/tiff_structure.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace mollify::files::tiff {
namespace {

constexpr bool kHostIsBigEndian = std::endian::native == std::endian::big;
constexpr std::array<std::uint8_t, 19> kTypeBytes = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8};

template <typename T>
void append(Bytes& bytes, T value) {
  const auto* from = reinterpret_cast<const std::uint8_t*>(&value);
  bytes.insert(bytes.end(), from, from + sizeof(T));
}

void append_number(Bytes& bytes, std::uint64_t value, int count, bool big_endian) {
  for (int i = 0; i < count; ++i) {
    const int shift = 8 * (big_endian ? count - 1 - i : i);
    bytes.push_back(static_cast<std::uint8_t>(value >> shift));
  }
}

// LONG8 and IFD8 do not exist in classic files.
Field narrowed(Field field) {
  if (field.type != kLong8 && field.type != kSignedLong8 && field.type != kIfd8) return field;
  Bytes narrow;
  for (std::size_t i = 0; i < field.count; ++i) {
    const std::uint64_t value = integer_at(field, i);
    append(narrow, static_cast<std::uint32_t>(std::min<std::uint64_t>(value, std::numeric_limits<std::uint32_t>::max())));
  }
  field.type = field.type == kLong8 ? kLong : field.type == kSignedLong8 ? kSignedLong : kIfd;
  field.data = std::move(narrow);
  return field;
}

struct Sizes {
  int count, entry, offset;
};
constexpr Sizes sizes(bool big_offsets) {
  return big_offsets ? Sizes{8, 20, 8} : Sizes{2, 12, 4};
}

constexpr std::int64_t even(std::int64_t bytes) {
  return bytes + (bytes & 1);
}

}  // namespace

int bytes_of_type(std::uint32_t type) {
  return type < kTypeBytes.size() ? kTypeBytes[type] : 0;
}

int bytes_of_unit(std::uint32_t type) {
  return type == kRational || type == kSignedRational ? 4 : bytes_of_type(type);
}

void swap_values(Bytes& data, std::uint32_t type) {
  const auto unit = static_cast<std::size_t>(bytes_of_unit(type));
  if (unit < 2) return;
  for (std::size_t i = 0; i + unit <= data.size(); i += unit) {
    std::reverse(data.begin() + static_cast<std::ptrdiff_t>(i), data.begin() + static_cast<std::ptrdiff_t>(i + unit));
  }
}

Field shorts_field(std::uint16_t tag, std::span<const std::uint16_t> values) {
  Field field{tag, kShort, values.size()};
  for (const std::uint16_t value : values) append(field.data, value);
  return field;
}

Field short_field(std::uint16_t tag, std::uint16_t value) {
  return shorts_field(tag, {&value, 1});
}

Field long_field(std::uint16_t tag, std::uint32_t value) {
  Field field{tag, kLong, 1};
  append(field.data, value);
  return field;
}

Field offsets_field(std::uint16_t tag, std::span<const std::uint64_t> values, std::uint64_t largest) {
  const bool wide = largest > std::numeric_limits<std::uint32_t>::max() || std::any_of(values.begin(), values.end(), [](std::uint64_t v) {
                      return v > std::numeric_limits<std::uint32_t>::max();
                    });
  Field field{tag, wide ? kLong8 : kLong, values.size()};
  for (const std::uint64_t value : values) {
    if (wide) {
      append(field.data, value);
    } else {
      append(field.data, static_cast<std::uint32_t>(value));
    }
  }
  return field;
}

Field rational_field(std::uint16_t tag, std::span<const std::uint32_t> numerators_and_denominators) {
  Field field{tag, kRational, numerators_and_denominators.size() / 2};
  for (const std::uint32_t value : numerators_and_denominators) append(field.data, value);
  return field;
}

Field bytes_field(std::uint16_t tag, FieldType type, std::span<const std::uint8_t> data) {
  return {tag, type, data.size(), Bytes(data.begin(), data.end())};
}

std::uint64_t integer_at(const Field& field, std::size_t index) {
  const auto read = [&]<typename T>(T value) {
    std::memcpy(&value, field.data.data() + index * sizeof(T), sizeof(T));
    return static_cast<std::uint64_t>(value);
  };
  switch (field.type) {
    case kByte:
    case kUndefined:
    case kAscii:
      return read(std::uint8_t{});
    case kSignedByte:
      return read(std::int8_t{});
    case kShort:
      return read(std::uint16_t{});
    case kSignedShort:
      return read(std::int16_t{});
    case kLong:
    case kIfd:
      return read(std::uint32_t{});
    case kSignedLong:
      return read(std::int32_t{});
    case kLong8:
    case kIfd8:
    case kSignedLong8:
      return read(std::uint64_t{});
    default:
      return 0;
  }
}

const FieldPlace* DirectoryPlace::find(std::uint16_t tag) const {
  const auto found = std::find_if(fields.begin(), fields.end(), [tag](const FieldPlace& each) { return each.tag == tag; });
  return found == fields.end() ? nullptr : &*found;
}

StructureReader::StructureReader(ByteSource& source) : source_(source) {
  const Bytes head = read_exactly(source, 0, 8);
  big_endian_ = head[0] == 'M';
  const std::uint64_t version = number(head.data() + 2, 2);
  if (head[0] != head[1] || (head[0] != 'M' && head[0] != 'I') || (version != 42 && version != 43)) throw FileError("has no TIFF header");
  big_offsets_ = version == 43;
  if (big_offsets_ && number(head.data() + 4, 2) != 8) throw FileError("has a BigTIFF header with offsets of unknown size");
  first_ = static_cast<std::int64_t>(big_offsets_ ? number(read_exactly(source, 8, 8).data(), 8) : number(head.data() + 4, 4));
}

std::uint64_t StructureReader::number(const std::uint8_t* bytes, int count) const {
  std::uint64_t value = 0;
  for (int i = 0; i < count; ++i) value = value << 8 | bytes[big_endian_ ? i : count - 1 - i];
  return value;
}

DirectoryPlace StructureReader::read_directory(std::int64_t offset) const {
  const Sizes size = sizes(big_offsets_);
  DirectoryPlace directory{.offset = offset, .next = 0, .fields = {}};
  const std::uint64_t count = number(read_exactly(source_, offset, size.count).data(), size.count);
  const std::int64_t entries = offset + size.count;
  if (count > static_cast<std::uint64_t>((source_.size() - entries) / size.entry)) throw FileError("is cut off within a directory");
  const Bytes bytes = read_exactly(source_, entries, static_cast<std::int64_t>(count) * size.entry);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* entry = bytes.data() + i * static_cast<std::size_t>(size.entry);
    FieldPlace place{.tag = static_cast<std::uint16_t>(number(entry, 2)), .type = static_cast<std::uint16_t>(number(entry + 2, 2))};
    place.count = number(entry + 4, size.offset);
    const std::uint64_t value = number(entry + 4 + size.offset, size.offset);
    const auto type_bytes = static_cast<std::uint64_t>(bytes_of_type(place.type));
    const bool is_inline = type_bytes == 0 || place.count <= static_cast<std::uint64_t>(size.offset) / type_bytes;
    const std::int64_t inside = entries + static_cast<std::int64_t>(i) * size.entry + 4 + size.offset;
    place.offset = is_inline ? inside : static_cast<std::int64_t>(value);
    directory.fields.push_back(place);
  }
  // The last directory of a file may lack the four bytes that say so.
  const std::int64_t end = entries + static_cast<std::int64_t>(bytes.size());
  if (source_.size() - end >= size.offset) {
    directory.next = static_cast<std::int64_t>(number(read_exactly(source_, end, size.offset).data(), size.offset));
  }
  return directory;
}

bool StructureReader::is_whole(const FieldPlace& place) const {
  const auto unit = static_cast<std::uint64_t>(bytes_of_type(place.type));
  if (unit == 0 || place.offset < 0 || place.offset > source_.size()) return false;
  return place.count <= static_cast<std::uint64_t>(source_.size() - place.offset) / unit;
}

Bytes StructureReader::read_raw(const FieldPlace& place) const {
  if (!is_whole(place)) throw FileError("is cut off within tag " + std::to_string(place.tag));
  if (place.count == 0) return {};
  return read_exactly(source_, place.offset, static_cast<std::int64_t>(place.count) * bytes_of_type(place.type));
}

Field StructureReader::read(const FieldPlace& place) const {
  Field field{place.tag, place.type, place.count, read_raw(place)};
  if (big_endian_ != kHostIsBigEndian) swap_values(field.data, field.type);
  return field;
}

std::vector<std::uint64_t> StructureReader::integers(const DirectoryPlace& directory, std::uint16_t tag, std::uint64_t most) const {
  const FieldPlace* place = directory.find(tag);
  if (place == nullptr || place->type == kRational || place->type == kSignedRational || place->type == kFloat || place->type == kDouble)
    return {};
  if (!is_whole(*place)) throw FileError("is cut off within tag " + std::to_string(tag));
  FieldPlace first = *place;
  first.count = std::min(first.count, most);
  const Field field = read(first);
  std::vector<std::uint64_t> values;
  for (std::size_t i = 0; i < field.count; ++i) values.push_back(integer_at(field, i));
  return values;
}

std::uint64_t StructureReader::integer(const DirectoryPlace& directory, std::uint16_t tag, std::uint64_t otherwise) const {
  const std::vector<std::uint64_t> values = integers(directory, tag, 1);
  return values.empty() ? otherwise : values.front();
}

Bytes encoded_offset(Encoding encoding, std::int64_t offset) {
  Bytes bytes;
  append_number(bytes, static_cast<std::uint64_t>(offset), sizes(encoding.big_offsets).offset, encoding.big_endian);
  return bytes;
}

Bytes encoded_header(Encoding encoding, std::int64_t first) {
  Bytes bytes(2, encoding.big_endian ? 'M' : 'I');
  append_number(bytes, encoding.big_offsets ? 43 : 42, 2, encoding.big_endian);
  if (encoding.big_offsets) {
    append_number(bytes, 8, 2, encoding.big_endian);
    append_number(bytes, 0, 2, encoding.big_endian);
  }
  append_number(bytes, static_cast<std::uint64_t>(first), sizes(encoding.big_offsets).offset, encoding.big_endian);
  return bytes;
}

std::int64_t place_of_next(Encoding encoding, std::size_t fields) {
  const Sizes size = sizes(encoding.big_offsets);
  return size.count + static_cast<std::int64_t>(fields) * size.entry;
}

std::int64_t encoded_directory_bytes(Encoding encoding, std::span<const Field> fields) {
  const Sizes size = sizes(encoding.big_offsets);
  std::int64_t bytes = place_of_next(encoding, fields.size()) + size.offset;
  for (const Field& each : fields) {
    const auto data = static_cast<std::int64_t>(encoding.big_offsets ? each.data.size() : narrowed(each).data.size());
    if (data > size.offset) bytes = even(bytes) + data;
  }
  return even(bytes);
}

Bytes encoded_directory(Encoding encoding, std::vector<Field> fields, std::int64_t offset, std::int64_t next) {
  const Sizes size = sizes(encoding.big_offsets);
  const bool big = encoding.big_endian;
  std::stable_sort(fields.begin(), fields.end(), [](const Field& a, const Field& b) { return a.tag < b.tag; });
  Bytes head, values;
  append_number(head, fields.size(), size.count, big);
  const std::int64_t values_begin = place_of_next(encoding, fields.size()) + size.offset;
  for (const Field& each : fields) {
    Field field = encoding.big_offsets ? each : narrowed(each);
    if (big != kHostIsBigEndian) swap_values(field.data, field.type);
    append_number(head, field.tag, 2, big);
    append_number(head, field.type, 2, big);
    append_number(head, field.count, size.offset, big);
    if (field.data.size() <= static_cast<std::size_t>(size.offset)) {
      field.data.resize(static_cast<std::size_t>(size.offset));
      head.insert(head.end(), field.data.begin(), field.data.end());
      continue;
    }
    if (((values_begin + static_cast<std::int64_t>(values.size())) & 1) != 0) values.push_back(0);
    append_number(head, static_cast<std::uint64_t>(offset + values_begin) + values.size(), size.offset, big);
    values.insert(values.end(), field.data.begin(), field.data.end());
  }
  append_number(head, static_cast<std::uint64_t>(next), size.offset, big);
  head.insert(head.end(), values.begin(), values.end());
  head.resize(static_cast<std::size_t>(even(static_cast<std::int64_t>(head.size()))));
  return head;
}

}  // namespace mollify::files::tiff
