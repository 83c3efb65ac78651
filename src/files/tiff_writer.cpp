// Writes TIFF files. Strips and tiles are encoded by libtiff and appended to the sink as their rows come; directories follow at the end,
// when it is known whether offsets of 32 bits are enough. Planes behind one directory have it in front of them.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <utility>

#include "files/tiff_exif.h"
#include "files/tiff_library.h"
#include "files/tiff_pages.h"
#include "files/tiff_structure.h"
#include "files/tiff_tags.h"

namespace mollify::files {
namespace {

using namespace tiff;

constexpr std::int64_t kStripBytes = 1 << 20;      // of strips whose size is ours to choose
constexpr std::int64_t kMostStripBytes = 8 << 20;  // of strips that are as large as the source's

// How a page is stored.
struct PageLayout {
  SampleLayout sample;
  NumberType type = NumberType::u8;
  int samples = 1;
  int compression = COMPRESSION_ADOBE_DEFLATE;
  int predictor = 1;
  int photometric = PHOTOMETRIC_MINISBLACK;
  bool planar = false, tiled = false, reverses_bits = false, is_complex = false;
  std::uint32_t strile_width = 0, strile_rows = 0;

  [[nodiscard]] int planes() const { return planar ? samples : 1; }
  [[nodiscard]] int strile_samples() const { return planar ? 1 : samples; }
  [[nodiscard]] std::int64_t strile_row_bytes() const { return sample.row_bytes(std::int64_t{strile_width} * strile_samples()); }
};

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
  return stored == PHOTOMETRIC_SEPARATED ? PHOTOMETRIC_SEPARATED : PHOTOMETRIC_MINISBLACK;
}

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
  return count;
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
  const bool has_predictor = layout.compression == COMPRESSION_LZW || layout.compression == COMPRESSION_ADOBE_DEFLATE ||
                             layout.compression == COMPRESSION_DEFLATE || layout.compression == COMPRESSION_ZSTD ||
                             layout.compression == COMPRESSION_LZMA;
  const int bits = layout.sample.bits;
  if (!has_predictor || wanted == 1 || bits < 8 || bits % 8 != 0 || layout.is_complex) return 1;
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
  // Of JPEG the contract tells.
  if (wanted != COMPRESSION_JPEG && wanted != COMPRESSION_OJPEG)
    messages.add("the compression inside, " + compression_name(wanted) + ", became deflate");
  return COMPRESSION_ADOBE_DEFLATE;
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
  if (!layout.tiled) {
    const std::int64_t row = std::max<std::int64_t>(1, layout.strile_row_bytes());
    const std::int64_t wanted = coding != nullptr ? coding->rows_per_strip : 0;
    const std::int64_t rows = wanted > 0 && wanted * row <= kMostStripBytes ? wanted : std::max<std::int64_t>(1, kStripBytes / row);
    layout.strile_rows = static_cast<std::uint32_t>(std::min<std::int64_t>(rows, page.height));
  }
  return layout;
}

// A row of strips or tiles of all planes is gathered, encoded and appended.
class PageEncoder {
 public:
  PageEncoder(ByteSink& sink, const Page& page, const PageLayout& layout, bool big_endian, const WriteOptions& options)
      : page_(page), layout_(layout), library_(sink, big_endian) {
    set_up(options);
    const std::int64_t across = (page.width + std::int64_t{layout.strile_width} - 1) / layout.strile_width;
    strile_bytes_ = layout.strile_row_bytes() * layout.strile_rows;
    band_.resize(static_cast<std::size_t>(strile_bytes_ * across * layout.planes()));
  }

  void write(std::int32_t count, const std::uint8_t* from, std::ptrdiff_t row_bytes) {
    for (std::int32_t i = 0; i < count; ++i, from += row_bytes) {
      gather(from);
      ++row_;
      if (row_ % layout_.strile_rows == 0 || row_ == page_.height) encode();
    }
  }

