// Blocks of metadata, edited in place: what a blur makes untrue is corrected, pictures inside are removed, every other byte
// stays where it is, so that maker notes, which refer to absolute positions, stay valid.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "files/codec.h"
#include "files/document.h"

namespace mollify::files {

/// What has become true of the result.
struct Corrections {
  std::optional<Orientation> orientation;
  std::optional<std::int32_t> width;  ///< of the stored pixels
  std::optional<std::int32_t> height;
  std::optional<Rect> region;  ///< that was cut out of the source
  std::int32_t source_width = 0, source_height = 0;
  bool turns = false;  ///< the pixels were turned upright
};

/// Exif: unlinks and zeroes the directory of the thumbnail and previews in known maker notes, sets what is corrected where the block has
/// it. False where the block is so broken that it has to be dropped.
[[nodiscard]] bool correct_exif(Bytes& exif, const Corrections& corrections, Messages& messages);
/// The orientation and the resolution that an Exif block says; unset where it says none.
[[nodiscard]] std::optional<Orientation> exif_orientation(std::span<const std::uint8_t> exif);
[[nodiscard]] std::optional<Resolution> exif_resolution(std::span<const std::uint8_t> exif);

/// XMP, by libexempi: removes thumbnails, GImage, GDepth, gain-map and container directories, and any value that holds a picture in base64;
/// sets tiff:Orientation and sizes where they are. Places in the picture (of a panorama, of faces) move with a region or are removed.
/// False where it cannot be parsed.
[[nodiscard]] bool correct_xmp(Bytes& xmp, const Corrections& corrections, Messages& messages);
/// One packet of the two that JPEG files have where one is larger than a segment. None where one of them cannot be parsed.
[[nodiscard]] std::optional<Bytes> merge_xmp(std::span<const std::uint8_t> packet, std::span<const std::uint8_t> extension);

/// Photoshop's image resource blocks, split: IPTC, profile, Exif, XMP and resolution are items of their own, thumbnails
/// (1033, 1036) and blocks that hold pictures are removed, the rest stays as it was.
struct PhotoshopParts {
  std::optional<Bytes> iptc, icc_profile, exif, xmp;
  Bytes rest;
};
[[nodiscard]] PhotoshopParts split_photoshop(std::span<const std::uint8_t> blocks, Messages& messages);
/// The blocks without thumbnails and other pictures. False where they are damaged.
[[nodiscard]] bool correct_photoshop(Bytes& blocks, Messages& messages);
/// One block of resources with the IPTC records inside; either may be empty.
[[nodiscard]] Bytes join_photoshop(std::span<const std::uint8_t> rest, std::span<const std::uint8_t> iptc);

/// The resolution that a block says; unset where it says none.
[[nodiscard]] std::optional<Resolution> photoshop_resolution(std::span<const std::uint8_t> blocks);

/// IPTC records: removes previews and values that hold pictures. False where the records cannot be parsed.
[[nodiscard]] bool correct_iptc(Bytes& iptc, Messages& messages);

/// Whether the bytes hold the signature of a picture or a video, as they are or in base64, anywhere inside.
[[nodiscard]] bool holds_picture(std::span<const std::uint8_t> bytes);

}  // namespace mollify::files
