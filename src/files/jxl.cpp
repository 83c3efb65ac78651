// JPEG XL, read by libjxl where it is installed.
#include "files/jxl_library.h"

#ifdef MOLLIFY_HAS_JXL

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#endif

namespace mollify::files {
namespace {
constexpr const char* kCommand = "djxl in.jxl in.png";
}  // namespace

#ifdef MOLLIFY_HAS_JXL
namespace {

class JxlReader final : public DecodedReader {
 public:
  JxlReader(std::unique_ptr<ByteSource> source, const ReadOptions& options)
      : DecodedReader(std::move(source), options), decoder_(make_jxl_decoder()) {
    runner_ = make_jxl_runner(*decoder_, options.threads);
    document_.format = FileFormat::jxl;
    if (has_boxes()) check_boxes();
    begin(JXL_DEC_BASIC_INFO | JXL_DEC_COLOR_ENCODING | JXL_DEC_FRAME | (has_boxes() ? JXL_DEC_BOX : 0));
    check_jxl(jxl().decompress_boxes(decoder_.get(), JXL_TRUE));
    describe();
    jxl().rewind(decoder_.get());
    begin(JXL_DEC_FULL_IMAGE);
  }

 private:
  /// Pixels stay as they are stored; the page says how they are turned.
  void begin(int events) {
    check_jxl(jxl().subscribe(decoder_.get(), events));
    check_jxl(jxl().keep_orientation(decoder_.get(), JXL_TRUE));
    check_jxl(jxl().set_input(decoder_.get(), bytes_.data(), bytes_.size()));
    // A box may reach to the end of the file. Of a cut-off codestream libjxl would write to stderr if it were told of the end.
    if (has_boxes()) jxl().close_input(decoder_.get());
  }

  /// Else the file is a codestream and nothing else.
  [[nodiscard]] bool has_boxes() const { return bytes_.front() == 0; }

  void check_boxes() const {
    const auto number = [&](std::size_t at, std::size_t size) {
      if (at + size > bytes_.size()) throw FileError("is cut off");
      std::uint64_t value = 0;
      for (std::size_t i = 0; i < size; ++i) value = value << 8 | bytes_[at + i];
      return value;
    };
    for (std::size_t at = 0; at < bytes_.size();) {
      constexpr std::size_t kHeader = 8;
      std::uint64_t size = number(at, 4);
      if (size == 0) return;  // it reaches to the end
      if (size == 1) size = number(at + kHeader, 8);
      if (size < kHeader) throw FileError("is damaged: a box has no valid size");
      if (size > bytes_.size() - at) throw FileError("is cut off");
      at += size;
    }
  }

  [[nodiscard]] JxlDecoderStatus process() const {
    const JxlDecoderStatus status = jxl().process(decoder_.get());
    if (status == JXL_DEC_ERROR) throw FileError("is damaged; libjxl cannot decode it");
    if (status == JXL_DEC_NEED_MORE_INPUT) throw FileError("is cut off");
    return status;
  }

  // What the file holds.

  void describe() {
    const QuietStandardError quiet;
    for (;;) {
      switch (process()) {
        case JXL_DEC_SUCCESS:
          end_box();
          if (document_.pages.empty()) throw FileError("holds no picture");
          return;
        case JXL_DEC_BASIC_INFO:
          read_basic_info();
          break;
        case JXL_DEC_COLOR_ENCODING:
          read_profile();
          break;
        case JXL_DEC_FRAME:
          add_frame();
          break;
        case JXL_DEC_BOX:
          begin_box();
          break;
        case JXL_DEC_BOX_NEED_MORE_OUTPUT:
          grow_box();
          break;
        default:
          break;
      }
    }
  }

  void read_basic_info() {
    check_jxl(jxl().basic_info(decoder_.get(), &info_));
    format_.num_channels = info_.num_color_channels + (info_.alpha_bits > 0 ? 1 : 0);
    format_.endianness = JXL_NATIVE_ENDIAN;
    format_.data_type = JXL_TYPE_UINT8;
    constexpr std::uint32_t kMostIntegerBits = 16;
    if (info_.exponent_bits_per_sample > 0) {
      format_.data_type = info_.bits_per_sample <= kMostIntegerBits ? JXL_TYPE_FLOAT16 : JXL_TYPE_FLOAT;
    } else if (info_.bits_per_sample > kMostIntegerBits) {
      format_.data_type = JXL_TYPE_FLOAT;
      messages_.add("integers of " + std::to_string(info_.bits_per_sample) + " bits become floats");
    } else if (info_.bits_per_sample > 8) {
      format_.data_type = JXL_TYPE_UINT16;
    }
    for (std::uint32_t i = 0; i < info_.num_extra_channels; ++i) {
      JxlExtraChannelInfo extra;
      check_jxl(jxl().extra_channel_info(decoder_.get(), i, &extra));
      if (extra.type == JXL_CHANNEL_BLACK)
        throw FileError("is in CMYK, which cannot be read from JPEG XL; convert it: " + std::string(kCommand));
      const bool is_the_alpha = extra.type == JXL_CHANNEL_ALPHA && !saw_alpha_;
      if (is_the_alpha)
        saw_alpha_ = true;
      else
        messages_.add("channels besides colour and alpha are left out");
    }
    if (info_.have_animation) {
      add_item(ItemKind::loop_count, "loops", {});
      document_.items.back().number = info_.animation.num_loops;
    }
  }

