// What an image file holds, whatever its format: pages of pixels, and everything else as items. Readers make a Document, the
// contract decides what becomes of each item, writers write what is left.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "mollify/image.h"

namespace mollify::files {

using Bytes = std::vector<std::uint8_t>;

inline void append(Bytes& to, std::span<const std::uint8_t> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

/// `png` to `hdr` are read and written. The others are read where their library is installed.
enum class FileFormat : std::uint8_t { png, jpeg, tiff, exr, webp, hdr, heif, avif, jxl };
inline constexpr int kWrittenFormats = 6;

/// The type of one stored number, in host byte order.
enum class NumberType : std::uint8_t { u8, u16, u32, i8, i16, i32, f16, f32, f64 };
[[nodiscard]] constexpr int bytes_of(NumberType type) {
  constexpr std::array kBytes = {1, 2, 4, 1, 2, 4, 2, 4, 8};
  return kBytes[static_cast<std::size_t>(type)];
}
[[nodiscard]] constexpr bool is_float(NumberType type) {
  return type >= NumberType::f16;
}
[[nodiscard]] constexpr bool is_signed_integer(NumberType type) {
  return type >= NumberType::i8 && type <= NumberType::i32;
}

enum class ChannelRole : std::uint8_t {
  colour,  ///< blurred, by the file's tone curve where light is blurred
  alpha,   ///< blurred; weighs the colour channels of its layer where it is unassociated
  data,    ///< blurred as stored numbers: extra samples, elevation, channels without a known meaning
  kept,    ///< copied: an id, a depth, a normal, a motion vector
};

struct Channel {
  std::string name;  ///< "R", "diffuse.R"; as the file has it, else R G B A, Y, C M Y K, L a b, or a number
  NumberType type = NumberType::u8;
  ChannelRole role = ChannelRole::colour;
  bool operator==(const Channel&) const = default;
};

/// What the colour channels are. Readers decode palettes and YCbCr to rgb.
enum class ColourModel : std::uint8_t {
  grey,
  rgb,
  cmyk,   ///< inks, 0 is no ink as stored by TIFF; readers of JPEG undo Adobe's inversion
  lab,    ///< CIE L*a*b*, a and b offset so that their middle is grey
  other,  ///< without a known meaning: data
};

enum class AlphaKind : std::uint8_t { none, unassociated, associated };

/// Exif's numbers: 1 is upright, 5 to 8 swap rows and columns.
using Orientation = int;

struct Resolution {
  double x = 0.0;
  double y = 0.0;
  enum class Unit : std::uint8_t { none, inch, centimetre, metre } unit = Unit::inch;
  bool operator==(const Resolution&) const = default;
};

/// Of a page that is one picture of an animation. Readers compose frames: each is the whole canvas as it is shown.
struct Timing {
  std::int32_t milliseconds = 0;
  std::uint16_t numerator = 0;    ///< PNG: seconds as a fraction, as stored. It counts where it is as many milliseconds.
  std::uint16_t denominator = 0;  ///< 0: there is no fraction
  bool operator==(const Timing&) const = default;
};

enum class PageKind : std::uint8_t {
  page,   ///< a page, or the only picture
  frame,  ///< of an animation
  plane,  ///< of a stack, behind one directory of a TIFF
  part,   ///< of a multi-part OpenEXR file
  level,  ///< a smaller copy of the page `parent`: a pyramid or mip level, a reduced-size directory
  mask,   ///< a transparency mask for the page `parent`
};

// How the pixels of a page are compressed, so that the result can be the same where it has the same format.

struct PngCoding {
  int bit_depth = 8;         ///< as stored, of each channel or of palette indices
  bool has_palette = false;  ///< the result has none: blurred colours are not in it
  bool interlaced = false;
};
struct JpegCoding {
  struct Component {
    int id = 0, h = 1, v = 1, table = 0;
  };
  std::vector<std::array<std::uint16_t, 64>> tables;  ///< quantisation, natural order
  std::vector<Component> components;
  bool progressive = false;
  int restart_rows = 0;
  int restart_interval = 0;  ///< in units of the coder (MCU), where it is no whole number of rows
  bool is_rgb = false;       ///< stored without conversion to YCbCr, or of inks to YCCK
  bool has_jfif_marker = false;
  bool has_adobe_marker = false;
};
struct TiffCoding {
  int compression = 1;  ///< libtiff's number
  int predictor = 1;
  int bits = 8;  ///< of a sample as stored
  std::uint32_t rows_per_strip = 0;
  bool planar = false;
  bool reverses_bits = false;  ///< FillOrder 2
  int photometric = -1;        ///< libtiff's number: tells the encodings of Lab apart, and inks that are not CMYK; -1 follows the model
  std::uint32_t subfile_type = 0;
  bool in_sub_directory = false;  ///< its directory is among the SubIFDs of the page `parent`
  bool is_complex = false;        ///< two channels are the two halves of one complex sample
  std::vector<std::uint16_t> extra_samples;
  std::array<std::uint32_t, 4> resolution{};  ///< Page::resolution as stored: two rational numbers, x and y
};
struct ExrCoding {
  int compression = 0;  ///< OpenEXR's number
  float dwa_level = 45.0F;
  int line_order = 0;
  int level_mode = 0;  ///< of tiles: one, mip, rip
  int rounding = 0;
  std::int32_t origin_x = 0;  ///< the corner of the display window in the file's coordinates; Page::display is seen from the page
  std::int32_t origin_y = 0;
};
struct WebpCoding {
  bool lossless = false;
  bool has_alpha = false;
};
using Coding = std::variant<std::monostate, PngCoding, JpegCoding, TiffCoding, ExrCoding, WebpCoding>;

/// Everything that a file can hold besides the numbers of its pixels. Each is a row of the contract, see contract.h.
enum class ItemKind : std::uint8_t {
  // Structure: derived from pages, without payload.
  pages,
  frames,
  planes,
  parts,
  levels,
  masks,
  layers,
  channel_names,
  channel_types,
  depth,
  palette,
  white_is_zero,
  colour_ink,
  colour_lab,
  alpha_unassociated,
  alpha_associated,
  display_window,
  orientation,
  resolution,
  tiling,
  coding,
  jpeg_inside,
  interlacing,
  // Payload: bytes as the file has them.
  icc_profile,        ///< the profile
  cicp,               ///< PNG's chunk: 4 bytes
  mastering_display,  ///< mDCV
  content_light,      ///< cLLI
  gamma,              ///< gAMA: `number` is 100000 times the exponent of the encoding, 45455 for sRGB
  chromaticities,     ///< cHRM: 8 floats, white x y, red, green, blue
  light_primaries,    ///< of linear light, OpenEXR's and HDR's: the same 8 floats
  srgb_intent,        ///< sRGB: 1 byte
  exif,               ///< a TIFF structure, from its byte order on
  xmp,                ///< the packet
  iptc,               ///< IIM records
  photoshop,          ///< image resource blocks ("8BIM"), without their IPTC, profile, Exif, XMP, which are items of their own
  text,               ///< `name` is the keyword, `data` UTF-8; PNG's language and translated keyword in `detail`
  comment,            ///< JPEG COM
  timestamp,          ///< tIME, DateTime
  loop_count,         ///< of an animation: `number`, 0 for ever
  background,         ///< bKGD, of an animation
  geotiff,            ///< tags of GeoTIFF and GDAL
  ome_xml,
  imagej,          ///< ImageDescription and tags of these programs
  thumbnail,       ///< a smaller picture in a block of its own: JFXX, EXR preview, Photoshop 1033/1036
  second_picture,  ///< MPF, gain map, depth map, motion photo
  trailer,         ///< bytes after the end of the picture
  attribute,       ///< of OpenEXR or of an HDR header
  credit,          ///< TIFF tags that Exif has as well: Artist, Copyright, Software, Make, Model, ImageDescription
  known_tag,       ///< TIFF tags and PNG chunks that describe the picture and stay true: PageName, oFFs
  unknown,         ///< a tag, chunk or segment that nobody knows
};
inline constexpr int kItemKinds = static_cast<int>(ItemKind::unknown) + 1;

struct Item {
  ItemKind kind = ItemKind::unknown;
  std::string name;  ///< as its format calls it: "tEXt", "APP5", "GeoKeyDirectoryTag", the keyword of a text, the name of an attribute
  Bytes data{};
  std::uint32_t number = 0;  ///< TIFF: the tag; JPEG: the marker; else see the kind
  std::uint32_t type = 0;    ///< TIFF: the field type
  std::uint64_t count = 0;   ///< TIFF: the number of values
  std::string detail{};      ///< OpenEXR: the attribute's type; PNG: "before PLTE", "before IDAT" or "after IDAT" for chunks
  bool operator==(const Item&) const = default;
};

/// One two-dimensional image of a file.
struct Page {
  PageKind kind = PageKind::page;
  int parent = -1;  ///< of a level or a mask: an index of Document::pages
  std::int32_t width = 0;
  std::int32_t height = 0;
  std::vector<Channel> channels;  ///< interleaved in this order, each in its own type, without padding
  ColourModel model = ColourModel::rgb;
  AlphaKind alpha = AlphaKind::none;
  bool white_is_zero = false;  ///< of grey: the stored numbers are the negative
  int significant_bits = 0;    ///< of integers that were stored in fewer bits and scaled to full scale; 0: all of them
  /// OpenEXR and animations: where pixel (0, 0) lies in the picture that is shown, and how large that is. Unset: the same.
  std::optional<Rect> display;  ///< x and y are of the shown picture's corner, seen from pixel (0, 0)
  Orientation orientation = 1;
  std::optional<Resolution> resolution;
  std::int32_t tile_width = 0;  ///< 0: rows
  std::int32_t tile_height = 0;
  std::optional<Timing> timing;
  std::string name;  ///< of a part or a page
  Coding coding;
  std::vector<Item> items;  ///< that belong to this page alone

  [[nodiscard]] std::int64_t pixel_bytes() const {
    std::int64_t bytes = 0;
    for (const Channel& channel : channels) bytes += bytes_of(channel.type);
    return bytes;
  }
  [[nodiscard]] std::int64_t row_bytes() const { return pixel_bytes() * width; }
};

/// Rows [begin, end) of a page.
struct RowRange {
  std::int32_t begin = 0;
  std::int32_t end = 0;
  [[nodiscard]] std::int32_t count() const { return end - begin; }
  bool operator==(const RowRange&) const = default;
};

struct Document {
  FileFormat format = FileFormat::png;
  std::vector<Page> pages;
  std::vector<Item> items;   ///< of the whole file
  bool big_endian = false;   ///< TIFF
  bool big_offsets = false;  ///< BigTIFF
};

}  // namespace mollify::files
