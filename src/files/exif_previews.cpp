#include "files/exif_previews.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace mollify::files {
namespace {

using namespace std::string_view_literals;

/// What offsets of a note count from, and how its bytes are ordered.
enum class Base : std::uint8_t { exif, note, own_header };
enum class Order : std::uint8_t { of_exif, little, big, at_8 };

enum class Holds : std::uint8_t {
  nothing,
  data,       ///< the value is the preview
  place,      ///< the value is its offset, that of tag `length` its length
  info,       ///< five numbers or more: the third is its length, the sixth its offset (Canon)
  directory,  ///< the value is the offset of a directory with tags of its own
};
struct PreviewTag {
  std::uint16_t tag = 0;
  Holds holds = Holds::nothing;
  std::uint16_t length = 0;
};

struct Maker {
  std::string_view prefix;
  std::size_t directory;  ///< from the beginning of the note; of Base::own_header the header's place
  Base base;
  Order order;
  std::array<PreviewTag, 4> tags;
};
constexpr PreviewTag kInDirectory = {0x201, Holds::place, 0x202};
constexpr std::array<PreviewTag, 4> kOlympus = {
    {{0x0088, Holds::place, 0x0089}, {0x0081, Holds::data}, {0x0100, Holds::data}, {0x2020, Holds::directory}}};
constexpr std::array<PreviewTag, 4> kPentax = {{{0x0004, Holds::place, 0x0003}}};
constexpr std::array<PreviewTag, 4> kCasio = {{{0x0004, Holds::place, 0x0003}, {0x2000, Holds::data}}};
constexpr std::array<PreviewTag, 4> kSony = {{{0x2001, Holds::data}}};
constexpr std::array<PreviewTag, 4> kLeica = {{{0x0300, Holds::data}}};
constexpr std::array<PreviewTag, 4> kNikon = {{{0x0011, Holds::directory}}};
/// Notes without a prefix, of Canon, Samsung and Minolta: the tags do not collide.
constexpr std::array<PreviewTag, 4> kWithoutPrefix = {
    {{0x00B6, Holds::info}, {0x0035, Holds::directory}, {0x0081, Holds::data}, {0x0088, Holds::place, 0x0089}}};
/// The first whose prefix fits.
constexpr std::array kMakers = {
    Maker{"Nikon\0\2"sv, 10, Base::own_header, Order::of_exif, kNikon},
    Maker{"OLYMPUS\0"sv, 12, Base::note, Order::at_8, kOlympus},
    Maker{"OM SYSTEM\0"sv, 16, Base::note, Order::of_exif, kOlympus},
    Maker{"OLYMP\0"sv, 8, Base::exif, Order::of_exif, kOlympus},
    Maker{"EPSON\0"sv, 8, Base::exif, Order::of_exif, kOlympus},
    Maker{"MINOL\0"sv, 8, Base::exif, Order::of_exif, kOlympus},
    Maker{"SANYO\0"sv, 8, Base::exif, Order::of_exif, kOlympus},
    Maker{"SONY"sv, 12, Base::exif, Order::of_exif, kSony},
    Maker{"Panasonic\0"sv, 12, Base::exif, Order::of_exif, kLeica},
    Maker{"LEICA\0"sv, 8, Base::exif, Order::of_exif, kLeica},
    Maker{"PENTAX \0"sv, 10, Base::note, Order::at_8, kPentax},
    Maker{"AOC\0"sv, 6, Base::exif, Order::of_exif, kPentax},
    Maker{"QVC\0"sv, 6, Base::exif, Order::big, kCasio},
    Maker{"FUJIFILM"sv, 12, Base::note, Order::little, {}},
    Maker{""sv, 0, Base::exif, Order::of_exif, kWithoutPrefix},
};

constexpr std::size_t kLeastPreviewBytes = 256;  // less is a number of another meaning

class NoteReader {
 public:
  NoteReader(const ExifView& exif, const ByteRange& note) : exif_(exif), note_(note) {}

