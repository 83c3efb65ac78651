#include "files/tiff_fields.h"

#include <tiff.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>

#include "files/resolution.h"
#include "files/tiff_tags.h"

namespace mollify::files::tiff {
namespace {

void add_resolution(const Page& page, std::vector<Field>& fields) {
  const auto resolution = page.resolution ? resolution_in(FileFormat::tiff, *page.resolution) : std::nullopt;
  if (!resolution) return;
  std::array<std::uint32_t, 2> x = rational_of(resolution->x), y = rational_of(resolution->y);
  if (const auto* coding = std::get_if<TiffCoding>(&page.coding)) {
    const auto& stored = coding->resolution;
    if (stored[1] != 0 && double{1} * stored[0] / stored[1] == resolution->x) x = {stored[0], stored[1]};
    if (stored[3] != 0 && double{1} * stored[2] / stored[3] == resolution->y) y = {stored[2], stored[3]};
  }
  fields.push_back(rational_field(kXResolution, x));
  fields.push_back(rational_field(kYResolution, y));
  fields.push_back(short_field(kResolutionUnit, resolution->unit == Resolution::Unit::none   ? 1
                                                : resolution->unit == Resolution::Unit::inch ? 2
                                                                                             : 3));
}

void add_extra_samples(const Page& page, const PageLayout& layout, std::vector<Field>& fields) {
  const int unit = layout.is_complex ? 2 : 1;
  const int extra = (layout.samples - (layout.photometric == PHOTOMETRIC_MINISBLACK ? unit : colours_of(page))) / unit;
  if (extra <= 0) return;
  std::vector<std::uint16_t> kinds;
  for (const Channel& each : std::span(page.channels).last(static_cast<std::size_t>(extra))) {
    kinds.push_back(each.role != ChannelRole::alpha       ? EXTRASAMPLE_UNSPECIFIED
                    : page.alpha == AlphaKind::associated ? EXTRASAMPLE_ASSOCALPHA
                                                          : EXTRASAMPLE_UNASSALPHA);
  }
  if (const auto* coding = std::get_if<TiffCoding>(&page.coding); coding != nullptr && coding->extra_samples.size() == kinds.size()) {
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      if (kinds[i] == EXTRASAMPLE_UNSPECIFIED) kinds[i] = coding->extra_samples[i];  // a second alpha is data here
    }
  }
  fields.push_back(shorts_field(kExtraSamples, kinds));
}

std::uint16_t tag_of_text(const Item& item) {
  if (item.kind == ItemKind::comment) return kImageDescription;
  if (item.name == "Description" || item.name == "ImageDescription" || item.name == "Comment") return kImageDescription;
  if (item.name == "Software") return kSoftware;
  if (item.name == "Author" || item.name == "Artist") return kArtist;
  return item.name == "Copyright" ? kCopyright : 0;
}

// White, red, green, blue as two rational fields.
void add_chromaticities(const Item& item, std::vector<Field>& fields) {
  std::array<float, 8> xy{};
  if (item.data.size() != sizeof(xy)) return;
  std::memcpy(xy.data(), item.data.data(), sizeof(xy));
  std::vector<std::uint32_t> pairs;
  for (const float value : xy) {
    pairs.push_back(static_cast<std::uint32_t>(std::lround(std::clamp(double{value}, 0.0, 4.0) * 1e6)));
    pairs.push_back(1000000);
  }
  fields.push_back(rational_field(kWhitePoint, std::span(pairs).first(4)));
  fields.push_back(rational_field(kPrimaryChromaticities, std::span(pairs).last(12)));
}

// A field of an item. Blocks are bytes in the file's order: their values are swapped here, because the directory swaps them again.
Field field_of_tag(const Item& item, bool swaps) {
  Field field{static_cast<std::uint16_t>(item.number), static_cast<std::uint16_t>(item.type), 0, item.data};
  const auto unit = static_cast<std::size_t>(bytes_of_type(item.type));
  if (unit == 0) unaccounted(item, FileFormat::tiff);
  field.data.resize((field.data.size() + unit - 1) / unit * unit);
  field.count = field.data.size() / unit;
  const bool is_block =
      item.kind == ItemKind::iptc || item.kind == ItemKind::xmp || item.kind == ItemKind::photoshop || item.kind == ItemKind::icc_profile;
  if (is_block && swaps) swap_values(field.data, field.type);
  return field;
}

}  // namespace

