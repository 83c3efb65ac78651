#include "pixels.h"

#include <array>
#include <cmath>

namespace mollify::cli {
namespace {

struct TypeRow {
  OIIO::TypeDesc::BASETYPE base;
  ComponentClass component_class;
  int bits;
};
constexpr std::array kTypes = {
    TypeRow{OIIO::TypeDesc::UINT8, ComponentClass::unorm, 8},
    TypeRow{OIIO::TypeDesc::UINT16, ComponentClass::unorm, 16},
    TypeRow{OIIO::TypeDesc::HALF, ComponentClass::floating, 16},
    TypeRow{OIIO::TypeDesc::FLOAT, ComponentClass::floating, 32},
};

std::byte* first_of(const NativePixels& pixels, int channel) {
  return pixels.data + pixels.spec->pixel_bytes(0, channel, true);
}

// `f(channels)` for every pixel.
template <class F>
void for_each_pixel(const ImageView& image, F f) {
  const auto channels = static_cast<std::size_t>(info(image.desc.format).channels);
  for (std::int64_t y = 0; y < image.desc.height; ++y) {
    float* pixel = reinterpret_cast<float*>(image.row(y));
    for (std::int32_t x = 0; x < image.desc.width; ++x, pixel += channels) f(std::span(pixel, channels));
  }
}

float decoded(float v) {
  const float a = std::abs(v);
  return std::copysign(a <= 0.04045F ? a / 12.92F : std::pow((a + 0.055F) / 1.055F, 2.4F), v);
}

float encoded(float v) {
  const float a = std::abs(v);
  return std::copysign(a <= 0.0031308F ? a * 12.92F : 1.055F * std::pow(a, 1.0F / 2.4F) - 0.055F, v);
}

}  // namespace

std::ptrdiff_t NativePixels::row_bytes() const {
  return static_cast<std::ptrdiff_t>(spec->pixel_bytes(true)) * spec->width;
}

std::optional<PixelFormat> format_of(OIIO::TypeDesc type, int channels) {
  for (const TypeRow& row : kTypes) {
    if (type == OIIO::TypeDesc(row.base)) return find_format(row.component_class, row.bits, channels);
  }
  return std::nullopt;
}

OIIO::TypeDesc type_of(PixelFormat format) {
  const FormatInfo& wanted = info(format);
  for (const TypeRow& row : kTypes) {
    if (row.component_class == wanted.component_class && row.bits == wanted.bits) return row.base;
  }
  return OIIO::TypeUnknown;
}

OIIO::TypeDesc common_type(const OIIO::ImageSpec& spec, std::span<const int> channels) {
  const OIIO::TypeDesc type = spec.channelformat(channels.front());
  for (const int c : channels) {
    if (spec.channelformat(c) != type) return OIIO::TypeFloat;
  }
  return type;
}

void gather(const NativePixels& from, std::span<const int> channels, const ImageView& to) {
  const OIIO::TypeDesc type = type_of(to.desc.format);
  const FormatInfo& format = info(to.desc.format);
  for (std::size_t i = 0; i < channels.size(); ++i) {
    OIIO::convert_image(1, to.desc.width, to.desc.height, 1, first_of(from, channels[i]),
                        from.spec->channelformat(channels[i]), from.spec->pixel_bytes(true), from.row_bytes(),
                        OIIO::AutoStride, to.row(0) + i * format.component_bytes(), type, format.pixel_bytes(),
                        to.row_bytes, OIIO::AutoStride);
  }
}

void scatter(const ImageView& from, std::span<const int> channels, const NativePixels& to) {
  const OIIO::TypeDesc type = type_of(from.desc.format);
  const FormatInfo& format = info(from.desc.format);
  for (std::size_t i = 0; i < channels.size(); ++i) {
    OIIO::convert_image(1, from.desc.width, from.desc.height, 1, from.row(0) + i * format.component_bytes(), type,
                        format.pixel_bytes(), from.row_bytes, OIIO::AutoStride, first_of(to, channels[i]),
                        to.spec->channelformat(channels[i]), to.spec->pixel_bytes(true), to.row_bytes(),
                        OIIO::AutoStride);
  }
}

void associate_alpha(const ImageView& image) {
  for_each_pixel(image, [](std::span<float> pixel) {
    for (float& colour : pixel.first(pixel.size() - 1)) colour *= pixel.back();
  });
}

void unassociate_alpha(const ImageView& image) {
  for_each_pixel(image, [](std::span<float> pixel) {
    const float alpha = pixel.back();
    for (float& colour : pixel.first(pixel.size() - 1)) colour = alpha == 0.0F ? 0.0F : colour / alpha;
  });
}

void decode_srgb(const ImageView& image, int colours) {
  for_each_pixel(image, [=](std::span<float> pixel) {
    for (float& colour : pixel.first(colours)) colour = decoded(colour);
  });
}

void encode_srgb(const ImageView& image, int colours) {
  for_each_pixel(image, [=](std::span<float> pixel) {
    for (float& colour : pixel.first(colours)) colour = encoded(colour);
  });
}

}  // namespace mollify::cli
