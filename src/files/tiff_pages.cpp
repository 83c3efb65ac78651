// How the directories of a file belong together: pages, levels, masks, planes behind one directory.
#include "files/tiff_pages.h"

#include <tiff.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <set>
#include <string_view>

#include "files/tiff_tags.h"

namespace mollify::files::tiff {
namespace {

constexpr int kDeepest = 8;               // of directories within directories
constexpr std::int64_t kPageCost = 2048;  // bytes of memory that the description of a page takes, roughly

std::string_view description(const Page& page) {
  for (const Item& item : page.items) {
    if (item.number != kImageDescription || bytes_of_type(item.type) != 1) continue;
    return {reinterpret_cast<const char*>(item.data.data()), item.data.size()};
  }
  return {};
}

// The number behind a word of a text; 0 where there is none.
std::int64_t number_after(std::string_view text, std::string_view word) {
  const std::size_t place = text.find(word);
  std::int64_t value = 0;
  if (place != std::string_view::npos) std::from_chars(text.data() + place + word.size(), text.data() + text.size(), value);
  return value;
}

// tifffile's "shape": [12, 40, 50], the product of the numbers.
std::int64_t product_of_shape(std::string_view text) {
  const std::size_t begin = text.find("\"shape\": [");
  if (begin == std::string_view::npos) return 0;
  const std::string_view list = text.substr(begin + 10, text.find(']', begin) - begin - 10);
  std::int64_t product = 1;
  for (std::size_t i = 0; i < list.size();) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(list.data() + i, list.data() + list.size(), value);
    if (error != std::errc{} || value <= 0 || product > (std::int64_t{1} << 48) / value) return 0;
    product *= value;
    i = std::min(list.size(), static_cast<std::size_t>(end - list.data()) + 2);
  }
  return product;
}

// Planes that the text of the only directory tells of.
std::int64_t planes_behind(const PageOfFile& only) {
  const std::string_view text = description(only.page);
  if (text.starts_with("ImageJ=")) return number_after(text, "\nimages=");
  if (text.find("\"truncated\": true") == std::string_view::npos) return 1;
  return product_of_shape(text) / (std::int64_t{only.page.width} * only.page.height * only.layout.samples);
}

bool is_smaller_copy(const Page& copy, const Page& of) {
  if (copy.width > of.width || copy.height > of.height || (copy.width == of.width && copy.height == of.height)) return false;
  const std::int64_t difference = std::abs(std::int64_t{copy.width} * of.height - std::int64_t{copy.height} * of.width);
  return difference <= std::max(of.width, of.height);
}

class InventoryTaker {
 public:
  InventoryTaker(const StructureReader& file, std::int64_t memory_bytes, Messages& messages)
      : file_(file), memory_left_(memory_bytes), messages_(messages) {}

  Inventory take() {
    for (std::int64_t offset = file_.first(); offset != 0;) {
      visit(offset);
      const DirectoryPlace directory = file_.read_directory(offset);
      add(directory, -1, 0);
      offset = directory.next;
    }
    if (result_.pages.empty()) throw FileError("holds no picture");
    relate();
    add_planes();
    return std::move(result_);
  }

 private:
  const StructureReader& file_;
  std::int64_t memory_left_;
  Messages& messages_;
  std::set<std::int64_t> visited_;
  Inventory result_;

  void visit(std::int64_t offset) {
    if (!visited_.insert(offset).second) throw FileError("has directories that refer to each other in a circle");
  }

  void pay(std::int64_t bytes) {
    memory_left_ -= bytes;
    if (memory_left_ < 0) throw FileError("has more pages and tags than the memory that may be used");
  }

  void add(const DirectoryPlace& directory, int parent, int depth) {
    std::int64_t payload = kPageCost;
    for (const FieldPlace& place : directory.fields) {
      if (file_.is_whole(place)) payload += static_cast<std::int64_t>(place.count) * bytes_of_type(place.type);
    }
    pay(payload);
    if (is_thumbnail(directory)) return add_thumbnail(directory);
    const int index = static_cast<int>(result_.pages.size());
    result_.pages.push_back(describe_page(file_, directory, messages_));
    Page& page = result_.pages.back().page;
    page.parent = parent;
    std::get<TiffCoding>(page.coding).in_sub_directory = parent >= 0;
    if (depth == kDeepest) {
      if (directory.find(kSubIfds) != nullptr)
        messages_.add("directories within directories of the " + std::to_string(kDeepest) + "th depth were left out");
      return;
    }
    for (const std::uint64_t offset : file_.integers(directory, kSubIfds)) {
      if (offset == 0) continue;
      visit(static_cast<std::int64_t>(offset));
      add(file_.read_directory(static_cast<std::int64_t>(offset)), index, depth + 1);
    }
  }

