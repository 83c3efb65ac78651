// Moving channels between an image's own interleaving and the library's formats.
#pragma once

#include <OpenImageIO/imageio.h>

#include <cstddef>
#include <optional>
#include <span>

#include "mollify/image.h"

namespace mollify::cli {

/// The pixels of a whole part, each channel in its own type.
struct NativePixels {
  const OIIO::ImageSpec* spec = nullptr;
  std::byte* data = nullptr;

  [[nodiscard]] std::ptrdiff_t row_bytes() const;
};

/// The library's format of `channels` channels of this type, if there is one.
[[nodiscard]] std::optional<PixelFormat> format_of(OIIO::TypeDesc type, int channels);
[[nodiscard]] OIIO::TypeDesc type_of(PixelFormat format);

/// The one type of these channels, or float, which holds each of several.
[[nodiscard]] OIIO::TypeDesc common_type(const OIIO::ImageSpec& spec, std::span<const int> channels);

/// Channel channels[i] of `from` becomes channel i of `to`, converted where the types differ.
void gather(const NativePixels& from, std::span<const int> channels, const ImageView& to);
/// Channel i of `from` becomes channel channels[i] of `to`.
void scatter(const ImageView& from, std::span<const int> channels, const NativePixels& to);

// The rest is for formats of 32-bit floats.

/// Multiplies colour by the last channel, or divides (0 where alpha is 0).
void associate_alpha(const ImageView& image);
void unassociate_alpha(const ImageView& image);

/// sRGB to linear light and back, for the first `colours` channels. Beyond 0 .. 1 the curves go on, odd about 0.
void decode_srgb(const ImageView& image, int colours);
void encode_srgb(const ImageView& image, int colours);

}  // namespace mollify::cli
