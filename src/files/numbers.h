// Stored numbers of any type as the library's formats and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "files/document.h"
#include "mollify/image.h"

namespace mollify::files {

/// What an integer means where it becomes a float, and the other way round.
enum class Scale : std::uint8_t {
  colour,  ///< a fraction of full scale: 255 of u8 is 1.0
  data,    ///< the number itself: 1000 of i16 is 1000.0
};

/// 255, 65535, ... and 1 for floats.
[[nodiscard]] double full_scale(NumberType type);
/// "8-bit integers", "signed 16-bit integers", "32-bit floats"
[[nodiscard]] std::string_view describe(NumberType type);

/// Whether 32-bit floats cannot hold all numbers of the type.
[[nodiscard]] bool is_wide(NumberType type);
/// Whether numbers of the type are measurements rather than colours, where nothing says what they are.
[[nodiscard]] bool is_data(NumberType type);
/// The smallest type that holds the numbers of both.
[[nodiscard]] NumberType common_type(NumberType one, NumberType other);
/// The type of a format's components.
[[nodiscard]] NumberType type_of(PixelFormat format);
/// The library's format of so many channels, where it has the type.
[[nodiscard]] std::optional<PixelFormat> library_format(NumberType type, int channels);

/// Rows of pixels of a page, all or some, interleaved, each channel in its own type.
struct PagePixels {
  const Page* page = nullptr;
  std::uint8_t* data = nullptr;  ///< the first pixel of the first of the rows
  std::ptrdiff_t row_bytes = 0;
  RowRange rows;
};
/// Bytes from the beginning of a pixel to a channel.
[[nodiscard]] std::ptrdiff_t channel_offset(const Page& page, int channel);

/// Channel channels[i] of `from` becomes channel i of `to`, whose type it has, or which is of floats: then numbers keep their values.
void gather(const PagePixels& from, std::span<const int> channels, const ImageView& to);
/// Channel i of `from`, times factors[i], becomes channel channels[i] of `to`: integers are rounded to the nearest and saturate.
void scatter(const ConstImageView& from, std::span<const int> channels, std::span<const double> factors, const PagePixels& to);

/// The pixels of one channel, of the size that `to` has; where the types differ, integers are rounded and saturate.
void copy_channel(const PagePixels& from, int channel, const PagePixels& to, int to_channel);
/// One number, rounded to the nearest and saturated where the type is one of integers.
void store_number(NumberType type, double value, std::uint8_t* to);

}  // namespace mollify::files