  // A directory as Exif has it for its thumbnail: a JPEG stream, and no size.
  static bool is_thumbnail(const DirectoryPlace& directory) {
    return directory.find(kImageWidth) == nullptr && directory.find(kJpegInterchangeFormat) != nullptr;
  }
  void add_thumbnail(const DirectoryPlace& directory) {
    const auto offset = file_.integer(directory, kJpegInterchangeFormat, 0), count = file_.integer(directory, kJpegInterchangeLength, 0);
    Item item{.kind = ItemKind::thumbnail, .name = "JPEGInterchangeFormat"};
    item.data = read_exactly(file_.source(), static_cast<std::int64_t>(offset), static_cast<std::int64_t>(count));
    result_.items.push_back(std::move(item));
  }

  [[nodiscard]] Page& page(std::size_t index) { return result_.pages[index].page; }
  [[nodiscard]] static std::uint32_t flags(const Page& page) { return std::get<TiffCoding>(page.coding).subfile_type; }

  // Which pages are smaller copies or masks of others. Microscopes' pyramids (SVS) and textures do not mark their levels.
  void relate() {
    const bool is_slide = description(page(0)).starts_with("Aperio");
    const bool is_texture =
        std::any_of(page(0).items.begin(), page(0).items.end(), [](const Item& i) { return i.number == kPixarTextureFormat; });
    int full = -1;
    for (std::size_t i = 0; i < result_.pages.size(); ++i) {
      Page& each = page(i);
      const bool in_sub = std::get<TiffCoding>(each.coding).in_sub_directory;
      const bool is_mask = (flags(each) & 4) != 0 || std::get<TiffCoding>(each.coding).photometric == 4;
      const int of = in_sub ? each.parent : full;
      const bool is_reduced = (flags(each) & 1) != 0 || (i > 0 && (is_texture || (is_slide && each.tile_width > 0)));
      if (is_mask && i > 0) {
        each.kind = PageKind::mask;
        each.parent = masked(i);
      } else if (is_reduced && of >= 0 && is_smaller_copy(each, page(static_cast<std::size_t>(of)))) {
        each.kind = PageKind::level;
        each.parent = of;
      } else if (!in_sub) {
        full = static_cast<int>(i);
      }
    }
  }

  // The last page before a mask that has its size, or the last.
  [[nodiscard]] int masked(std::size_t mask) {
    for (std::size_t i = mask; i-- > 0;) {
      if (page(i).kind != PageKind::mask && page(i).width == page(mask).width && page(i).height == page(mask).height)
        return static_cast<int>(i);
    }
    return static_cast<int>(mask) - 1;
  }

  // Planes that only the text of a stack tells of, or a tag of MetaMorph.
  void add_planes() {
    if (result_.pages.size() != 1) return;
    const DirectoryPlace directory = file_.read_directory(result_.pages.front().layout.directory);
    const FieldPlace* metamorph = directory.find(kMetaMorphPlanes);
    if (metamorph == nullptr) return add_planes(directory, planes_behind(result_.pages.front()), PageKind::plane);
    const auto planes = static_cast<std::int64_t>(std::min<std::uint64_t>(metamorph->count, std::numeric_limits<std::int32_t>::max()));
    if (planes <= 1) return;
    if (is_one_piece(directory)) {
      add_planes(directory, planes, PageKind::page);
    } else {
      add_scattered_planes(directory, planes);
    }
    messages_.add("the " + std::to_string(planes) + " planes of MetaMorph's stack became pages");
  }

