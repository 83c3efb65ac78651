// JPEG XL, read by libjxl where it is installed.
#include "files/plugins.h"

#if __has_include(<jxl/decode.h>) && __has_include(<jxl/version.h>) && __has_include(<jxl/thread_parallel_runner.h>)
#define MOLLIFY_HAS_JXL
#include <jxl/decode.h>
#include <jxl/thread_parallel_runner.h>
#include <jxl/version.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#endif

namespace mollify::files {
namespace {
constexpr const char* kPackage = "libjxl0.7";
constexpr const char* kCommand = "djxl in.jxl in.png";
}  // namespace

#ifdef MOLLIFY_HAS_JXL
namespace {

#define MOLLIFY_TEXT(x) #x
#define MOLLIFY_LIBRARY(base, major, minor) base ".so." MOLLIFY_TEXT(major) "." MOLLIFY_TEXT(minor)
constexpr const char* kLibrary = MOLLIFY_LIBRARY("libjxl", JPEGXL_MAJOR_VERSION, JPEGXL_MINOR_VERSION);
constexpr const char* kThreadsLibrary = MOLLIFY_LIBRARY("libjxl_threads", JPEGXL_MAJOR_VERSION, JPEGXL_MINOR_VERSION);
#undef MOLLIFY_LIBRARY
#undef MOLLIFY_TEXT

struct Jxl {
  Jxl() : library(kLibrary), threads(kThreadsLibrary) {
    if (!library.is_open()) return;
    library.find(create, "JxlDecoderCreate");
    library.find(destroy, "JxlDecoderDestroy");
    library.find(rewind, "JxlDecoderRewind");
    library.find(subscribe, "JxlDecoderSubscribeEvents");
    library.find(keep_orientation, "JxlDecoderSetKeepOrientation");
    library.find(decompress_boxes, "JxlDecoderSetDecompressBoxes");
    library.find(set_input, "JxlDecoderSetInput");
    library.find(close_input, "JxlDecoderCloseInput");
    library.find(release_input, "JxlDecoderReleaseInput");
    library.find(process, "JxlDecoderProcessInput");
    library.find(basic_info, "JxlDecoderGetBasicInfo");
    library.find(extra_channel_info, "JxlDecoderGetExtraChannelInfo");
    library.find(icc_size, "JxlDecoderGetICCProfileSize");
    library.find(icc, "JxlDecoderGetColorAsICCProfile");
    library.find(frame_header, "JxlDecoderGetFrameHeader");
    library.find(set_image_buffer, "JxlDecoderSetImageOutBuffer");
    library.find(image_size, "JxlDecoderImageOutBufferSize");
    library.find(box_type, "JxlDecoderGetBoxType");
    library.find(set_box_buffer, "JxlDecoderSetBoxBuffer");
    library.find(release_box_buffer, "JxlDecoderReleaseBoxBuffer");
    library.find(set_runner, "JxlDecoderSetParallelRunner");
    if (!threads.is_open()) return;
    threads.find(run, "JxlThreadParallelRunner");
    threads.find(runner_create, "JxlThreadParallelRunnerCreate");
    threads.find(runner_destroy, "JxlThreadParallelRunnerDestroy");
  }
  SharedLibrary library;
  SharedLibrary threads;
  decltype(::JxlDecoderCreate)* create = nullptr;
  decltype(::JxlDecoderDestroy)* destroy = nullptr;
  decltype(::JxlDecoderRewind)* rewind = nullptr;
  decltype(::JxlDecoderSubscribeEvents)* subscribe = nullptr;
  decltype(::JxlDecoderSetKeepOrientation)* keep_orientation = nullptr;
  decltype(::JxlDecoderSetDecompressBoxes)* decompress_boxes = nullptr;
  decltype(::JxlDecoderSetInput)* set_input = nullptr;
  decltype(::JxlDecoderCloseInput)* close_input = nullptr;
  decltype(::JxlDecoderReleaseInput)* release_input = nullptr;
  decltype(::JxlDecoderProcessInput)* process = nullptr;
  decltype(::JxlDecoderGetBasicInfo)* basic_info = nullptr;
  decltype(::JxlDecoderGetExtraChannelInfo)* extra_channel_info = nullptr;
  decltype(::JxlDecoderGetICCProfileSize)* icc_size = nullptr;
  decltype(::JxlDecoderGetColorAsICCProfile)* icc = nullptr;
  decltype(::JxlDecoderGetFrameHeader)* frame_header = nullptr;
  decltype(::JxlDecoderSetImageOutBuffer)* set_image_buffer = nullptr;
  decltype(::JxlDecoderImageOutBufferSize)* image_size = nullptr;
  decltype(::JxlDecoderGetBoxType)* box_type = nullptr;
  decltype(::JxlDecoderSetBoxBuffer)* set_box_buffer = nullptr;
  decltype(::JxlDecoderReleaseBoxBuffer)* release_box_buffer = nullptr;
  decltype(::JxlDecoderSetParallelRunner)* set_runner = nullptr;
  decltype(::JxlThreadParallelRunner)* run = nullptr;
  decltype(::JxlThreadParallelRunnerCreate)* runner_create = nullptr;
  decltype(::JxlThreadParallelRunnerDestroy)* runner_destroy = nullptr;
};

const Jxl& jxl() {
  static const Jxl functions;
  return functions;
}

void check(JxlDecoderStatus status) {
  if (status != JXL_DEC_SUCCESS) throw FileError("is damaged; libjxl cannot decode it");
}

struct Release {
  void operator()(JxlDecoder* decoder) const { jxl().destroy(decoder); }
};
struct ReleaseRunner {
  void operator()(void* runner) const { jxl().runner_destroy(runner); }
};

class JxlReader final : public DecodedReader {
 public:
  JxlReader(std::unique_ptr<ByteSource> source, const ReadOptions& options)
      : DecodedReader(std::move(source), options), decoder_(jxl().create(nullptr)) {
    if (!decoder_) throw std::bad_alloc();
    document_.format = FileFormat::jxl;
    if (options.threads > 1 && jxl().threads.is_open()) {
      runner_.reset(jxl().runner_create(nullptr, static_cast<std::size_t>(options.threads)));
      check(jxl().set_runner(decoder_.get(), jxl().run, runner_.get()));
    }
    if (has_boxes()) check_boxes();
    begin(JXL_DEC_BASIC_INFO | JXL_DEC_COLOR_ENCODING | JXL_DEC_FRAME | (has_boxes() ? JXL_DEC_BOX : 0));
    check(jxl().decompress_boxes(decoder_.get(), JXL_TRUE));
    describe();
    jxl().rewind(decoder_.get());
    begin(JXL_DEC_FULL_IMAGE);
  }

