#include <algorithm>
#include <set>

#include "files/exif_previews.h"
#include "files/exif_structure.h"
#include "files/metadata.h"
#include "files/pictures_inside.h"

namespace mollify::files {
namespace {

enum Tag : std::uint16_t {
  kWidth = 0x100,
  kHeight = 0x101,
  kStripOffsets = 0x111,
  kOrientation = 0x112,
  kStripCounts = 0x117,
  kXResolution = 0x11A,
  kYResolution = 0x11B,
  kResolutionUnit = 0x128,
  kTileOffsets = 0x144,
  kTileCounts = 0x145,
  kSubDirectories = 0x14A,
  kJpegOffset = 0x201,
  kJpegCount = 0x202,
  kRelatedWidth = 0x1001,
  kRelatedHeight = 0x1002,
  kExifDirectory = 0x8769,
  kGpsDirectory = 0x8825,
  kSubjectArea = 0x9214,
  kMakerNote = 0x927C,
  kPixelWidth = 0xA002,
  kPixelHeight = 0xA003,
  kInteropDirectory = 0xA005,
  kSubjectLocation = 0xA214,
};
constexpr int kMostPictures = 1000;  // found by their signature; a block with more is dropped

class ExifCorrector {
 public:
  ExifCorrector(Bytes& exif, const Corrections& corrections) : exif_(exif), corrections_(corrections) {}

  bool run(Messages& messages) {
    const auto header = exif_header(exif_, 0);
    if (!header) return false;
    view_ = header->view;
    structure_.push_back({0, 8});
    first_ = header->first_directory;
    if (!view_.directory(first_)) return false;
    walk(first_);
    correct_numbers();
    if (corrections_.region && !move_subjects()) messages.add("the place of the subject, which was cut away, is removed from Exif");
    remove_linked_directories();
    for (const ExifDirectory& each : directories_) remove_pictures_of(each, true);
    remove_previews();
    if (!remove_pictures_with_signature()) return false;
    if (has_removed_thumbnail_) messages.add("the thumbnail in the Exif metadata is removed");
    if (has_removed_preview_) messages.add("previews in the Exif metadata are removed");
    return view_.directory(first_).has_value();
  }

 private:
  void walk(std::size_t at) {
    if (!visited_.insert(at).second) return;
    const auto directory = view_.directory(at);
    if (!directory) return;
    structure_.push_back(directory->place);
    directories_.push_back(*directory);
    for (const ExifEntry& entry : directory->entries) {
      if (entry.tag == kMakerNote) {
        note_ = entry.value;
      } else {
        structure_.push_back(entry.value);
      }
      const bool is_link = entry.tag == kExifDirectory || entry.tag == kGpsDirectory || entry.tag == kInteropDirectory;
      if (const auto offset = is_link ? view_.number(entry) : std::nullopt) walk(*offset);
    }
  }

  // Numbers

