// JPEG 2000 in strips and tiles, decoded by OpenJPEG where it is installed.
#include "files/jpeg2000_structure.h"
#include "files/plugins.h"
#include "files/tiff_codestream.h"

#if __has_include(<openjpeg.h>)
#include <openjpeg.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <type_traits>
#endif

namespace mollify::files::tiff {

#if __has_include(<openjpeg.h>)
namespace {

struct OpenJpeg {
  OpenJpeg() : library("libopenjp2.so.7") {
    if (!library.is_open()) return;
    const auto find = [this](auto& function, const char* name) { library.find(function, name); };
#define MOLLIFY_FIND(name) find(name, "opj_" #name)
    MOLLIFY_FIND(create_decompress);
    MOLLIFY_FIND(destroy_codec);
    MOLLIFY_FIND(set_default_decoder_parameters);
    MOLLIFY_FIND(setup_decoder);
    MOLLIFY_FIND(set_warning_handler);
    MOLLIFY_FIND(codec_set_threads);
    MOLLIFY_FIND(stream_create);
    MOLLIFY_FIND(stream_destroy);
    MOLLIFY_FIND(stream_set_read_function);
    MOLLIFY_FIND(stream_set_skip_function);
    MOLLIFY_FIND(stream_set_seek_function);
    MOLLIFY_FIND(stream_set_user_data);
    MOLLIFY_FIND(stream_set_user_data_length);
    MOLLIFY_FIND(read_header);
    MOLLIFY_FIND(decode);
    MOLLIFY_FIND(image_destroy);
#undef MOLLIFY_FIND
  }
  SharedLibrary library;
#define MOLLIFY_FUNCTION(name) decltype(::opj_##name)* name = nullptr
  MOLLIFY_FUNCTION(create_decompress);
  MOLLIFY_FUNCTION(destroy_codec);
  MOLLIFY_FUNCTION(set_default_decoder_parameters);
  MOLLIFY_FUNCTION(setup_decoder);
  MOLLIFY_FUNCTION(set_warning_handler);
  MOLLIFY_FUNCTION(codec_set_threads);
  MOLLIFY_FUNCTION(stream_create);
  MOLLIFY_FUNCTION(stream_destroy);
  MOLLIFY_FUNCTION(stream_set_read_function);
  MOLLIFY_FUNCTION(stream_set_skip_function);
  MOLLIFY_FUNCTION(stream_set_seek_function);
  MOLLIFY_FUNCTION(stream_set_user_data);
  MOLLIFY_FUNCTION(stream_set_user_data_length);
  MOLLIFY_FUNCTION(read_header);
  MOLLIFY_FUNCTION(decode);
  MOLLIFY_FUNCTION(image_destroy);
#undef MOLLIFY_FUNCTION
};

const OpenJpeg& openjpeg() {
  static const OpenJpeg functions;
  return functions;
}

struct Release {
  void operator()(opj_codec_t* codec) const { openjpeg().destroy_codec(codec); }
};
struct ReleaseStream {
  void operator()(opj_stream_t* stream) const { openjpeg().stream_destroy(stream); }
};
struct ReleaseImage {
  void operator()(opj_image_t* image) const { openjpeg().image_destroy(image); }
};

/// Bytes that a stream of OpenJPEG reads.
struct Memory {
  std::span<const std::uint8_t> bytes;
  std::size_t at = 0;
};
Memory& memory_of(void* data) {
  return *static_cast<Memory*>(data);
}

std::unique_ptr<opj_stream_t, ReleaseStream> open_stream(Memory& memory) {
  constexpr std::size_t kMostBuffered = 1 << 20;
  std::unique_ptr<opj_stream_t, ReleaseStream> stream(
      openjpeg().stream_create(std::clamp<std::size_t>(memory.bytes.size(), 1, kMostBuffered), OPJ_TRUE));
  if (!stream) throw std::bad_alloc();
  openjpeg().stream_set_read_function(stream.get(), [](void* into, OPJ_SIZE_T count, void* data) -> OPJ_SIZE_T {
    Memory& from = memory_of(data);
    const std::size_t got = std::min<std::size_t>(count, from.bytes.size() - from.at);
    if (got == 0) return std::numeric_limits<OPJ_SIZE_T>::max();  // the end
    std::memcpy(into, from.bytes.data() + from.at, got);
    from.at += got;
    return got;
  });
  openjpeg().stream_set_skip_function(stream.get(), [](OPJ_OFF_T count, void* data) -> OPJ_OFF_T {
    Memory& from = memory_of(data);
    const auto left = static_cast<OPJ_OFF_T>(from.bytes.size() - from.at);
    if (count < 0 || left == 0) return -1;
    const OPJ_OFF_T skipped = std::min(count, left);
    from.at += static_cast<std::size_t>(skipped);
    return skipped;
  });
  openjpeg().stream_set_seek_function(stream.get(), [](OPJ_OFF_T place, void* data) -> OPJ_BOOL {
    Memory& from = memory_of(data);
    if (place < 0 || static_cast<std::uint64_t>(place) > from.bytes.size()) return OPJ_FALSE;
    from.at = static_cast<std::size_t>(place);
    return OPJ_TRUE;
  });
  openjpeg().stream_set_user_data(stream.get(), &memory, nullptr);
  openjpeg().stream_set_user_data_length(stream.get(), memory.bytes.size());
  return stream;
}

/// OpenJPEG fills in what is missing of a tile, and only warns.
void keep_loss(const char* warning, void* has_lost) {
  constexpr std::array<std::string_view, 5> kWords = {"too short", "inconsistent", "Failed", "loss of data", "truncat"};
  const std::string_view text(warning);
  if (std::ranges::any_of(kWords, [&](std::string_view word) { return text.find(word) != std::string_view::npos; }))
    *static_cast<bool*>(has_lost) = true;
}

[[noreturn]] void fail_as_damaged() {
  throw FileError("is damaged: a strip or tile in JPEG 2000 cannot be decoded");
}

class Jpeg2000Decoder final : public CodestreamDecoder {
 public:
  explicit Jpeg2000Decoder(const ReadOptions& options) : options_(options) {}

