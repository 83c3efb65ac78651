// Items of a document as the segments of a JPEG file.
#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "files/jpeg_items.h"
#include "files/jpeg_prefixes.h"
#include "files/md5.h"
#include "files/metadata.h"
#include "files/resolution.h"

namespace mollify::files::jpeg {
namespace {

using View = std::span<const std::uint8_t>;

View view(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}
Bytes joined(std::string_view prefix, View bytes) {
  Bytes result(prefix.begin(), prefix.end());
  append(result, bytes);
  return result;
}
void append32(Bytes& to, std::size_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) to.push_back(static_cast<std::uint8_t>(value >> shift));
}

class LayoutMaker {
 public:
  explicit LayoutMaker(const Document& document) : document_(document) {}

  Layout make(bool has_jfif, std::optional<int> adobe_transform) {
    check_items();
    if (has_jfif) add_jfif();
    each(ItemKind::exif, [&](const Item& item) { add_in_parts(kApp1, kExif, item.data); });
    add_xmp();
    each(ItemKind::thumbnail, [&](const Item& item) {
      if (item.name != kJfifName) add(kApp0, item.data);
    });
    add_photoshop();
    each(ItemKind::icc_profile, [&](const Item& item) { add_profile(item.data); });
    each(ItemKind::second_picture, [&](const Item& item) {
      if (item.number != kEoi) add(static_cast<std::uint8_t>(item.number), item.data);
    });
    each(ItemKind::unknown, [&](const Item& item) { add_unknown(item); });
    each(ItemKind::comment, [&](const Item& item) { add_in_parts(kCom, {}, item.data); });
    if (adobe_transform) add_adobe(*adobe_transform);
    for_all([&](const Item& item) {
      if (is_after(item)) append(layout_.after, item.data);
    });
    return std::move(layout_);
  }

 private:
  static constexpr std::string_view kJfifName = "JFIF";

  template <typename Function>
  void for_all(const Function& function) const {
    for (const Item& item : document_.items) function(item);
    for (const Item& item : document_.pages.front().items) function(item);
  }
  template <typename Function>
  void each(ItemKind kind, const Function& function) const {
    for_all([&](const Item& item) {
      if (item.kind == kind) function(item);
    });
  }
  static bool is_after(const Item& item) {
    return item.kind == ItemKind::trailer || (item.kind == ItemKind::second_picture && item.number == kEoi);
  }

  static bool has_place(const Item& item) {
    const bool is_application = item.number >= kApp0 && item.number <= kApp15;
    switch (item.kind) {
      case ItemKind::exif:
      case ItemKind::xmp:
      case ItemKind::iptc:
      case ItemKind::photoshop:
      case ItemKind::icc_profile:
      case ItemKind::comment:
      case ItemKind::trailer:
        return true;
      case ItemKind::second_picture:
        return is_application || item.number == kEoi;
      case ItemKind::thumbnail:
      case ItemKind::unknown:
        return is_application;
      default:
        return item.kind < ItemKind::icc_profile;  // derived from pages
    }
  }
  void check_items() const {
    for_all([](const Item& item) {
      if (!has_place(item)) unaccounted(item, FileFormat::jpeg);
    });
    for (const ItemKind kind : {ItemKind::icc_profile, ItemKind::xmp, ItemKind::iptc, ItemKind::photoshop}) {
      int count = 0;
      each(kind, [&](const Item& item) {
        if (++count > 1) unaccounted(item, FileFormat::jpeg);
      });
    }
  }

  void add(std::uint8_t marker, Bytes payload) {
    if (payload.size() > kMostPayload)
      throw FileError("holds a segment of " + std::to_string(payload.size()) + " bytes, and JPEG's end at 65533");
    layout_.segments.push_back({marker, std::move(payload)});
  }
  void add_in_parts(std::uint8_t marker, std::string_view prefix, View bytes) {
    const std::size_t most = kMostPayload - prefix.size();
    do {
      const View part = bytes.first(std::min(bytes.size(), most));
      add(marker, joined(prefix, part));
      bytes = bytes.subspan(part.size());
    } while (!bytes.empty());
  }

