// JPEG XL in strips and tiles, decoded by libjxl where it is installed.
#include <cstring>
#include <vector>

#include "files/jxl_library.h"
#include "files/tiff_codestream.h"

namespace mollify::files::tiff {

#ifdef MOLLIFY_HAS_JXL
namespace {

JxlDataType data_type(NumberType type) {
  switch (type) {
    case NumberType::u8:
      return JXL_TYPE_UINT8;
    case NumberType::u16:
      return JXL_TYPE_UINT16;
    case NumberType::f16:
      return JXL_TYPE_FLOAT16;
    default:
      return JXL_TYPE_FLOAT;
  }
}

class JpegXlDecoder final : public CodestreamDecoder {
 public:
  explicit JpegXlDecoder(const ReadOptions& options) : options_(options) {}

  void decode(std::span<const std::uint8_t> bytes, const StrileShape& shape, std::uint8_t* into) override {
    const QuietStandardError quiet;
    const auto decoder = make_jxl_decoder();
    const JxlRunner runner = make_jxl_runner(*decoder, options_.threads);
    check_jxl(jxl().subscribe(decoder.get(), JXL_DEC_BASIC_INFO | JXL_DEC_FULL_IMAGE));
    check_jxl(jxl().keep_orientation(decoder.get(), JXL_TRUE));
    check_jxl(jxl().set_input(decoder.get(), bytes.data(), bytes.size()));
    JxlBasicInfo info{};
    for (;;) {
      switch (jxl().process(decoder.get())) {
        case JXL_DEC_BASIC_INFO:
          check_jxl(jxl().basic_info(decoder.get(), &info));
          require(info, shape);
          break;
        case JXL_DEC_NEED_IMAGE_OUT_BUFFER:
          set_buffers(*decoder, info, shape);
          break;
        case JXL_DEC_FULL_IMAGE:
          return interleave(info, shape, into);
        case JXL_DEC_NEED_MORE_INPUT:
        case JXL_DEC_SUCCESS:
          throw FileError("is cut off: a part of its JPEG XL is missing");
        default:
          throw FileError("is damaged: a strip or tile in JPEG XL cannot be decoded");
      }
    }
  }

 private:
  ReadOptions options_;
  Bytes colours_;
  std::vector<Bytes> further_;

  /// Whether the picture can be this strip or tile, and whether there is memory to decode it.
  void require(const JxlBasicInfo& info, const StrileShape& shape) const {
    const bool fits = info.xsize >= shape.visible_width && info.xsize <= shape.width && info.ysize >= shape.visible_rows &&
                      info.ysize <= shape.rows && info.have_animation == JXL_FALSE;
    if (!fits) {
      throw FileError("is damaged: a strip or tile in JPEG XL has " + std::to_string(info.xsize) + "x" + std::to_string(info.ysize) +
                      " pixels where " + std::to_string(shape.width) + "x" + std::to_string(shape.rows) + " belong");
    }
    const bool is_float = info.exponent_bits_per_sample > 0;
    const bool is_same = info.num_color_channels + info.num_extra_channels == static_cast<std::uint32_t>(shape.samples) &&
                         is_float == (shape.sample.kind == SampleKind::floating) &&
                         info.bits_per_sample == static_cast<std::uint32_t>(shape.sample.bits);
    if (!is_same) throw FileError("is damaged: a strip or tile in JPEG XL has other samples than its page");
    const double needed = kCodestreamSampleBytes * shape.samples * info.xsize * info.ysize;
    if (needed > static_cast<double>(options_.memory_bytes))
      throw FileError("needs " + std::to_string(whole_bytes(needed) >> 20) +
                      " MB to decode a strip or tile in JPEG XL, more than may be used");
  }

  static JxlPixelFormat format_of(std::uint32_t channels, const StrileShape& shape) {
    return {.num_channels = channels, .data_type = data_type(shape.type()), .endianness = JXL_NATIVE_ENDIAN, .align = 0};
  }

  void set_buffers(JxlDecoder& decoder, const JxlBasicInfo& info, const StrileShape& shape) {
    const JxlPixelFormat format = format_of(info.num_color_channels, shape), one = format_of(1, shape);
    const std::size_t pixels = std::size_t{info.xsize} * info.ysize, size = static_cast<std::size_t>(bytes_of(shape.type()));
    std::size_t needed = 0;
    const auto require_size = [&](std::size_t expected) {
      if (needed != expected) throw FileError("is damaged: a strip or tile in JPEG XL cannot be decoded");
    };
    colours_.resize(pixels * size * info.num_color_channels);
    check_jxl(jxl().image_size(&decoder, &format, &needed));
    require_size(colours_.size());
    check_jxl(jxl().set_image_buffer(&decoder, &format, colours_.data(), colours_.size()));
    further_.assign(info.num_extra_channels, Bytes(pixels * size));
    for (std::uint32_t i = 0; i < info.num_extra_channels; ++i) {
      check_jxl(jxl().extra_channel_size(&decoder, &one, &needed, i));
      require_size(further_[i].size());
      check_jxl(jxl().set_extra_channel_buffer(&decoder, &one, further_[i].data(), further_[i].size(), i));
    }
  }

  void interleave(const JxlBasicInfo& info, const StrileShape& shape, std::uint8_t* into) const {
    const auto size = static_cast<std::size_t>(bytes_of(shape.type())), colours = size * info.num_color_channels;
    const std::uint8_t* from = colours_.data();
    for (std::size_t y = 0; y < info.ysize; ++y) {
      std::uint8_t* to = into + static_cast<std::int64_t>(y) * shape.row_bytes();
      for (std::size_t x = 0; x < info.xsize; ++x) {
        std::memcpy(to, from, colours);
        from += colours;
        to += colours;
        for (const Bytes& each : further_) {
          std::memcpy(to, each.data() + (y * info.xsize + x) * size, size);
          to += size;
        }
      }
    }
  }
};

}  // namespace

std::unique_ptr<CodestreamDecoder> make_jpegxl_decoder(const ReadOptions& options) {
  return std::make_unique<JpegXlDecoder>(options);
}
#else
std::unique_ptr<CodestreamDecoder> make_jpegxl_decoder(const ReadOptions&) {
  return nullptr;
}
#endif

}  // namespace mollify::files::tiff
