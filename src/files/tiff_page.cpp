// One directory: how its samples are stored, what its channels are, and its other fields as items.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <set>

#include "files/numbers.h"
#include "files/tiff_codestream.h"
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

// What is wrong with a file whose fields contradict TIFF 6.0 and its supplements.
[[noreturn]] void refuse_as_invalid(const std::string& what) {
  refuse("is not a valid TIFF: " + what);
}

bool differ(const std::vector<std::uint64_t>& values) {
  return std::ranges::any_of(values, [&](std::uint64_t each) { return each != values.front(); });
}

bool is_complex(std::uint64_t format) {
  return format == SAMPLEFORMAT_COMPLEXINT || format == SAMPLEFORMAT_COMPLEXIEEEFP;
}

SampleLayout sample_of(std::uint64_t bits, std::uint64_t format) {
  const int parts = is_complex(format) ? 2 : 1;
  SampleLayout sample;
  sample.bits = static_cast<int>(std::min<std::uint64_t>(bits, 1024)) / parts;
  sample.kind = format == SAMPLEFORMAT_INT || format == SAMPLEFORMAT_COMPLEXINT         ? SampleKind::signed_integer
                : format == SAMPLEFORMAT_IEEEFP || format == SAMPLEFORMAT_COMPLEXIEEEFP ? SampleKind::floating
                                                                                        : SampleKind::unsigned_integer;
  const bool exists = sample.kind == SampleKind::floating ? sample.bits == 16 || sample.bits == 24 || sample.bits == 32 || sample.bits == 64
                                                          : (sample.bits >= 1 && sample.bits <= 32) || sample.bits == 64;
  if (!exists || bits % static_cast<std::uint64_t>(parts) != 0)
    refuse("has samples of " + std::to_string(bits) + " bits of a kind that does not exist");
  return sample;
}

// Unsigned integers become those of the widest, as stored in fewer bits. Other kinds are channels of several types.
void choose_types_of_mixed(std::vector<MixedSample>& mixed, Messages& messages) {
  std::string depths;
  for (const MixedSample& each : mixed) {
    if (&each < mixed.data() + 8) depths += (depths.empty() ? "" : ", ") + std::to_string(each.stored.bits);
  }
  const auto is_unsigned = [](const MixedSample& each) {
    return each.stored.kind == SampleKind::unsigned_integer && each.stored.bits <= 32;
  };
  if (!std::ranges::all_of(mixed, is_unsigned)) return;
  const NumberType widest = std::ranges::max(mixed, {}, &MixedSample::type).type;
  for (MixedSample& each : mixed) each.type = widest;
  messages.add("samples of different depths (" + depths + " bits) became " + std::to_string(8 * bytes_of(widest)) + " bits of full scale");
}

void read_mixed_samples(const std::vector<std::uint64_t>& bits, const std::vector<std::uint64_t>& formats, std::uint64_t samples,
                        Layout& layout, Messages& messages) {
  const auto require_one_each = [&](const std::vector<std::uint64_t>& values, std::uint16_t tag) {
    if (!differ(values) || values.size() == samples) return;
    refuse_as_invalid(tag_name(tag) + " has " + std::to_string(values.size()) + " values for " + std::to_string(samples) + " samples");
  };
  require_one_each(bits, kBitsPerSample);
  require_one_each(formats, kSampleFormat);
  if (std::ranges::any_of(formats, is_complex)) refuse_as_invalid("complex numbers and others are samples of one picture");
  for (std::size_t i = 0; i < samples; ++i) {
    const SampleLayout sample = sample_of(differ(bits) ? bits[i] : bits.front(), differ(formats) ? formats[i] : formats.front());
    layout.mixed.push_back({sample, number_type(sample)});
    if (sample.bits == 64 && sample.kind != SampleKind::floating) messages.add("integers of 64 bits became 64-bit floats");
  }
  if (differ(bits)) choose_types_of_mixed(layout.mixed, messages);
}