 private:
  /// Pixels stay as they are stored; the page says how they are turned.
  void begin(int events) {
    check(jxl().subscribe(decoder_.get(), events));
    check(jxl().keep_orientation(decoder_.get(), JXL_TRUE));
    check(jxl().set_input(decoder_.get(), bytes_.data(), bytes_.size()));
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
    check(jxl().basic_info(decoder_.get(), &info_));
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
      check(jxl().extra_channel_info(decoder_.get(), i, &extra));
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
    check(jxl().icc(decoder_.get(), &format_, JXL_COLOR_PROFILE_TARGET_DATA, profile.data(), size));
#else
    check(jxl().icc(decoder_.get(), JXL_COLOR_PROFILE_TARGET_DATA, profile.data(), size));
#endif
    add_item(ItemKind::icc_profile, "ICC profile", std::move(profile));
  }

  void add_frame() {
    JxlFrameHeader header;
    check(jxl().frame_header(decoder_.get(), &header));
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
    check(jxl().box_type(decoder_.get(), type, JXL_TRUE));
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
    check(jxl().set_box_buffer(decoder_.get(), box_.data(), box_.size()));
  }

  void grow_box() {
    const std::size_t done = box_.size() - jxl().release_box_buffer(decoder_.get());
    if (static_cast<std::int64_t>(2 * box_.size()) > options_.memory_bytes) throw FileError("has metadata that is larger than may be used");
    box_.resize(2 * box_.size());
    check(jxl().set_box_buffer(decoder_.get(), box_.data() + done, box_.size() - done));
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
          check(jxl().image_size(decoder_.get(), &format_, &size));
          if (size != into.size()) throw FileError("is damaged: its picture has another size than it says");
          check(jxl().set_image_buffer(decoder_.get(), &format_, into.data(), into.size()));
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

  std::unique_ptr<void, ReleaseRunner> runner_;
  std::unique_ptr<JxlDecoder, Release> decoder_;
  JxlBasicInfo info_{};
  JxlPixelFormat format_{};
  bool saw_alpha_ = false;
  std::string box_type_;
  Bytes box_;
  int next_page_ = 0;
};

}  // namespace

bool has_jxl_library() {
  return jxl().library.is_open();
}

std::unique_ptr<Reader> open_jxl(std::unique_ptr<ByteSource> source, const ReadOptions& options) {
  if (!has_jxl_library()) throw_not_installed(FileFormat::jxl, kPackage, kCommand);
  return std::make_unique<JxlReader>(std::move(source), options);
}
#else
bool has_jxl_library() {
  return false;
}
std::unique_ptr<Reader> open_jxl(std::unique_ptr<ByteSource>, const ReadOptions&) {
  throw_not_installed(FileFormat::jxl, kPackage, kCommand);
}
#endif

}  // namespace mollify::files