  MakerNote read() {
    const std::string_view text(reinterpret_cast<const char*>(exif_.bytes.data()) + note_.begin, note_.size());
    const auto* maker = std::find_if(kMakers.begin(), kMakers.end(), [&](const Maker& each) { return text.starts_with(each.prefix); });
    view_ = exif_;
    std::size_t at = note_.begin + maker->directory;
    if (maker->base == Base::note) view_.base = note_.begin;
    if (maker->order == Order::little) view_.is_big_endian = false;
    if (maker->order == Order::big) view_.is_big_endian = true;
    if (maker->order == Order::at_8 && text.size() > 9 && (text[8] == 'I' || text[8] == 'M')) view_.is_big_endian = text[8] == 'M';
    if (maker->base == Base::own_header) {
      const auto header = exif_header(exif_.bytes, at);
      if (!header) return {};
      view_ = header->view;
      at = header->first_directory;
    }
    if (const auto directory = view_.directory(at); directory && at < note_.end) read_directory(*directory, maker->tags);
    return std::move(result_);
  }

 private:
  void read_directory(const ExifDirectory& directory, std::span<const PreviewTag> tags) {
    result_.structure.push_back(directory.place);
    for (const ExifEntry& entry : directory.entries) {
      const auto tag = std::find_if(tags.begin(), tags.end(), [&](const PreviewTag& each) { return each.tag == entry.tag; });
      const bool holds_data = tag != tags.end() && tag->holds == Holds::data && entry.value.size() >= kLeastPreviewBytes;
      if (!holds_data) result_.structure.push_back(entry.value);
      if (tag != tags.end()) take(directory, entry, *tag);
    }
  }

  void take(const ExifDirectory& directory, const ExifEntry& entry, const PreviewTag& tag) {
    const auto first = view_.number(entry);
    if (tag.holds == Holds::data && entry.value.size() >= kLeastPreviewBytes) result_.previews.push_back({entry.value, std::nullopt});
    if (tag.holds == Holds::place && first) {
      const ExifEntry* length = directory.find(tag.length);
      const auto count = length != nullptr ? view_.number(*length) : std::nullopt;
      if (count) add(*first, *count, *length);
    }
    if (tag.holds == Holds::info) {
      const auto count = view_.number(entry, 2);
      const auto offset = view_.number(entry, 5);
      if (count && offset) add(*offset, *count, std::nullopt);
    }
    if (tag.holds == Holds::directory && first) take_directory(*first);
  }

  /// Directories within the note, of which none holds another with previews.
  void take_directory(std::uint32_t offset) {
    static constexpr std::array<PreviewTag, 2> kTags = {{kInDirectory, {0x0101, Holds::place, 0x0102}}};
    if (const auto directory = view_.directory_at_offset(offset)) read_directory(*directory, kTags);
  }

  /// Offsets of the same tag count from different places in files of different programs: where a JPEG begins, the preview is.
  void add(std::uint32_t offset, std::uint32_t count, const std::optional<ExifEntry>& length) {
    if (count < kLeastPreviewBytes) return;
    for (const std::size_t base : {view_.base, std::size_t{0}, note_.begin}) {
      ExifView view = view_;
      view.base = base;
      const ByteRange place = view.range(offset, count);
      const bool is_jpeg = place.size() > 3 && view.bytes[place.begin + 1] == 0xD8 && view.bytes[place.begin + 2] == 0xFF;
      if (is_jpeg) return result_.previews.push_back({place, length});
    }
    const ByteRange place = view_.range(offset, count);
    if (note_.contains(place.begin) && place.end <= note_.end) result_.previews.push_back({place, length});
  }

  const ExifView& exif_;
  ByteRange note_;
  ExifView view_;
  MakerNote result_;
};

}  // namespace

MakerNote read_maker_note(const ExifView& exif, const ByteRange& note) {
  return NoteReader(exif, note).read();
}

}  // namespace mollify::files