  // Of MetaMorph: the strips of a plane lie as those of the first one do, and as many bytes behind those of the plane before as these span.
  void add_scattered_planes(const DirectoryPlace& directory, std::int64_t planes) {
    PageOfFile& first = result_.pages.front();
    require_plain(first.layout, planes);
    const std::vector<std::uint64_t> offsets = file_.integers(directory, kStripOffsets),
                                     counts = file_.integers(directory, kStripByteCounts);
    const auto size = static_cast<std::uint64_t>(file_.source().size());
    const bool is_ordered = !offsets.empty() && offsets.size() == counts.size() && [&] {
      for (std::size_t i = 0; i < offsets.size(); ++i) {
        const std::uint64_t end = i + 1 < offsets.size() ? offsets[i + 1] : size;
        if (offsets[i] > end || counts[i] > end - offsets[i]) return false;
      }
      return true;
    }();
    if (!is_ordered) throw FileError("is a stack of MetaMorph whose strips overlap or lie beyond its end");
    const std::uint64_t span = offsets.back() + counts.back() - offsets.front();
    if (span == 0 || static_cast<std::uint64_t>(planes) > (size - offsets.front()) / span)
      throw FileError("is cut off: it lacks some of its " + std::to_string(planes) + " planes");
    require_memory(planes);
    first.page.kind = PageKind::page;
    PageOfFile next = first;
    next.page.items.clear();
    for (std::int64_t i = 1; i < planes; ++i) {
      next.layout.plane_shift = i * static_cast<std::int64_t>(span);
      result_.pages.push_back(next);
    }
  }

  static void require_plain(const Layout& layout, std::int64_t planes) {
    if (layout.compression != 1 || layout.tiled || layout.planar || layout.packs_blocks || !layout.mixed.empty())
      throw FileError("says that it has " + std::to_string(planes) + " planes, and has one directory for them");
  }
  void require_memory(std::int64_t planes) const {
    if (planes > memory_left_ / kPageCost) throw FileError("has more planes than the memory that may be used");
  }

  void add_planes(const DirectoryPlace& directory, std::int64_t planes, PageKind kind) {
    if (planes <= 1) return;
    PageOfFile& first = result_.pages.front();
    const Layout& layout = first.layout;
    require_plain(layout, planes);
    if (!is_one_piece(directory)) throw FileError("is a stack whose strips are not in one piece, which is not supported");
    const auto begin = static_cast<std::int64_t>(file_.integer(directory, kStripOffsets, 0));
    const std::int64_t bytes = layout.sample.row_bytes(std::int64_t{first.page.width} * layout.samples) * first.page.height;
    if (begin < 0 || planes > (file_.source().size() - begin) / bytes)
      throw FileError("is cut off: it lacks some of its " + std::to_string(planes) + " planes");
    require_memory(planes);
    first.page.kind = kind;
    first.layout.plane_offset = begin;
    PageOfFile next = first;
    next.page.items.clear();
    for (std::int64_t i = 1; i < planes; ++i) {
      next.layout.plane_offset = begin + i * bytes;
      result_.pages.push_back(next);
    }
  }

  // The strips of the first plane follow each other, as those of the others do.
  [[nodiscard]] bool is_one_piece(const DirectoryPlace& directory) const {
    const std::vector<std::uint64_t> offsets = file_.integers(directory, kStripOffsets),
                                     counts = file_.integers(directory, kStripByteCounts);
    for (std::size_t i = 1; i < std::min(offsets.size(), counts.size()); ++i) {
      if (offsets[i] != offsets[i - 1] + counts[i - 1]) return false;
    }
    return true;
  }
};

}  // namespace

std::int64_t Layout::bytes_of_samples(int count) const {
  if (mixed.empty()) return std::int64_t{count} * bytes_of(number_type(sample));
  return std::accumulate(mixed.begin(), mixed.begin() + count, std::int64_t{0},
                         [](std::int64_t sum, const MixedSample& each) { return sum + bytes_of(each.type); });
}

std::int64_t Layout::strile_row_bytes(int plane) const {
  if (view == View::bytes) return row_bytes_of(mixed, strile_width);
  const int step = pixels_of_plane(plane).x;
  return sample_of_plane(plane).row_bytes((std::int64_t{strile_width} + step - 1) / step * strile_samples());
}

std::int64_t Layout::widest_strile_row_bytes() const {
  std::int64_t most = 0;
  for (int plane = 0; plane < planes(); ++plane) most = std::max(most, strile_row_bytes(plane));
  return most;
}

bool Layout::reads_directly() const {
  return compression == COMPRESSION_NONE && (!tiled || view == View::directory) && !packs_blocks && !has_small_planes();
}

Inventory take_inventory(const StructureReader& file, std::int64_t memory_bytes, Messages& messages) {
  return InventoryTaker(file, memory_bytes, messages).take();
}

}  // namespace mollify::files::tiff
