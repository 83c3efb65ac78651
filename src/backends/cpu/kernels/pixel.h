// One pixel at a time, in plain C++: what the scalar twins of the kernels read and write.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backends/cpu/kernels/kernels.h"
#include "base/border.h"
#include "base/half.h"
#include "base/transfer.h"

namespace mollify::cpu::scalar {

template <class S>
[[nodiscard]] S stored(const std::byte* p) {
  S value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

[[nodiscard]] inline double read_component(Component component, const std::byte* p) {
  switch (component) {
    case Component::u8:
      return stored<std::uint8_t>(p);
    case Component::u16:
      return stored<std::uint16_t>(p);
    case Component::f16:
      return half_to_float(stored<std::uint16_t>(p));
    case Component::f32:
      return stored<float>(p);
    case Component::i32:
      return stored<std::int32_t>(p);
    case Component::u32:
      return stored<std::uint32_t>(p);
    case Component::f64:
      return stored<double>(p);
  }
  return 0.0;
}

inline void write_component(Component component, double value, std::byte* p) {
  const auto put = [p](auto v) { std::memcpy(p, &v, sizeof v); };
  const auto unorm = [value](double largest) { return std::nearbyint(value > 0.0 ? std::min(value, largest) : 0.0); };
  switch (component) {
    case Component::u8:
      return put(static_cast<std::uint8_t>(unorm(255.0)));
    case Component::u16:
      return put(static_cast<std::uint16_t>(unorm(65535.0)));
    case Component::f16:
      return put(double_to_half(value));
    case Component::f32:
      return put(static_cast<float>(value));
    case Component::i32:
      return put(static_cast<std::int32_t>(std::isnan(value) ? 0.0 : std::nearbyint(std::clamp(value, -0x1p31, 0x1p31 - 1.0))));
    case Component::u32:
      return put(static_cast<std::uint32_t>(unorm(0x1p32 - 1.0)));
    case Component::f64:
      return put(value);
  }
}

[[nodiscard]] constexpr std::ptrdiff_t component_bytes(Component component) {
  switch (component) {
    case Component::u8:
      return 1;
    case Component::u16:
    case Component::f16:
      return 2;
    case Component::f64:
      return 8;
    default:
      return 4;
  }
}

/// The numbers of the pixel at (x, y), which may lie outside the image, in the precision T of a kernel.
template <class T>
[[nodiscard]] std::array<T, 4> read_pixel(const RowPipeline& rows, const Source& src, std::int64_t x, std::int64_t y) {
  const RowFormat& format = rows.source;
  const std::int64_t column = map_index(rows.border.mode.x, x, src.desc.width);
  const std::int64_t row = map_index(rows.border.mode.y, y, src.desc.height);
  const auto channels = static_cast<std::size_t>(format.channels);
  const bool has_alpha = format.alpha == AlphaMode::premultiply;
  std::array<T, 4> pixel{};
  for (std::size_t c = 0; c < channels; ++c) {
    if (column == kOutside || row == kOutside) {
      pixel[c] = static_cast<T>(rows.outside[c]);
      continue;
    }
    const std::ptrdiff_t bytes = component_bytes(format.component);
    const std::byte* p = src.row(row, column) + (column * format.channels + static_cast<std::ptrdiff_t>(c)) * bytes;
    pixel[c] = static_cast<T>(read_component(format.component, p)) * static_cast<T>(format.scale);
    if (format.transfer == TransferFunction::srgb && !(has_alpha && c + 1 == channels)) {
      pixel[c] = static_cast<T>(srgb_to_linear(static_cast<double>(pixel[c])));
    }
  }
  if (has_alpha && column != kOutside && row != kOutside) {
    for (std::size_t c = 0; c + 1 < channels; ++c) pixel[c] *= pixel[channels - 1];
  }
  return pixel;
}

/// Stores a blurred pixel at (x, y) of the destination.
template <class T>
void write_pixel(const RowFormat& format, std::array<T, 4> pixel, const ImageView& dst, std::int64_t x, std::int64_t y) {
  const auto channels = static_cast<std::size_t>(format.channels);
  const bool has_alpha = format.alpha == AlphaMode::premultiply;
  const std::ptrdiff_t bytes = component_bytes(format.component);
  const T alpha = pixel[channels - 1];
  for (std::size_t c = 0; c < channels; ++c) {
    const bool is_colour = !(has_alpha && c + 1 == channels);
    if (has_alpha && is_colour) pixel[c] = alpha == T{0} ? T{0} : pixel[c] / alpha;
    if (format.transfer == TransferFunction::srgb && is_colour) {
      pixel[c] = static_cast<T>(linear_to_srgb(static_cast<double>(pixel[c])));
    }
    std::byte* p = dst.row(y) + (x * format.channels + static_cast<std::ptrdiff_t>(c)) * bytes;
    write_component(format.component, static_cast<double>(pixel[c] * static_cast<T>(format.scale)), p);
  }
}

/// Makes every pixel of a tile: pixel(x, y) gets source coordinates and returns blurred numbers.
template <class T, class Pixel>
void for_each_pixel(const RowPipeline& rows, const Tile& tile, const Pixel& pixel) {
  for (std::int64_t y = tile.out.y; y < tile.out.y + tile.out.height; ++y) {
    for (std::int64_t x = tile.out.x; x < tile.out.x + tile.out.width; ++x) {
      const std::array<T, 4> value = pixel(tile.origin_x + x * rows.step.x, tile.origin_y + y * rows.step.y);
      write_pixel<T>(rows.destination, value, tile.dst, x, y);
    }
  }
}

}  // namespace mollify::cpu::scalar
