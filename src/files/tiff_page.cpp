// One directory: how its samples are stored, what its channels are, and its other fields as items.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <set>

#include "files/tiff_exif.h"
#include "files/tiff_library.h"
#include "files/tiff_pages.h"
#include "files/tiff_tags.h"

namespace mollify::files::tiff {
namespace {

constexpr std::uint64_t kMostSamples = 65535;

[[noreturn]] void refuse(const std::string& why) {
  throw FileError(why);
}

// The one value of a field that has one for each sample.
std::uint64_t common_value(const StructureReader& file, const DirectoryPlace& directory, std::uint16_t tag, std::uint64_t otherwise) {
  const std::vector<std::uint64_t> values = file.integers(directory, tag, kMostSamples);
  if (values.empty()) return otherwise;
  if (std::any_of(values.begin(), values.end(), [&](std::uint64_t v) { return v != values.front(); })) {
    refuse("has samples of different types in one picture (" + tag_name(tag) + "), which is not supported");
  }
  return values.front();
}

// The largest of the samples' depths, where they differ.
std::uint64_t read_bits(const StructureReader& file, const DirectoryPlace& directory, PageOfFile& result, Messages& messages) {
  const std::vector<std::uint64_t> bits = file.integers(directory, kBitsPerSample, kMostSamples);
  if (bits.empty()) return result.layout.compression == COMPRESSION_OJPEG ? 8 : 1;
  const auto [least, most] = std::ranges::minmax(bits);
  if (least == most) return most;
  const bool is_plain = result.layout.compression == COMPRESSION_NONE && directory.find(kTileWidth) == nullptr &&
                        bits.size() == file.integer(directory, kSamplesPerPixel, 1) && file.integer(directory, kPlanarConfig, 1) == 1 &&
                        common_value(file, directory, kSampleFormat, SAMPLEFORMAT_UINT) == SAMPLEFORMAT_UINT && least > 0 && most <= 32;
  if (!is_plain) refuse("has samples of different depths that are compressed, in tiles or planes, or no integers, which is not supported");
  std::string text;
  for (const std::uint64_t each : bits) {
    result.layout.mixed_bits.push_back(static_cast<int>(each));
    if (result.layout.mixed_bits.size() <= 8) text += (text.empty() ? "" : ", ") + std::to_string(each);
  }
  result.layout.strip_offsets = file.integers(directory, kStripOffsets);
  const std::uint64_t whole = most <= 8 ? 8 : most <= 16 ? 16 : 32;
  messages.add("samples of different depths (" + text + " bits) became " + std::to_string(whole) + " bits of full scale");
  return whole;
}

void read_sample_layout(const StructureReader& file, const DirectoryPlace& directory, PageOfFile& result, Messages& messages) {
  const std::uint64_t bits = read_bits(file, directory, result, messages);
  const std::uint64_t format = common_value(file, directory, kSampleFormat, SAMPLEFORMAT_UINT);
  auto& coding = std::get<TiffCoding>(result.page.coding);
  coding.is_complex = format == SAMPLEFORMAT_COMPLEXINT || format == SAMPLEFORMAT_COMPLEXIEEEFP;
  SampleLayout& sample = result.layout.sample;
  sample.bits = static_cast<int>(std::min<std::uint64_t>(bits, 1024)) / (coding.is_complex ? 2 : 1);
  sample.kind = format == SAMPLEFORMAT_INT || format == SAMPLEFORMAT_COMPLEXINT         ? SampleKind::signed_integer
                : format == SAMPLEFORMAT_IEEEFP || format == SAMPLEFORMAT_COMPLEXIEEEFP ? SampleKind::floating
                                                                                        : SampleKind::unsigned_integer;
  const bool is_float = sample.kind == SampleKind::floating;
  const bool exists = is_float ? sample.bits == 16 || sample.bits == 24 || sample.bits == 32 || sample.bits == 64
                               : (sample.bits >= 1 && sample.bits <= 32) || sample.bits == 64;
  if (!exists || bits % (coding.is_complex ? 2 : 1) != 0)
    refuse("has samples of " + std::to_string(bits) + " bits of a kind that does not exist");
  coding.bits = sample.bits;
  const int full = 8 * bytes_of(number_type(sample));
  if (!is_float && sample.bits < full) result.page.significant_bits = sample.bits;
}

void read_size(const StructureReader& file, const DirectoryPlace& directory, PageOfFile& result) {
  const std::uint64_t width = file.integer(directory, kImageWidth, 0), height = file.integer(directory, kImageLength, 0);
  constexpr std::uint64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (width == 0 || height == 0) refuse("has a page without a size");
  if (width > kMost || height > kMost)
    refuse("claims a page of " + std::to_string(width) + "x" + std::to_string(height) + " pixels, which is too large");
  result.page.width = static_cast<std::int32_t>(width);
  result.page.height = static_cast<std::int32_t>(height);
  if (file.integer(directory, kImageDepth, 1) > 1 || file.integer(directory, kTileDepth, 1) > 1) {
    refuse("is a volume (ImageDepth or TileDepth above 1), which cannot be blurred as an image");
  }
}

void read_striles(const StructureReader& file, const DirectoryPlace& directory, PageOfFile& result) {
  Layout& layout = result.layout;
  Page& page = result.page;
  auto& coding = std::get<TiffCoding>(page.coding);
  layout.tiled = directory.find(kTileWidth) != nullptr;
  constexpr std::uint64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (layout.tiled) {
    const std::uint64_t width = file.integer(directory, kTileWidth, 0), height = file.integer(directory, kTileLength, 0);
    if (width == 0 || height == 0 || width > kMost || height > kMost) refuse("has tiles without a size");
    // Files of small pictures have tiles larger than these, but none has tiles of gigabytes for a picture of kilobytes.
    const std::uint64_t area = static_cast<std::uint64_t>(page.width) * static_cast<std::uint64_t>(page.height);
    if (width * height > std::max<std::uint64_t>(16 * area, 1 << 24)) refuse("has tiles that are far larger than its picture");
    layout.strile_width = static_cast<std::uint32_t>(page.tile_width = static_cast<std::int32_t>(width));
    layout.strile_rows = static_cast<std::uint32_t>(page.tile_height = static_cast<std::int32_t>(height));
  } else {
    const std::uint64_t rows = file.integer(directory, kRowsPerStrip, kMost);
    layout.strile_width = static_cast<std::uint32_t>(page.width);
    layout.strile_rows = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(rows, 1, static_cast<std::uint64_t>(page.height)));
    coding.rows_per_strip = layout.strile_rows;
  }
}

// Whether the file has a place for each strip or tile that the size asks for: libtiff would make the missing ones up.
void require_striles(const StructureReader& file, const DirectoryPlace& directory, const PageOfFile& result) {
  const Layout& layout = result.layout;
  if (layout.compression == COMPRESSION_OJPEG) return;  // libtiff finds them by itself
  const auto across = (static_cast<std::uint64_t>(result.page.width) + layout.strile_width - 1) / layout.strile_width;
  const auto down = (static_cast<std::uint64_t>(result.page.height) + layout.strile_rows - 1) / layout.strile_rows;
  const FieldPlace* offsets = directory.find(layout.tiled ? kTileOffsets : kStripOffsets);
  if (offsets == nullptr) offsets = directory.find(layout.tiled ? kStripOffsets : kTileOffsets);  // written so by some
  if (offsets == nullptr) refuse("has a page without pixels");
  if (!file.is_whole(*offsets) || offsets->count / static_cast<std::uint64_t>(layout.planes()) / across < down)
    refuse("is cut off: it lacks strips or tiles");
}

std::vector<double> numbers(const StructureReader& file, const DirectoryPlace& directory, std::uint16_t tag) {
  const FieldPlace* place = directory.find(tag);
  if (place == nullptr || place->type != kRational || place->count > 64 || !file.is_whole(*place)) return {};
  const Field field = file.read(*place);
  std::vector<double> values;
  for (std::size_t i = 0; i < field.count; ++i) {
    std::uint32_t pair[2];
    std::memcpy(pair, field.data.data() + 8 * i, 8);
    values.push_back(pair[1] == 0 ? 0.0 : double{1} * pair[0] / pair[1]);
  }
  return values;
}

void read_resolution(const StructureReader& file, const DirectoryPlace& directory, Page& page, Messages& messages) {
  if (directory.find(kXResolution) == nullptr && directory.find(kYResolution) == nullptr) return;
  const std::vector<double> x = numbers(file, directory, kXResolution), y = numbers(file, directory, kYResolution);
  if (x.empty() || y.empty() || !(x[0] > 0) || !(y[0] > 0)) {
    return messages.add("the resolution was left out: it is zero, of one axis only, or of no type that a resolution has");
  }
  const std::uint64_t unit = file.integer(directory, kResolutionUnit, 2);
  page.resolution = {x[0], y[0], unit == 1 ? Resolution::Unit::none : unit == 3 ? Resolution::Unit::centimetre : Resolution::Unit::inch};
  auto& coding = std::get<TiffCoding>(page.coding);
  std::memcpy(coding.resolution.data(), file.read(*directory.find(kXResolution)).data.data(), 8);
  std::memcpy(coding.resolution.data() + 2, file.read(*directory.find(kYResolution)).data.data(), 8);
}

void read_ycbcr(const StructureReader& file, const DirectoryPlace& directory, Layout& layout) {
  if (const auto luma = numbers(file, directory, kYCbCrCoefficients); luma.size() == 3 && luma[1] > 0)
    std::copy(luma.begin(), luma.end(), layout.ycbcr.luma.begin());
  if (const auto reference = numbers(file, directory, kReferenceBlackWhite); reference.size() == 6)
    std::copy(reference.begin(), reference.end(), layout.ycbcr.reference.begin());
  const std::vector<std::uint64_t> factors = file.integers(directory, kYCbCrSubsampling, 2);
  layout.ycbcr.h = layout.ycbcr.v = 2;
  if (factors.size() == 2) {
    const auto is_factor = [](std::uint64_t f) { return f == 1 || f == 2 || f == 4; };
    if (!is_factor(factors[0]) || !is_factor(factors[1])) refuse("has YCbCr with subsampling that does not exist");
    layout.ycbcr.h = static_cast<int>(factors[0]);
    layout.ycbcr.v = static_cast<int>(factors[1]);
  }
}

// Of JPEG libtiff converts interleaved samples, but not planes.
void read_ycbcr_layout(const StructureReader& file, const DirectoryPlace& directory, PageOfFile& result) {
  Layout& layout = result.layout;
  const SampleLayout& sample = layout.sample;
  const bool is_known = sample.kind == SampleKind::unsigned_integer && sample.bits <= 32 && layout.mixed_bits.empty();
  if (!is_known) refuse("has YCbCr that is no unsigned integers of one depth of at most 32 bits, which is not supported");
  layout.ycbcr.bits = sample.bits;
  layout.ycbcr.reference = usual_reference(sample.bits);
  read_ycbcr(file, directory, layout);
  layout.conversion = Conversion::ycbcr;
  const bool is_subsampled = layout.ycbcr.h * layout.ycbcr.v > 1;
  layout.packs_blocks = is_subsampled && !layout.planar;
  if (layout.packs_blocks && layout.samples != 3)
    refuse("has subsampled YCbCr with further samples in one plane, whose order nothing defines");
  if (is_subsampled && layout.planar && layout.compression == COMPRESSION_JPEG)
    refuse("has subsampled YCbCr as planes of JPEG, which is not supported");
}

// The colour model, how many of the samples are colours as stored, and what has to be done to them.
int read_photometric(const StructureReader& file, const DirectoryPlace& directory, PageOfFile& result, int extra, Messages& messages) {
  Page& page = result.page;
  Layout& layout = result.layout;
  auto& coding = std::get<TiffCoding>(page.coding);
  const int colours = std::max(1, layout.samples - extra);
  const int guess = layout.compression == COMPRESSION_OJPEG && colours >= 3 ? PHOTOMETRIC_YCBCR
                    : colours >= 3                                          ? PHOTOMETRIC_RGB
                                                                            : PHOTOMETRIC_MINISBLACK;
  coding.photometric =
      static_cast<int>(std::min<std::uint64_t>(file.integer(directory, kPhotometric, static_cast<std::uint64_t>(guess)), 1 << 20));
  if (layout.compression == COMPRESSION_OJPEG && coding.photometric == PHOTOMETRIC_RGB)
    coding.photometric = PHOTOMETRIC_YCBCR;  // as libtiff does
  const auto need = [&](int samples, const char* what) {
    if (layout.samples < samples) refuse(std::string("has ") + what + " of too few samples");
    return samples;
  };
  switch (coding.photometric) {
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_MINISBLACK:
    case PHOTOMETRIC_MASK:
      page.model = ColourModel::grey;
      page.white_is_zero = coding.photometric == PHOTOMETRIC_MINISWHITE;
      return 1;
    case PHOTOMETRIC_RGB:
      page.model = ColourModel::rgb;
      return need(3, "RGB");
    case PHOTOMETRIC_PALETTE: {
      page.model = ColourModel::rgb;
      layout.conversion = Conversion::palette;
      const int bits = layout.sample.bits;
      const std::vector<std::uint64_t> map = file.integers(directory, kColorMap, 3 << 16);
      if (bits > 16 || layout.sample.kind != SampleKind::unsigned_integer || map.size() < 3 || !layout.mixed_bits.empty())
        refuse("has a palette without colours");
      layout.palette = Palette(map, bits);
      page.significant_bits = 0;
      messages.add("the palette became RGB");
      return 1;
    }
    case PHOTOMETRIC_SEPARATED: {
      page.model = colours == 4 && file.integer(directory, kInkSet, INKSET_CMYK) == INKSET_CMYK ? ColourModel::cmyk : ColourModel::other;
      return colours;
    }
    case PHOTOMETRIC_YCBCR:
      page.model = ColourModel::rgb;
      need(3, "YCbCr");
      if (layout.compression == COMPRESSION_JPEG && !layout.planar) return 3;
      read_ycbcr_layout(file, directory, result);
      messages.add("YCbCr became RGB");
      return 3;
    case PHOTOMETRIC_CIELAB:
    case PHOTOMETRIC_ICCLAB:
    case PHOTOMETRIC_ITULAB:
      page.model = colours == 1 ? ColourModel::grey : ColourModel::lab;
      if (colours == 1) return 1;
      if (coding.photometric == PHOTOMETRIC_CIELAB) layout.conversion = Conversion::lab_signs;
      return need(3, "Lab");
    case PHOTOMETRIC_LOGL:
    case PHOTOMETRIC_LOGLUV:
      if (layout.compression != COMPRESSION_SGILOG && layout.compression != COMPRESSION_SGILOG24)
        refuse("has LogLuv in a compression that is not supported");
      page.model = coding.photometric == PHOTOMETRIC_LOGL ? ColourModel::grey : ColourModel::rgb;
      if (page.model == ColourModel::rgb) layout.conversion = Conversion::xyz;
      layout.sample = {.bits = 32, .kind = SampleKind::floating};
      layout.samples = page.model == ColourModel::rgb ? 3 : 1;
      page.significant_bits = 0;
      messages.add("LogLuv became floats in linear light");
      return layout.samples;
    case PHOTOMETRIC_CFA:
      refuse("is a camera's raw file: its pixels lie behind a colour filter array");
    default:
      refuse("has a photometric interpretation that is unknown (" + std::to_string(coding.photometric) + ")");
  }
}

// Each sample is two channels. Where there is one sample, its halves need no number.
void name_complex_channels(Page& page, const Layout& layout, NumberType type) {
  for (int sample = 0; 2 * sample < layout.samples; ++sample) {
    const std::string number = layout.samples > 2 ? " " + std::to_string(sample) : "";
    for (const char* half : {"real", "imaginary"}) page.channels.push_back({half + number, type, ChannelRole::data});
  }
}

void name_channels(Page& page, const Layout& layout, int colours, const std::vector<std::uint64_t>& extras) {
  static constexpr std::array<std::array<const char*, 4>, 4> kNames = {{{"Y"}, {"R", "G", "B"}, {"C", "M", "Y", "K"}, {"L", "a", "b"}}};
  const bool palette = layout.conversion == Conversion::palette;
  const NumberType type = palette ? layout.palette.type() : layout.stored_type();
  const int count = palette ? 3 : colours;
  if (std::get<TiffCoding>(page.coding).is_complex) return name_complex_channels(page, layout, type);
  for (int c = 0; c < count; ++c) {
    const bool named = page.model != ColourModel::other;
    page.channels.push_back({named ? kNames[static_cast<std::size_t>(page.model)][static_cast<std::size_t>(c)] : std::to_string(c), type,
                             named ? ChannelRole::colour : ChannelRole::data});
  }
  for (int c = colours; c < layout.samples; ++c) {
    const auto index = static_cast<std::size_t>(c - colours);
    const std::uint64_t extra = index < extras.size() ? extras[index] : EXTRASAMPLE_UNSPECIFIED;
    const bool is_alpha = page.alpha == AlphaKind::none && (extra == EXTRASAMPLE_ASSOCALPHA || extra == EXTRASAMPLE_UNASSALPHA);
    if (is_alpha) page.alpha = extra == EXTRASAMPLE_ASSOCALPHA ? AlphaKind::associated : AlphaKind::unassociated;
    page.channels.push_back(
        {is_alpha ? "A" : std::to_string(page.channels.size()), type, is_alpha ? ChannelRole::alpha : ChannelRole::data});
    std::get<TiffCoding>(page.coding).extra_samples.push_back(static_cast<std::uint16_t>(extra));
  }
}

double no_data(const StructureReader& file, const DirectoryPlace& directory) {
  const FieldPlace* place = directory.find(kGdalNoData);
  if (place == nullptr || place->type != kAscii || place->count > 64 || !file.is_whole(*place)) return 0.0;
  const Bytes text = file.read_raw(*place);
  return std::strtod(std::string(text.begin(), text.end()).c_str(), nullptr);
}

Item item_of(const StructureReader& file, const FieldPlace& place, const TagRow& row) {
  // Blocks are bytes in the file's order, also where their type says numbers.
  const bool is_block =
      row.kind == ItemKind::iptc || row.kind == ItemKind::xmp || row.kind == ItemKind::photoshop || row.kind == ItemKind::icc_profile;
  Item item{.kind = row.kind, .name = std::string(row.name), .data = is_block ? file.read_raw(place) : file.read(place).data};
  if (item.name.empty()) item.name = "tag " + std::to_string(place.tag);
  item.number = place.tag;
  item.type = place.type;
  item.count = place.count;
  if (place.tag == kImageDescription) {
    const std::string_view text(reinterpret_cast<const char*>(item.data.data()), std::min<std::size_t>(item.data.size(), 4096));
    if (text.starts_with("ImageJ=")) item.kind = ItemKind::imagej;
    if (text.find("<OME") != std::string_view::npos) item.kind = ItemKind::ome_xml;
  }
  return item;
}

}  // namespace