  void decode(std::span<const std::uint8_t> bytes, const StrileShape& shape, std::uint8_t* into) override {
    Memory memory{jpeg2000_codestream(bytes)};
    const Jpeg2000Header header = read_jpeg2000_header(memory.bytes);
    require(header, shape);
    const double needed = bytes_to_describe_jpeg2000(memory.bytes) + kCodestreamSampleBytes * static_cast<double>(shape.samples) *
                                                                         static_cast<double>(header.width()) *
                                                                         static_cast<double>(header.height());
    if (needed > static_cast<double>(options_.memory_bytes))
      throw FileError("needs " + std::to_string(whole_bytes(needed) >> 20) +
                      " MB to decode a strip or tile in JPEG 2000, more than may be used");
    const auto image = decode(memory);
    require(header, *image);
    switch (bytes_of(shape.type())) {
      case 1:
        return store<std::uint8_t>(header, *image, shape, into);
      case 2:
        return store<std::uint16_t>(header, *image, shape, into);
      default:
        return store<std::uint32_t>(header, *image, shape, into);
    }
  }

 private:
  ReadOptions options_;

  using Image = std::unique_ptr<opj_image_t, ReleaseImage>;

  [[nodiscard]] Image decode(Memory& memory) const {
    const std::unique_ptr<opj_codec_t, Release> codec(openjpeg().create_decompress(OPJ_CODEC_J2K));
    if (!codec) throw std::bad_alloc();
    bool has_lost = false;
    openjpeg().set_warning_handler(codec.get(), keep_loss, &has_lost);
    opj_dparameters_t parameters;
    openjpeg().set_default_decoder_parameters(&parameters);
    if (openjpeg().setup_decoder(codec.get(), &parameters) == OPJ_FALSE) fail_as_damaged();
    if (options_.threads > 1) openjpeg().codec_set_threads(codec.get(), options_.threads);
    const auto stream = open_stream(memory);
    opj_image_t* read = nullptr;
    const bool has_header = openjpeg().read_header(stream.get(), codec.get(), &read) != OPJ_FALSE;
    Image image(read);
    if (!has_header || !image || openjpeg().decode(codec.get(), stream.get(), image.get()) == OPJ_FALSE || has_lost) fail_as_damaged();
    return image;
  }

