// AVIF, read by libavif where it is installed.
#include "files/plugins.h"

#if __has_include(<avif/avif.h>)
#include <avif/avif.h>

#include <array>
#include <cmath>
#include <cstring>
#endif

namespace mollify::files {
namespace {
constexpr const char* kPackage = "libavif15";
constexpr const char* kCommand = "avifdec in.avif in.png";
}  // namespace

#if __has_include(<avif/avif.h>)
namespace {

// The library's structures change with the number in its name: only the one that this build saw the headers of will do.
constexpr const char* kLibrary = AVIF_VERSION_MAJOR >= 1 ? "libavif.so.16" : "libavif.so.15";

struct Avif {
  Avif() : library(kLibrary) {
    if (!library.is_open()) return;
    library.find(decoder_create, "avifDecoderCreate");
    library.find(decoder_destroy, "avifDecoderDestroy");
    library.find(decoder_set_memory, "avifDecoderSetIOMemory");
    library.find(decoder_parse, "avifDecoderParse");
    library.find(decoder_nth_image, "avifDecoderNthImage");
    library.find(decoder_nth_timing, "avifDecoderNthImageTiming");
    library.find(rgb_defaults, "avifRGBImageSetDefaults");
    library.find(to_rgb, "avifImageYUVToRGB");
    library.find(text_of, "avifResultToString");
  }
  SharedLibrary library;
  decltype(::avifDecoderCreate)* decoder_create = nullptr;
  decltype(::avifDecoderDestroy)* decoder_destroy = nullptr;
  decltype(::avifDecoderSetIOMemory)* decoder_set_memory = nullptr;
  decltype(::avifDecoderParse)* decoder_parse = nullptr;
  decltype(::avifDecoderNthImage)* decoder_nth_image = nullptr;
  decltype(::avifDecoderNthImageTiming)* decoder_nth_timing = nullptr;
  decltype(::avifRGBImageSetDefaults)* rgb_defaults = nullptr;
  decltype(::avifImageYUVToRGB)* to_rgb = nullptr;
  decltype(::avifResultToString)* text_of = nullptr;
};

const Avif& avif() {
  static const Avif functions;
  return functions;
}

void check(avifResult result) {
  if (result == AVIF_RESULT_TRUNCATED_DATA) throw FileError("is cut off");
  if (result != AVIF_RESULT_OK) throw FileError("cannot be decoded; libavif says: " + std::string(avif().text_of(result)));
}

struct Release {
  void operator()(avifDecoder* decoder) const { avif().decoder_destroy(decoder); }
};

/// The picture is first turned anti-clockwise, then mirrored.
Orientation orientation_of(const avifImage& image) {
  const int turns = (image.transformFlags & AVIF_TRANSFORM_IROT) != 0 ? image.irot.angle & 3 : 0;
  if ((image.transformFlags & AVIF_TRANSFORM_IMIR) == 0) return std::array{1, 8, 3, 6}[static_cast<std::size_t>(turns)];
#if AVIF_VERSION_MAJOR >= 1
  const bool left_and_right = image.imir.axis != 0;
#else
  const bool left_and_right = image.imir.mode != 0;
#endif
  return (left_and_right ? std::array{2, 7, 4, 5} : std::array{4, 5, 2, 7})[static_cast<std::size_t>(turns)];
}

Bytes bytes_of(const avifRWData& data) {
  return data.size == 0 ? Bytes() : Bytes(data.data, data.data + data.size);
}

class AvifReader final : public DecodedReader {
 public:
  AvifReader(std::unique_ptr<ByteSource> source, const ReadOptions& options) : DecodedReader(std::move(source), options) {
    document_.format = FileFormat::avif;
    decoder_.reset(avif().decoder_create());
    if (!decoder_) throw std::bad_alloc();
    decoder_->maxThreads = options.threads;
    // Files that others can read are not refused for a formality.
    decoder_->strictFlags = AVIF_STRICT_DISABLED;
    check(avif().decoder_set_memory(decoder_.get(), bytes_.data(), bytes_.size()));
    check(avif().decoder_parse(decoder_.get()));
    if (decoder_->imageCount < 1) throw FileError("holds no picture");
    for (int i = 0; i < decoder_->imageCount; ++i) add_picture(i);
    add_items();
  }

