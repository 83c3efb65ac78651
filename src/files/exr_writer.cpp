// Writes OpenEXR: pages as parts, pages of kind level as mip or rip levels of the part before them.
#include <ImfChannelList.h>
#include <ImfFloatAttribute.h>
#include <ImfFrameBuffer.h>
#include <ImfHeader.h>
#include <ImfMultiPartOutputFile.h>
#include <ImfOpaqueAttribute.h>
#include <ImfOutputPart.h>
#include <ImfPartType.h>
#include <ImfStandardAttributes.h>
#include <ImfStringAttribute.h>
#include <ImfTiledOutputPart.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "files/exr.h"
#include "files/resolution.h"

namespace mollify::files {
namespace exr {
namespace {

/// The bytes of one attribute, for the library to read.
class AttributeStream final : public Imf::IStream {
 public:
  explicit AttributeStream(const Bytes& bytes) : IStream("image"), bytes_(bytes) {}
  bool read(char* into, int count) override {
    if (count < 0 || static_cast<std::size_t>(count) > bytes_.size() - position_) throw FileError("has an attribute that is too short");
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(position_), count, into);
    position_ += static_cast<std::size_t>(count);
    return position_ < bytes_.size();
  }
  std::uint64_t tellg() override { return position_; }
  void seekg(std::uint64_t position) override { position_ = std::min<std::size_t>(position, bytes_.size()); }

 private:
  const Bytes& bytes_;
  std::size_t position_ = 0;
};

/// Attributes that every header of the library has are set, all others are written byte for byte.
void set_attribute(Imf::Header& header, const Attribute& attribute) {
  constexpr int kVersion = 2;
  AttributeStream stream(attribute.data);
  const auto size = static_cast<int>(attribute.data.size());
  if (const auto found = header.find(attribute.name); found != header.end()) {
    if (found.attribute().typeName() == attribute.type) found.attribute().readValueFrom(stream, size, kVersion);
    return;
  }
  if (attribute.name == "dwaCompressionLevel" && attribute.type == "float" && size == sizeof(float)) {  // the library sees to it
    Imf::FloatAttribute level;
    level.readValueFrom(stream, size, kVersion);
    header.insert(attribute.name, level);
    return;
  }
  Imf::OpaqueAttribute opaque(attribute.type.c_str());
  opaque.readValueFrom(stream, size, kVersion);
  header.insert(attribute.name, opaque);
}

Imf::PixelType pixel_type(const Channel& channel) {
  switch (channel.type) {
    case NumberType::u32:
      return Imf::UINT;
    case NumberType::f16:
      return Imf::HALF;
    case NumberType::f32:
      return Imf::FLOAT;
    default:
      throw FileError("OpenEXR holds halves, floats and 32-bit unsigned integers; channel " + channel.name + " is none of them");
  }
}

Imf::ChannelList channels_of(const Page& page) {
  Imf::ChannelList channels;
  for (const Channel& channel : page.channels) {
    constexpr std::size_t kMostCharacters = 255;
    if (channel.name.empty() || channel.name.size() > kMostCharacters) throw FileError("OpenEXR names channels by 1 to 255 characters");
    if (channels.findChannel(channel.name) != nullptr) throw FileError("OpenEXR cannot hold two channels of the name " + channel.name);
    channels.insert(channel.name, Imf::Channel(pixel_type(channel)));
  }
  return channels;
}

/// One part of the file: a page and the levels behind it.
struct PlannedPart {
  int page = 0;
  std::vector<Level> levels;
  LevelMode mode = LevelMode::one;
  ExrCoding coding;
  bool tiled = false;
  Window window;
};

/// Where the rows of a page go.
struct Target {
  int part = 0;
  Level level;
};

ExrCoding coding_of(const Page& page) {
  if (const auto* coding = std::get_if<ExrCoding>(&page.coding)) return *coding;
  ExrCoding coding;
  coding.compression = Imf::ZIP_COMPRESSION;
  return coding;
}

}  // namespace

class ExrWriter final : public Writer {
 public:
  ExrWriter(ByteSink& sink, const Document& document, const WriteOptions& options) : document_(document), options_(options), stream_(sink) {
    if (document_.pages.empty()) throw FileError("has no pages");
    use_threads(options.threads);
    plan_parts();
    guarded([&] {
      std::vector<Imf::Header> headers;
      for (const PlannedPart& part : parts_) headers.push_back(header_of(part));
      file_ = std::make_unique<Imf::MultiPartOutputFile>(stream_, headers.data(), static_cast<int>(headers.size()), false, options.threads);
    });
  }

