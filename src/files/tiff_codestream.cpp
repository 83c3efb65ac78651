#include "files/tiff_codestream.h"

#include <algorithm>
#include <array>
#include <string>

#include "files/jpeg2000_structure.h"
#include "files/plugins.h"

namespace mollify::files::tiff {
namespace {

// Aperio's JPEG 2000 of YCbCr and of RGB; Photometric does not tell these apart.
constexpr int kAperioYCbCr = 33003, kAperioRgb = 33005, kVips = 33004;

struct Row {
  int compression;
  std::string_view name;
  Codestream codestream;
};
constexpr std::array kRows = {Row{6, "JPEG", Codestream::none},
                              Row{7, "JPEG", Codestream::none},
                              Row{kAperioYCbCr, "JPEG 2000", Codestream::jpeg2000},
                              Row{kVips, "JPEG 2000", Codestream::jpeg2000},
                              Row{kAperioRgb, "JPEG 2000", Codestream::jpeg2000},
                              Row{34712, "JPEG 2000", Codestream::jpeg2000},
                              Row{50002, "JPEG XL", Codestream::jpegxl},
                              Row{52546, "JPEG XL", Codestream::jpegxl}};

const Row* row_of(int compression) {
  const auto* row = std::ranges::find(kRows, compression, &Row::compression);
  return row == kRows.end() ? nullptr : row;
}

}  // namespace

Codestream codestream_of(int compression) {
  const Row* row = row_of(compression);
  return row == nullptr ? Codestream::none : row->codestream;
}

std::string_view jpeg_name_of(int compression) {
  const Row* row = row_of(compression);
  return row == nullptr ? std::string_view() : row->name;
}

void require_codestream(Codestream codestream, SampleLayout sample) {
  constexpr int kMostIntegerBits = 16, kMostFloatBits = 32;
  const bool is_float = sample.kind == SampleKind::floating;
  const auto require = [&](bool fits, std::string_view name) {
    if (!fits) throw FileError("has numbers in " + std::string(name) + " of a kind that mollify does not read from it");
  };
  const auto require_library = [](bool is_there, std::string_view name, std::string_view package) {
    if (is_there) return;
    throw FileError("has pages in " + std::string(name) + ", which are read where the library " + std::string(package) +
                    " is installed; or store them with another compression, such as deflate");
  };
  if (codestream == Codestream::jpeg2000) {
    require_library(has_jpeg2000_library(), "JPEG 2000", "libopenjp2-7");
    require(!is_float && sample.bits <= 32, "JPEG 2000");
  } else if (codestream == Codestream::jpegxl) {
    require_library(has_jxl_library(), "JPEG XL", kJxlPackage);
    require(is_float ? sample.bits == kMostIntegerBits || sample.bits == kMostFloatBits
                     : sample.kind == SampleKind::unsigned_integer && sample.bits <= kMostIntegerBits,
            "JPEG XL");
  }
}

std::unique_ptr<CodestreamDecoder> make_codestream_decoder(Codestream codestream, const ReadOptions& options) {
  return codestream == Codestream::jpegxl ? make_jpegxl_decoder(options) : make_jpeg2000_decoder(options);
}

bool holds_ycbcr(int compression, bool says_ycbcr, std::span<const std::uint8_t> begin) {
  if (codestream_of(compression) != Codestream::jpeg2000 || compression == kAperioRgb) return false;
  if (compression != kAperioYCbCr && !says_ycbcr) return false;
  // Other writers use Aperio's number for RGB. They let JPEG 2000 transform it.
  return !read_jpeg2000_header(jpeg2000_codestream(begin)).has_colour_transform;
}

bool may_be_ycbcr_of_vips(int compression) {
  return compression == kVips;
}

}  // namespace mollify::files::tiff
