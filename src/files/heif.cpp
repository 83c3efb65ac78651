// HEIF (HEIC), read by libheif where it is installed.
#include "files/plugins.h"

#if __has_include(<libheif/heif.h>)
#include <libheif/heif.h>

#include <algorithm>
#include <cstring>
#endif

namespace mollify::files {
namespace {
constexpr const char* kPackage = "libheif1";
constexpr const char* kCommand = "heif-convert in.heic in.png";
}  // namespace

#if __has_include(<libheif/heif.h>)
namespace {

struct Heif {
  Heif() : library("libheif.so.1") {
    if (!library.is_open()) return;
    const auto find = [this](auto& function, const char* name) { library.find(function, name); };
#define MOLLIFY_FIND(name) find(name, "heif_" #name)
    MOLLIFY_FIND(context_alloc);
    MOLLIFY_FIND(context_free);
    MOLLIFY_FIND(context_read_from_memory_without_copy);
    MOLLIFY_FIND(context_set_max_decoding_threads);
    MOLLIFY_FIND(context_get_number_of_top_level_images);
    MOLLIFY_FIND(context_get_list_of_top_level_image_IDs);
    MOLLIFY_FIND(context_get_image_handle);
    MOLLIFY_FIND(image_handle_release);
    MOLLIFY_FIND(image_handle_is_primary_image);
    MOLLIFY_FIND(image_handle_get_width);
    MOLLIFY_FIND(image_handle_get_height);
    MOLLIFY_FIND(image_handle_has_alpha_channel);
    MOLLIFY_FIND(image_handle_is_premultiplied_alpha);
    MOLLIFY_FIND(image_handle_get_luma_bits_per_pixel);
    MOLLIFY_FIND(image_handle_get_number_of_thumbnails);
    MOLLIFY_FIND(image_handle_get_number_of_depth_images);
    MOLLIFY_FIND(image_handle_get_number_of_auxiliary_images);
    MOLLIFY_FIND(image_handle_get_number_of_metadata_blocks);
    MOLLIFY_FIND(image_handle_get_list_of_metadata_block_IDs);
    MOLLIFY_FIND(image_handle_get_metadata_type);
    MOLLIFY_FIND(image_handle_get_metadata_content_type);
    MOLLIFY_FIND(image_handle_get_metadata_size);
    MOLLIFY_FIND(image_handle_get_metadata);
    MOLLIFY_FIND(image_handle_get_raw_color_profile_size);
    MOLLIFY_FIND(image_handle_get_raw_color_profile);
    MOLLIFY_FIND(image_handle_get_nclx_color_profile);
    MOLLIFY_FIND(nclx_color_profile_free);
    MOLLIFY_FIND(decode_image);
    MOLLIFY_FIND(image_release);
    MOLLIFY_FIND(image_get_width);
    MOLLIFY_FIND(image_get_height);
    MOLLIFY_FIND(image_get_bits_per_pixel_range);
    MOLLIFY_FIND(image_get_plane_readonly);
#undef MOLLIFY_FIND
  }
  SharedLibrary library;
// A declaration takes no parentheses. NOLINTNEXTLINE(bugprone-macro-parentheses)
#define MOLLIFY_FUNCTION(name) decltype(::heif_##name)* name = nullptr
  MOLLIFY_FUNCTION(context_alloc);
  MOLLIFY_FUNCTION(context_free);
  MOLLIFY_FUNCTION(context_read_from_memory_without_copy);
  MOLLIFY_FUNCTION(context_set_max_decoding_threads);
  MOLLIFY_FUNCTION(context_get_number_of_top_level_images);
  MOLLIFY_FUNCTION(context_get_list_of_top_level_image_IDs);
  MOLLIFY_FUNCTION(context_get_image_handle);
  MOLLIFY_FUNCTION(image_handle_release);
  MOLLIFY_FUNCTION(image_handle_is_primary_image);
  MOLLIFY_FUNCTION(image_handle_get_width);
  MOLLIFY_FUNCTION(image_handle_get_height);
  MOLLIFY_FUNCTION(image_handle_has_alpha_channel);
  MOLLIFY_FUNCTION(image_handle_is_premultiplied_alpha);
  MOLLIFY_FUNCTION(image_handle_get_luma_bits_per_pixel);
  MOLLIFY_FUNCTION(image_handle_get_number_of_thumbnails);
  MOLLIFY_FUNCTION(image_handle_get_number_of_depth_images);
  MOLLIFY_FUNCTION(image_handle_get_number_of_auxiliary_images);
  MOLLIFY_FUNCTION(image_handle_get_number_of_metadata_blocks);
  MOLLIFY_FUNCTION(image_handle_get_list_of_metadata_block_IDs);
  MOLLIFY_FUNCTION(image_handle_get_metadata_type);
  MOLLIFY_FUNCTION(image_handle_get_metadata_content_type);
  MOLLIFY_FUNCTION(image_handle_get_metadata_size);
  MOLLIFY_FUNCTION(image_handle_get_metadata);
  MOLLIFY_FUNCTION(image_handle_get_raw_color_profile_size);
  MOLLIFY_FUNCTION(image_handle_get_raw_color_profile);
  MOLLIFY_FUNCTION(image_handle_get_nclx_color_profile);
  MOLLIFY_FUNCTION(nclx_color_profile_free);
  MOLLIFY_FUNCTION(decode_image);
  MOLLIFY_FUNCTION(image_release);
  MOLLIFY_FUNCTION(image_get_width);
  MOLLIFY_FUNCTION(image_get_height);
  MOLLIFY_FUNCTION(image_get_bits_per_pixel_range);
  MOLLIFY_FUNCTION(image_get_plane_readonly);
#undef MOLLIFY_FUNCTION
};

const Heif& heif() {
  static const Heif functions;
  return functions;
}

void check(const heif_error& error) {
  if (error.code == heif_error_Ok) return;
  const std::string_view reason(error.message);
  constexpr std::size_t kMostCharacters = 160;
  throw FileError("cannot be decoded; libheif says: " + std::string(reason.substr(0, std::min(reason.find('\n'), kMostCharacters))));
}

struct Release {
  void operator()(heif_context* context) const { heif().context_free(context); }
  void operator()(const heif_image_handle* handle) const { heif().image_handle_release(handle); }
  void operator()(const heif_image* image) const { heif().image_release(image); }
};
using Handle = std::unique_ptr<heif_image_handle, Release>;

class HeifReader final : public DecodedReader {
 public:
  HeifReader(std::unique_ptr<ByteSource> source, const ReadOptions& options) : DecodedReader(std::move(source), options) {
    document_.format = FileFormat::heif;
    context_.reset(heif().context_alloc());
    check(heif().context_read_from_memory_without_copy(context_.get(), bytes_.data(), bytes_.size(), nullptr));
    heif().context_set_max_decoding_threads(context_.get(), options.threads > 1 ? options.threads : 0);
    const int count = heif().context_get_number_of_top_level_images(context_.get());
    std::vector<heif_item_id> ids(static_cast<std::size_t>(std::max(count, 0)));
    ids.resize(
        static_cast<std::size_t>(heif().context_get_list_of_top_level_image_IDs(context_.get(), ids.data(), static_cast<int>(ids.size()))));
    if (ids.empty()) throw FileError("holds no picture");
    for (const bool primary : {true, false}) {  // the primary picture is the first page
      for (const heif_item_id id : ids) {
        Handle handle = handle_of(id);
        if ((heif().image_handle_is_primary_image(handle.get()) != 0) == primary) add_picture(std::move(handle));
      }
    }
  }