  struct Places {
    std::vector<std::uint64_t> offsets, counts;
  };
  [[nodiscard]] Places places() const {
    TIFF* handle = library_.handle();
    const std::uint32_t striles = layout_.tiled ? TIFFNumberOfTiles(handle) : TIFFNumberOfStrips(handle);
    Places places;
    for (std::uint32_t i = 0; i < striles; ++i) {
      places.offsets.push_back(TIFFGetStrileOffset(handle, i));
      places.counts.push_back(TIFFGetStrileByteCount(handle, i));
    }
    return places;
  }

 private:
  const Page& page_;
  PageLayout layout_;
  LibraryWriter library_;
  Bytes band_, row_copy_, plane_row_;
  std::int64_t strile_bytes_ = 0;
  std::int64_t row_ = 0;

  void set_up(const WriteOptions& options) {
    const int unit = layout_.is_complex ? 2 : 1;
    library_.set(TIFFTAG_IMAGEWIDTH, static_cast<std::uint32_t>(page_.width));
    library_.set(TIFFTAG_IMAGELENGTH, static_cast<std::uint32_t>(page_.height));
    library_.set(TIFFTAG_BITSPERSAMPLE, layout_.sample.bits * unit);
    library_.set(TIFFTAG_SAMPLESPERPIXEL, layout_.samples / unit);
    library_.set(TIFFTAG_SAMPLEFORMAT, sample_format(layout_));
    library_.set(TIFFTAG_PLANARCONFIG, layout_.planar ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG);
    library_.set(TIFFTAG_PHOTOMETRIC, layout_.photometric);
    if (layout_.reverses_bits) library_.set(TIFFTAG_FILLORDER, FILLORDER_LSB2MSB);
    library_.set(TIFFTAG_COMPRESSION, layout_.compression);
    if (layout_.predictor != 1) library_.set(TIFFTAG_PREDICTOR, layout_.predictor);
    const bool is_deflate = layout_.compression == COMPRESSION_ADOBE_DEFLATE || layout_.compression == COMPRESSION_DEFLATE;
    if (is_deflate && options.compression) library_.set(TIFFTAG_ZIPQUALITY, *options.compression);
    if (layout_.compression == COMPRESSION_WEBP) library_.set(TIFFTAG_WEBP_LOSSLESS, 1);
    if (layout_.tiled) {
      library_.set(TIFFTAG_TILEWIDTH, layout_.strile_width);
      library_.set(TIFFTAG_TILELENGTH, layout_.strile_rows);
    } else {
      library_.set(TIFFTAG_ROWSPERSTRIP, layout_.strile_rows);
    }
  }

