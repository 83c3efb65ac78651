#include "files/items.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "files/accounts.h"
#include "files/contract.h"
#include "files/exif_fields.h"
#include "files/metadata.h"
#include "files/resolution.h"

namespace mollify::files {
namespace {

constexpr std::size_t kMostUnknownBytes = 64 << 10;

constexpr std::uint32_t kModelTiepoint = 33922;
constexpr std::uint32_t kModelTransformation = 34264;
constexpr std::uint32_t kImageSourceData = 37724;  // Photoshop's layers
constexpr std::uint16_t kDateTime = 306;
constexpr std::uint16_t kAscii = 2;

std::string text_of(FileFormat format) {
  return std::string(name_of(format));
}

std::vector<double> doubles_of(const Bytes& bytes) {
  std::vector<double> values(bytes.size() / sizeof(double));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(double));
  return values;
}

void store(const std::vector<double>& values, Bytes& bytes) {
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), values.size() * sizeof(double));
}

/// The place on the earth of what was pixel (x, y) is now that of pixel (0, 0).
void move_origin(Item& item, const Rect& region) {
  std::vector<double> v = doubles_of(item.data);
  constexpr std::size_t kPointNumbers = 6;  // i j k x y z
  if (item.number == kModelTiepoint) {
    for (std::size_t i = 0; i + kPointNumbers <= v.size(); i += kPointNumbers) {
      v[i] -= region.x;
      v[i + 1] -= region.y;
    }
  } else if (item.number == kModelTransformation && v.size() == 16) {
    for (const std::size_t row : {0, 4, 8}) v[row + 3] += v[row] * region.x + v[row + 1] * region.y;
  } else {
    return;
  }
  store(v, item.data);
}

/// Whether a text says the size of the picture, which a region makes untrue.
bool says_size(const Item& item) {
  const std::string_view text(reinterpret_cast<const char*>(item.data.data()), item.data.size());
  return item.kind == ItemKind::ome_xml && text.find("SizeX") != std::string_view::npos;
}

/// SizeX="100" to SizeX="30", everywhere in the text.
void replace_values(std::string& text, std::string_view name, const std::string& before, const std::string& after) {
  const std::string old = std::string(name) + "=\"" + before + "\"";
  const std::string now = std::string(name) + "=\"" + after + "\"";
  for (std::size_t at = text.find(old); at != std::string::npos; at = text.find(old, at + now.size())) text.replace(at, old.size(), now);
}

std::string_view ome_type(NumberType type) {
  constexpr std::array<std::string_view, 9> kNames = {"uint8", "uint16", "uint32", "int8", "int16", "int32", "float", "float", "double"};
  return kNames[static_cast<std::size_t>(type)];
}

/// "2026:11:27 01:02:03" of TIFF, and of the numbers that PNG has.
Bytes time_as_text(const Item& item) {
  const Bytes& t = item.data;
  constexpr std::size_t kNumbers = 7;
  if (item.type == kAscii || t.size() != kNumbers) return t;
  std::array<char, 32> text;
  const int year = t[0] << 8 | t[1];
  const int size = std::snprintf(text.data(), text.size(), "%04d:%02d:%02d %02d:%02d:%02d", year, t[2], t[3], t[4], t[5], t[6]);
  return {text.begin(), text.begin() + size};
}

class ItemConverter {
 public:
  ItemConverter(const ItemContext& context, Messages& messages) : context_(context), messages_(messages) {}

  std::vector<Item> run(const std::vector<Item>& items) {
    const bool has_profile = std::ranges::any_of(items, [](const Item& item) { return item.kind == ItemKind::icc_profile; });
    for (const Item& item : items) {
      if (item.kind == ItemKind::unknown) {
        unknown(item);
        continue;
      }
      switch (outcome(item.kind, context_.from_format, context_.to_format)) {
        case Outcome::kept:
          keep(item);
          break;
        case Outcome::converted:
          convert(item, has_profile);
          break;
        case Outcome::dropped:
          drop(item);
          break;
        case Outcome::absent:
          drop(item);
          break;
        case Outcome::refused:
          throw FileError("has " + name_of(item) + ", which " + text_of(context_.to_format) + " files cannot hold");
      }
    }
    add_exif_fields();
    return std::move(out_);
  }

 private:
  void drop(const Item& item) { drop(item, std::string(contract_row(item.kind).how_dropped())); }

  void drop(const Item& item, const std::string& why) { messages_.add(name_of(item) + " left out: " + why); }

  static constexpr const char* kHidesPicture = "a picture may be inside; --keep-unknown keeps it";
  [[nodiscard]] bool hides_picture(const Item& item) const { return !context_.keep_unknown && holds_picture(item.data); }

