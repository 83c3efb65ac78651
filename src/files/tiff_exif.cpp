#include "files/tiff_exif.h"

#include <algorithm>
#include <array>

#include "files/tiff_tags.h"

namespace mollify::files::tiff {
namespace {

// Fields of a page's directory that Exif has in its first one.
constexpr std::array<std::uint16_t, 12> kMainTags = {270, 271, 272, 274, 282, 283, 296, 305, 306, 315, 316, 33432};

bool refers_to_directory(std::uint16_t tag) {
  return tag == kExifIfd || tag == kGpsIfd || tag == kInteroperabilityIfd;
}

// All fields of a directory but references to others.
std::vector<Field> fields_of(const StructureReader& file, const DirectoryPlace& directory, Messages* messages) {
  std::vector<Field> fields;
  for (const FieldPlace& place : directory.fields) {
    if (refers_to_directory(place.tag)) continue;
    if (file.is_whole(place)) {
      fields.push_back(file.read(place));
    } else if (messages != nullptr) {
      messages->add("Exif's tag " + std::to_string(place.tag) + " is damaged and was left out");
    }
  }
  return fields;
}

// The directory that a field refers to; unset where there is none.
std::optional<DirectoryPlace> referred(const StructureReader& file, const DirectoryPlace& directory, std::uint16_t tag,
                                       Messages* messages) {
  if (directory.find(tag) == nullptr) return std::nullopt;
  try {
    return file.read_directory(static_cast<std::int64_t>(file.integer(directory, tag, 0)));
  } catch (const FileError&) {
    if (messages != nullptr) messages->add("the directory " + tag_name(tag) + " is damaged and was left out");
    return std::nullopt;
  }
}

void append_directory(Bytes& block, Encoding encoding, const std::vector<Field>& fields) {
  const Bytes directory = encoded_directory(encoding, fields, static_cast<std::int64_t>(block.size()), 0);
  block.insert(block.end(), directory.begin(), directory.end());
}

Bytes encoded_block(Encoding encoding, const ExifDirectories& directories) {
  // Directories lie one behind the other: where each begins follows from the sizes, which do not depend on the values of references.
  const auto size = [&](const std::vector<Field>& fields, int references) {
    std::vector<Field> all = fields;
    for (int i = 0; i < references; ++i) all.push_back(long_field(0, 0));
    return static_cast<std::uint32_t>(encoded_directory_bytes(encoding, all));
  };
  std::vector<Field> main = directories.main, exif = directories.exif;
  const bool has_exif = !exif.empty(), has_gps = !directories.gps.empty(), has_interoperability = !directories.interoperability.empty();
  const auto begin = static_cast<std::uint32_t>(encoding.header_bytes());
  const std::uint32_t exif_begin = begin + size(main, static_cast<int>(has_exif) + static_cast<int>(has_gps));
  const std::uint32_t interoperability_begin = exif_begin + (has_exif ? size(exif, static_cast<int>(has_interoperability)) : 0);
  const std::uint32_t gps_begin = interoperability_begin + (has_exif && has_interoperability ? size(directories.interoperability, 0) : 0);
  if (has_exif) main.push_back(long_field(kExifIfd, exif_begin));
  if (has_gps) main.push_back(long_field(kGpsIfd, gps_begin));
  if (has_interoperability) exif.push_back(long_field(kInteroperabilityIfd, interoperability_begin));

  Bytes block = encoded_header(encoding, begin);
  append_directory(block, encoding, main);
  if (has_exif) append_directory(block, encoding, exif);
  if (has_exif && has_interoperability) append_directory(block, encoding, directories.interoperability);
  if (has_gps) append_directory(block, encoding, directories.gps);
  return block;
}

}  // namespace

std::optional<Bytes> exif_block(const StructureReader& file, const DirectoryPlace& directory, Messages& messages) {
  ExifDirectories found;
  if (const auto exif = referred(file, directory, kExifIfd, &messages)) {
    found.exif = fields_of(file, *exif, &messages);
    if (const auto other = referred(file, *exif, kInteroperabilityIfd, &messages))
      found.interoperability = fields_of(file, *other, &messages);
  }
  if (const auto gps = referred(file, directory, kGpsIfd, &messages)) found.gps = fields_of(file, *gps, &messages);
  if (found.exif.empty() && found.gps.empty()) return std::nullopt;
  for (const FieldPlace& place : directory.fields) {
    const bool wanted = std::find(kMainTags.begin(), kMainTags.end(), place.tag) != kMainTags.end();
    if (wanted && file.is_whole(place)) found.main.push_back(file.read(place));
  }
  return encoded_block({.big_endian = file.is_big_endian(), .big_offsets = false}, found);
}

ExifDirectories exif_directories(std::span<const std::uint8_t> block) {
  const std::unique_ptr<ByteSource> source = memory_source(Bytes(block.begin(), block.end()));
  ExifDirectories found;
  try {
    const StructureReader file(*source);
    const DirectoryPlace main = file.read_directory(file.first());
    found.main = fields_of(file, main, nullptr);
    if (const auto exif = referred(file, main, kExifIfd, nullptr)) {
      found.exif = fields_of(file, *exif, nullptr);
      if (const auto other = referred(file, *exif, kInteroperabilityIfd, nullptr))
        found.interoperability = fields_of(file, *other, nullptr);
    }
    if (const auto gps = referred(file, main, kGpsIfd, nullptr)) found.gps = fields_of(file, *gps, nullptr);
  } catch (const FileError&) {
    throw FileError("has an Exif block that is damaged");
  }
  return found;
}

}  // namespace mollify::files::tiff
