// The reference's own reading of stored pixels and handling of colour.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "mollify/image.h"
#include "mollify/spec.h"

namespace mollify::reference {

/// Channels that the format does not have are 0.
using Pixel = std::array<double, 4>;

[[nodiscard]] double decode_half(std::uint16_t bits);
/// To nearest, ties to even; beyond 65520 infinity.
[[nodiscard]] double round_to_half(double value);
[[nodiscard]] double srgb_decode(double encoded);
[[nodiscard]] double srgb_encode(double linear);

/// One stored pixel, full scale 1.
[[nodiscard]] Pixel load_pixel(const FormatInfo& format, const std::byte* data);
/// The border value as a pixel of `format` would hold it.
[[nodiscard]] Pixel border_pixel(const FormatInfo& format, const std::array<double, 4>& value);

/// From stored numbers to the numbers that are blurred, and back.
struct ColourModel {
  int channels = 1;
  AlphaMode alpha = AlphaMode::ignore;
  TransferFunction transfer = TransferFunction::none;

  [[nodiscard]] Pixel decode(Pixel pixel) const;  ///< decode the transfer function, premultiply
  [[nodiscard]] Pixel encode(Pixel pixel) const;  ///< divide by alpha, encode the transfer function
 private:
  [[nodiscard]] int colour_channels() const;
};

}  // namespace mollify::reference
