#include "files/tiff_substitute.h"

#include <tiff.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "files/tiff_tags.h"

namespace mollify::files::tiff {
namespace {

std::uint32_t divided(std::int64_t value, int by) {
  return static_cast<std::uint32_t>((value + by - 1) / by);
}

std::uint16_t format_of(SampleKind kind) {
  return kind == SampleKind::floating ? SAMPLEFORMAT_IEEEFP : kind == SampleKind::signed_integer ? SAMPLEFORMAT_INT : SAMPLEFORMAT_UINT;
}

struct Grid {
  std::int64_t across = 0, down = 0;
};
Grid striles_of(const PageOfFile& page) {
  return {divided(page.page.width, static_cast<int>(page.layout.strile_width)),
          divided(page.page.height, static_cast<int>(page.layout.strile_rows))};
}

/// Sizes and samples of the grey picture.
std::vector<Field> shape_fields(const PageOfFile& page, int plane) {
  const Layout& layout = page.layout;
  const auto [across, down] = striles_of(page);
  const PerAxis<int> step = layout.pixels_of_plane(plane);
  const bool are_bytes = layout.view == View::bytes;
  const std::int64_t strile_width = are_bytes ? layout.strile_row_bytes() : divided(layout.strile_width, step.x);
  const std::int64_t strile_rows = divided(layout.strile_rows, step.y);
  // The last strips of subsampled planes have rows of their own, as all others have.
  const std::int64_t last_rows = divided(page.page.height - (down - 1) * layout.strile_rows, step.y);
  const std::int64_t width = are_bytes || layout.tiled ? strile_width * across : divided(page.page.width, step.x);
  const SampleLayout sample = are_bytes ? SampleLayout{} : layout.sample_of_plane(plane);
  const int samples = layout.view == View::samples ? layout.samples : 1;
  if (std::max(width, strile_rows * down) > std::numeric_limits<std::int32_t>::max())
    throw FileError("has rows of more bytes than can be read");
  const std::vector<std::uint16_t> bits(static_cast<std::size_t>(samples), static_cast<std::uint16_t>(sample.bits));
  const std::vector<std::uint16_t> formats(bits.size(), format_of(sample.kind));
  std::vector<Field> fields = {long_field(kImageWidth, static_cast<std::uint32_t>(width)),
                               long_field(kImageLength, static_cast<std::uint32_t>((down - 1) * strile_rows + last_rows)),
                               shorts_field(kBitsPerSample, bits),
                               short_field(kCompression, static_cast<std::uint16_t>(layout.compression)),
                               short_field(kPhotometric, PHOTOMETRIC_MINISBLACK),
                               short_field(kSamplesPerPixel, static_cast<std::uint16_t>(samples)),
                               short_field(kPlanarConfig, 1),
                               shorts_field(kSampleFormat, formats)};
  if (samples > 1) fields.push_back(shorts_field(kExtraSamples, std::vector<std::uint16_t>(bits.size() - 1)));
  if (layout.tiled) {
    fields.push_back(long_field(kTileWidth, static_cast<std::uint32_t>(strile_width)));
    fields.push_back(long_field(kTileLength, static_cast<std::uint32_t>(strile_rows)));
  } else {
    fields.push_back(long_field(kRowsPerStrip, static_cast<std::uint32_t>(strile_rows)));
  }
  return fields;
}

/// One of the two tags of a place or a size, which some writers mistake for each other.
std::vector<std::uint64_t> values_of(const StructureReader& file, const DirectoryPlace& directory, bool tiled, std::uint16_t of_tiles,
                                     std::uint16_t of_strips) {
  const std::uint16_t tag = tiled ? of_tiles : of_strips, other = tiled ? of_strips : of_tiles;
  return file.integers(directory, directory.find(tag) != nullptr ? tag : other);
}

/// From the strips or tiles of all planes those that are shown.
std::vector<std::uint64_t> part_of(const std::vector<std::uint64_t>& all, const PageOfFile& page, int plane) {
  const auto [across, down] = striles_of(page);
  const std::int64_t count = across * down;
  const std::int64_t begin = page.layout.view == View::planes ? plane * count : 0;
  if (static_cast<std::int64_t>(all.size()) < begin + count) throw FileError("is cut off: it lacks strips or tiles");
  return {all.begin() + begin, all.begin() + begin + count};
}

}  // namespace

SubstituteSource::SubstituteSource(ByteSource& file, const PageOfFile& page, int plane) : file_(file) {
  const StructureReader structure(file);
  const DirectoryPlace directory = structure.read_directory(page.layout.directory);
  const bool tiled = page.layout.tiled;
  std::vector<Field> fields = shape_fields(page, plane);
  for (const std::uint16_t tag : {kFillOrder, kPredictor, kJpegTables, kT4Options, kT6Options, kLercParameters}) {
    // Differences between bytes are none between samples: unpack_mixed() adds them up.
    if (const FieldPlace* place = directory.find(tag); place != nullptr && !(tag == kPredictor && page.layout.view == View::bytes))
      fields.push_back(structure.read(*place));
  }
  constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();  // so that the directory has a known size
  const auto counts = values_of(structure, directory, tiled, kTileByteCounts, kStripByteCounts);
  fields.push_back(offsets_field(tiled ? kTileByteCounts : kStripByteCounts, part_of(counts, page, plane), kLargest));
  auto offsets = part_of(values_of(structure, directory, tiled, kTileOffsets, kStripOffsets), page, plane);
  fields.push_back(offsets_field(tiled ? kTileOffsets : kStripOffsets, offsets, kLargest));

  const Encoding encoding{.big_endian = structure.is_big_endian(), .big_offsets = true};
  const auto shift = static_cast<std::uint64_t>(kHeaderBytes + encoded_directory_bytes(encoding, fields));
  for (std::uint64_t& each : offsets) each = each == 0 ? 0 : each + shift;  // 0: left out of a sparse file
  fields.back() = offsets_field(tiled ? kTileOffsets : kStripOffsets, offsets, kLargest);
  front_ = encoded_header(encoding, kHeaderBytes);
  const Bytes encoded = encoded_directory(encoding, fields, kHeaderBytes, 0);
  front_.insert(front_.end(), encoded.begin(), encoded.end());
}

std::size_t SubstituteSource::read_at(std::int64_t offset, std::span<std::uint8_t> into) {
  if (offset >= shift()) return file_.read_at(offset - shift(), into);
  const std::size_t count = std::min(into.size(), static_cast<std::size_t>(shift() - offset));
  std::memcpy(into.data(), front_.data() + offset, count);
  return count == into.size() ? count : count + file_.read_at(0, into.subspan(count));
}

}  // namespace mollify::files::tiff