  ~ExrWriter() override { close(); }

  void write_rows(int page, std::int32_t y, std::int32_t count, const std::uint8_t* from, std::ptrdiff_t row_bytes) override {
    if (page != open_page_) open_page(page);
    const PlannedPart& part = parts_[static_cast<std::size_t>(open_part_)];
    guarded([&] {
      if (part.tiled) {
        write_tiled(y, count, from, row_bytes);
      } else if (part.coding.line_order == Imf::DECREASING_Y) {
        write_from_below(y, count, from, row_bytes);
      } else {
        write_scanlines(y, count, from, row_bytes);
      }
    });
  }

  void finish() override {
    guarded([&] {
      close();
      stream_.check();
    });
  }

 private:
  void close() {
    scanlines_.reset();
    tiles_.reset();
    file_.reset();  // writes the tables
  }

  // Headers.

  void plan_parts() {
    for (std::size_t i = 0; i < document_.pages.size();) {
      const Page& page = document_.pages[i];
      if (page.kind == PageKind::level) throw FileError("holds a smaller copy of a page that is not there");
      PlannedPart part;
      part.page = static_cast<int>(i);
      part.coding = coding_of(page);
      part.tiled = page.tile_width > 0 && page.tile_height > 0;
      part.window = window_of(page, part.coding);
      const auto index = static_cast<int>(i);
      std::size_t end = i + 1;
      while (end < document_.pages.size() && document_.pages[end].kind == PageKind::level && document_.pages[end].parent == index) ++end;
      if (end - i > 1 && part.tiled) part.mode = static_cast<LevelMode>(part.coding.level_mode);
      part.levels = levels_of(page.width, page.height, part.mode, static_cast<Rounding>(part.coding.rounding));
      if (part.levels.size() != end - i) throw FileError("has other smaller copies of a page than the levels of OpenEXR");
      for (const Level& level : part.levels) {
        const Page& copy = document_.pages[i++];
        const bool fits = copy.width == level.width && copy.height == level.height && copy.channels == page.channels;
        if (!fits) throw FileError("has smaller copies of a page that do not fit the levels of OpenEXR");
        targets_.push_back({static_cast<int>(parts_.size()), level});
      }
      parts_.push_back(std::move(part));
    }
  }

  [[nodiscard]] static Window window_of(const Page& page, const ExrCoding& coding) {
    const Rect shown = page.display.value_or(Rect{});
    const std::int64_t x = std::int64_t{coding.origin_x} - shown.x;
    const std::int64_t y = std::int64_t{coding.origin_y} - shown.y;
    constexpr std::int64_t kLimit = 1 << 30;
    if (std::max(x + page.width, y + page.height) >= kLimit || std::min(x, y) <= -kLimit)
      throw FileError("lies too far from its display window for OpenEXR");
    return {static_cast<std::int32_t>(x), static_cast<std::int32_t>(y), static_cast<std::int32_t>(x + page.width - 1),
            static_cast<std::int32_t>(y + page.height - 1)};
  }

  /// Parts of one file have one display window: that of the first page that says one, else all that any page covers.
  [[nodiscard]] Imath::Box2i display_window() const {
    Imath::Box2i all;
    for (const PlannedPart& part : parts_) {
      if (const std::optional<Rect>& shown = document_.pages[static_cast<std::size_t>(part.page)].display) {
        const Imath::V2i corner(part.coding.origin_x, part.coding.origin_y);
        return {corner, corner + Imath::V2i(shown->width - 1, shown->height - 1)};
      }
      all.extendBy(Imath::V2i(part.window.min_x, part.window.min_y));
      all.extendBy(Imath::V2i(part.window.max_x, part.window.max_y));
    }
    return all;
  }

