// Samples of TIFF files: from the bits as they are stored to the channels of a page, and back.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "files/document.h"
#include "mollify/spec.h"

namespace mollify::files::tiff {

/// How samples are stored. A complex number is two samples here.
enum class SampleKind : std::uint8_t { unsigned_integer, signed_integer, floating };
struct SampleLayout {
  int bits = 8;
  SampleKind kind = SampleKind::unsigned_integer;
  [[nodiscard]] std::int64_t row_bytes(std::int64_t samples) const { return (samples * bits + 7) / 8; }
};
/// The type of the samples of a page; integers of fewer bits are scaled to its full scale.
[[nodiscard]] NumberType number_type(SampleLayout layout);
/// Integers of 64 bits become f64. Unscaled are the indices of palettes.
enum class SampleScale : std::uint8_t { full, none };
void unpack_samples(SampleLayout layout, SampleScale scale, const std::uint8_t* from, std::int64_t count, std::uint8_t* to);
/// The way back. `layout.bits` are those of the number type, or fewer of an integer.
void pack_samples(SampleLayout layout, NumberType type, const std::uint8_t* from, std::int64_t count, std::uint8_t* to);

/// A sample of pixels whose samples differ, and the type that it is unpacked to.
struct MixedSample {
  SampleLayout stored;
  NumberType type = NumberType::u8;  ///< may be wider than unsigned integers need
};
/// Of a row of so many pixels.
[[nodiscard]] std::int64_t row_bytes_of(std::span<const MixedSample> samples, std::int64_t pixels);
/// How the samples of such pixels are coded. Samples of whole bytes are in the order of the file. So is a pixel of 16 or 32 bits as a
/// whole, such as one of 5, 6 and 5. Of others the highest bit comes first, whatever that order is.
struct MixedCoding {
  bool big_endian = false;
  bool has_differences = false;  ///< each is the difference to that of the pixel before (Predictor 2)
};
/// A row of such pixels, interleaved, each sample in its type.
void unpack_mixed(std::span<const MixedSample> samples, MixedCoding coding, const std::uint8_t* from, std::int64_t pixels,
                  std::uint8_t* to);

/// What is done with unpacked rows to make them those of a page.
enum class Conversion : std::uint8_t { none, palette, lab_signs, ycbcr, xyz };

struct YCbCr {
  std::array<double, 3> luma = {0.299, 0.587, 0.114};
  std::array<double, 6> reference = {0, 255, 128, 255, 128, 255};  ///< black and white of Y, Cb, Cr, of `bits` bits
  int bits = 8;                                                    ///< at most 32
  int h = 1, v = 1;                                                ///< subsampling
};
/// What the black and white of samples of so many bits are where a file does not say it.
[[nodiscard]] std::array<double, 6> usual_reference(int bits);
/// Y, Cb, Cr of a row of pixels of `samples` samples of u8, u16 or u32 become R, G, B.
void ycbcr_to_rgb(const YCbCr& ycbcr, std::uint8_t* row, std::int64_t pixels, int samples);
/// Blocks of h x v luminances, Cb and Cr become rows of three interleaved samples.
void unpack_blocks(SampleLayout layout, PerAxis<int> block, const std::uint8_t* from, std::int64_t width, std::int64_t rows,
                   std::uint8_t* to, std::ptrdiff_t row_bytes);
/// Floats X, Y, Z to linear light of sRGB's primaries, as LogLuv files have it.
void xyz_to_rgb(float* row, std::int64_t pixels);
/// a and b of CIE L*a*b*, stored with a sign, to numbers whose middle is grey, or back. Of floats nothing changes.
void swap_lab_signs(NumberType type, std::uint8_t* row, std::int64_t pixels, int samples);

/// A colour map: entries of red, then green, then blue.
class Palette {
 public:
  Palette() = default;
  Palette(const std::vector<std::uint64_t>& map, int bits);
  [[nodiscard]] NumberType type() const { return type_; }
  [[nodiscard]] std::int64_t entries() const { return static_cast<std::int64_t>(colours_.size() / 3); }
  /// A row of `samples` unscaled samples of u8 or u16, the first of which is an index. The others are scaled to full scale of `type()`.
  /// False where an index has no colour: it becomes black.
  bool apply(const std::uint8_t* from, int bits, std::int64_t pixels, int samples, std::uint8_t* to) const;

 private:
  std::vector<std::uint16_t> colours_;  ///< r g b of each entry
  NumberType type_ = NumberType::u8;
};

}  // namespace mollify::files::tiff