  void correct_numbers() {
    for (const ExifDirectory& directory : directories_) {
      for (const ExifEntry& entry : directory.entries) {
        const bool is_first = directory.place.begin == first_;
        if (entry.tag == kOrientation && is_first) set(entry, corrections_.orientation);
        if (entry.tag == kPixelWidth || entry.tag == kRelatedWidth || (entry.tag == kWidth && is_first)) set(entry, corrections_.width);
        if (entry.tag == kPixelHeight || entry.tag == kRelatedHeight || (entry.tag == kHeight && is_first)) set(entry, corrections_.height);
      }
    }
  }
  void set(const ExifEntry& entry, const std::optional<std::int32_t>& value) {
    if (!value || entry.count != 1 || (entry.type != kShort && entry.type != kLong)) return;
    const auto number = static_cast<std::uint32_t>(*value);
    if (entry.type == kLong || number > 0xFFFF) {
      put16(entry.at + 2, kLong);
      put32(entry.at + 8, number);
    } else {
      put16(entry.at + 8, static_cast<std::uint16_t>(number));
    }
  }
  /// Pixel coordinates of what the picture shows, which sizes may follow. False where one had to be removed.
  bool move_subjects() {
    bool stays = true;
    for (std::size_t d = 0; d < directories_.size(); ++d) {
      for (std::size_t e = 0; e < directories_[d].entries.size();) {
        const ExifDirectory directory = directories_[d];
        const ExifEntry& entry = directory.entries[e];
        const bool is_place = entry.tag == kSubjectArea || entry.tag == kSubjectLocation;
        if (is_place && !move_subject(entry)) {
          stays = false;
          remove_entry(directory, entry);
        }
        if (directories_[d].entries.size() == directory.entries.size()) ++e;
      }
    }
    return stays;
  }
  bool move_subject(const ExifEntry& entry) {
    const auto x = view_.number(entry, 0), y = view_.number(entry, 1);
    if (corrections_.turns || entry.type != kShort || !x || !y) return false;
    const Rect& region = *corrections_.region;
    const std::int64_t left = std::int64_t{*x} - region.x, top = std::int64_t{*y} - region.y;
    if (left < 0 || top < 0 || left >= region.width || top >= region.height) return false;
    put16(entry.value.begin, static_cast<std::uint16_t>(left));
    put16(entry.value.begin + 2, static_cast<std::uint16_t>(top));
    return true;
  }
  void put16(std::size_t at, std::uint16_t value) {
    exif_[at + (view_.is_big_endian ? 0 : 1)] = static_cast<std::uint8_t>(value >> 8);
    exif_[at + (view_.is_big_endian ? 1 : 0)] = static_cast<std::uint8_t>(value);
  }
  void put32(std::size_t at, std::uint32_t value) {
    put16(at + (view_.is_big_endian ? 0 : 2), static_cast<std::uint16_t>(value >> 16));
    put16(at + (view_.is_big_endian ? 2 : 0), static_cast<std::uint16_t>(value));
  }

  // Pictures that directories describe