  [[nodiscard]] Imf::Header header_of(const PlannedPart& part) {
    const Page& page = document_.pages[static_cast<std::size_t>(part.page)];
    const Window& window = part.window;
    Imf::Header header(display_window(), Imath::Box2i({window.min_x, window.min_y}, {window.max_x, window.max_y}));
    header.channels() = channels_of(page);
    header.compression() = static_cast<Imf::Compression>(part.coding.compression);
    header.lineOrder() = static_cast<Imf::LineOrder>(part.coding.line_order);
    if (!part.tiled && header.lineOrder() == Imf::RANDOM_Y) header.lineOrder() = Imf::INCREASING_Y;
    if (part.tiled) {
      header.setTileDescription(Imf::TileDescription(static_cast<unsigned>(page.tile_width), static_cast<unsigned>(page.tile_height),
                                                     static_cast<Imf::LevelMode>(part.mode),
                                                     static_cast<Imf::LevelRoundingMode>(part.coding.rounding)));
    }
    name_part(header, page);
    if (page.resolution) set_resolution(header, *page.resolution);
    for (const Item& item : page.items) add_item(header, item);
    for (const Item& item : document_.items) add_item(header, item);
    header.dwaCompressionLevel() = part.coding.dwa_level;
    if (options_.compression) header.zipCompressionLevel() = *options_.compression;
    return header;
  }

  void name_part(Imf::Header& header, const Page& page) {
    header.setType(header.hasTileDescription() ? Imf::TILEDIMAGE : Imf::SCANLINEIMAGE);
    std::string name = page.name;
    if (parts_.size() > 1) {
      if (name.empty()) name = "part" + std::to_string(names_.size());
      while (!names_.insert(name).second) name += "_";
    }
    if (!name.empty()) header.setName(name);
  }

  /// Without a unit only the shape of a pixel is known.
  static void set_resolution(Imf::Header& header, const Resolution& resolution) {
    const std::optional<Resolution> held = resolution_in(FileFormat::exr, resolution);
    if (!held) return;
    if (held->unit != Resolution::Unit::none) Imf::addXDensity(header, static_cast<float>(held->x));
    header.pixelAspectRatio() = static_cast<float>(held->y / held->x);
  }

  static void add_item(Imf::Header& header, const Item& item) {
    Attribute attribute = attribute_of(item);
    const bool is_own = item.kind == ItemKind::attribute && !item.detail.empty();
    if (is_structure(attribute.name) && is_own) return;
    // Text of another format may come under any name, and twice.
    while (!is_own && (is_structure(attribute.name) || header.find(attribute.name) != header.end())) attribute.name += "_";
    set_attribute(header, attribute);
  }

  // Pixels.

  void open_page(int index) {
    open_page_ = index;
    gathered_.clear();
    const int part = targets_[static_cast<std::size_t>(index)].part;
    if (part == open_part_) return;
    open_part_ = part;
    scanlines_.reset();
    tiles_.reset();
    guarded([&] {
      if (parts_[static_cast<std::size_t>(part)].tiled) {
        tiles_ = std::make_unique<Imf::TiledOutputPart>(*file_, part);
      } else {
        scanlines_ = std::make_unique<Imf::OutputPart>(*file_, part);
      }
    });
  }

  [[nodiscard]] const Page& page() const { return document_.pages[static_cast<std::size_t>(open_page_)]; }

  /// The numbers of rows [y, ...) begin at `first`. OpenEXR wants the address that pixel (0, 0) of the file would have.
  [[nodiscard]] Imf::FrameBuffer buffer_of(const std::uint8_t* first, std::int64_t y, std::ptrdiff_t row_bytes) const {
    const Window& window = parts_[static_cast<std::size_t>(open_part_)].window;
    const std::int64_t pixel_bytes = page().pixel_bytes();
    std::intptr_t address = reinterpret_cast<std::intptr_t>(first) - window.min_x * pixel_bytes - (window.min_y + y) * row_bytes;
    Imf::FrameBuffer buffer;
    for (const Channel& channel : page().channels) {
      char* const origin = reinterpret_cast<char*>(address);  // NOLINT(performance-no-int-to-ptr)
      buffer.insert(channel.name,
                    Imf::Slice(pixel_type(channel), origin, static_cast<std::size_t>(pixel_bytes), static_cast<std::size_t>(row_bytes)));
      address += bytes_of(channel.type);
    }
    return buffer;
  }

  void write_scanlines(std::int32_t y, std::int32_t count, const std::uint8_t* from, std::ptrdiff_t row_bytes) {
    scanlines_->setFrameBuffer(buffer_of(from, y, row_bytes));
    scanlines_->writePixels(count);
  }

