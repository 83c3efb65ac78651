#include "cases/source.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "cases/random.h"

namespace mollify::cases {
namespace {

template <class T>
void put(std::byte* data, T value) {
  std::memcpy(data, &value, sizeof value);
}

/// To nearest, ties to even; finite values stay finite.
std::uint16_t encode_half(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (!std::isfinite(value)) return sign | (std::isnan(value) ? 0x7E00 : 0x7C00);
  const double magnitude = std::min(std::abs(value), 65504.0);
  if (magnitude == 0.0) return sign;
  const int exponent = std::max(std::ilogb(magnitude), -14);
  const double mantissa = std::nearbyint(std::ldexp(magnitude, 10 - exponent));  // 1024 and up where normal
  // A mantissa that rounded up to 2048 carries into the exponent by itself, a subnormal one lacks the 1024.
  const int bits = (exponent + 14) * 1024 + static_cast<int>(mantissa);
  return static_cast<std::uint16_t>(sign | bits);
}

double random_colour(Random& random, const FormatInfo& format, const BlurSpec& spec, bool bright) {
  if (format.is_unorm() || spec.transfer == TransferFunction::srgb) {
    return random.one_in(16) && !format.is_unorm() ? random.uniform(-0.2, 1.5) : random.uniform();
  }
  if (bright && random.one_in(50)) return random.uniform(500.0, 1500.0);
  return random.uniform(-1.0, 2.0);
}

double random_alpha(Random& random) {
  const std::size_t kind = random.below(8);
  if (kind == 0) return 0.0;
  return kind == 1 ? 1.0 : random.uniform();
}

/// Mostly -3.4e38 in 32 bits, which geographic rasters hold where they have no data.
double planted_value(Random& random, const FormatInfo& format, Content content) {
  if (content == Content::outliers) {
    const double largest = format.bits == 16 ? 6e4 : format.bits == 32 ? static_cast<double>(std::numeric_limits<float>::max()) : 1e300;
    return random.one_in(4) ? largest : -largest;
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return random.pick(std::array{std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity});
}

Rect random_area(Random& random, const ImageDesc& image) {
  constexpr std::int32_t kLongest = 24;
  const std::int32_t x = random.between(0, image.width - 1);
  const std::int32_t y = random.between(0, image.height - 1);
  return {x, y, random.between(1, std::min(image.width - x, kLongest)), random.between(1, std::min(image.height - y, kLongest))};
}

}  // namespace

void store(const ImageView& image, std::int32_t x, std::int32_t y, int channel, double value) {
  const FormatInfo& format = info(image.desc.format);
  std::byte* data = image.row(y) + std::ptrdiff_t{x} * format.pixel_bytes() + channel * format.component_bytes();
  if (format.is_unorm()) {
    const double rounded = std::floor(std::clamp(value, 0.0, 1.0) * format.unit() + 0.5);
    if (format.bits == 8) return put(data, static_cast<std::uint8_t>(rounded));
    return put(data, static_cast<std::uint16_t>(rounded));
  }
  if (format.component_class == ComponentClass::sint) {
    return put(data, static_cast<std::int32_t>(std::floor(std::clamp(value, -0x1p31, 0x1p31 - 1.0) + 0.5)));
  }
  if (format.component_class == ComponentClass::uint) {
    return put(data, static_cast<std::uint32_t>(std::floor(std::clamp(value, 0.0, 0x1p32 - 1.0) + 0.5)));
  }
  if (format.bits == 64) return put(data, value);
  if (format.bits == 16) return put(data, encode_half(value));
  put(data, static_cast<float>(value));
}

namespace {

/// The least and the largest number of a format of integers.
struct Range {
  double least, largest;
};
Range range_of(const FormatInfo& format) {
  if (format.component_class == ComponentClass::sint) return {-0x1p31, 0x1p31 - 1.0};
  return {0.0, format.component_class == ComponentClass::uint ? 0x1p32 - 1.0 : 1.0};
}

/// Areas of the least and the largest number: where these lie side by side sums come to the ends of their ranges, which noise never
/// shows. Every third area is one of a channel by itself.
void fill_areas(const ImageView& image, Random& random) {
  const ImageDesc& desc = image.desc;
  const int channels = info(desc.format).channels;
  const Range range = range_of(info(desc.format));
  const auto fill = [&](const Rect& area, int first, int last, double value) {
    for (std::int32_t y = area.y; y < area.y + area.height; ++y) {
      for (std::int32_t x = area.x; x < area.x + area.width; ++x) {
        for (int c = first; c < last; ++c) store(image, x, y, c, value);
      }
    }
  };
  fill({0, 0, desc.width, desc.height}, 0, channels, range.least);
  constexpr int kAreas = 12;
  for (int i = 0; i < kAreas; ++i) {
    const std::int32_t x = random.between(0, desc.width - 1), y = random.between(0, desc.height - 1);
    const Rect area{x, y, random.between(1, desc.width - x), random.between(1, desc.height - y)};
    const int channel = random.between(0, channels - 1);
    const bool is_of_one = i % 3 == 2;
    fill(area, is_of_one ? channel : 0, is_of_one ? channel + 1 : channels, i % 2 == 0 ? range.largest : range.least);
  }
}

}  // namespace

void fill_random(const ImageView& image, const BlurSpec& spec, std::uint64_t seed) {
  const FormatInfo& format = info(image.desc.format);
  const bool bright = seed % 4 == 0;
  const bool plain_integers = !format.is_floating() && spec.alpha == AlphaMode::ignore;
  Random random(seed);
  constexpr std::uint64_t kOneIn = 3;
  if (plain_integers && seed % kOneIn == 0) return fill_areas(image, random);
  for (std::int32_t y = 0; y < image.desc.height; ++y) {
    if (plain_integers) {  // every bit pattern is a value
      std::byte* row = image.row(y);
      for (std::int64_t done = 0; done < image.desc.row_payload_bytes(); done += 8) {
        const std::uint64_t bits = random.next();
        std::memcpy(row + done, &bits, static_cast<std::size_t>(std::min<std::int64_t>(8, image.desc.row_payload_bytes() - done)));
      }
      continue;
    }
    for (std::int32_t x = 0; x < image.desc.width; ++x) {
      for (int c = 0; c < format.channels; ++c) {
        const bool is_alpha = spec.alpha == AlphaMode::premultiply && c == format.channels - 1;
        store(image, x, y, c, is_alpha ? random_alpha(random) : random_colour(random, format, spec, bright));
      }
    }
  }
}

std::vector<PerAxis<std::int32_t>> plant(const ImageView& image, const BlurSpec& spec, Content content, std::uint64_t seed) {
  std::vector<PerAxis<std::int32_t>> planted;
  if (content == Content::ordinary) return planted;
  const FormatInfo& format = info(image.desc.format);
  const bool keeps_alpha = content == Content::outliers && spec.alpha == AlphaMode::premultiply;
  Random random(~seed);
  const auto plant_at = [&](std::int32_t x, std::int32_t y, double value) {
    for (int c = 0; c < format.channels - (keeps_alpha ? 1 : 0); ++c) store(image, x, y, c, value);
    planted.push_back({x, y});
  };
  const std::size_t count = 1 + random.below(3);
  for (std::size_t i = 0; i < count; ++i) {
    const PerAxis<std::int32_t> at{random.between(0, image.desc.width - 1), random.between(0, image.desc.height - 1)};
    plant_at(at.x, at.y, planted_value(random, format, content));
  }
  if (content != Content::outliers || !random.one_in(4)) return planted;
  // An area without data: sums of it are as large as what it holds, and no larger.
  const Rect area = random_area(random, image.desc);
  const double value = planted_value(random, format, content);
  for (std::int32_t y = area.y; y < area.y + area.height; ++y) {
    for (std::int32_t x = area.x; x < area.x + area.width; ++x) plant_at(x, y, value);
  }
  return planted;
}

}  // namespace mollify::cases
