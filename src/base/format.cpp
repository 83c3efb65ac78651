// The format table. Adding a format of a known class is one enum name and one row here.
#include <array>

#include "mollify/image.h"

namespace mollify {
namespace {

constexpr auto kUnorm = ComponentClass::unorm;
constexpr auto kFloat = ComponentClass::floating;
constexpr auto kSint = ComponentClass::sint;
constexpr auto kUint = ComponentClass::uint;

constexpr std::array kFormats = {
    FormatInfo{PixelFormat::r8, "r8", kUnorm, 8, 1},           FormatInfo{PixelFormat::rg8, "rg8", kUnorm, 8, 2},
    FormatInfo{PixelFormat::rgb8, "rgb8", kUnorm, 8, 3},       FormatInfo{PixelFormat::rgba8, "rgba8", kUnorm, 8, 4},
    FormatInfo{PixelFormat::r16, "r16", kUnorm, 16, 1},        FormatInfo{PixelFormat::rg16, "rg16", kUnorm, 16, 2},
    FormatInfo{PixelFormat::rgb16, "rgb16", kUnorm, 16, 3},    FormatInfo{PixelFormat::rgba16, "rgba16", kUnorm, 16, 4},
    FormatInfo{PixelFormat::r16f, "r16f", kFloat, 16, 1},      FormatInfo{PixelFormat::rg16f, "rg16f", kFloat, 16, 2},
    FormatInfo{PixelFormat::rgb16f, "rgb16f", kFloat, 16, 3},  FormatInfo{PixelFormat::rgba16f, "rgba16f", kFloat, 16, 4},
    FormatInfo{PixelFormat::r32f, "r32f", kFloat, 32, 1},      FormatInfo{PixelFormat::rg32f, "rg32f", kFloat, 32, 2},
    FormatInfo{PixelFormat::rgb32f, "rgb32f", kFloat, 32, 3},  FormatInfo{PixelFormat::rgba32f, "rgba32f", kFloat, 32, 4},
    FormatInfo{PixelFormat::r32i, "r32i", kSint, 32, 1},       FormatInfo{PixelFormat::rg32i, "rg32i", kSint, 32, 2},
    FormatInfo{PixelFormat::rgb32i, "rgb32i", kSint, 32, 3},   FormatInfo{PixelFormat::rgba32i, "rgba32i", kSint, 32, 4},
    FormatInfo{PixelFormat::r32ui, "r32ui", kUint, 32, 1},     FormatInfo{PixelFormat::rg32ui, "rg32ui", kUint, 32, 2},
    FormatInfo{PixelFormat::rgb32ui, "rgb32ui", kUint, 32, 3}, FormatInfo{PixelFormat::rgba32ui, "rgba32ui", kUint, 32, 4},
    FormatInfo{PixelFormat::r64f, "r64f", kFloat, 64, 1},      FormatInfo{PixelFormat::rg64f, "rg64f", kFloat, 64, 2},
    FormatInfo{PixelFormat::rgb64f, "rgb64f", kFloat, 64, 3},  FormatInfo{PixelFormat::rgba64f, "rgba64f", kFloat, 64, 4},
};

constexpr bool rows_follow_the_enum() {
  for (std::size_t i = 0; i < kFormats.size(); ++i) {
    if (static_cast<std::size_t>(kFormats[i].format) != i) return false;
  }
  return kFormats.size() == static_cast<std::size_t>(PixelFormat::rgba64f) + 1;
}
static_assert(rows_follow_the_enum(), "the format table must have one row for each PixelFormat, in order");

}  // namespace

std::span<const FormatInfo> formats() {
  return kFormats;
}

const FormatInfo& info(PixelFormat format) {
  return kFormats[static_cast<std::size_t>(format)];
}

std::optional<PixelFormat> parse_format(std::string_view name) {
  for (const FormatInfo& row : kFormats) {
    if (row.name == name) return row.format;
  }
  return std::nullopt;
}

std::optional<PixelFormat> find_format(ComponentClass component_class, int bits, int channels) {
  for (const FormatInfo& row : kFormats) {
    if (row.component_class == component_class && row.bits == bits && row.channels == channels) return row.format;
  }
  return std::nullopt;
}

}  // namespace mollify