  /// Rows are gathered from `begin` on, until there are `height` of them. True when they are complete.
  bool gather(std::int32_t y, std::int32_t count, std::int32_t begin, std::int32_t height, const std::uint8_t* from,
              std::ptrdiff_t row_bytes) {
    const std::int64_t size = page().row_bytes();
    gathered_.resize(static_cast<std::size_t>(size * height));
    for (std::int32_t i = 0; i < count; ++i) {
      std::memcpy(gathered_.data() + (y - begin + i) * size, from + i * row_bytes, static_cast<std::size_t>(size));
    }
    return y + count == begin + height;
  }

  /// The last row is stored first, so the whole page is held until it comes.
  void write_from_below(std::int32_t y, std::int32_t count, const std::uint8_t* from, std::ptrdiff_t row_bytes) {
    const std::int32_t height = page().height;
    if (!gather(y, count, 0, height, from, row_bytes)) return;
    scanlines_->setFrameBuffer(buffer_of(gathered_.data(), 0, page().row_bytes()));
    scanlines_->writePixels(height);
    Bytes().swap(gathered_);
  }

  void write_tiled(std::int32_t y, std::int32_t count, const std::uint8_t* from, std::ptrdiff_t row_bytes) {
    while (count > 0) {
      const std::int32_t tile_row = y / page().tile_height;
      const std::int32_t begin = tile_row * page().tile_height;
      const std::int32_t height = std::min(page().tile_height, page().height - begin);
      const std::int32_t rows = std::min(count, begin + height - y);
      if (rows == height) {
        write_tile_row(tile_row, from, row_bytes);
      } else if (gather(y, rows, begin, height, from, row_bytes)) {
        write_tile_row(tile_row, gathered_.data(), page().row_bytes());
      }
      y += rows;
      count -= rows;
      from += rows * row_bytes;
    }
  }

  void write_tile_row(std::int32_t tile_row, const std::uint8_t* from, std::ptrdiff_t row_bytes) {
    const Level& level = targets_[static_cast<std::size_t>(open_page_)].level;
    tiles_->setFrameBuffer(buffer_of(from, std::int64_t{tile_row} * page().tile_height, row_bytes));
    tiles_->writeTiles(0, (page().width - 1) / page().tile_width, tile_row, tile_row, level.x, level.y);
  }

  Document document_;
  WriteOptions options_;
  OutputStream stream_;
  std::vector<PlannedPart> parts_;
  std::vector<Target> targets_;  ///< one for each page
  std::set<std::string> names_;
  std::unique_ptr<Imf::MultiPartOutputFile> file_;
  std::unique_ptr<Imf::OutputPart> scanlines_;
  std::unique_ptr<Imf::TiledOutputPart> tiles_;
  int open_page_ = -1;
  int open_part_ = -1;
  Bytes gathered_;
};

CodecMemory memory_of_writer(const Page& page, int threads) {
  const ExrCoding coding = coding_of(page);
  const bool tiled = page.tile_width > 0 && page.tile_height > 0;
  const std::int32_t width = tiled ? page.tile_width : page.width;
  const std::int32_t rows = tiled ? page.tile_height : rows_of_chunk(coding.compression);
  constexpr double kPlace = 16.0, kOthers = 1 << 20;
  const double chunks = (static_cast<double>(page.width) / width + 1) * (static_cast<double>(page.height) / rows + 1);
  const double bytes = chunk_memory(page, width, rows, tiled, threads) + kPlace * chunks + kOthers;
  // What is stored from below is held until its last row comes, as numbers or as tiles that wait.
  const bool from_below = coding.line_order == Imf::DECREASING_Y;
  const double picture = from_below ? static_cast<double>(page.row_bytes()) * page.height : 0.0;
  const char* what = from_below ? "the picture, which is stored from its last row on" : tiled ? "a row of tiles" : "blocks of rows";
  return {whole_bytes(bytes + picture), what};
}

}  // namespace exr

CodecMemory memory_of_exr_writer(const Page& page, int threads) {
  return exr::memory_of_writer(page, threads);
}

std::unique_ptr<Writer> make_exr_writer(ByteSink& sink, const Document& document, const WriteOptions& options) {
  return std::make_unique<exr::ExrWriter>(sink, document, options);
}

}  // namespace mollify::files
