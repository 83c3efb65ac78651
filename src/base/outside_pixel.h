// What a constant border stands for.
#pragma once

#include <array>
#include <cstddef>

#include "base/rounding.h"
#include "base/transfer.h"
#include "mollify/spec.h"

namespace mollify {

/// The border's value as GPUs read it: rounded to the source's format, decoded, premultiplied. Full-scale units.
[[nodiscard]] inline std::array<double, 4> outside_pixel(const BlurSpec& spec, PixelFormat source) {
  const FormatInfo& format = info(source);
  const auto channels = static_cast<std::size_t>(format.channels);
  const bool has_alpha = spec.alpha == AlphaMode::premultiply;
  std::array<double, 4> pixel{};
  for (std::size_t c = 0; c < channels; ++c) {
    pixel[c] = rounded_to_format(spec.border.value[c], format);
    const bool is_colour = !(has_alpha && c + 1 == channels);
    if (spec.transfer == TransferFunction::srgb && is_colour) pixel[c] = srgb_to_linear(pixel[c]);
  }
  if (has_alpha) {
    for (std::size_t c = 0; c + 1 < channels; ++c) pixel[c] *= pixel[channels - 1];
  }
  return pixel;
}

}  // namespace mollify
