#include "webp.h"

#include <OpenImageIO/filesystem.h>
#include <OpenImageIO/imageio.h>
#include <OpenImageIO/tiffutils.h>
#include <webp/decode.h>
#include <webp/demux.h>
#include <webp/encode.h>
#include <webp/mux.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mollify::cli {
namespace {

using OIIO::ImageSpec;
using OIIO::TypeDesc;
using Bytes = std::vector<std::uint8_t>;

// A chunk that is carried over byte by byte, and the attribute that holds it meanwhile.
struct Chunk {
  const char* fourcc;
  const char* attribute;
};
constexpr Chunk kIcc{"ICCP", "ICCProfile"};
constexpr Chunk kExif{"EXIF", "webp:Exif"};
constexpr Chunk kXmp{"XMP ", "webp:Xmp"};
constexpr const char* kLossless = "webp:Lossless";

struct DeleteDemuxer {
  void operator()(WebPDemuxer* demuxer) const { WebPDemuxDelete(demuxer); }
};
struct DeleteMux {
  void operator()(WebPMux* mux) const { WebPMuxDelete(mux); }
};
struct FreePixels {
  void operator()(std::uint8_t* pixels) const { WebPFree(pixels); }
};

Bytes get_chunk(const WebPDemuxer* demuxer, const Chunk& chunk) {
  WebPChunkIterator iterator;
  if (WebPDemuxGetChunk(demuxer, chunk.fourcc, 1, &iterator) == 0) return {};
  Bytes bytes(iterator.chunk.bytes, iterator.chunk.bytes + iterator.chunk.size);
  WebPDemuxReleaseChunkIterator(&iterator);
  return bytes;
}

void set_bytes(ImageSpec& spec, const char* name, const Bytes& bytes) {
  if (!bytes.empty()) spec.attribute(name, TypeDesc(TypeDesc::UINT8, static_cast<int>(bytes.size())), bytes.data());
}

Bytes get_bytes(const ImageSpec& spec, const char* name) {
  const OIIO::ParamValue* value = spec.find_attribute(name);
  if (value == nullptr || value->type().basetype != TypeDesc::UINT8) return {};
  const auto* data = static_cast<const std::uint8_t*>(value->data());
  return {data, data + value->type().size()};
}

std::string_view text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Some programs put the introduction of JPEG's Exif segment into the chunk.
std::string_view without_introduction(std::string_view exif) {
  constexpr std::string_view kIntroduction("Exif\0\0", 6);
  return exif.starts_with(kIntroduction) ? exif.substr(kIntroduction.size()) : exif;
}

class WebpInput final : public OIIO::ImageInput {
 public:
  ~WebpInput() override { close(); }
  const char* format_name() const override { return "webp"; }
  int supports(OIIO::string_view feature) const override { return feature == "exif"; }

  bool open(const std::string& name, ImageSpec& spec) override {
    const auto size = OIIO::Filesystem::file_size(name);
    file_.resize(size);
    if (OIIO::Filesystem::read_bytes(name, file_.data(), file_.size()) != file_.size()) {
      errorfmt("could not be read to its end");
      return false;
    }
    WebPBitstreamFeatures features;
    if (WebPGetFeatures(file_.data(), file_.size(), &features) != VP8_STATUS_OK) {
      errorfmt("is not a WebP file");
      return false;
    }
    if (features.has_animation != 0) {
      errorfmt("animated WebP is not supported");
      return false;
    }
    if (!describe(features)) return false;
    spec = m_spec;
    return true;
  }

  bool read_native_scanline(int subimage, int miplevel, int y, int /*z*/, void* data) override {
    if (subimage != 0 || miplevel != 0 || y < 0 || y >= m_spec.height || !decode()) return false;
    const std::size_t row_bytes = m_spec.scanline_bytes();
    std::memcpy(data, pixels_.get() + static_cast<std::size_t>(y) * row_bytes, row_bytes);
    return true;
  }

  bool close() override {
    pixels_.reset();
    file_.clear();
    return true;
  }

 private:
  bool describe(const WebPBitstreamFeatures& features) {
    const WebPData data{file_.data(), file_.size()};
    const std::unique_ptr<WebPDemuxer, DeleteDemuxer> demuxer(WebPDemux(&data));
    if (demuxer == nullptr) {
      errorfmt("the file is damaged or cut off");
      return false;
    }
    m_spec = ImageSpec(features.width, features.height, features.has_alpha != 0 ? 4 : 3, OIIO::TypeUInt8);
    m_spec.attribute("oiio:ColorSpace", "sRGB");
    constexpr int kLosslessFormat = 2;
    m_spec.attribute(kLossless, features.format == kLosslessFormat ? 1 : 0);
    if (features.has_alpha != 0) m_spec.attribute("oiio:UnassociatedAlpha", 1);

    set_bytes(m_spec, kIcc.attribute, get_chunk(demuxer.get(), kIcc));
    // Decoded for a result in another format, as bytes for one in this.
    const Bytes exif = get_chunk(demuxer.get(), kExif);
    const Bytes xmp = get_chunk(demuxer.get(), kXmp);
    if (!exif.empty()) OIIO::decode_exif(OIIO::string_view(without_introduction(text_of(exif))), m_spec);
    if (!xmp.empty()) OIIO::decode_xmp(OIIO::string_view(text_of(xmp)), m_spec);
    set_bytes(m_spec, kExif.attribute, exif);
    set_bytes(m_spec, kXmp.attribute, xmp);
    return true;
  }

  bool decode() {
    if (pixels_ != nullptr) return true;
    const auto decoder = m_spec.nchannels == 4 ? WebPDecodeRGBA : WebPDecodeRGB;
    pixels_.reset(decoder(file_.data(), file_.size(), nullptr, nullptr));
    if (pixels_ == nullptr) errorfmt("the file is damaged or cut off");
    return pixels_ != nullptr;
  }

