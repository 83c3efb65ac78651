#include "reference/pixel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace mollify::reference {
namespace {

template <class T>
T load(const std::byte* data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

double load_component(const FormatInfo& format, const std::byte* data) {
  if (format.component_class == ComponentClass::sint) return load<std::int32_t>(data);
  if (format.component_class == ComponentClass::uint) return load<std::uint32_t>(data);
  if (format.bits == 64) return load<double>(data);
  if (format.is_unorm()) return (format.bits == 8 ? load<std::uint8_t>(data) : load<std::uint16_t>(data)) / format.unit();
  return format.bits == 16 ? decode_half(load<std::uint16_t>(data)) : static_cast<double>(load<float>(data));
}

double round_to_format(const FormatInfo& format, double value) {
  if (format.component_class == ComponentClass::sint) return std::nearbyint(std::clamp(value, -0x1p31, 0x1p31 - 1.0));
  if (format.component_class == ComponentClass::uint) return std::nearbyint(std::clamp(value, 0.0, 0x1p32 - 1.0));
  if (format.bits == 64) return value;
  if (format.is_unorm()) return std::nearbyint(std::clamp(value, 0.0, 1.0) * format.unit()) / format.unit();
  return format.bits == 16 ? round_to_half(value) : static_cast<double>(static_cast<float>(value));
}

}  // namespace

double decode_half(std::uint16_t bits) {
  const double sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  if (exponent == 31) return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

double round_to_half(double value) {
  if (value == 0.0 || !std::isfinite(value)) return value;
  const double step = std::ldexp(1.0, std::max(std::ilogb(value), -14) - 10);
  const double rounded = std::nearbyint(value / step) * step;
  return std::abs(rounded) > 65504.0 ? std::copysign(HUGE_VAL, value) : rounded;
}

// IEC 61966-2-1, odd around 0 and without a ceiling at 1.
double srgb_decode(double encoded) {
  const double v = std::abs(encoded);
  return std::copysign(v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4), encoded);
}

double srgb_encode(double linear) {
  const double v = std::abs(linear);
  return std::copysign(v <= 0.0031308 ? v * 12.92 : 1.055 * std::pow(v, 1.0 / 2.4) - 0.055, linear);
}

Pixel load_pixel(const FormatInfo& format, const std::byte* data) {
  Pixel pixel{};
  for (int c = 0; c < format.channels; ++c) pixel[c] = load_component(format, data + c * format.component_bytes());
  return pixel;
}

Pixel border_pixel(const FormatInfo& format, const std::array<double, 4>& value) {
  Pixel pixel{};
  for (int c = 0; c < format.channels; ++c) pixel[c] = round_to_format(format, value[c]);
  return pixel;
}

int ColourModel::colour_channels() const {
  return alpha == AlphaMode::premultiply ? channels - 1 : channels;
}

Pixel ColourModel::decode(Pixel pixel) const {
  for (int c = 0; c < colour_channels(); ++c) {
    if (transfer == TransferFunction::srgb) pixel[c] = srgb_decode(pixel[c]);
    if (alpha == AlphaMode::premultiply) pixel[c] *= pixel[channels - 1];
  }
  return pixel;
}

Pixel ColourModel::encode(Pixel pixel) const {
  for (int c = 0; c < colour_channels(); ++c) {
    if (alpha == AlphaMode::premultiply) pixel[c] = pixel[channels - 1] == 0.0 ? 0.0 : pixel[c] / pixel[channels - 1];
    if (transfer == TransferFunction::srgb) pixel[c] = srgb_encode(pixel[c]);
  }
  return pixel;
}

}  // namespace mollify::reference