  void read_profile() {
    std::size_t size = 0;
#if JPEGXL_MAJOR_VERSION == 0 && JPEGXL_MINOR_VERSION < 9
    if (jxl().icc_size(decoder_.get(), &format_, JXL_COLOR_PROFILE_TARGET_DATA, &size) != JXL_DEC_SUCCESS) return;
#else
    if (jxl().icc_size(decoder_.get(), JXL_COLOR_PROFILE_TARGET_DATA, &size) != JXL_DEC_SUCCESS) return;
#endif
    if (static_cast<double>(size) > static_cast<double>(options_.memory_bytes))
      throw FileError("has a profile that is larger than may be used");
    Bytes profile(size);
#if JPEGXL_MAJOR_VERSION == 0 && JPEGXL_MINOR_VERSION < 9
    check_jxl(jxl().icc(decoder_.get(), &format_, JXL_COLOR_PROFILE_TARGET_DATA, profile.data(), size));
#else
    check_jxl(jxl().icc(decoder_.get(), JXL_COLOR_PROFILE_TARGET_DATA, profile.data(), size));
#endif
    add_item(ItemKind::icc_profile, "ICC profile", std::move(profile));
  }

  void add_frame() {
    JxlFrameHeader header;
    check_jxl(jxl().frame_header(decoder_.get(), &header));
    const NumberType type = format_.data_type == JXL_TYPE_UINT8     ? NumberType::u8
                            : format_.data_type == JXL_TYPE_UINT16  ? NumberType::u16
                            : format_.data_type == JXL_TYPE_FLOAT16 ? NumberType::f16
                                                                    : NumberType::f32;
    AlphaKind alpha = AlphaKind::none;
    if (info_.alpha_bits > 0) alpha = info_.alpha_premultiplied ? AlphaKind::associated : AlphaKind::unassociated;
    Page& page = add_page(info_.xsize, info_.ysize, type, info_.num_color_channels == 1 ? ColourModel::grey : ColourModel::rgb, alpha);
    const auto bits = static_cast<int>(info_.bits_per_sample);
    if (!is_float(type) && bits < 8 * mollify::files::bytes_of(type)) page.significant_bits = bits;
    page.orientation = static_cast<Orientation>(info_.orientation);
    if (!info_.have_animation) return;
    page.kind = PageKind::frame;
    const double milliseconds = 1000.0 * header.duration * info_.animation.tps_denominator / std::max(info_.animation.tps_numerator, 1U);
    constexpr double kLongest = 1e9;
    page.timing = Timing{static_cast<std::int32_t>(std::round(std::min(milliseconds, kLongest)))};
  }

  // Boxes of metadata, whose size is not known before they end.

  void begin_box() {
    end_box();
    JxlBoxType type;
    check_jxl(jxl().box_type(decoder_.get(), type, JXL_TRUE));
    box_type_.assign(type, sizeof type);
    // The rest is the picture and what describes it.
    const bool is_metadata = box_type_ == "Exif" || box_type_ == "xml " || box_type_ == "jumb";
    if (!is_metadata) {
      constexpr std::array<std::string_view, 7> kOfPicture = {"JXL ", "ftyp", "jxlc", "jxlp", "jxll", "jxli", "jbrd"};
      if (std::ranges::find(kOfPicture, box_type_) == kOfPicture.end()) messages_.add("the unknown box \"" + box_type_ + "\" is left out");
      box_type_.clear();
      return;
    }
    box_.assign(1 << 12, 0);
    check_jxl(jxl().set_box_buffer(decoder_.get(), box_.data(), box_.size()));
  }

  void grow_box() {
    const std::size_t done = box_.size() - jxl().release_box_buffer(decoder_.get());
    if (static_cast<std::int64_t>(2 * box_.size()) > options_.memory_bytes) throw FileError("has metadata that is larger than may be used");
    box_.resize(2 * box_.size());
    check_jxl(jxl().set_box_buffer(decoder_.get(), box_.data() + done, box_.size() - done));
  }

  void end_box() {
    if (box_type_.empty()) return;
    box_.resize(box_.size() - jxl().release_box_buffer(decoder_.get()));
    if (box_type_ == "Exif")
      add_exif(std::move(box_));
    else
      add_item(box_type_ == "xml " ? ItemKind::xmp : ItemKind::unknown, box_type_, std::move(box_));
    box_.clear();
    box_type_.clear();
  }

  // Pixels.

  void decode(int index, Bytes& into) override {
    if (index != next_page_) throw FileError("is read in another order than its pictures have");
    for (;;) {
      switch (process()) {
        case JXL_DEC_SUCCESS:
          throw FileError("is cut off");
        case JXL_DEC_NEED_IMAGE_OUT_BUFFER: {
          std::size_t size = 0;
          check_jxl(jxl().image_size(decoder_.get(), &format_, &size));
          if (size != into.size()) throw FileError("is damaged: its picture has another size than it says");
          check_jxl(jxl().set_image_buffer(decoder_.get(), &format_, into.data(), into.size()));
          break;
        }
        case JXL_DEC_FULL_IMAGE:
          ++next_page_;
          return;
        default:
          break;
      }
    }
  }

  JxlRunner runner_;
  std::unique_ptr<JxlDecoder, ReleaseJxl> decoder_;
  JxlBasicInfo info_{};
  JxlPixelFormat format_{};
  bool saw_alpha_ = false;
  std::string box_type_;
  Bytes box_;
  int next_page_ = 0;
};

}  // namespace

std::unique_ptr<Reader> open_jxl(std::unique_ptr<ByteSource> source, const ReadOptions& options) {
  if (!has_jxl_library()) throw_not_installed(FileFormat::jxl, kJxlPackage, kCommand);
  return std::make_unique<JxlReader>(std::move(source), options);
}
#else
std::unique_ptr<Reader> open_jxl(std::unique_ptr<ByteSource>, const ReadOptions&) {
  throw_not_installed(FileFormat::jxl, kJxlPackage, kCommand);
}
#endif

}  // namespace mollify::files