 private:
  [[nodiscard]] Handle handle_of(heif_item_id id) const {
    heif_image_handle* handle = nullptr;
    check(heif().context_get_image_handle(context_.get(), id, &handle));
    return Handle(handle);
  }

  void add_picture(Handle handle) {
    const heif_image_handle* const picture = handle.get();
    AlphaKind alpha = AlphaKind::none;
    if (heif().image_handle_has_alpha_channel(picture) != 0) {
      alpha = heif().image_handle_is_premultiplied_alpha(picture) != 0 ? AlphaKind::associated : AlphaKind::unassociated;
    }
    const int bits = heif().image_handle_get_luma_bits_per_pixel(picture);
    if (bits < 1 || bits > 16) throw FileError("has " + std::to_string(bits) + " bits a channel, which cannot be read");
    // Rotation and mirroring are applied by libheif: pages are upright, whatever Exif says.
    Page& page = add_page(heif().image_handle_get_width(picture), heif().image_handle_get_height(picture),
                          bits > 8 ? NumberType::u16 : NumberType::u8, ColourModel::rgb, alpha);
    if (bits > 8 && bits < 16) page.significant_bits = bits;
    if (handles_.empty()) add_items(picture);
    handles_.push_back(std::move(handle));
  }

  void add_items(const heif_image_handle* picture) {
    if (const std::size_t size = heif().image_handle_get_raw_color_profile_size(picture); size > 0 && size <= bytes_.size()) {
      Bytes profile(size);
      check(heif().image_handle_get_raw_color_profile(picture, profile.data()));
      add_item(ItemKind::icc_profile, "ICC profile", std::move(profile));
    }
    heif_color_profile_nclx* nclx = nullptr;
    if (heif().image_handle_get_nclx_color_profile(picture, &nclx).code == heif_error_Ok && nclx != nullptr) {
      // Pixels are handed out as full-range RGB.
      add_item(ItemKind::cicp, "nclx",
               {static_cast<std::uint8_t>(nclx->color_primaries), static_cast<std::uint8_t>(nclx->transfer_characteristics), 0, 1});
      heif().nclx_color_profile_free(nclx);
    }
    const int count = heif().image_handle_get_number_of_metadata_blocks(picture, nullptr);
    std::vector<heif_item_id> ids(static_cast<std::size_t>(std::max(count, 0)));
    heif().image_handle_get_list_of_metadata_block_IDs(picture, nullptr, ids.data(), static_cast<int>(ids.size()));
    for (const heif_item_id id : ids) add_metadata(picture, id);
    const int no_alpha_no_depth = LIBHEIF_AUX_IMAGE_FILTER_OMIT_ALPHA | LIBHEIF_AUX_IMAGE_FILTER_OMIT_DEPTH;
    for (int i = heif().image_handle_get_number_of_thumbnails(picture); i > 0; --i) add_item(ItemKind::thumbnail, "thumbnail", {});
    for (int i = heif().image_handle_get_number_of_depth_images(picture); i > 0; --i) add_item(ItemKind::second_picture, "depth map", {});
    for (int i = heif().image_handle_get_number_of_auxiliary_images(picture, no_alpha_no_depth); i > 0; --i) {
      add_item(ItemKind::second_picture, "auxiliary picture", {});
    }
  }