  void add_jfif() {
    const std::optional<Resolution>& resolution = document_.pages.front().resolution;
    const Resolution none = {.x = 1, .y = 1, .unit = Resolution::Unit::none};
    const Resolution density = resolution ? resolution_in(FileFormat::jpeg, *resolution).value_or(none) : none;
    const auto x = static_cast<unsigned>(density.x), y = static_cast<unsigned>(density.y);
    const int unit = density.unit == Resolution::Unit::inch ? 1 : density.unit == Resolution::Unit::centimetre ? 2 : 0;
    Bytes payload = joined(kJfif, {});
    for (const unsigned byte : {1U, 1U, static_cast<unsigned>(unit), x >> 8, x & 255, y >> 8, y & 255})
      payload.push_back(static_cast<std::uint8_t>(byte));
    const std::size_t without_thumbnail = payload.size();
    each(ItemKind::thumbnail, [&](const Item& item) {
      if (item.name == kJfifName && payload.size() == without_thumbnail) append(payload, item.data);
    });
    if (payload.size() == without_thumbnail) payload.resize(payload.size() + 2);
    add(kApp0, std::move(payload));
  }

  void add_adobe(int transform) {
    Bytes payload = joined(kAdobe, {});
    for (const int byte : {0, 100, 0, 0, 0, 0, transform}) payload.push_back(static_cast<std::uint8_t>(byte));
    add(kApp14, std::move(payload));
  }

  void add_xmp() {
    each(ItemKind::xmp, [&](const Item& item) {
      if (item.data.size() <= kMostPayload - kXmp.size()) return add(kApp1, joined(kXmp, item.data));
      add_large_xmp(item.data);
    });
  }
  /// A packet larger than a segment: a small one that refers to the whole, by its digest.
  void add_large_xmp(View packet) {
    const std::string digest = md5_hex(packet);
    const std::string reference =
        "<?xpacket begin=\"\xEF\xBB\xBF\" id=\"W5M0MpCehiHzreSzNTczkc9d\"?><x:xmpmeta xmlns:x=\"adobe:ns:meta/\">"
        "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\"><rdf:Description rdf:about=\"\" "
        "xmlns:xmpNote=\"http://ns.adobe.com/xmp/note/\" xmpNote:HasExtendedXMP=\"" +
        digest + "\"/></rdf:RDF></x:xmpmeta><?xpacket end=\"w\"?>";
    add(kApp1, joined(kXmp, view(reference)));
    add_extended_xmp(digest, packet);
  }
  void add_extended_xmp(const std::string& digest, View bytes) {
    const std::size_t most = kMostPayload - kXmpExtension.size() - 40;
    for (std::size_t at = 0; at < bytes.size(); at += most) {
      Bytes payload = joined(kXmpExtension, view(digest));
      append32(payload, bytes.size());
      append32(payload, at);
      append(payload, bytes.subspan(at, std::min(most, bytes.size() - at)));
      add(kApp1, std::move(payload));
    }
  }

  void add_photoshop() {
    View rest;
    View iptc;
    each(ItemKind::photoshop, [&](const Item& item) { rest = item.data; });
    each(ItemKind::iptc, [&](const Item& item) { iptc = item.data; });
    if (!rest.empty() || !iptc.empty()) add_in_parts(kApp13, kPhotoshop, join_photoshop(rest, iptc));
  }

  void add_profile(View profile) {
    constexpr std::size_t most = kMostProfilePart;
    const std::size_t count = (profile.size() + most - 1) / most;
    if (profile.size() > kMostProfileBytes) throw FileError("has a colour profile that is longer than those of JPEG files");
    for (std::size_t i = 0; i < count; ++i) {
      Bytes payload = joined(kIcc, {});
      payload.push_back(static_cast<std::uint8_t>(i + 1));
      payload.push_back(static_cast<std::uint8_t>(count));
      append(payload, profile.subspan(i * most, std::min(most, profile.size() - i * most)));
      add(kApp2, std::move(payload));
    }
  }

  /// In the parts that the source had, see `detail` of items of this kind.
  void add_unknown(const Item& item) {
    View left = item.data;
    const char* text = item.detail.data();
    const char* const end = text + item.detail.size();
    do {
      std::size_t size = left.size();
      const auto [next, error] = std::from_chars(text, end, size);
      const View part = left.first(std::min(size, left.size()));
      add(static_cast<std::uint8_t>(item.number), {part.begin(), part.end()});
      left = left.subspan(part.size());
      text = next == end ? next : next + 1;
    } while (!left.empty());
  }

  const Document& document_;
  Layout layout_;
};

}  // namespace

Layout layout_of(const Document& document, bool has_jfif, std::optional<int> adobe_transform) {
  return LayoutMaker(document).make(has_jfif, adobe_transform);
}

}  // namespace mollify::files::jpeg