  /// Whether the picture can be this strip or tile.
  static void require(const Jpeg2000Header& header, const StrileShape& shape) {
    const bool fits = header.width() >= shape.visible_width && header.width() <= shape.width && header.height() >= shape.visible_rows &&
                      header.height() <= shape.rows;
    if (!fits) {
      throw FileError("is damaged: a strip or tile in JPEG 2000 has " + std::to_string(header.width()) + "x" +
                      std::to_string(header.height()) + " pixels where " + std::to_string(shape.width) + "x" + std::to_string(shape.rows) +
                      " belong");
    }
    const auto same = [&](const Jpeg2000Component& each) {
      const bool is_whole = each.dx == 1 && each.dy == 1;
      return each.is_signed == (shape.sample.kind == SampleKind::signed_integer) && each.bits <= std::min(shape.sample.bits, 31) &&
             (is_whole || (header.x0 == 0 && header.y0 == 0));
    };
    if (header.components.size() != static_cast<std::size_t>(shape.samples) || !std::ranges::all_of(header.components, same))
      throw FileError("is damaged: a strip or tile in JPEG 2000 has other samples than its page");
  }

  /// Whether the library has decoded what the header says.
  static void require(const Jpeg2000Header& header, const opj_image_t& image) {
    if (image.numcomps != header.components.size()) fail_as_damaged();
    for (std::uint32_t i = 0; i < image.numcomps; ++i) {
      const opj_image_comp_t& got = image.comps[i];
      const Jpeg2000Component& said = header.components[i];
      const bool is_whole = got.data != nullptr && got.w == (header.width() + said.dx - 1) / said.dx &&
                            got.h == (header.height() + said.dy - 1) / said.dy && got.prec == static_cast<std::uint32_t>(said.bits);
      if (!is_whole) fail_as_damaged();
    }
  }

  /// Components with fewer pixels get all of them: each is repeated.
  template <typename T>
  static void store(const Jpeg2000Header& header, const opj_image_t& image, const StrileShape& shape, std::uint8_t* into) {
    constexpr int kBits = 8 * sizeof(T);
    constexpr std::uint64_t kFull = std::numeric_limits<T>::max();
    const std::uint64_t full = (std::uint64_t{1} << shape.sample.bits) - 1;
    const bool is_signed = shape.sample.kind == SampleKind::signed_integer;
    const auto of_page = [&](std::int32_t code) -> T {
      // The bits of the signed type are the same.
      if (is_signed) return static_cast<T>(static_cast<std::uint32_t>(code) << (kBits - shape.sample.bits));
      if (full == kFull) return static_cast<T>(code);
      return static_cast<T>((static_cast<std::uint64_t>(code) * kFull + full / 2) / full);
    };
    for (int sample = 0; sample < shape.samples; ++sample) {
      const opj_image_comp_t& from = image.comps[sample];
      const Jpeg2000Component& component = header.components[static_cast<std::size_t>(sample)];
      for (std::int64_t y = 0; y < header.height(); ++y) {
        const OPJ_INT32* row = from.data + y / component.dy * std::int64_t{from.w};
        T* to = reinterpret_cast<T*>(into + y * shape.row_bytes()) + sample;
        for (std::int64_t x = 0; x < header.width(); ++x, to += shape.samples) *to = of_page(row[x / component.dx]);
      }
    }
  }
};

}  // namespace

bool has_jpeg2000_library() {
  return openjpeg().library.is_open();
}
std::unique_ptr<CodestreamDecoder> make_jpeg2000_decoder(const ReadOptions& options) {
  return std::make_unique<Jpeg2000Decoder>(options);
}
#else
bool has_jpeg2000_library() {
  return false;
}
std::unique_ptr<CodestreamDecoder> make_jpeg2000_decoder(const ReadOptions&) {
  return nullptr;
}
#endif

}  // namespace mollify::files::tiff
