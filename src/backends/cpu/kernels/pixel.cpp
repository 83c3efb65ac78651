#include <cmath>

#include "backends/cpu/kernels/half.h"
#include "backends/cpu/kernels/kernels.h"
#include "core/transfer.h"

namespace mollify::cpu {

std::array<double, 4> decode_pixel(const RowFormat& format, const std::array<double, 4>& value, double unit) {
  std::array<double, 4> pixel{};
  const auto channels = static_cast<std::size_t>(format.channels);
  const bool has_alpha = format.alpha == AlphaMode::premultiply;
  for (std::size_t c = 0; c < channels; ++c) {
    double stored = 0.0;
    switch (format.component) {
      case Component::u8:
      case Component::u16: stored = std::nearbyint(value[c] * unit); break;
      case Component::f16: stored = half_to_float(float_to_half(static_cast<float>(value[c]))); break;
      case Component::f32: stored = static_cast<float>(value[c]); break;
    }
    pixel[c] = stored * format.scale;
    const bool is_alpha = has_alpha && c + 1 == channels;
    if (format.transfer == TransferFunction::srgb && !is_alpha) pixel[c] = srgb_to_linear(pixel[c]);
  }
  if (has_alpha) {
    for (std::size_t c = 0; c + 1 < channels; ++c) pixel[c] *= pixel[channels - 1];
  }
  return pixel;
}

}  // namespace mollify::cpu