  void add_metadata(const heif_image_handle* picture, heif_item_id id) {
    const std::size_t size = heif().image_handle_get_metadata_size(picture, id);
    if (size > bytes_.size()) throw FileError("is damaged: a block of metadata is larger than the file");
    Bytes data(size);
    check(heif().image_handle_get_metadata(picture, id, data.data()));
    const std::string type = heif().image_handle_get_metadata_type(picture, id);
    const std::string content = heif().image_handle_get_metadata_content_type(picture, id);
    if (type == "Exif") return add_exif(std::move(data));
    if (type == "mime" && content == "application/rdf+xml") return add_item(ItemKind::xmp, "XMP", std::move(data));
    add_item(ItemKind::unknown, type, std::move(data));
  }

  void decode(int index, Bytes& into) override {
    const Page& page = document_.pages[static_cast<std::size_t>(index)];
    const bool wide = page.channels[0].type == NumberType::u16;
    const bool alpha = page.alpha != AlphaKind::none;
    const heif_chroma chroma = wide    ? alpha ? heif_chroma_interleaved_RRGGBBAA_LE : heif_chroma_interleaved_RRGGBB_LE
                               : alpha ? heif_chroma_interleaved_RGBA
                                       : heif_chroma_interleaved_RGB;
    heif_image* made = nullptr;
    check(heif().decode_image(handles_[static_cast<std::size_t>(index)].get(), &made, heif_colorspace_RGB, chroma, nullptr));
    const std::unique_ptr<heif_image, Release> image(made);
    if (heif().image_get_width(made, heif_channel_interleaved) != page.width ||
        heif().image_get_height(made, heif_channel_interleaved) != page.height) {
      throw FileError("is damaged: its picture has another size than it says");
    }
    int stride = 0;
    const std::uint8_t* const plane = heif().image_get_plane_readonly(made, heif_channel_interleaved, &stride);
    if (plane == nullptr || stride < page.row_bytes()) throw FileError("is damaged: libheif gives no pixels");
    for (std::int32_t y = 0; y < page.height; ++y) {
      std::uint8_t* const row = into.data() + y * page.row_bytes();
      std::memcpy(row, plane + static_cast<std::ptrdiff_t>(y) * stride, static_cast<std::size_t>(page.row_bytes()));
    }
    const int bits = heif().image_get_bits_per_pixel_range(made, heif_channel_interleaved);
    if (wide && bits > 8 && bits < 16) scale_to_u16(reinterpret_cast<std::uint16_t*>(into.data()), into.size() / 2, bits);
  }

  std::unique_ptr<heif_context, Release> context_;
  std::vector<Handle> handles_;
};

}  // namespace

bool has_heif_library() {
  return heif().library.is_open();
}

std::unique_ptr<Reader> open_heif(std::unique_ptr<ByteSource> source, const ReadOptions& options) {
  if (!has_heif_library()) throw_not_installed(FileFormat::heif, kPackage, kCommand);
  return std::make_unique<HeifReader>(std::move(source), options);
}
#else
bool has_heif_library() {
  return false;
}
std::unique_ptr<Reader> open_heif(std::unique_ptr<ByteSource>, const ReadOptions&) {
  throw_not_installed(FileFormat::heif, kPackage, kCommand);
}
#endif

}  // namespace mollify::files
