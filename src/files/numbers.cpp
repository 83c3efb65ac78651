#include "files/numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/half.h"

namespace mollify::files {
namespace {

struct TypeRow {
  std::string_view text;
  double full_scale;
  std::optional<ComponentClass> library;  ///< the component class of the library's formats of that type
};
constexpr std::array kTypes = {
    TypeRow{"8-bit integers", 255.0, ComponentClass::unorm},
    TypeRow{"16-bit integers", 65535.0, ComponentClass::unorm},
    TypeRow{"32-bit integers", 4294967295.0, ComponentClass::uint},
    TypeRow{"signed 8-bit integers", 127.0, {}},
    TypeRow{"signed 16-bit integers", 32767.0, {}},
    TypeRow{"signed 32-bit integers", 2147483647.0, ComponentClass::sint},
    TypeRow{"16-bit floats", 1.0, ComponentClass::floating},
    TypeRow{"32-bit floats", 1.0, ComponentClass::floating},
    TypeRow{"64-bit floats", 1.0, ComponentClass::floating},
};

const TypeRow& row(NumberType type) {
  return kTypes[static_cast<std::size_t>(type)];
}

/// A half as its bits, so that it is no 16-bit integer.
struct Half {
  std::uint16_t bits;
};

template <class T>
double value_of(T number) {
  if constexpr (std::is_same_v<T, Half>) {
    return static_cast<double>(half_to_float(number.bits));
  } else {
    return static_cast<double>(number);
  }
}

template <class T>
T number_of(double value) {
  if constexpr (std::is_same_v<T, Half>) {
    return {float_to_half(static_cast<float>(value))};
  } else if constexpr (std::is_integral_v<T>) {
    if (std::isnan(value)) return 0;
    constexpr auto kLeast = static_cast<double>(std::numeric_limits<T>::lowest());
    constexpr auto kMost = static_cast<double>(std::numeric_limits<T>::max());
    return static_cast<T>(std::clamp(std::nearbyint(value), kLeast, kMost));
  } else {
    return static_cast<T>(value);
  }
}

/// Calls `body` with a number of the type.
template <class Body>
void with_type(NumberType type, const Body& body) {
  switch (type) {
    case NumberType::u8:
      return body(std::uint8_t{});
    case NumberType::u16:
      return body(std::uint16_t{});
    case NumberType::u32:
      return body(std::uint32_t{});
    case NumberType::i8:
      return body(std::int8_t{});
    case NumberType::i16:
      return body(std::int16_t{});
    case NumberType::i32:
      return body(std::int32_t{});
    case NumberType::f16:
      return body(Half{});
    case NumberType::f32:
      return body(float{});
    case NumberType::f64:
      return body(double{});
  }
}

/// One channel in memory.
struct Plane {
  std::uint8_t* data;
  std::ptrdiff_t row_bytes;
  std::ptrdiff_t pixel_bytes;
};

template <class From, class To>
void convert(const Plane& from, const Plane& to, std::int32_t width, std::int32_t height, double factor) {
  for (std::int32_t y = 0; y < height; ++y) {
    const std::uint8_t* in = from.data + y * from.row_bytes;
    std::uint8_t* out = to.data + y * to.row_bytes;
    for (std::int32_t x = 0; x < width; ++x, in += from.pixel_bytes, out += to.pixel_bytes) {
      From number;
      std::memcpy(&number, in, sizeof number);
      if (std::is_same_v<From, To> && factor == 1.0) {
        std::memcpy(out, &number, sizeof number);
      } else {
        const To result = number_of<To>(value_of(number) * factor);
        std::memcpy(out, &result, sizeof result);
      }
    }
  }
}

void convert(NumberType from_type, const Plane& from, NumberType to_type, const Plane& to, std::int32_t width, std::int32_t height,
             double factor) {
  with_type(from_type,
            [&](auto in) { with_type(to_type, [&](auto out) { convert<decltype(in), decltype(out)>(from, to, width, height, factor); }); });
}

Plane plane_of(const PagePixels& pixels, int channel) {
  return {pixels.data + channel_offset(*pixels.page, channel), pixels.row_bytes, static_cast<std::ptrdiff_t>(pixels.page->pixel_bytes())};
}

Plane plane_of(const ConstImageView& view, std::size_t channel) {
  const FormatInfo& format = info(view.desc.format);
  auto* first = static_cast<std::uint8_t*>(const_cast<void*>(view.data));
  return {first + static_cast<std::ptrdiff_t>(channel) * format.component_bytes(), view.row_bytes, format.pixel_bytes()};
}

}  // namespace

NumberType type_of(PixelFormat format) {
  const FormatInfo& wanted = info(format);
  switch (wanted.component_class) {
    case ComponentClass::unorm:
      return wanted.bits == 8 ? NumberType::u8 : NumberType::u16;
    case ComponentClass::sint:
      return NumberType::i32;
    case ComponentClass::uint:
      return NumberType::u32;
    case ComponentClass::floating:
      break;
  }
  return wanted.bits == 16 ? NumberType::f16 : wanted.bits == 32 ? NumberType::f32 : NumberType::f64;
}

double full_scale(NumberType type) {
  return row(type).full_scale;
}
std::string_view describe(NumberType type) {
  return row(type).text;
}

bool is_wide(NumberType type) {
  return type == NumberType::u32 || type == NumberType::i32 || type == NumberType::f64;
}

bool is_data(NumberType type) {
  return is_signed_integer(type) || type == NumberType::u32 || type == NumberType::f64;
}

NumberType common_type(NumberType one, NumberType other) {
  if (one == other) return one;
  if (is_float(one) || is_float(other)) {
    if (is_wide(one) || is_wide(other)) return NumberType::f64;
    const bool are_small =
        std::ranges::all_of(std::array{one, other}, [](NumberType t) { return bytes_of(t) == 1 || t == NumberType::f16; });
    return are_small ? NumberType::f16 : NumberType::f32;
  }
  if (is_signed_integer(one) == is_signed_integer(other)) return std::max(one, other);  // they are in the order of their bytes
  const auto [negative, positive] = is_signed_integer(one) ? std::pair(one, other) : std::pair(other, one);
  const int bytes = std::max(bytes_of(negative), 2 * bytes_of(positive));
  return bytes == 2 ? NumberType::i16 : bytes == 4 ? NumberType::i32 : NumberType::f64;
}

std::optional<PixelFormat> library_format(NumberType type, int channels) {
  if (!row(type).library) return std::nullopt;
  return find_format(*row(type).library, 8 * bytes_of(type), channels);
}

std::ptrdiff_t channel_offset(const Page& page, int channel) {
  std::ptrdiff_t offset = 0;
  for (int c = 0; c < channel; ++c) offset += bytes_of(page.channels[static_cast<std::size_t>(c)].type);
  return offset;
}

void gather(const PagePixels& from, std::span<const int> channels, const ImageView& to) {
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const NumberType type = from.page->channels[static_cast<std::size_t>(channels[i])].type;
    convert(type, plane_of(from, channels[i]), type_of(to.desc.format), plane_of(to, i), to.desc.width, to.desc.height, 1.0);
  }
}

void scatter(const ConstImageView& from, std::span<const int> channels, std::span<const double> factors, const PagePixels& to) {
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const NumberType type = to.page->channels[static_cast<std::size_t>(channels[i])].type;
    convert(type_of(from.desc.format), plane_of(from, i), type, plane_of(to, channels[i]), from.desc.width, from.desc.height, factors[i]);
  }
}

void copy_channel(const PagePixels& from, int channel, const PagePixels& to, int to_channel) {
  const NumberType in = from.page->channels[static_cast<std::size_t>(channel)].type;
  const NumberType out = to.page->channels[static_cast<std::size_t>(to_channel)].type;
  convert(in, plane_of(from, channel), out, plane_of(to, to_channel), to.page->width, to.rows.count(), 1.0);
}

void store_number(NumberType type, double value, std::uint8_t* to) {
  with_type(type, [&](auto zero) {
    const auto number = number_of<decltype(zero)>(value);
    std::memcpy(to, &number, sizeof number);
  });
}

}  // namespace mollify::files