  void unknown(const Item& item) {
    if (context_.from_format != context_.to_format)
      return drop(item, "it means something in " + text_of(context_.from_format) + " files only");
    if (!context_.keep_unknown) {
      if (depends_on_pixels(item)) return drop(item, "its name says that it depends on the pixels; --keep-unknown keeps it");
      if (item.data.size() >= kMostUnknownBytes) return drop(item, "it is larger than 64 KB; --keep-unknown keeps it");
      if (hides_picture(item)) return drop(item, kHidesPicture);
    }
    out_.push_back(item);
  }

  /// The fourth letter of a PNG chunk is a capital where programs that change the pixels are not to copy it.
  [[nodiscard]] bool depends_on_pixels(const Item& item) const {
    return context_.from_format == FileFormat::png && item.name.size() == 4 && (item.name[3] & 0x20) == 0;
  }

  [[nodiscard]] Corrections corrections() const {
    return {.orientation = context_.turns ? 1 : context_.result.orientation,
            .width = context_.result.width,
            .height = context_.result.height,
            .region = context_.region,
            .source_width = context_.from.width,
            .source_height = context_.from.height,
            .turns = context_.turns && context_.from.orientation > 1};
  }

  /// Blocks of which a file has one. Readers go by the first.
  [[nodiscard]] bool is_repeated(const Item& item) const {
    constexpr std::array kSingle = {ItemKind::icc_profile, ItemKind::exif, ItemKind::xmp, ItemKind::iptc, ItemKind::photoshop};
    return std::ranges::find(kSingle, item.kind) != kSingle.end() && std::ranges::find(out_, item.kind, &Item::kind) != out_.end();
  }

  void keep(const Item& item) {
    if (is_repeated(item)) return drop(item, "the file has another, which counts");
    Item kept = item;
    switch (item.kind) {
      case ItemKind::exif:
        if (!correct_exif(kept.data, corrections(), messages_)) return drop(item, "it cannot be read");
        break;
      case ItemKind::xmp:
        if (!correct_xmp(kept.data, corrections(), messages_)) return drop(item, "it cannot be read");
        break;
      case ItemKind::icc_profile:
      case ItemKind::cicp:
      case ItemKind::gamma:
      case ItemKind::chromaticities:
      case ItemKind::light_primaries:
      case ItemKind::srgb_intent:
        if (context_.changes_colours) return;  // the message of the change says it
        if (item.kind == ItemKind::icc_profile && context_.space->has_unfit_profile()) {
          return drop(item, "it is not for the channels of this picture");
        }
        break;
      case ItemKind::background:
        if (context_.to_format == FileFormat::webp && !context_.result.timing) return drop(item, "only animations have one in WebP");
        break;
      case ItemKind::geotiff:
        if (context_.region) move_origin(kept, *context_.region);
        break;
      case ItemKind::ome_xml:
        if (hides_picture(item)) return drop(item, kHidesPicture);
        correct_ome(kept);
        break;
      case ItemKind::iptc:
        if (!correct_iptc(kept.data, messages_)) return drop(item, "it cannot be read");
        break;
      case ItemKind::timestamp:
        if (context_.to_format == FileFormat::tiff) kept.data = time_as_text(item);
        break;
      case ItemKind::text:
      case ItemKind::comment:
      case ItemKind::attribute:
      case ItemKind::credit:
      case ItemKind::known_tag:
      case ItemKind::imagej:
        if (!correct_shape(kept)) return drop(item, "it says another size than the picture has");
        if (hides_picture(item)) return drop(item, kHidesPicture);
        break;
      case ItemKind::photoshop:
        if (item.number == kImageSourceData) return drop(item, "its layers show the picture before the blur");
        if (!correct_photoshop(kept.data, messages_)) return drop(item, "it cannot be read");
        kept.count = kept.data.size();
        if (kept.data.empty()) return;
        break;
      default:
        break;
    }
    out_.push_back(std::move(kept));
  }

  /// tifffile's {"shape": [12, 40, 50]} ends with the height, the width and, where there are several, the channels. False where it does
  /// not.
  [[nodiscard]] bool correct_shape(Item& item) const {
    constexpr std::string_view kShape = "\"shape\": [";
    const Page& before = context_.from;
    const Page& after = context_.result;
    std::string text(item.data.begin(), item.data.end());
    const std::size_t begin = text.find(kShape);
    const bool is_same = before.width == after.width && before.height == after.height;
    if (begin == std::string::npos || is_same) return true;
    const std::size_t end = text.find(']', begin);
    for (const std::string& channels : {std::string(), ", " + std::to_string(before.channels.size())}) {
      const std::string old = std::to_string(before.height) + ", " + std::to_string(before.width) + channels;
      if (end == std::string::npos || end < begin + kShape.size() + old.size() || text.compare(end - old.size(), old.size(), old) != 0)
        continue;
      text.replace(end - old.size(), old.size(), std::to_string(after.height) + ", " + std::to_string(after.width) + channels);
      item.data.assign(text.begin(), text.end());
      item.count = item.data.size();
      return true;
    }
    return false;
  }

