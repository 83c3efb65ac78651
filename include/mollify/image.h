// Pixel formats and non-owning views of images.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "mollify/result.h"

namespace mollify {

/// Interleaved channels, host byte order. `r8` to `rgba16` are unorm: the integer maximum stands for 1.
/// The last channel of 2- and 4-channel formats is alpha where BlurSpec::alpha says that there is one.
enum class PixelFormat : std::uint8_t {
  r8, rg8, rgb8, rgba8,
  r16, rg16, rgb16, rgba16,
  r16f, rg16f, rgb16f, rgba16f,
  r32f, rg32f, rgb32f, rgba32f,
};

enum class ComponentClass : std::uint8_t { unorm, floating };

struct FormatInfo {
  PixelFormat format;
  std::string_view name;           ///< "rgba8", as the command line spells it
  ComponentClass component_class;
  int bits;                        ///< of one component: 8, 16 or 32
  int channels;                    ///< 1 to 4

  [[nodiscard]] constexpr int component_bytes() const { return bits / 8; }
  [[nodiscard]] constexpr int pixel_bytes() const { return component_bytes() * channels; }
  [[nodiscard]] constexpr bool is_unorm() const { return component_class == ComponentClass::unorm; }
  /// The stored number that stands for 1: 255, 65535, or 1 for float formats.
  [[nodiscard]] constexpr double unit() const {
    return is_unorm() ? static_cast<double>((1U << bits) - 1U) : 1.0;
  }
};

/// All formats, in the order of the enum.
[[nodiscard]] std::span<const FormatInfo> formats();
[[nodiscard]] const FormatInfo& info(PixelFormat format);
[[nodiscard]] std::optional<PixelFormat> parse_format(std::string_view name);
/// The format with these properties, if there is one.
[[nodiscard]] std::optional<PixelFormat> find_format(ComponentClass component_class, int bits, int channels);

/// No image is larger: sizes of a few of them fit into 64 bits.
inline constexpr std::int64_t kMostImageBytes = std::int64_t{1} << 56;

struct ImageDesc {
  std::int32_t width = 0;   ///< pixels, at least 1
  std::int32_t height = 0;  ///< pixels, at least 1
  PixelFormat format = PixelFormat::rgba8;

  [[nodiscard]] std::int64_t row_payload_bytes() const { return std::int64_t{width} * info(format).pixel_bytes(); }
  [[nodiscard]] std::int64_t payload_bytes() const { return row_payload_bytes() * height; }
  bool operator==(const ImageDesc&) const = default;
};

/// A rectangle in pixels; (x, y) is its first column and row.
struct Rect {
  std::int32_t x = 0;
  std::int32_t y = 0;
  std::int32_t width = 0;
  std::int32_t height = 0;
  bool operator==(const Rect&) const = default;
};

/// Pixels somebody else owns. `data` points at the first row; rows are `row_bytes` apart (negative: bottom-up).
/// `data` and `row_bytes` must be multiples of the component size, and rows, where there are several, must not overlap: they are
/// at least desc.row_payload_bytes() apart.
struct ConstImageView {
  ImageDesc desc;
  const void* data = nullptr;
  std::ptrdiff_t row_bytes = 0;

  [[nodiscard]] const std::byte* row(std::int64_t y) const {
    return static_cast<const std::byte*>(data) + y * row_bytes;
  }
};

struct ImageView {
  ImageDesc desc;
  void* data = nullptr;
  std::ptrdiff_t row_bytes = 0;

  [[nodiscard]] std::byte* row(std::int64_t y) const { return static_cast<std::byte*>(data) + y * row_bytes; }
  operator ConstImageView() const { return {desc, data, row_bytes}; }  // NOLINT(google-explicit-constructor)
};

/// The part of `view` inside `rect`, which must lie within it: that is not checked.
[[nodiscard]] ConstImageView crop(const ConstImageView& view, const Rect& rect);
[[nodiscard]] ImageView crop(const ImageView& view, const Rect& rect);

/// An image that owns its pixels: rows start at multiples of 64 bytes, contents start undefined.
class Image {
 public:
  Image() = default;
  static Result<Image> create(const ImageDesc& desc);

  [[nodiscard]] const ImageDesc& desc() const { return desc_; }
  [[nodiscard]] ImageView view() { return {desc_, data_.get(), row_bytes_}; }
  [[nodiscard]] ConstImageView view() const { return {desc_, data_.get(), row_bytes_}; }

 private:
  struct Free {
    void operator()(std::byte* data) const;
  };
  ImageDesc desc_;
  std::unique_ptr<std::byte, Free> data_;
  std::ptrdiff_t row_bytes_ = 0;
};

}  // namespace mollify