  Bytes file_;
  std::unique_ptr<std::uint8_t, FreePixels> pixels_;
};

class WebpOutput final : public OIIO::ImageOutput {
 public:
  const char* format_name() const override { return "webp"; }
  int supports(OIIO::string_view feature) const override {
    return feature == "alpha" || feature == "ioproxy" || feature == "exif";
  }

  bool open(const std::string& name, const ImageSpec& spec, OpenMode mode) override {
    if (mode != Create) {
      errorfmt("a WebP file holds one image");
      return false;
    }
    if (spec.nchannels != 3 && spec.nchannels != 4) {
      errorfmt("a WebP file holds 3 or 4 channels, not {}", spec.nchannels);
      return false;
    }
    if (spec.width > WEBP_MAX_DIMENSION || spec.height > WEBP_MAX_DIMENSION) {
      errorfmt("a WebP image has at most {0}x{0} pixels", WEBP_MAX_DIMENSION);
      return false;
    }
    m_spec = spec;
    m_spec.set_format(TypeDesc::UINT8);
    pixels_.resize(m_spec.image_bytes());
    is_open_ = ioproxy_use_or_open(name);
    return is_open_;
  }

  bool write_scanline(int y, int /*z*/, TypeDesc format, const void* data, OIIO::stride_t xstride) override {
    std::vector<unsigned char> scratch;
    data = to_native_scanline(format, data, xstride, scratch);
    const std::size_t row_bytes = m_spec.scanline_bytes();
    std::memcpy(pixels_.data() + static_cast<std::size_t>(y - m_spec.y) * row_bytes, data, row_bytes);
    return true;
  }

  bool close() override {
    if (!std::exchange(is_open_, false)) return true;
    const bool ok = write_file();
    ioproxy_clear();
    pixels_.clear();
    return ok;
  }

 private:
  bool write_file() {
    WebPMemoryWriter encoded;
    WebPMemoryWriterInit(&encoded);
    bool ok = encode(encoded);
    if (ok) ok = assemble({encoded.mem, encoded.size});
    WebPMemoryWriterClear(&encoded);
    return ok;
  }

  bool encode(WebPMemoryWriter& encoded) {
    WebPConfig config;
    WebPPicture picture;
    if (WebPConfigInit(&config) == 0 || WebPPictureInit(&picture) == 0) {
      errorfmt("the WebP library has another version");
      return false;
    }
    config.lossless = m_spec.get_int_attribute(kLossless, 1);
    config.quality = config.lossless != 0 ? 75.0F : 100.0F;  // effort in the first case, fidelity in the second
    config.exact = 1;                                        // colour under alpha 0 is kept too
    picture.use_argb = config.lossless;
    picture.width = m_spec.width;
    picture.height = m_spec.height;
    picture.writer = WebPMemoryWrite;
    picture.custom_ptr = &encoded;
    const auto import = m_spec.nchannels == 4 ? WebPPictureImportRGBA : WebPPictureImportRGB;
    const bool ok = import(&picture, pixels_.data(), static_cast<int>(m_spec.scanline_bytes())) != 0 &&
                    WebPEncode(&config, &picture) != 0;
    if (!ok) errorfmt("WebP encoder error {}", static_cast<int>(picture.error_code));
    WebPPictureFree(&picture);
    return ok;
  }

  // The image with its chunks of metadata.
  bool assemble(const WebPData& image) {
    const std::unique_ptr<WebPMux, DeleteMux> mux(WebPMuxNew());
    bool ok = WebPMuxSetImage(mux.get(), &image, 0) == WEBP_MUX_OK;
    const auto add = [&](const Chunk& chunk, const Bytes& bytes) {
      if (bytes.empty()) return;
      const WebPData data{bytes.data(), bytes.size()};
      ok = ok && WebPMuxSetChunk(mux.get(), chunk.fourcc, &data, 1) == WEBP_MUX_OK;
    };
    add(kIcc, get_bytes(m_spec, kIcc.attribute));
    add(kExif, exif());
    add(kXmp, xmp());
    WebPData file{nullptr, 0};
    ok = ok && WebPMuxAssemble(mux.get(), &file) == WEBP_MUX_OK;
    if (!ok) errorfmt("the parts of the WebP file could not be put together");
    ok = ok && iowrite(file.bytes, file.size);
    WebPDataClear(&file);
    return ok;
  }

  // As bytes from a WebP source, else from what another format said.
  [[nodiscard]] Bytes exif() const {
    Bytes bytes = get_bytes(m_spec, kExif.attribute);
    if (!bytes.empty() || m_spec.get_int_attribute(kLossless, -1) >= 0) return bytes;
    std::vector<char> blob;
    OIIO::encode_exif(m_spec, blob);
    return {blob.begin(), blob.end()};
  }

  [[nodiscard]] Bytes xmp() const {
    Bytes bytes = get_bytes(m_spec, kXmp.attribute);
    if (!bytes.empty() || m_spec.get_int_attribute(kLossless, -1) >= 0) return bytes;
    const std::string text = OIIO::encode_xmp(m_spec, true);
    return {text.begin(), text.end()};
  }

  Bytes pixels_;
  bool is_open_ = false;
};

OIIO::ImageInput* make_input() {
  return new WebpInput;
}
OIIO::ImageOutput* make_output() {
  return new WebpOutput;
}

}  // namespace

void register_webp() {
  static const char* extensions[] = {"webp", nullptr};
  OIIO::declare_imageio_format("webp", make_input, extensions, make_output, extensions, "libwebp");
}

}  // namespace mollify::cli
