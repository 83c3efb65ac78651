// Strips and tiles that are pictures of JPEG 2000 or JPEG XL, which libtiff does not decode. Their libraries are opened where they are
// installed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "files/codec.h"
#include "files/tiff_samples.h"

namespace mollify::files::tiff {

/// A strip or tile as the directory describes it.
struct StrileShape {
  std::int64_t width = 0, rows = 0;
  std::int64_t visible_width = 0, visible_rows = 0;  ///< inside of the page: a picture that ends there will do
  int samples = 1;
  SampleLayout sample;

  [[nodiscard]] NumberType type() const { return number_type(sample); }
  [[nodiscard]] std::int64_t row_bytes() const { return width * samples * bytes_of(type()); }
};

class CodestreamDecoder {
 public:
  virtual ~CodestreamDecoder() = default;
  /// Interleaved samples as unpack_samples() makes them, in `shape.rows` rows. Where the picture has fewer pixels than the shape, the
  /// others stay as they are.
  virtual void decode(std::span<const std::uint8_t> bytes, const StrileShape& shape, std::uint8_t* into) = 0;
};

/// The compressions whose strips and tiles are such pictures. Aperio's microscopes write two of JPEG 2000, Bio-Formats and vips a third.
enum class Codestream : std::uint8_t { none, jpeg2000, jpegxl };
[[nodiscard]] Codestream codestream_of(int compression);
/// "JPEG", "JPEG 2000", "JPEG XL"; empty for compressions that are none of them.
[[nodiscard]] std::string_view jpeg_name_of(int compression);

/// FileError where the library is not installed, and where it has no samples of this kind.
void require_codestream(Codestream codestream, SampleLayout sample);
[[nodiscard]] std::unique_ptr<CodestreamDecoder> make_codestream_decoder(Codestream codestream, const ReadOptions& options);
/// What a decoder takes for a sample of a strip or tile, at most: numbers of 32 bits, and what they are decoded from.
inline constexpr double kCodestreamSampleBytes = 16;
/// Whether what a strip or tile of such a compression holds is YCbCr, by its first bytes. `says_ycbcr` is what the directory says.
[[nodiscard]] bool holds_ycbcr(int compression, bool says_ycbcr, std::span<const std::uint8_t> begin);

/// Whether libvips writes such a compression: of its YCbCr JPEG 2000 makes RGB once more, which nothing in the file tells.
[[nodiscard]] bool may_be_ycbcr_of_vips(int compression);

// One pair for each library, see require_codestream() and make_codestream_decoder().
[[nodiscard]] bool has_jpeg2000_library();
[[nodiscard]] std::unique_ptr<CodestreamDecoder> make_jpeg2000_decoder(const ReadOptions& options);
[[nodiscard]] std::unique_ptr<CodestreamDecoder> make_jpegxl_decoder(const ReadOptions& options);

}  // namespace mollify::files::tiff
