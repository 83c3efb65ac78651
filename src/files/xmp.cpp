#include <exempi/xmp.h>

#include <cmath>
#include <iostream>
#include <memory>
#include <mutex>
#include <streambuf>
#include <string>
#include <string_view>
#include <vector>

#include "files/metadata.h"

namespace mollify::files {
namespace {

template <auto free_it>
struct Freer {
  template <typename T>
  void operator()(T* pointer) const {
    free_it(pointer);
  }
};
using Packet = std::unique_ptr<std::remove_pointer_t<XmpPtr>, Freer<xmp_free>>;
using Iterator = std::unique_ptr<std::remove_pointer_t<XmpIteratorPtr>, Freer<xmp_iterator_free>>;
using Text = std::unique_ptr<std::remove_pointer_t<XmpStringPtr>, Freer<xmp_string_free>>;

/// libexempi keeps the prefixes of namespaces from one packet to the next, which would change later results: each packet has a library of
/// its own. One at a time, since its state is that of the process. What it prints of packets that it cannot parse goes nowhere.
class Library {
 public:
  Library() : lock_(mutex()), printed_to_(std::cerr.rdbuf(&nowhere_)) { xmp_init(); }
  ~Library() {
    xmp_terminate();
    std::cerr.rdbuf(printed_to_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

 private:
  static std::mutex& mutex() {
    static std::mutex the_one;
    return the_one;
  }
  struct Nowhere : std::streambuf {
    int overflow(int c) override { return traits_type::not_eof(c); }
  };
  std::lock_guard<std::mutex> lock_;
  Nowhere nowhere_;
  std::streambuf* printed_to_;
};

/// Whose properties are pictures, depth maps, or describe those that are no longer in the file.
constexpr std::string_view kNamespacesOfPictures[] = {
    "http://ns.google.com/photos/1.0/image/",
    "http://ns.google.com/photos/1.0/depthmap/",
    "http://ns.google.com/photos/1.0/container/",
    "http://ns.google.com/photos/1.0/container/item/",
    "http://ns.google.com/photos/1.0/focus/",
    "http://ns.google.com/photos/dd/1.0/",
    "http://ns.adobe.com/hdr-gain-map/1.0/",
    "http://ns.apple.com/HDRGainMap/1.0/",
    "http://ns.apple.com/pixeldatainfo/1.0/",
    "http://ns.apple.com/depthData/1.0/",
    "http://ns.apple.com/portraitEffectsMatte/1.0/",
    "http://ns.apple.com/semanticSegmentationMatte/1.0/",
    "http://ns.adobe.com/xap/1.0/g/img/",
};

struct Property {
  std::string_view schema;  ///< a namespace
  std::string_view name;    ///< without its prefix
};
constexpr Property kThumbnails = {"http://ns.adobe.com/xap/1.0/", "Thumbnails"};
constexpr std::string_view kCamera = "http://ns.google.com/photos/1.0/camera/";
constexpr Property kOrientation = {"http://ns.adobe.com/tiff/1.0/", "Orientation"};
constexpr Property kWidths[] = {{"http://ns.adobe.com/tiff/1.0/", "ImageWidth"}, {"http://ns.adobe.com/exif/1.0/", "PixelXDimension"}};
constexpr Property kHeights[] = {{"http://ns.adobe.com/tiff/1.0/", "ImageLength"}, {"http://ns.adobe.com/exif/1.0/", "PixelYDimension"}};

/// Of a panorama: the part that is in the file, in pixels of the whole.
constexpr std::string_view kPanorama = "http://ns.google.com/photos/1.0/panorama/";
constexpr Property kPanoramaWidth = {kPanorama, "CroppedAreaImageWidthPixels"};
constexpr Property kPanoramaHeight = {kPanorama, "CroppedAreaImageHeightPixels"};
constexpr Property kPanoramaLeft = {kPanorama, "CroppedAreaLeftPixels"};
constexpr Property kPanoramaTop = {kPanorama, "CroppedAreaTopPixels"};
/// Where faces and other things are in the picture.
constexpr Property kPlaces[] = {{"http://www.metadataworkinggroup.com/schemas/regions/", "Regions"},
                                {"http://ns.microsoft.com/photo/1.2/", "RegionInfo"},
                                {"http://iptc.org/std/Iptc4xmpExt/2008-02-29/", "ImageRegion"}};

/// "xmp:Thumbnails[1]/xmpGImg:image" is of "xmp:Thumbnails".
std::string top_of(const std::string& path) {
  return path.substr(0, path.find_first_of("[/"));
}
std::string_view without_prefix(std::string_view name) {
  return name.substr(name.find(':') + 1);
}

bool is_of_pictures(std::string_view schema, std::string_view name) {
  for (const std::string_view each : kNamespacesOfPictures) {
    if (schema.starts_with(each)) return true;
  }
  if (schema == kThumbnails.schema && name == kThumbnails.name) return true;
  return schema == kCamera && (name.starts_with("MicroVideo") || name.starts_with("MotionPhoto"));
}

Packet parse(std::span<const std::uint8_t> xmp) {
  return Packet(xmp_new(reinterpret_cast<const char*>(xmp.data()), xmp.size()));
}

std::optional<Bytes> serialise(XmpPtr packet, bool has_wrapper) {
  const Text text(xmp_string_new());
  if (!xmp_serialize(packet, text.get(), XMP_SERIAL_OMITPACKETWRAPPER | XMP_SERIAL_USECOMPACTFORMAT, 0)) return std::nullopt;
  std::string result = xmp_string_cstr(text.get());
  if (has_wrapper) result = "<?xpacket begin=\"\xEF\xBB\xBF\" id=\"W5M0MpCehiHzreSzNTczkc9d\"?>\n" + result + "\n<?xpacket end=\"w\"?>";
  return Bytes(result.begin(), result.end());
}

class XmpCorrector {
 public:
  explicit XmpCorrector(const Bytes& xmp) : packet_(parse(xmp)) {}

  [[nodiscard]] bool is_parsed() const { return packet_ != nullptr; }
  [[nodiscard]] bool has_changed() const { return has_changed_; }
  [[nodiscard]] bool has_removed() const { return has_removed_; }

  void correct(const Corrections& corrections) {
    remove_pictures();
    set(kOrientation, corrections.orientation);
    for (const Property& each : kWidths) set(each, corrections.width);
    for (const Property& each : kHeights) set(each, corrections.height);
    if (corrections.turns) {
      for (const Property& each : {kPanoramaWidth, kPanoramaHeight, kPanoramaLeft, kPanoramaTop}) has_removed_places_ |= remove(each);
    } else if (corrections.region) {
      move_panorama(*corrections.region, corrections);
    }
    if (!corrections.turns && !corrections.region) return;
    for (const Property& each : kPlaces) has_removed_places_ |= remove(each);
  }
  [[nodiscard]] bool has_removed_places() const { return has_removed_places_; }

  [[nodiscard]] std::optional<Bytes> serialised(bool has_wrapper) const { return serialise(packet_.get(), has_wrapper); }

 private:
  struct Found {
    std::string schema;
    std::string path;
  };

  /// Found first and removed later: an iterator does not outlive a change.
  void remove_pictures() {
    std::vector<Found> found;
    const Iterator iterator(xmp_iterator_new(packet_.get(), nullptr, nullptr, XMP_ITER_PROPERTIES));
    const Text schema(xmp_string_new());
    const Text path(xmp_string_new());
    const Text value(xmp_string_new());
    std::uint32_t options = 0;
    while (iterator && xmp_iterator_next(iterator.get(), schema.get(), path.get(), value.get(), &options)) {
      const std::string top = top_of(xmp_string_cstr(path.get()));
      if (top.empty()) continue;
      const std::string_view text = xmp_string_cstr(value.get());
      const bool holds = holds_picture({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
      if (holds || is_of_pictures(xmp_string_cstr(schema.get()), without_prefix(top)) || names_picture_field(xmp_string_cstr(path.get()))) {
        found.push_back({xmp_string_cstr(schema.get()), top});
      }
    }
    for (const Found& each : found) {
      if (!xmp_delete_property(packet_.get(), each.schema.c_str(), each.path.c_str())) continue;
      has_changed_ = has_removed_ = true;
    }
  }
  /// Thumbnails within properties of any schema have fields of this namespace.
  static bool names_picture_field(std::string_view path) {
    return path.find("/xmpGImg:image") != std::string_view::npos || path.find("/xapGImg:image") != std::string_view::npos;
  }

  bool remove(const Property& property) {
    const std::string schema(property.schema), name(property.name);
    if (!xmp_has_property(packet_.get(), schema.c_str(), name.c_str())) return false;
    const bool is_gone = xmp_delete_property(packet_.get(), schema.c_str(), name.c_str());
    has_changed_ |= is_gone;
    return is_gone;
  }

  [[nodiscard]] std::optional<std::int32_t> number(const Property& property) const {
    std::int32_t value = 0;
    const std::string schema(property.schema), name(property.name);
    if (!xmp_get_property_int32(packet_.get(), schema.c_str(), name.c_str(), &value, nullptr)) return std::nullopt;
    return value;
  }

  /// The file may have fewer pixels than the panorama that it was made from.
  void move_panorama(const Rect& region, const Corrections& corrections) {
    move_along({kPanoramaLeft, kPanoramaWidth}, region.x, region.width, corrections.source_width);
    move_along({kPanoramaTop, kPanoramaHeight}, region.y, region.height, corrections.source_height);
  }
  struct Extent {
    Property begin, size;
  };
  void move_along(const Extent& extent, std::int32_t begin, std::int32_t size, std::int32_t of) {
    const auto whole = number(extent.size);
    if (!whole || of <= 0) return;
    const double scale = static_cast<double>(*whole) / of;
    set(extent.begin, static_cast<std::int32_t>(std::lround(number(extent.begin).value_or(0) + begin * scale)));
    set(extent.size, static_cast<std::int32_t>(std::lround(size * scale)));
  }

  void set(const Property& property, const std::optional<std::int32_t>& value) {
    if (!value) return;
    const Text old(xmp_string_new());
    const std::string schema(property.schema);
    const std::string name(property.name);
    if (!xmp_get_property(packet_.get(), schema.c_str(), name.c_str(), old.get(), nullptr)) return;
    const std::string text = std::to_string(*value);
    if (text == xmp_string_cstr(old.get())) return;
    has_changed_ = xmp_set_property(packet_.get(), schema.c_str(), name.c_str(), text.c_str(), 0) || has_changed_;
  }

  Packet packet_;
  bool has_changed_ = false;
  bool has_removed_ = false;
  bool has_removed_places_ = false;
};

/// Goes through all nodes of a packet, those above others first.
void copy_properties(XmpPtr from, XmpPtr to) {
  const Iterator iterator(xmp_iterator_new(from, nullptr, nullptr, XMP_ITER_PROPERTIES));
  const Text schema(xmp_string_new());
  const Text path(xmp_string_new());
  const Text value(xmp_string_new());
  std::uint32_t options = 0;
  constexpr std::uint32_t kForms = XMP_PROP_VALUE_IS_URI | XMP_PROP_COMPOSITE_MASK;
  while (iterator && xmp_iterator_next(iterator.get(), schema.get(), path.get(), value.get(), &options)) {
    if (*xmp_string_cstr(path.get()) == '\0') continue;  // a namespace
    xmp_set_property(to, xmp_string_cstr(schema.get()), xmp_string_cstr(path.get()), xmp_string_cstr(value.get()), options & kForms);
  }
}

}  // namespace

std::optional<Bytes> merge_xmp(std::span<const std::uint8_t> packet, std::span<const std::uint8_t> extension) {
  const Library library;
  const Packet whole = parse(packet);
  const Packet part = parse(extension);
  if (!whole || !part) return std::nullopt;
  copy_properties(part.get(), whole.get());
  xmp_delete_property(whole.get(), "http://ns.adobe.com/xmp/note/", "HasExtendedXMP");
  return serialise(whole.get(), true);
}

bool correct_xmp(Bytes& xmp, const Corrections& corrections, Messages& messages) {
  const Library library;
  XmpCorrector corrector(xmp);
  if (!corrector.is_parsed()) return false;
  corrector.correct(corrections);
  // Comments and padding may hold what no property does; a packet that is written anew has neither.
  if (!corrector.has_changed() && !holds_picture(xmp)) return true;
  const std::string_view text(reinterpret_cast<const char*>(xmp.data()), xmp.size());
  std::optional<Bytes> corrected = corrector.serialised(text.find("<?xpacket") != std::string_view::npos);
  if (!corrected || holds_picture(*corrected)) return false;
  if (corrector.has_removed()) messages.add("pictures in the XMP metadata are removed");
  if (corrector.has_removed_places()) messages.add("places in the picture (faces, a panorama) are removed from the XMP metadata");
  xmp = std::move(*corrected);
  return true;
}

}  // namespace mollify::files
