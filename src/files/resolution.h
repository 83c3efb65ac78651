// How many pixels an inch or a metre has, in the numbers of each format.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "files/codec.h"
#include "files/document.h"

namespace mollify::files {

/// As the fields of a format say it: PNG's pHYs, JPEG's JFIF, OpenEXR's attributes, and the rational numbers of TIFF, which are those of
/// Exif in WebP as well. Numbers are rounded to those that the field can hold. None where it cannot hold them, or where JFIF would round
/// them so much that Exif is the better place.
[[nodiscard]] std::optional<Resolution> resolution_in(FileFormat format, const Resolution& resolution);

/// The resolution of a page that is to be written in a format. Says what was rounded or left out.
[[nodiscard]] std::optional<Resolution> fitted_resolution(FileFormat format, const Resolution& resolution, Messages& messages);

/// A positive number as numerator and denominator; 0 and 1 where it is too small.
[[nodiscard]] std::array<std::uint32_t, 2> rational_of(double value);

}  // namespace mollify::files
