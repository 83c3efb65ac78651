// What is known of the tags of TIFF directories.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "files/document.h"

namespace mollify::files::tiff {

// The tags that say how pixels are stored.
inline constexpr std::uint16_t kSubfileType = 254, kOldSubfileType = 255, kImageWidth = 256, kImageLength = 257, kBitsPerSample = 258,
                               kCompression = 259, kPhotometric = 262, kFillOrder = 266, kImageDescription = 270, kStripOffsets = 273,
                               kOrientation = 274, kSamplesPerPixel = 277, kRowsPerStrip = 278, kStripByteCounts = 279, kXResolution = 282,
                               kYResolution = 283, kPlanarConfig = 284, kPageName = 285, kT4Options = 292, kT6Options = 293,
                               kResolutionUnit = 296, kSoftware = 305, kDateTime = 306, kArtist = 315, kPredictor = 317, kWhitePoint = 318,
                               kPrimaryChromaticities = 319, kColorMap = 320, kTileWidth = 322, kTileLength = 323, kTileOffsets = 324,
                               kTileByteCounts = 325, kSubIfds = 330, kInkSet = 332, kNumberOfInks = 334, kExtraSamples = 338,
                               kSampleFormat = 339, kJpegTables = 347, kJpegInterchangeFormat = 513, kJpegInterchangeLength = 514,
                               kYCbCrCoefficients = 529, kYCbCrSubsampling = 530, kReferenceBlackWhite = 532, kXmp = 700,
                               kMetaMorphPlanes = 33629, kImageDepth = 32997, kTileDepth = 32998, kPixarTextureFormat = 33302,
                               kCopyright = 33432, kIptc = 33723, kPhotoshop = 34377, kExifIfd = 34665, kIccProfile = 34675,
                               kGpsIfd = 34853, kInteroperabilityIfd = 40965, kGdalNoData = 42113, kLercParameters = 50674;

enum class TagUse : std::uint8_t {
  structure,  ///< says how pixels are stored: part of the page, not an item
  item,       ///< an item of kind `kind`
  directory,  ///< refers to directories that are read on their own
  untrue,     ///< no longer true of a changed picture: left out with a message
  elsewhere,  ///< refers to other places of the file: left out with a message
};
struct TagRow {
  std::uint16_t tag;
  std::string_view name;
  TagUse use;
  ItemKind kind = ItemKind::unknown;
};
/// The row of a tag; tags that nobody knows are items of kind unknown without a name.
[[nodiscard]] TagRow tag_row(std::uint16_t tag);
/// "Software (305)", "tag 65000"
[[nodiscard]] std::string tag_name(std::uint16_t tag);

}  // namespace mollify::files::tiff