  void zero(const ByteRange& range) {
    std::fill(exif_.begin() + static_cast<std::ptrdiff_t>(range.begin), exif_.begin() + static_cast<std::ptrdiff_t>(range.end),
              std::uint8_t{0});
  }
  /// What other tags need stays.
  void zero_unused(ByteRange range) {
    std::vector<ByteRange> used;
    for (const ByteRange& each : structure_) {
      if (each.begin < range.end && range.begin < each.end) used.push_back(each);
    }
    std::sort(used.begin(), used.end(), [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
    for (const ByteRange& each : used) {
      if (each.begin > range.begin) zero({range.begin, each.begin});
      range.begin = std::max(range.begin, std::min(each.end, range.end));
    }
    zero(range);
  }

  void remove_pictures_of(const ExifDirectory& directory, bool stays) {
    for (const auto& [offsets, counts] : {std::pair{kJpegOffset, kJpegCount}, {kStripOffsets, kStripCounts}, {kTileOffsets, kTileCounts}}) {
      const ExifEntry* place = directory.find(offsets);
      const ExifEntry* size = directory.find(counts);
      if (place == nullptr || size == nullptr) continue;
      for (std::size_t i = 0; i < place->count; ++i) {
        const auto offset = view_.number(*place, i);
        const auto count = view_.number(*size, i);
        if (!offset || !count) break;
        zero_unused(view_.range(*offset, *count));
        has_removed_thumbnail_ = true;
      }
      if (stays) zero(size->value);
    }
  }

  /// The chain behind the first directory, and its SubIFDs.
  void remove_linked_directories() {
    const ExifDirectory first = *view_.directory(first_);
    if (first.next_at != 0) {
      remove_chain(view_.get32(first.next_at));
      put32(first.next_at, 0);
    }
    const ExifEntry* links = first.find(kSubDirectories);
    if (links == nullptr) return;
    for (std::size_t i = 0; i < links->count; ++i) {
      const auto offset = view_.number(*links, i);
      if (!offset) break;
      remove_chain(*offset);
    }
    remove_entry(first, *links);
  }
  void remove_chain(std::uint32_t offset) {
    while (offset != 0 && visited_.insert(offset).second) {
      const auto directory = view_.directory(offset);
      if (!directory) return;
      offset = directory->next_at != 0 ? view_.get32(directory->next_at) : 0;
      remove_pictures_of(*directory, false);
      for (const ExifEntry& entry : directory->entries) zero_unused(entry.value);
      zero_unused(directory->place);
    }
  }
  void remove_entry(const ExifDirectory& directory, const ExifEntry& entry) {
    const auto at = exif_.begin() + static_cast<std::ptrdiff_t>(entry.at);
    const auto end = exif_.begin() + static_cast<std::ptrdiff_t>(directory.place.end);
    const std::size_t count = directory.entries.size();
    if (count == 1) return;
    if (!entry.is_inline()) zero(entry.value);
    std::fill(std::copy(at + 12, end, at), end, std::uint8_t{0});
    put16(directory.place.begin, static_cast<std::uint16_t>(count - 1));
    for (ExifDirectory& each : directories_) each = *view_.directory(each.place.begin);
  }

  // Pictures that makers hide

  void remove_previews() {
    if (note_.size() == 0) return;
    MakerNote note = read_maker_note(view_, note_);
    structure_.insert(structure_.end(), note.structure.begin(), note.structure.end());
    for (const MakerNote::Preview& preview : note.previews) {
      zero_unused(preview.place);
      if (preview.length) zero(preview.length->value);
      has_removed_preview_ = true;
    }
  }

  bool remove_pictures_with_signature() {
    for (int i = 0; i < kMostPictures; ++i) {
      const auto picture = find_picture(exif_, 0, Signatures::all_but_tiff);
      if (!picture) return true;
      zero({picture->offset, picture->end ? std::min(*picture->end, exif_.size()) : end_of_value(picture->offset)});
      has_removed_preview_ = true;
    }
    return false;
  }
  /// Of the smallest value that holds a position; without one, where what is used begins again.
  [[nodiscard]] std::size_t end_of_value(std::size_t at) const {
    ByteRange smallest = note_.contains(at) ? note_ : ByteRange{0, exif_.size()};
    std::size_t end = smallest.end;
    for (const ByteRange& each : structure_) {
      if (each.contains(at) && each.size() < smallest.size()) smallest = each;
      if (each.begin > at) end = std::min(end, each.begin);
    }
    return smallest.size() < exif_.size() && !(note_.contains(at) && smallest.size() == note_.size()) ? smallest.end : end;
  }

  Bytes& exif_;
  const Corrections& corrections_;
  ExifView view_;
  std::size_t first_ = 0;
  std::vector<ExifDirectory> directories_;
  std::vector<ByteRange> structure_;  ///< what stays: directories and values, but for the maker's note
  ByteRange note_;
  std::set<std::size_t> visited_;
  bool has_removed_thumbnail_ = false;
  bool has_removed_preview_ = false;
};

std::optional<ExifDirectory> first_directory(std::span<const std::uint8_t> exif, ExifView& view) {
  const auto header = exif_header(exif, 0);
  if (!header) return std::nullopt;
  view = header->view;
  return view.directory(header->first_directory);
}

}  // namespace

bool correct_exif(Bytes& exif, const Corrections& corrections, Messages& messages) {
  return ExifCorrector(exif, corrections).run(messages);
}

std::optional<Orientation> exif_orientation(std::span<const std::uint8_t> exif) {
  ExifView view;
  const auto directory = first_directory(exif, view);
  const ExifEntry* entry = directory ? directory->find(kOrientation) : nullptr;
  const auto number = entry != nullptr ? view.number(*entry) : std::nullopt;
  if (!number || *number < 1 || *number > 8) return std::nullopt;
  return static_cast<Orientation>(*number);
}

std::optional<Resolution> exif_resolution(std::span<const std::uint8_t> exif) {
  ExifView view;
  const auto directory = first_directory(exif, view);
  if (!directory) return std::nullopt;
  const ExifEntry* x_entry = directory->find(kXResolution);
  const ExifEntry* y_entry = directory->find(kYResolution);
  const double x = x_entry != nullptr ? view.rational(*x_entry).value_or(0) : 0;
  const double y = y_entry != nullptr ? view.rational(*y_entry).value_or(0) : 0;
  if (x <= 0 || y <= 0) return std::nullopt;
  const ExifEntry* unit_entry = directory->find(kResolutionUnit);
  const auto unit = unit_entry != nullptr ? view.number(*unit_entry) : std::nullopt;
  using Unit = Resolution::Unit;
  return Resolution{.x = x, .y = y, .unit = !unit || *unit == 2 ? Unit::inch : *unit == 3 ? Unit::centimetre : Unit::none};
}

}  // namespace mollify::files