void read_sample_layout(const StructureReader& file, const DirectoryPlace& directory, PageOfFile& result, std::uint64_t samples,
                        Messages& messages) {
  std::vector<std::uint64_t> bits = file.integers(directory, kBitsPerSample, kMostSamples);
  if (bits.empty()) bits = {result.layout.compression == COMPRESSION_OJPEG ? std::uint64_t{8} : std::uint64_t{1}};
  std::vector<std::uint64_t> formats = file.integers(directory, kSampleFormat, kMostSamples);
  if (formats.empty()) formats = {SAMPLEFORMAT_UINT};
  auto& coding = std::get<TiffCoding>(result.page.coding);
  SampleLayout& sample = result.layout.sample;
  if (differ(bits) || differ(formats)) {
    read_mixed_samples(bits, formats, samples, result.layout, messages);
    sample = result.layout.mixed.front().stored;
    return;
  }
  coding.is_complex = is_complex(formats.front());
  sample = sample_of(bits.front(), formats.front());
  coding.bits = sample.bits;
  const int full = 8 * bytes_of(number_type(sample));
  if (sample.kind != SampleKind::floating && sample.bits < full) result.page.significant_bits = sample.bits;
}

// How libtiff has to see the page.
View view_of(const Layout& layout, const TiffCoding& coding) {
  if (codestream_of(layout.compression) != Codestream::none) return View::none;
  if (layout.compression == COMPRESSION_OJPEG) return View::directory;
  if (layout.planar) return layout.mixed.empty() && !layout.has_small_planes() ? View::directory : View::planes;
  if (!layout.mixed.empty()) {
    if (!codes_bytes(layout.compression))
      refuse_as_invalid("samples of different kinds are in one plane, and " + compression_name(layout.compression) + " has no such");
    if (has_predictor(layout.compression) && coding.predictor > PREDICTOR_HORIZONTAL)
      refuse_as_invalid("samples of different kinds are in one plane, with a predictor for floats");
    return View::bytes;
  }
  const bool is_ycbcr = coding.photometric == PHOTOMETRIC_YCBCR && layout.compression != COMPRESSION_JPEG;
  return is_ycbcr && !layout.packs_blocks && layout.samples > 3 ? View::samples : View::directory;
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

// YCbCr of unsigned integers becomes RGB. Of other numbers TIFF does not say which of them are grey, so these are blurred as they are.
void read_ycbcr_layout(const StructureReader& file, const DirectoryPlace& directory, PageOfFile& result, Messages& messages) {
  Layout& layout = result.layout;
  const SampleLayout& sample = layout.sample;
  if (!layout.mixed.empty()) refuse_as_invalid("the samples of YCbCr are of different kinds");
  if (std::get<TiffCoding>(result.page.coding).is_complex) refuse_as_invalid("YCbCr of complex numbers");
  if (sample.kind == SampleKind::unsigned_integer && sample.bits <= 32) {
    layout.ycbcr.bits = sample.bits;
    layout.ycbcr.reference = usual_reference(sample.bits);
    layout.conversion = Conversion::ycbcr;
    messages.add("YCbCr became RGB");
  } else {
    result.page.model = ColourModel::other;
    messages.add("YCbCr of numbers of which TIFF does not say which are grey (" + std::string(describe(number_type(sample))) +
                 ") is blurred as stored");
  }
  read_ycbcr(file, directory, layout);
  if (codestream_of(layout.compression) != Codestream::none) layout.ycbcr.h = layout.ycbcr.v = 1;  // decoders give all pixels
  const bool is_subsampled = layout.ycbcr.h * layout.ycbcr.v > 1;
  layout.packs_blocks = is_subsampled && !layout.planar;
  if (layout.packs_blocks && layout.samples != 3)
    refuse_as_invalid("subsampled YCbCr has further samples in its plane, whose order nothing defines");
}

/// Whether the strips or tiles of JPEG 2000 or JPEG XL hold YCbCr. It is for the first of them to say.
bool codestreams_hold_ycbcr(const StructureReader& file, const DirectoryPlace& directory, const Layout& layout, bool says_ycbcr) {
  const auto offsets = file.integers(directory, layout.tiled ? kTileOffsets : kStripOffsets);
  const auto counts = file.integers(directory, layout.tiled ? kTileByteCounts : kStripByteCounts);
  for (std::size_t i = 0; i < std::min(offsets.size(), counts.size()); ++i) {
    if (offsets[i] == 0 || counts[i] == 0) continue;  // left out of a sparse file
    constexpr std::uint64_t kMostHeader = 1 << 16;
    const auto size = static_cast<std::int64_t>(std::min(counts[i], kMostHeader));
    return holds_ycbcr(layout.compression, says_ycbcr, read_exactly(file.source(), static_cast<std::int64_t>(offsets[i]), size));
  }
  return false;
}

// The photometric interpretation of samples as they are decoded.
int photometric_of_samples(const StructureReader& file, const DirectoryPlace& directory, const Layout& layout, int photometric,
                           Messages& messages) {
  const bool says_ycbcr = photometric == PHOTOMETRIC_YCBCR;
  if (codestream_of(layout.compression) == Codestream::none || layout.samples < 3 || (!says_ycbcr && photometric != PHOTOMETRIC_RGB))
    return photometric;
  if (says_ycbcr && codestream_of(layout.compression) == Codestream::jpegxl) refuse("has YCbCr in JPEG XL, which is not supported");
  if (layout.planar) return photometric;  // each plane is a picture of one component
  if (may_be_ycbcr_of_vips(layout.compression) && !says_ycbcr && layout.samples == 3)
    messages.add("colours in compression " + std::to_string(layout.compression) +
                 " are taken for RGB; if libvips wrote them they are YCbCr, of which vips tiffsave IN OUT makes RGB");
  // Others than Aperio use its number for what it does not have: more samples, or of more bits.
  if (!says_ycbcr && (layout.samples != 3 || layout.sample.bits != 8)) return photometric;
  return codestreams_hold_ycbcr(file, directory, layout, says_ycbcr) ? PHOTOMETRIC_YCBCR : PHOTOMETRIC_RGB;
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
  coding.photometric = photometric_of_samples(file, directory, layout, coding.photometric, messages);
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
      if (bits > 16 || layout.sample.kind != SampleKind::unsigned_integer || map.size() < 3 || !layout.mixed.empty())
        refuse("has a palette without colours");
      if (codestream_of(layout.compression) != Codestream::none && bits != 8 && bits != 16)
        refuse("has a palette of " + std::to_string(bits) + " bits in " + compression_name(layout.compression) +
               ", which is not supported");
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
      read_ycbcr_layout(file, directory, result, messages);
      return 3;
    case PHOTOMETRIC_CIELAB:
    case PHOTOMETRIC_ICCLAB:
    case PHOTOMETRIC_ITULAB:
      page.model = colours == 1 ? ColourModel::grey : ColourModel::lab;
      if (colours == 1) return 1;
      if (!layout.mixed.empty()) refuse_as_invalid("the samples of CIE L*a*b* are of different kinds");
      if (coding.photometric == PHOTOMETRIC_CIELAB) layout.conversion = Conversion::lab_signs;
      return need(3, "Lab");
    case PHOTOMETRIC_LOGL:
    case PHOTOMETRIC_LOGLUV:
      if (!layout.mixed.empty()) refuse_as_invalid("the samples of LogLuv are of different kinds");
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
  const auto type_of = [&](int sample) { return palette ? layout.palette.type() : layout.type_of(sample); };
  const int count = palette ? 3 : colours;
  if (std::get<TiffCoding>(page.coding).is_complex) return name_complex_channels(page, layout, type_of(0));
  for (int c = 0; c < count; ++c) {
    const bool named = page.model != ColourModel::other;
    page.channels.push_back({named ? kNames[static_cast<std::size_t>(page.model)][static_cast<std::size_t>(c)] : std::to_string(c),
                             type_of(c), named ? ChannelRole::colour : ChannelRole::data});
  }
  for (int c = colours; c < layout.samples; ++c) {
    const auto index = static_cast<std::size_t>(c - colours);
    // libtiff refuses others, where it decodes the page.
    const bool is_known = index < extras.size() && extras[index] <= EXTRASAMPLE_UNASSALPHA;
    const std::uint64_t extra = is_known ? extras[index] : EXTRASAMPLE_UNSPECIFIED;
    const bool is_alpha = page.alpha == AlphaKind::none && (extra == EXTRASAMPLE_ASSOCALPHA || extra == EXTRASAMPLE_UNASSALPHA);
    if (is_alpha) page.alpha = extra == EXTRASAMPLE_ASSOCALPHA ? AlphaKind::associated : AlphaKind::unassociated;
    page.channels.push_back(
        {is_alpha ? "A" : std::to_string(page.channels.size()), type_of(c), is_alpha ? ChannelRole::alpha : ChannelRole::data});
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

// What says how YCbCr is meant goes with it.
void account_for_ycbcr(const StructureReader& file, const DirectoryPlace& directory, Page& page) {
  if (page.model != ColourModel::other) {
    std::erase_if(page.items, [](const Item& item) { return item.number == kReferenceBlackWhite; });
  } else if (const FieldPlace* place = directory.find(kYCbCrCoefficients); place != nullptr && file.is_whole(*place)) {
    page.items.push_back(item_of(file, *place, {kYCbCrCoefficients, "YCbCrCoefficients", TagUse::item, ItemKind::known_tag}));
  }
}

}  // namespace

PageOfFile describe_page(const StructureReader& file, const DirectoryPlace& directory, Messages& messages) {
  PageOfFile result;
  Page& page = result.page;
  Layout& layout = result.layout;
  TiffCoding& coding = page.coding.emplace<TiffCoding>();
  layout.directory = directory.offset;
  layout.compression = coding.compression = static_cast<int>(std::min<std::uint64_t>(file.integer(directory, kCompression, 1), 65536));
  const Codestream codestream = codestream_of(layout.compression);
  if (codestream == Codestream::none && !is_supported(layout.compression))
    refuse("has pixels in a compression that is not supported: " + compression_name(layout.compression));
  read_size(file, directory, result);
  const std::uint64_t samples = file.integer(directory, kSamplesPerPixel, layout.compression == COMPRESSION_OJPEG ? 3 : 1);
  if (samples == 0 || samples > kMostSamples) refuse("has pixels of " + std::to_string(samples) + " samples");
  read_sample_layout(file, directory, result, samples, messages);
  if (codestream != Codestream::none) {
    if (!layout.mixed.empty() || coding.is_complex)
      refuse("has complex numbers or samples of different kinds in " + compression_name(layout.compression) + ", which is not supported");
    require_codestream(codestream, layout.sample);
  }
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
  layout.view = view_of(layout, coding);
  require_striles(file, directory, result);
  name_channels(page, layout, colours, extras);
  layout.fill = no_data(file, directory);
  const std::uint64_t orientation = file.integer(directory, kOrientation, 1);
  const bool is_orientation = orientation >= 1 && orientation <= 8;
  page.orientation = is_orientation ? static_cast<Orientation>(orientation) : 1;
  if (!is_orientation) messages.add("the orientation " + std::to_string(orientation) + ", which does not exist, was left out");
  read_resolution(file, directory, page, messages);
  if (layout.mixed.empty() && layout.sample.bits == 64 && layout.sample.kind != SampleKind::floating)
    messages.add("integers of 64 bits became 64-bit floats");
  page.items = items_of(file, directory, messages);
  if (coding.photometric == PHOTOMETRIC_YCBCR || file.integer(directory, kPhotometric, 0) == PHOTOMETRIC_YCBCR)
    account_for_ycbcr(file, directory, page);
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