  void correct_ome(Item& item) {
    std::string text(item.data.begin(), item.data.end());
    if (says_size(item)) {
      replace_values(text, "SizeX", std::to_string(context_.from.width), std::to_string(context_.result.width));
      replace_values(text, "SizeY", std::to_string(context_.from.height), std::to_string(context_.result.height));
    }
    const NumberType before = context_.from.channels.front().type;
    const NumberType after = context_.result.channels.front().type;
    if (before != after) {
      for (const char* attribute : {"Type", "PixelType"}) {
        replace_values(text, attribute, std::string(ome_type(before)), std::string(ome_type(after)));
      }
    }
    item.data.assign(text.begin(), text.end());
    item.count = item.data.size();
  }

  void convert(const Item& item, bool has_profile) {
    const bool is_text = item.kind == ItemKind::comment || item.kind == ItemKind::credit;
    if (is_text && hides_picture(item)) return drop(item, kHidesPicture);
    switch (item.kind) {
      case ItemKind::icc_profile:
        if (context_.changes_colours) return;
        drop(item, std::string(contract_row(item.kind).how_dropped()));
        return;
      case ItemKind::cicp:
      case ItemKind::gamma:
      case ItemKind::chromaticities:
      case ItemKind::light_primaries:
        if (!context_.changes_colours && !has_profile) add_made_profile(item);
        return;
      case ItemKind::comment: {
        Item text = item;
        text.kind = ItemKind::text;
        text.name = "Comment";
        out_.push_back(std::move(text));
        messages_.add(std::string(contract_row(item.kind).name) + ": " + std::string(contract_row(item.kind).how_converted()));
        return;
      }
      case ItemKind::credit:
        if (item.type != kAscii) return drop(item, "it is no text");
        add_field(item, static_cast<std::uint16_t>(item.number), item.data);
        return;
      case ItemKind::timestamp:
        add_field(item, kDateTime, time_as_text(item));
        return;
      default:
        drop(item);
    }
  }

  void add_field(const Item& item, std::uint16_t tag, Bytes text) {
    if (text.empty() || text.back() != 0) text.push_back(0);
    fields_.push_back({tag, kAscii, std::move(text)});
    messages_.add(name_of(item) + " becomes Exif");
  }

  /// What the format says in Exif only, or the source in tags of its own.
  void add_exif_fields() {
    auto exif = std::ranges::find(out_, ItemKind::exif, &Item::kind);
    const std::optional<Resolution>& resolution = context_.result.resolution;
    const bool says_it = exif != out_.end() && exif_resolution(exif->data) == resolution;
    const bool belongs_in_exif = resolution && (context_.to_format == FileFormat::webp ||
                                                (context_.to_format == FileFormat::jpeg && !resolution_in(FileFormat::jpeg, *resolution)));
    if (belongs_in_exif && !says_it) {
      for (ExifField& field : exif_fields(*resolution)) fields_.push_back(std::move(field));
    }
    const bool is_said_in_exif = context_.to_format == FileFormat::webp || context_.to_format == FileFormat::jpeg;
    const Orientation orientation = context_.result.orientation;
    const Orientation said = exif == out_.end() ? 1 : exif_orientation(exif->data).value_or(1);
    if (is_said_in_exif && said != orientation) fields_.push_back(exif_field(orientation));
    if (fields_.empty()) return;
    if (exif == out_.end()) exif = out_.insert(out_.end(), {.kind = ItemKind::exif, .name = "Exif"});
    set_exif_fields(exif->data, fields_);
  }

  /// Where colours are sRGB anyway, no profile says more.
  void add_made_profile(const Item& item) {
    const ColourMeaning& meaning = context_.space->meaning();
    const bool is_srgb = meaning.encoding == ColourEncoding::srgb || meaning.encoding == ColourEncoding::unnamed;
    if (is_srgb && meaning.has_srgb_primaries) return;
    const bool holds_profile = outcome(ItemKind::icc_profile, context_.to_format, context_.to_format) == Outcome::kept;
    if (!holds_profile || has_made_profile_) return;
    has_made_profile_ = true;
    out_.push_back({.kind = ItemKind::icc_profile, .name = "made from " + item.name, .data = context_.space->made_profile()});
    messages_.add("colour is " + (meaning.name.empty() ? "of other primaries than sRGB" : meaning.name) +
                  ", which a colour profile says in the result");
  }

  const ItemContext& context_;
  Messages& messages_;
  std::vector<Item> out_;
  std::vector<ExifField> fields_;
  bool has_made_profile_ = false;
};

}  // namespace

std::vector<Item> convert_items(const std::vector<Item>& items, const ItemContext& context, Messages& messages) {
  return ItemConverter(context, messages).run(items);
}

}  // namespace mollify::files