PageOfFile describe_page(const StructureReader& file, const DirectoryPlace& directory, Messages& messages) {
  PageOfFile result;
  Page& page = result.page;
  Layout& layout = result.layout;
  TiffCoding& coding = page.coding.emplace<TiffCoding>();
  layout.directory = directory.offset;
  layout.compression = coding.compression = static_cast<int>(std::min<std::uint64_t>(file.integer(directory, kCompression, 1), 65536));
  if (!is_supported(layout.compression))
    refuse("has pixels in a compression that is not supported: " + compression_name(layout.compression));
  read_size(file, directory, result);
  read_sample_layout(file, directory, result, messages);
  const std::uint64_t samples = file.integer(directory, kSamplesPerPixel, layout.compression == COMPRESSION_OJPEG ? 3 : 1);
  if (samples == 0 || samples > kMostSamples) refuse("has pixels of " + std::to_string(samples) + " samples");
  layout.samples = static_cast<int>(samples) * (coding.is_complex ? 2 : 1);
  layout.planar = coding.planar = file.integer(directory, kPlanarConfig, 1) == 2 && samples > 1;
  if (coding.is_complex && layout.planar) {
    layout.plane_samples = 2;
    messages.add("planes of complex numbers became one");
  }
  layout.reverses_bits = coding.reverses_bits = file.integer(directory, kFillOrder, 1) == 2;
  coding.predictor = static_cast<int>(file.integer(directory, kPredictor, 1));
  coding.subfile_type =
      static_cast<std::uint32_t>(file.integer(directory, kSubfileType, file.integer(directory, kOldSubfileType, 1) == 2 ? 1 : 0));
  read_striles(file, directory, result);
  const std::vector<std::uint64_t> extras = file.integers(directory, kExtraSamples, kMostSamples);
  const int colours =
      read_photometric(file, directory, result, static_cast<int>(std::min<std::size_t>(extras.size(), samples - 1)), messages);
  require_striles(file, directory, result);
  name_channels(page, layout, colours, extras);
  layout.fill = no_data(file, directory);
  const std::uint64_t orientation = file.integer(directory, kOrientation, 1);
  const bool is_orientation = orientation >= 1 && orientation <= 8;
  page.orientation = is_orientation ? static_cast<Orientation>(orientation) : 1;
  if (!is_orientation) messages.add("the orientation " + std::to_string(orientation) + ", which does not exist, was left out");
  read_resolution(file, directory, page, messages);
  if (layout.sample.bits == 64 && layout.sample.kind != SampleKind::floating) messages.add("integers of 64 bits became 64-bit floats");
  page.items = items_of(file, directory, messages);
  if (coding.photometric == PHOTOMETRIC_YCBCR)
    std::erase_if(page.items, [](const Item& item) { return item.number == kReferenceBlackWhite; });
  return result;
}

std::vector<Item> items_of(const StructureReader& file, const DirectoryPlace& directory, Messages& messages) {
  std::vector<Item> items;
  std::set<std::uint16_t> seen;
  for (const FieldPlace& place : directory.fields) {
    const TagRow row = tag_row(place.tag);
    if (row.use == TagUse::structure || row.use == TagUse::directory) continue;
    if (!file.is_whole(place)) {
      messages.add(tag_name(place.tag) + " is damaged and was left out");
    } else if (!seen.insert(place.tag).second) {
      messages.add(tag_name(place.tag) + " comes twice, and the second one was left out");
    } else if (row.use == TagUse::untrue) {
      messages.add(tag_name(place.tag) + " is not true of a blurred picture and was left out");
    } else if (row.use == TagUse::elsewhere || place.type == kIfd || place.type == kIfd8) {
      messages.add(tag_name(place.tag) + " refers to other places of the file and was left out");
    } else {
      items.push_back(item_of(file, place, row));
    }
  }
  if (auto exif = exif_block(file, directory, messages))
    items.push_back({.kind = ItemKind::exif, .name = "Exif", .data = std::move(*exif)});
  return items;
}

}  // namespace mollify::files::tiff
