#include "files/tiff_layout.h"

#include <algorithm>

#include "files/tiff_codestream.h"
#include "files/tiff_library.h"

namespace mollify::files::tiff {
namespace {

constexpr std::int64_t kStripBytes = 1 << 20;      // of strips whose size is ours to choose
constexpr std::int64_t kMostStripBytes = 8 << 20;  // of strips that are as large as the source's

int photometric_of(const Page& page, const TiffCoding* coding) {
  const int stored = coding != nullptr ? coding->photometric : -1;
  switch (page.model) {
    case ColourModel::grey:
      if (page.kind == PageKind::mask) return PHOTOMETRIC_MASK;
      return page.white_is_zero ? PHOTOMETRIC_MINISWHITE : PHOTOMETRIC_MINISBLACK;
    case ColourModel::rgb:
      return PHOTOMETRIC_RGB;
    case ColourModel::cmyk:
      return PHOTOMETRIC_SEPARATED;
    case ColourModel::lab:
      return stored == PHOTOMETRIC_ICCLAB || stored == PHOTOMETRIC_ITULAB ? stored : PHOTOMETRIC_CIELAB;
    case ColourModel::other:
      break;
  }
  return stored == PHOTOMETRIC_SEPARATED || stored == PHOTOMETRIC_YCBCR ? stored : PHOTOMETRIC_MINISBLACK;
}

SampleLayout sample_of(const Page& page, NumberType type, const TiffCoding* coding) {
  SampleLayout sample{.bits = 8 * bytes_of(type), .kind = SampleKind::unsigned_integer};
  if (is_float(type)) sample.kind = SampleKind::floating;
  if (is_signed_integer(type)) sample.kind = SampleKind::signed_integer;
  if (page.kind == PageKind::mask && type == NumberType::u8 && coding != nullptr && coding->bits == 1) sample.bits = 1;
  // Numbers of 10, 12, 14 or 24 bits are packed again; fewer than 8 bits are too coarse for what a blur makes.
  const bool is_packed = coding != nullptr && !is_float(type) && page.significant_bits == coding->bits && coding->bits > 8;
  if (is_packed && coding->bits < sample.bits && coding->bits > sample.bits / 2) sample.bits = coding->bits;
  return sample;
}

int predictor_of(const PageLayout& layout, int wanted) {
  const int bits = layout.sample.bits;
  if (!has_predictor(layout.compression) || wanted == 1 || bits < 8 || bits % 8 != 0 || layout.is_complex) return 1;
  if (layout.sample.kind == SampleKind::floating) return wanted == 2 && bits != 24 ? 2 : 3;
  return bits == 24 ? 1 : 2;
}

int compression_of(const PageLayout& layout, int wanted, Messages& messages) {
  switch (wanted) {
    case COMPRESSION_NONE:
    case COMPRESSION_LZW:
    case COMPRESSION_ADOBE_DEFLATE:
    case COMPRESSION_DEFLATE:
    case COMPRESSION_PACKBITS:
    case COMPRESSION_LZMA:
    case COMPRESSION_ZSTD:
      if (is_supported(wanted)) return wanted;
      break;
    case COMPRESSION_WEBP: {
      const bool fits = layout.sample.bits == 8 && layout.sample.kind == SampleKind::unsigned_integer && !layout.planar &&
                        (layout.samples == 3 || layout.samples == 4);
      if (fits && is_supported(wanted)) return wanted;
      break;
    }
    default:
      break;
  }
  // Of all kinds of JPEG the contract tells.
  if (jpeg_name_of(wanted).empty()) messages.add("the compression inside, " + compression_name(wanted) + ", became deflate");
  return COMPRESSION_ADOBE_DEFLATE;
}

/// The side of the smallest tile that covers so many pixels.
std::uint32_t smallest_side(std::int32_t pixels) {
  constexpr std::uint32_t kUnit = 16;
  return (static_cast<std::uint32_t>(pixels) + kUnit - 1) / kUnit * kUnit;
}

/// A file of few bytes can have tiles of gigabytes around a small picture. They become as small as the picture lets them be.
void limit_tiles(const Page& page, PageLayout& layout, Messages& messages) {
  if (layout.strile_row_bytes() <= kMostStripBytes / layout.strile_rows) return;
  const std::uint32_t width = std::min(layout.strile_width, smallest_side(page.width));
  const std::uint32_t rows = std::min(layout.strile_rows, smallest_side(page.height));
  if (width == layout.strile_width && rows == layout.strile_rows) return;
  layout.strile_width = width;
  layout.strile_rows = rows;
  messages.add("tiles of more than 8 MB were cut to the size of the picture");
}

}  // namespace

int colours_of(const Page& page) {
  const auto is_colour = [](const Channel& c) { return c.role != ChannelRole::alpha; };
  const auto count = static_cast<int>(std::count_if(page.channels.begin(), page.channels.end(), is_colour));
  switch (page.model) {
    case ColourModel::grey:
      return 1;
    case ColourModel::rgb:
    case ColourModel::lab:
      return 3;
    case ColourModel::cmyk:
      return 4;
    case ColourModel::other:
      break;
  }
  const auto* coding = std::get_if<TiffCoding>(&page.coding);
  return coding != nullptr && coding->photometric == PHOTOMETRIC_YCBCR ? std::min(3, count) : count;
}

int sample_format(const PageLayout& layout) {
  switch (layout.sample.kind) {
    case SampleKind::unsigned_integer:
      return SAMPLEFORMAT_UINT;
    case SampleKind::signed_integer:
      return layout.is_complex ? SAMPLEFORMAT_COMPLEXINT : SAMPLEFORMAT_INT;
    case SampleKind::floating:
      break;
  }
  return layout.is_complex ? SAMPLEFORMAT_COMPLEXIEEEFP : SAMPLEFORMAT_IEEEFP;
}

PageLayout layout_of(const Page& page, Messages& messages) {
  if (page.channels.empty() || page.width <= 0 || page.height <= 0) throw FileError("has a page without pixels");
  const auto* coding = std::get_if<TiffCoding>(&page.coding);
  PageLayout layout;
  layout.type = page.channels.front().type;
  for (const Channel& each : page.channels) {
    if (each.type != layout.type) throw FileError("cannot be TIFF: its channels have different types");
  }
  layout.samples = static_cast<int>(page.channels.size());
  if (layout.samples > 65535 || layout.samples < colours_of(page)) throw FileError("cannot be TIFF with these channels");
  layout.sample = sample_of(page, layout.type, coding);
  layout.is_complex = coding != nullptr && coding->is_complex && layout.samples % 2 == 0;
  layout.planar = coding != nullptr && coding->planar && layout.samples > 1 && !layout.is_complex;
  layout.reverses_bits = coding != nullptr && coding->reverses_bits;
  layout.photometric = photometric_of(page, coding);
  layout.compression = compression_of(layout, coding != nullptr ? coding->compression : COMPRESSION_ADOBE_DEFLATE, messages);
  layout.predictor = predictor_of(layout, coding != nullptr && coding->compression == layout.compression ? coding->predictor : 2);
  layout.tiled = page.tile_width > 0 && page.tile_height > 0 && page.tile_width % 16 == 0 && page.tile_height % 16 == 0;
  layout.strile_width = static_cast<std::uint32_t>(layout.tiled ? page.tile_width : page.width);
  layout.strile_rows = static_cast<std::uint32_t>(page.tile_height);
  if (layout.tiled) {
    limit_tiles(page, layout, messages);
  } else {
    const std::int64_t row = std::max<std::int64_t>(1, layout.strile_row_bytes());
    const std::int64_t wanted = coding != nullptr ? coding->rows_per_strip : 0;
    const std::int64_t rows = wanted > 0 && wanted * row <= kMostStripBytes ? wanted : std::max<std::int64_t>(1, kStripBytes / row);
    layout.strile_rows = static_cast<std::uint32_t>(std::min<std::int64_t>(rows, page.height));
  }
  return layout;
}

}  // namespace mollify::files::tiff