std::vector<Field> structure_fields(const Page& page, const PageLayout& layout) {
  const auto* coding = std::get_if<TiffCoding>(&page.coding);
  const int unit = layout.is_complex ? 2 : 1;
  const std::vector<std::uint16_t> bits(static_cast<std::size_t>(layout.samples / unit),
                                        static_cast<std::uint16_t>(layout.sample.bits * unit));
  const std::vector<std::uint16_t> formats(bits.size(), static_cast<std::uint16_t>(sample_format(layout)));
  std::uint32_t subfile = coding != nullptr ? coding->subfile_type : page.kind == PageKind::level ? 1 : 0;
  if (page.kind == PageKind::mask) subfile |= 4;
  std::vector<Field> fields = {long_field(kSubfileType, subfile),
                               long_field(kImageWidth, static_cast<std::uint32_t>(page.width)),
                               long_field(kImageLength, static_cast<std::uint32_t>(page.height)),
                               shorts_field(kBitsPerSample, bits),
                               short_field(kCompression, static_cast<std::uint16_t>(layout.compression)),
                               short_field(kPhotometric, static_cast<std::uint16_t>(layout.photometric)),
                               short_field(kOrientation, static_cast<std::uint16_t>(page.orientation)),
                               short_field(kSamplesPerPixel, static_cast<std::uint16_t>(bits.size())),
                               short_field(kPlanarConfig, layout.planar ? 2 : 1),
                               shorts_field(kSampleFormat, formats)};
  if (layout.photometric == PHOTOMETRIC_YCBCR) {
    constexpr std::array<std::uint16_t, 2> kNone = {1, 1};
    fields.push_back(shorts_field(kYCbCrSubsampling, kNone));
  }
  if (layout.reverses_bits) fields.push_back(short_field(kFillOrder, 2));
  if (layout.predictor != 1) fields.push_back(short_field(kPredictor, static_cast<std::uint16_t>(layout.predictor)));
  if (layout.tiled) {
    fields.push_back(long_field(kTileWidth, layout.strile_width));
    fields.push_back(long_field(kTileLength, layout.strile_rows));
  } else {
    fields.push_back(long_field(kRowsPerStrip, layout.strile_rows));
  }
  add_extra_samples(page, layout, fields);
  add_resolution(page, fields);
  return fields;
}

Field text_field(std::uint16_t tag, const Bytes& text) {
  Field field = bytes_field(tag, kAscii, text);
  if (field.data.empty() || field.data.back() != 0) field.data.push_back(0);
  field.count = field.data.size();
  return field;
}

void add_item(const Item& item, bool swaps, Directory& directory) {
  std::vector<Field>& fields = directory.fields;
  if (item.type != 0) return fields.push_back(field_of_tag(item, swaps));
  switch (item.kind) {
    case ItemKind::exif:
      directory.exif = exif_directories(item.data);
      return;
    case ItemKind::icc_profile:
      return fields.push_back(bytes_field(kIccProfile, kUndefined, item.data));
    case ItemKind::xmp:
      return fields.push_back(bytes_field(kXmp, kByte, item.data));
    case ItemKind::iptc:
      return fields.push_back(bytes_field(kIptc, kUndefined, item.data));
    case ItemKind::photoshop:
      return fields.push_back(bytes_field(kPhotoshop, kByte, item.data));
    case ItemKind::timestamp:
      return fields.push_back(text_field(kDateTime, item.data));
    case ItemKind::chromaticities:
      return add_chromaticities(item, fields);
    case ItemKind::text:
    case ItemKind::comment:
      if (const std::uint16_t tag = tag_of_text(item); tag != 0) return fields.push_back(text_field(tag, item.data));
      break;
    default:
      break;
  }
  unaccounted(item, FileFormat::tiff);
}

void remove_repeated(std::vector<Field>& fields) {
  std::stable_sort(fields.begin(), fields.end(), [](const Field& a, const Field& b) { return a.tag < b.tag; });
  fields.erase(std::unique(fields.begin(), fields.end(), [](const Field& a, const Field& b) { return a.tag == b.tag; }), fields.end());
}

}  // namespace mollify::files::tiff