 public:
  static int sample_format(const PageLayout& layout) {
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

 private:
  [[nodiscard]] std::int64_t across() const { return (page_.width + std::int64_t{layout_.strile_width} - 1) / layout_.strile_width; }

  void gather(const std::uint8_t* from) {
    if (layout_.photometric == PHOTOMETRIC_CIELAB) {
      row_copy_.assign(from, from + page_.row_bytes());
      swap_lab_signs(layout_.type, row_copy_.data(), page_.width, layout_.samples);
      from = row_copy_.data();
    }
    const std::int64_t row = row_ % layout_.strile_rows;
    const auto size = static_cast<std::size_t>(bytes_of(layout_.type));
    for (int plane = 0; plane < layout_.planes(); ++plane) {
      for (std::int64_t tile = 0; tile < across(); ++tile) {
        const std::int64_t x = tile * layout_.strile_width;
        const std::int64_t width = std::min<std::int64_t>(layout_.strile_width, page_.width - x);
        const std::uint8_t* pixels = from + (x * layout_.samples + plane) * static_cast<std::int64_t>(size);
        if (layout_.planar) {
          plane_row_.resize(static_cast<std::size_t>(width) * size);
          for (std::int64_t i = 0; i < width; ++i) {
            std::memcpy(plane_row_.data() + static_cast<std::size_t>(i) * size,
                        pixels + static_cast<std::size_t>(i * layout_.samples) * size, size);
          }
          pixels = plane_row_.data();
        }
        std::uint8_t* to = band_.data() + (plane * across() + tile) * strile_bytes_ + row * layout_.strile_row_bytes();
        pack_samples(layout_.sample, layout_.type, pixels, width * layout_.strile_samples(), to);
      }
    }
  }

  void encode() {
    TIFF* handle = library_.handle();
    const auto first_row = static_cast<std::uint32_t>((row_ - 1) / layout_.strile_rows * layout_.strile_rows);
    const std::int64_t rows = row_ - first_row;
    for (int plane = 0; plane < layout_.planes(); ++plane) {
      for (std::int64_t tile = 0; tile < across(); ++tile) {
        std::uint8_t* data = band_.data() + (plane * across() + tile) * strile_bytes_;
        const auto x = static_cast<std::uint32_t>(tile * layout_.strile_width);
        tmsize_t done = 0;
        if (layout_.tiled) {
          done = TIFFWriteEncodedTile(handle, TIFFComputeTile(handle, x, first_row, 0, static_cast<std::uint16_t>(plane)), data,
                                      strile_bytes_);
        } else {
          const tmsize_t bytes = rows * layout_.strile_row_bytes();
          done = TIFFWriteEncodedStrip(handle, TIFFComputeStrip(handle, first_row, static_cast<std::uint16_t>(plane)), data, bytes);
        }
        library_.check(done >= 0);
      }
    }
    std::fill(band_.begin(), band_.end(), std::uint8_t{0});  // what lies beyond the picture in the next tiles
  }
};

// A positive number as numerator and denominator.
std::array<std::uint32_t, 2> rational_of(double value) {
  constexpr double kMost = 4294967295.0;
  double best_n = std::min(std::round(value), kMost), best_d = 1, before_n = 1, before_d = 0, rest = value;
  double n = std::floor(value), d = 1;
  for (int i = 0; i < 20 && n <= kMost && d <= kMost; ++i) {
    best_n = n;
    best_d = d;
    const double fraction = rest - std::floor(rest);
    if (fraction < 1e-12) break;
    rest = 1 / fraction;
    const double next_n = std::floor(rest) * n + before_n, next_d = std::floor(rest) * d + before_d;
    before_n = std::exchange(n, next_n);
    before_d = std::exchange(d, next_d);
  }
  return {static_cast<std::uint32_t>(best_n), static_cast<std::uint32_t>(best_d)};
}

void add_resolution(const Page& page, std::vector<Field>& fields) {
  if (!page.resolution || !(page.resolution->x > 0) || !(page.resolution->y > 0)) return;
  const Resolution& resolution = *page.resolution;
  const bool metres = resolution.unit == Resolution::Unit::metre;
  std::array<std::uint32_t, 2> x = rational_of(resolution.x / (metres ? 100 : 1)), y = rational_of(resolution.y / (metres ? 100 : 1));
  if (const auto* coding = std::get_if<TiffCoding>(&page.coding)) {
    const auto& stored = coding->resolution;
    if (stored[1] != 0 && double{1} * stored[0] / stored[1] == resolution.x) x = {stored[0], stored[1]};
    if (stored[3] != 0 && double{1} * stored[2] / stored[3] == resolution.y) y = {stored[2], stored[3]};
  }
  fields.push_back(rational_field(kXResolution, x));
  fields.push_back(rational_field(kYResolution, y));
  fields.push_back(short_field(kResolutionUnit, resolution.unit == Resolution::Unit::none   ? 1
                                                : resolution.unit == Resolution::Unit::inch ? 2
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

// The fields that say how pixels are stored, without where.
std::vector<Field> structure_fields(const Page& page, const PageLayout& layout) {
  const auto* coding = std::get_if<TiffCoding>(&page.coding);
  const int unit = layout.is_complex ? 2 : 1;
  const std::vector<std::uint16_t> bits(static_cast<std::size_t>(layout.samples / unit),
                                        static_cast<std::uint16_t>(layout.sample.bits * unit));
  const std::vector<std::uint16_t> formats(bits.size(), static_cast<std::uint16_t>(PageEncoder::sample_format(layout)));
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

/// A directory that is to be written, with what it refers to.
struct Directory {
  std::vector<Field> fields;
  ExifDirectories exif;
  std::vector<std::size_t> children;
};

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

// The first of each tag counts: the page's own items come before those of the file, and these before Exif's.
void remove_repeated(std::vector<Field>& fields) {
  std::stable_sort(fields.begin(), fields.end(), [](const Field& a, const Field& b) { return a.tag < b.tag; });
  fields.erase(std::unique(fields.begin(), fields.end(), [](const Field& a, const Field& b) { return a.tag == b.tag; }), fields.end());
}

class TiffWriter final : public Writer {
 public:
  TiffWriter(ByteSink& sink, const Document& document, const WriteOptions& options) : sink_(sink), document_(document), options_(options) {
    if (document.pages.empty()) throw FileError("has no pages");
    for (const Page& page : document.pages) layouts_.push_back(layout_of(page, messages_));
    directories_.resize(document.pages.size());
    for (std::size_t i = 0; i < directories_.size(); ++i) describe(i);
    const auto is_plane = [](const Page& page) { return page.kind == PageKind::plane; };
    is_stack_ = document.pages.size() > 1 && std::all_of(document.pages.begin(), document.pages.end(), is_plane);
    encoding_ = {.big_endian = document.big_endian, .big_offsets = document.big_offsets};
    if (is_stack_) {
      begin_stack();
    } else {
      sink_.write_at(0, Bytes(16));  // room for either header
    }
  }

  void write_rows(int page, std::int32_t, std::int32_t count, const std::uint8_t* from, std::ptrdiff_t row_bytes) override {
    if (is_stack_) return write_plane_rows(count, from, row_bytes);
    if (page != encoded_page_) {
      finish_page();
      const auto index = static_cast<std::size_t>(page);
      encoder_ = std::make_unique<PageEncoder>(sink_, document_.pages[index], layouts_[index], document_.big_endian, options_);
      encoded_page_ = page;
    }
    encoder_->write(count, from, row_bytes);
  }

  void finish() override {
    if (is_stack_) return;
    finish_page();
    std::int64_t end = sink_.size();
    for (const Directory& each : directories_) end += directory_bytes(each);
    if (!encoding_.big_offsets && end > std::numeric_limits<std::uint32_t>::max()) {
      encoding_.big_offsets = true;
      messages_.add("the result has more than 4 GB and became BigTIFF");
    }
    write_directories();
  }

  [[nodiscard]] const Messages& messages() const override { return messages_; }

 private:
  ByteSink& sink_;
  Document document_;
  WriteOptions options_;
  Messages messages_;
  std::vector<PageLayout> layouts_;
  std::vector<Directory> directories_;
  Encoding encoding_;
  bool is_stack_ = false;
  std::unique_ptr<PageEncoder> encoder_;
  int encoded_page_ = -1;

  [[nodiscard]] bool swaps() const { return document_.big_endian != (std::endian::native == std::endian::big); }

  void describe(std::size_t index) {
    Page& page = document_.pages[index];
    Directory& directory = directories_[index];
    directory.fields = structure_fields(page, layouts_[index]);
    for (const Item& item : page.items) add_item(item, swaps(), directory);
    for (const Item& item : document_.items) {
      // A profile holds for all pages of the file, other items are written once.
      if (index == 0 || (item.kind == ItemKind::icc_profile && page.kind != PageKind::mask)) add_item(item, swaps(), directory);
    }
    if (!page.name.empty()) directory.fields.push_back(text_field(kPageName, Bytes(page.name.begin(), page.name.end())));
    for (const Field& field : directory.exif.main) {
      if (tag_row(field.tag).use == TagUse::item) directory.fields.push_back(field);
    }
    remove_repeated(directory.fields);
    page.items.clear();
  }

  void finish_page() {
    if (!encoder_) return;
    const auto index = static_cast<std::size_t>(encoded_page_);
    const PageEncoder::Places places = encoder_->places();
    encoder_.reset();
    add_places(index, places.offsets, places.counts);
  }

  void add_places(std::size_t index, const std::vector<std::uint64_t>& offsets, const std::vector<std::uint64_t>& counts) {
    const bool tiled = layouts_[index].tiled;
    directories_[index].fields.push_back(offsets_field(tiled ? kTileOffsets : kStripOffsets, offsets));
    directories_[index].fields.push_back(offsets_field(tiled ? kTileByteCounts : kStripByteCounts, counts));
  }

  // An upper bound.
  static std::int64_t directory_bytes(const Directory& directory) {
    std::int64_t bytes = 1024 + 16 * static_cast<std::int64_t>(directory.children.size());
    for (const auto* fields : {&directory.fields, &directory.exif.exif, &directory.exif.gps, &directory.exif.interoperability}) {
      for (const Field& field : *fields) bytes += 24 + static_cast<std::int64_t>(field.data.size());
    }
    return bytes;
  }

  // Appends a directory, and returns where it is.
  std::int64_t append(const std::vector<Field>& fields, std::int64_t& place_of_link) {
    if ((sink_.size() & 1) != 0) sink_.write_at(sink_.size(), Bytes(1));
    const std::int64_t offset = sink_.size();
    sink_.write_at(offset, encoded_directory(encoding_, fields, offset, 0));
    place_of_link = offset + place_of_next(encoding_, fields.size());
    return offset;
  }

  std::uint64_t append_unlinked(const std::vector<Field>& fields) {
    std::int64_t link = 0;
    return static_cast<std::uint64_t>(append(fields, link));
  }

  Field reference(std::uint16_t tag, const std::vector<std::uint64_t>& offsets) const {
    Field field = offsets_field(tag, offsets);
    if (tag == kSubIfds) field.type = field.type == kLong8 ? kIfd8 : kIfd;
    return field;
  }

  void add_exif(Directory& directory) {
    ExifDirectories& exif = directory.exif;
    if (!exif.interoperability.empty()) exif.exif.push_back(reference(kInteroperabilityIfd, {append_unlinked(exif.interoperability)}));
    if (!exif.exif.empty()) directory.fields.push_back(reference(kExifIfd, {append_unlinked(exif.exif)}));
    if (!exif.gps.empty()) directory.fields.push_back(reference(kGpsIfd, {append_unlinked(exif.gps)}));
  }

  [[nodiscard]] bool is_child(std::size_t index) const {
    const Page& page = document_.pages[index];
    const auto* coding = std::get_if<TiffCoding>(&page.coding);
    return coding != nullptr && coding->in_sub_directory && page.parent >= 0 && static_cast<std::size_t>(page.parent) < index;
  }

  // Children lie before their parents, whose fields say where.
  std::int64_t append_with_children(std::size_t index, std::int64_t& place_of_link) {
    Directory& directory = directories_[index];
    std::vector<std::uint64_t> children;
    for (const std::size_t child : directory.children) {
      std::int64_t link = 0;
      children.push_back(static_cast<std::uint64_t>(append_with_children(child, link)));
    }
    if (!children.empty()) directory.fields.push_back(reference(kSubIfds, children));
    add_exif(directory);
    return append(directory.fields, place_of_link);
  }

  void write_directories() {
    for (std::size_t i = 0; i < directories_.size(); ++i) {
      if (is_child(i)) directories_[static_cast<std::size_t>(document_.pages[i].parent)].children.push_back(i);
    }
    std::int64_t link = 0;
    for (std::size_t i = 0; i < directories_.size(); ++i) {
      if (is_child(i)) continue;
      const std::int64_t before = link;
      const std::int64_t offset = append_with_children(i, link);
      if (before == 0) {
        sink_.write_at(0, encoded_header(encoding_, offset));
      } else {
        sink_.write_at(before, encoded_offset(encoding_, offset));
      }
    }
  }

  // Planes behind one directory: ImageJ's way beyond 4 GB. The directory comes first and says where the first plane begins.
  void begin_stack() {
    const Page& first = document_.pages.front();
    PageLayout& layout = layouts_.front();
    const bool is_alike = std::all_of(document_.pages.begin(), document_.pages.end(), [&](const Page& page) {
      return page.width == first.width && page.height == first.height && page.channels == first.channels;
    });
    if (!is_alike) throw FileError("cannot be a stack: its planes differ");
    layout.compression = COMPRESSION_NONE;
    layout.predictor = 1;
    layout.tiled = layout.planar = false;
    layout.strile_width = static_cast<std::uint32_t>(first.width);
    layout.strile_rows = static_cast<std::uint32_t>(first.height);
    Directory& directory = directories_.front();
    std::erase_if(directory.fields, [](const Field& field) {
      return field.tag == kCompression || field.tag == kPredictor || field.tag == kPlanarConfig || field.tag == kRowsPerStrip ||
             field.tag == kTileWidth || field.tag == kTileLength;
    });
    directory.fields.push_back(short_field(kCompression, COMPRESSION_NONE));
    directory.fields.push_back(short_field(kPlanarConfig, 1));
    directory.fields.push_back(long_field(kRowsPerStrip, layout.strile_rows));
    sink_.write_at(0, Bytes(static_cast<std::size_t>(encoding_.header_bytes())));
    add_exif(directory);
    const std::uint64_t count = static_cast<std::uint64_t>(layout.strile_row_bytes() * layout.strile_rows);
    add_places(0, {0}, {count});
    const std::int64_t offset = sink_.size();
    const std::int64_t data = offset + encoded_directory_bytes(encoding_, directory.fields);
    for (Field& field : directory.fields) {
      if (field.tag == kStripOffsets) field = offsets_field(kStripOffsets, std::vector<std::uint64_t>{static_cast<std::uint64_t>(data)});
    }
    std::int64_t link = 0;
    static_cast<void>(append(directory.fields, link));
    sink_.write_at(0, encoded_header(encoding_, offset));
  }

  void write_plane_rows(std::int32_t count, const std::uint8_t* from, std::ptrdiff_t row_bytes) {
    const PageLayout& layout = layouts_.front();
    const Page& page = document_.pages.front();
    Bytes row(static_cast<std::size_t>(layout.strile_row_bytes()));
    for (std::int32_t i = 0; i < count; ++i, from += row_bytes) {
      pack_samples(layout.sample, layout.type, from, std::int64_t{page.width} * layout.samples, row.data());
      const auto unit = static_cast<std::size_t>(layout.sample.bits % 8 == 0 ? layout.sample.bits / 8 : 1);
      for (std::size_t at = 0; swaps() && unit > 1 && at + unit <= row.size(); at += unit)
        std::reverse(row.data() + at, row.data() + at + unit);
      if (layout.reverses_bits) TIFFReverseBits(row.data(), static_cast<tmsize_t>(row.size()));
      sink_.write_at(sink_.size(), row);
    }
  }
};

}  // namespace

std::unique_ptr<Writer> make_tiff_writer(ByteSink& sink, const Document& document, const WriteOptions& options) {
  return std::make_unique<TiffWriter>(sink, document, options);
}

}  // namespace mollify::files
