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

/// How a pixel is stored: interleaved channels in the host's byte order. `r8` to `rgba16` are unorm, unsigned integers whose maximum stands
/// for 1. `r16f` to `rgba16f` are half floats, `r32f` to `rgba32f` floats and `r64f` to `rgba64f` doubles. `r32i` to `rgba32i` are signed
/// integers and `r32ui` to `rgba32ui` unsigned ones that stand for themselves: they are rounded to the nearest and held within their range.
/// The last channel of formats with 2 and 4 channels is alpha where BlurSpec::alpha says so.
enum class PixelFormat : std::uint8_t {
  r8,
  rg8,
  rgb8,
  rgba8,
  r16,
  rg16,
  rgb16,
  rgba16,
  r16f,
  rg16f,
  rgb16f,
  rgba16f,
  r32f,
  rg32f,
  rgb32f,
  rgba32f,
  r32i,
  rg32i,
  rgb32i,
  rgba32i,
  r32ui,
  rg32ui,
  rgb32ui,
  rgba32ui,
  r64f,
  rg64f,
  rgb64f,
  rgba64f,
};

/// What kind of number a component of a pixel is: an unsigned integer that stands for 0 to 1, a floating-point number, or an integer that
/// stands for itself, signed or unsigned.
enum class ComponentClass : std::uint8_t { unorm, floating, sint, uint };

/// The properties of a PixelFormat.
struct FormatInfo {
  PixelFormat format;              ///< The format that this describes.
  std::string_view name;           ///< The name that the command line uses, such as "rgba8".
  ComponentClass component_class;  ///< What kind of number a component is.
  int bits;                        ///< Bits of one component: 8, 16, 32 or 64.
  int channels;                    ///< Components of a pixel, 1 to 4.

  /// Bytes of one component: 1, 2, 4 or 8.
  [[nodiscard]] constexpr int component_bytes() const { return bits / 8; }
  /// Bytes of one pixel, 1 to 32.
  [[nodiscard]] constexpr int pixel_bytes() const { return component_bytes() * channels; }
  /// Whether components are unsigned integers that stand for 0 to 1.
  [[nodiscard]] constexpr bool is_unorm() const { return component_class == ComponentClass::unorm; }
  /// Whether components are floating-point numbers.
  [[nodiscard]] constexpr bool is_floating() const { return component_class == ComponentClass::floating; }
  /// Whether components are integers that stand for themselves.
  [[nodiscard]] constexpr bool is_integral() const { return !is_unorm() && !is_floating(); }
  /// Whether floats of 32 bits cannot hold all components. CPUs and CUDA blur such pixels, in sums of doubles.
  [[nodiscard]] constexpr bool is_wide() const { return bits > 32 || is_integral(); }
  /// The stored number that stands for 1: 255, 65535, or 1 for formats that are not unorm.
  [[nodiscard]] constexpr double unit() const { return is_unorm() ? static_cast<double>((1U << bits) - 1U) : 1.0; }
};

/// All formats, in the order of PixelFormat.
[[nodiscard]] std::span<const FormatInfo> formats();
/// The properties of a format.
[[nodiscard]] const FormatInfo& info(PixelFormat format);
/// The format of this name, such as "rgba8", or nothing if there is none.
[[nodiscard]] std::optional<PixelFormat> parse_format(std::string_view name);
/// The format with these properties, or nothing if there is none.
[[nodiscard]] std::optional<PixelFormat> find_format(ComponentClass component_class, int bits, int channels);

/// The largest number of bytes that an image may have, so that sums of a few such sizes fit into 64 bits.
inline constexpr std::int64_t kMostImageBytes = std::int64_t{1} << 56;

/// The shape of an image: its size and how pixels are stored.
struct ImageDesc {
  std::int32_t width = 0;                   ///< Columns in pixels, at least 1.
  std::int32_t height = 0;                  ///< Rows in pixels, at least 1.
  PixelFormat format = PixelFormat::rgba8;  ///< How a pixel is stored.