 private:
  void add_picture(int index) {
    const avifImage& image = *decoder_->image;
    AlphaKind alpha = AlphaKind::none;
    if (decoder_->alphaPresent) alpha = image.alphaPremultiplied ? AlphaKind::associated : AlphaKind::unassociated;
    const bool wide = image.depth > 8;
    Page& page = add_page(image.width, image.height, wide ? NumberType::u16 : NumberType::u8,
                          image.yuvFormat == AVIF_PIXEL_FORMAT_YUV400 ? ColourModel::grey : ColourModel::rgb, alpha);
    if (wide && image.depth < 16) page.significant_bits = static_cast<int>(image.depth);
    page.orientation = orientation_of(image);
    if ((image.transformFlags & AVIF_TRANSFORM_CLAP) != 0) messages_.add("the crop that the file asks for (clap) is not applied");
    if (decoder_->imageCount == 1) return;
    page.kind = PageKind::frame;
    avifImageTiming timing{};
    check(avif().decoder_nth_timing(decoder_.get(), static_cast<std::uint32_t>(index), &timing));
    const double milliseconds = std::round(1000 * timing.duration);
    constexpr double kLongest = 1e9;
    page.timing = Timing{static_cast<std::int32_t>(milliseconds >= 0 && milliseconds < kLongest ? milliseconds : 0)};
  }

  void add_items() {
    const avifImage& image = *decoder_->image;
    if (image.icc.size > 0) add_item(ItemKind::icc_profile, "ICC profile", bytes_of(image.icc));
    // Unspecified primaries (2) say nothing. Pixels are handed out as full-range RGB.
    constexpr int kUnspecified = 2;
    if (image.icc.size == 0 && (image.colorPrimaries != kUnspecified || image.transferCharacteristics != kUnspecified)) {
      add_item(ItemKind::cicp, "nclx",
               {static_cast<std::uint8_t>(image.colorPrimaries), static_cast<std::uint8_t>(image.transferCharacteristics), 0, 1});
    }
    if (image.exif.size > 0) {
      Bytes exif = bytes_of(image.exif);
      constexpr std::string_view kMark("Exif\0\0", 6);
      if (exif.size() > kMark.size() && std::memcmp(exif.data(), kMark.data(), kMark.size()) == 0)
        exif.erase(exif.begin(), exif.begin() + kMark.size());
      add_item(ItemKind::exif, "Exif", std::move(exif));
    }
    if (image.xmp.size > 0) add_item(ItemKind::xmp, "XMP", bytes_of(image.xmp));
    if (decoder_->imageCount > 1) add_item(ItemKind::loop_count, "loops", {});
  }

  void decode(int index, Bytes& into) override {
    check(avif().decoder_nth_image(decoder_.get(), static_cast<std::uint32_t>(index)));
    const Page& page = document_.pages[static_cast<std::size_t>(index)];
    const avifImage& image = *decoder_->image;
    if (image.width != static_cast<std::uint32_t>(page.width) || image.height != static_cast<std::uint32_t>(page.height)) {
      throw FileError("has pictures of several sizes, which cannot be read");
    }
    avifRGBImage rgb;
    avif().rgb_defaults(&rgb, &image);
    const bool wide = page.channels[0].type == NumberType::u16;
    const bool alpha = page.alpha != AlphaKind::none;
    rgb.depth = wide ? 16 : 8;
    rgb.format = alpha ? AVIF_RGB_FORMAT_RGBA : AVIF_RGB_FORMAT_RGB;
    rgb.alphaPremultiplied = page.alpha == AlphaKind::associated ? AVIF_TRUE : AVIF_FALSE;
    const std::size_t channels = alpha ? 4 : 3;
    const std::size_t number = wide ? 2 : 1;
    Bytes grey;
    const bool is_grey = page.model == ColourModel::grey;
    rgb.rowBytes = static_cast<std::uint32_t>(static_cast<std::size_t>(page.width) * channels * number);
    if (is_grey) grey.resize(std::size_t{rgb.rowBytes} * static_cast<std::size_t>(page.height));
    rgb.pixels = is_grey ? grey.data() : into.data();
    check(avif().to_rgb(&image, &rgb));
    if (!is_grey) return;
    std::uint8_t* to = into.data();
    for (const std::uint8_t* from = grey.data(); from != grey.data() + grey.size(); from += channels * number) {
      std::memcpy(to, from, number);
      to += number;
      if (alpha) std::memcpy(to, from + 3 * number, number);
      if (alpha) to += number;
    }
  }

  std::unique_ptr<avifDecoder, Release> decoder_;
};

}  // namespace

bool has_avif_library() {
  return avif().library.is_open();
}

std::unique_ptr<Reader> open_avif(std::unique_ptr<ByteSource> source, const ReadOptions& options) {
  if (!has_avif_library()) throw_not_installed(FileFormat::avif, kPackage, kCommand);
  return std::make_unique<AvifReader>(std::move(source), options);
}
#else
bool has_avif_library() {
  return false;
}
std::unique_ptr<Reader> open_avif(std::unique_ptr<ByteSource>, const ReadOptions&) {
  throw_not_installed(FileFormat::avif, kPackage, kCommand);
}
#endif

}  // namespace mollify::files