  /// Bytes of the pixels of one row, without any gap after them.
  [[nodiscard]] std::int64_t row_payload_bytes() const { return std::int64_t{width} * info(format).pixel_bytes(); }
  /// Bytes of all pixels, without any gaps between rows.
  [[nodiscard]] std::int64_t payload_bytes() const { return row_payload_bytes() * height; }
  bool operator==(const ImageDesc&) const = default;
};

/// A rectangle in pixels.
struct Rect {
  std::int32_t x = 0;       ///< The first column.
  std::int32_t y = 0;       ///< The first row.
  std::int32_t width = 0;   ///< Columns.
  std::int32_t height = 0;  ///< Rows.
  bool operator==(const Rect&) const = default;
};

/// Pixels that somebody else owns and that are only read. `data` and `row_bytes` must be multiples of the component's size. If there are
/// several rows, they must be at least desc.row_payload_bytes() apart, in either direction.
struct ConstImageView {
  ImageDesc desc;                ///< Size and format.
  const void* data = nullptr;    ///< The first pixel of the first row.
  std::ptrdiff_t row_bytes = 0;  ///< Bytes from a row to the next one. A negative distance means that the first row is the last in memory.

  /// The first byte of row `y`. It is not checked that there is such a row.
  [[nodiscard]] const std::byte* row(std::int64_t y) const { return static_cast<const std::byte*>(data) + y * row_bytes; }
};

/// Pixels that somebody else owns and that may be written. The same holds of its members as of ConstImageView's.
struct ImageView {
  ImageDesc desc;                ///< Size and format.
  void* data = nullptr;          ///< The first pixel of the first row.
  std::ptrdiff_t row_bytes = 0;  ///< Bytes from a row to the next one. A negative distance means that the first row is the last in memory.

  /// The first byte of row `y`. It is not checked that there is such a row.
  [[nodiscard]] std::byte* row(std::int64_t y) const { return static_cast<std::byte*>(data) + y * row_bytes; }
  /// The same pixels, only to be read.
  operator ConstImageView() const { return {desc, data, row_bytes}; }  // NOLINT(google-explicit-constructor)
};

/// A part of a larger image, only to be read.
struct ConstWindow {
  ConstImageView pixels;  ///< The pixels of the part, with its own size.
  std::int32_t x = 0;     ///< The column of the whole image that the part begins with.
  std::int32_t y = 0;     ///< The row of the whole image that the part begins with.

  /// The place of the part in the whole image.
  [[nodiscard]] Rect place() const { return {x, y, pixels.desc.width, pixels.desc.height}; }
};

/// A part of a larger image.
struct Window {
  ImageView pixels;    ///< The pixels of the part, with its own size.
  std::int32_t x = 0;  ///< The column of the whole image that the part begins with.
  std::int32_t y = 0;  ///< The row of the whole image that the part begins with.

  /// The place of the part in the whole image.
  [[nodiscard]] Rect place() const { return {x, y, pixels.desc.width, pixels.desc.height}; }
};

/// The part of `view` inside `rect`. It is not checked that `rect` lies within the view.
[[nodiscard]] ConstImageView crop(const ConstImageView& view, const Rect& rect);
/// The part of `view` inside `rect`. It is not checked that `rect` lies within the view.
[[nodiscard]] ImageView crop(const ImageView& view, const Rect& rect);

/// An image that owns its pixels. Rows start at multiples of 64 bytes.
class Image {
 public:
  /// An image without pixels.
  Image() = default;
  /// An image whose pixels have undefined values. Fails with ErrorCode::invalid_argument for a shape that no image can have and with
  /// ErrorCode::out_of_memory.
  static Result<Image> create(const ImageDesc& desc);

  /// Size and format.
  [[nodiscard]] const ImageDesc& desc() const { return desc_; }
  /// The pixels, valid as long as the image lives.
  [[nodiscard]] ImageView view() { return {desc_, data_.get(), row_bytes_}; }
  /// The pixels, only to be read, valid as long as the image lives.
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
