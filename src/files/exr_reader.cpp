// Reads OpenEXR: parts and levels as pages, attributes as items.
#include <ImfChannelList.h>
#include <ImfChromaticities.h>
#include <ImfFrameBuffer.h>
#include <ImfInputPart.h>
#include <ImfMultiPartInputFile.h>
#include <ImfRgbaYca.h>
#include <ImfTiledInputPart.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "files/exr.h"

namespace mollify::files {
namespace exr {
namespace {

Imf::PixelType pixel_type(NumberType type) {
  if (type == NumberType::u32) return Imf::UINT;
  return type == NumberType::f16 ? Imf::HALF : Imf::FLOAT;
}

/// OpenEXR wants the address that pixel (0, 0) of the file would have, which may lie outside the memory.
char* origin_of(std::uint8_t* first, std::int64_t x, std::int64_t y, std::int64_t pixel_bytes, std::int64_t row_bytes) {
  const auto address = reinterpret_cast<std::intptr_t>(first);
  return reinterpret_cast<char*>(address - x * pixel_bytes - y * row_bytes);  // NOLINT(performance-no-int-to-ptr)
}

/// Where the numbers of one page channel come from.
struct ChannelSource {
  std::string stored_name;
  NumberType type = NumberType::f16;  ///< in the page
  std::int64_t offset = 0;            ///< of the number in a pixel
  int x_sampling = 1;
  int y_sampling = 1;
  [[nodiscard]] bool is_subsampled() const { return x_sampling != 1 || y_sampling != 1; }
};

/// RY, Y and BY are read to where R, G and B will be.
struct LuminanceChroma {
  std::size_t red = 0, green = 0, blue = 0;  ///< indices of page channels
};

/// A page of the document, in terms of the file.
struct PageSource {
  int part = 0;
  Level level;
  Window window;
  std::vector<ChannelSource> channels;
  std::vector<LuminanceChroma> luminance_chroma;
};

template <class Number>
Number load(const std::uint8_t* from) {
  Number number;
  std::memcpy(&number, from, sizeof number);
  return number;
}

float load_float(const std::uint8_t* from, NumberType type) {
  return type == NumberType::f16 ? static_cast<float>(load<Imath::half>(from)) : load<float>(from);
}

void store_float(std::uint8_t* to, NumberType type, float number) {
  if (type == NumberType::f16) {
    const Imath::half half(number);
    std::memcpy(to, &half, sizeof half);
  } else {
    std::memcpy(to, &number, sizeof number);
  }
}

Imf::Chromaticities primaries_of(const Part& part) {
  std::array<float, 8> numbers;
  const Attribute* attribute = part.find("chromaticities");
  if (attribute == nullptr || attribute->data.size() != sizeof numbers) return {};
  std::memcpy(numbers.data(), attribute->data.data(), sizeof numbers);
  const auto at = [&](std::size_t i) { return Imath::V2f(numbers[2 * i], numbers[2 * i + 1]); };
  return {at(0), at(1), at(2), at(3)};
}

}  // namespace

class ExrReader final : public Reader {
 public:
  ExrReader(std::unique_ptr<ByteSource> source, const ReadOptions& options)
      : source_(std::move(source)), options_(options), headers_(read_headers(*source_, options.memory_bytes)), stream_(*source_, headers_) {
    use_threads(options.threads);
    guarded([&] { file_ = std::make_unique<Imf::MultiPartInputFile>(stream_, options.threads, false); });
    document_.format = FileFormat::exr;
    const std::vector<std::string> cryptomattes = cryptomatte_layers(headers_.parts);
    for (std::size_t i = 0; i < headers_.parts.size(); ++i) add_part(static_cast<int>(i), cryptomattes);
    if (const std::int64_t left = source_->size() - end_of_chunks(*source_, headers_); left > 0) {
      messages_.add(std::to_string(left) + " bytes after the end of the picture are left out");
    }
  }
  [[nodiscard]] const Document& document() const override { return document_; }
  [[nodiscard]] const Messages& messages() const override { return messages_; }

  void read_rows(int page, std::int32_t y, std::int32_t count, std::uint8_t* into, std::ptrdiff_t row_bytes) override {
    if (page != open_page_) open_page(page);
    guarded([&] {
      if (headers_.parts[static_cast<std::size_t>(source_of_page().part)].tiled) {
        read_tiled(y, count, into, row_bytes);
      } else {
        read_scanlines(y, count, into, row_bytes);
      }
    });
    convert_luminance_chroma(count, into, row_bytes);
  }

  [[nodiscard]] std::optional<CodecMemory> memory_of(int page) const override {
    const Part& part = headers_.parts[static_cast<std::size_t>(sources_[static_cast<std::size_t>(page)].part)];
    constexpr double kPlace = 16.0, kOthers = 1 << 20;
    const double bytes =
        needed_bytes(part, document_.pages[static_cast<std::size_t>(page)]) + kPlace * static_cast<double>(part.chunks) + kOthers;
    return CodecMemory{whole_bytes(bytes), part.tiled ? "a row of tiles" : "blocks of rows"};
  }

 private:
  // What describes the pages.

  void add_part(int index, const std::vector<std::string>& cryptomattes) {
    const Part& part = headers_.parts[static_cast<std::size_t>(index)];
    const int first = static_cast<int>(document_.pages.size());
    Page page = page_of(part);
    PageSource source;
    source.part = index;
    source.window = part.data_window;
    add_channels(part, cryptomattes, page, source);
    for (const Level& level : levels_of(page.width, page.height, part.level_mode, part.rounding)) {
      source.level = level;
      if (level.x == 0 && level.y == 0) {
        document_.pages.push_back(page);
        page.kind = PageKind::level;
        page.parent = first;
        page.display.reset();
        page.items.clear();
      } else {
        page.width = level.width;
        page.height = level.height;
        document_.pages.push_back(page);
      }
      sources_.push_back(source);
    }
  }

  [[nodiscard]] Page page_of(const Part& part) const {
    Page page;
    page.kind = headers_.parts.size() > 1 ? PageKind::part : PageKind::page;
    page.width = part.data_window.width();
    page.height = part.data_window.height();
    const Window& shown = part.display_window;
    if (shown != part.data_window) {
      page.display = Rect{shown.min_x - part.data_window.min_x, shown.min_y - part.data_window.min_y, shown.width(), shown.height()};
    }
    page.resolution = resolution_of(part);
    page.tile_width = part.tile_width;
    page.tile_height = part.tile_height;
    page.name = part.name;
    page.items = items_of(part);
    ExrCoding coding;
    coding.compression = part.compression;
    coding.line_order = part.line_order;
    coding.level_mode = static_cast<int>(part.level_mode);
    coding.rounding = static_cast<int>(part.rounding);
    coding.origin_x = shown.min_x;
    coding.origin_y = shown.min_y;
    if (const Attribute* level = part.find("dwaCompressionLevel"); level != nullptr && level->data.size() == sizeof(float)) {
      coding.dwa_level = load<float>(level->data.data());
    }
    page.coding = coding;
    return page;
  }

  void add_channels(const Part& part, const std::vector<std::string>& cryptomattes, Page& page, PageSource& source) {
    for (const StoredChannel& stored : in_usual_order(part.channels)) {
      const ChannelRole role = role_of(stored, part.channels, cryptomattes);
      page.channels.push_back({stored.name, stored.type, role});
      source.channels.push_back({stored.name, stored.type, 0, stored.x_sampling, stored.y_sampling});
    }
    find_luminance_chroma(page, source);
    std::int64_t offset = 0;
    bool has_rgb = false;
    bool has_luminance = false;
    for (std::size_t i = 0; i < page.channels.size(); ++i) {
      const Channel& channel = page.channels[i];
      source.channels[i].type = channel.type;
      source.channels[i].offset = offset;
      offset += bytes_of(channel.type);
      if (channel.role == ChannelRole::alpha) page.alpha = AlphaKind::associated;
      const std::string_view component = split(channel.name).component;
      has_luminance |= channel.role == ChannelRole::colour && (component == "Y" || component == "y");
      has_rgb |= channel.role == ChannelRole::colour && (component == "G" || component == "g" || component == "green");
      if (source.channels[i].is_subsampled()) {
        messages_.add("channels that are stored for every second or later pixel only are stored for each pixel in the result");
      }
    }
    page.model = has_rgb ? ColourModel::rgb : has_luminance ? ColourModel::grey : ColourModel::other;
  }

  /// Y, RY and BY of one layer become R, G and B: a chroma that is blurred by itself is that of no colour.
  void find_luminance_chroma(Page& page, PageSource& source) {
    const auto find = [&](std::string_view layer, std::string_view component) {
      const auto found = std::find_if(page.channels.begin(), page.channels.end(), [&](const Channel& each) {
        const SplitName name = split(each.name);
        return name.layer == layer && name.component == component && each.role != ChannelRole::kept;
      });
      return static_cast<std::size_t>(found - page.channels.begin());
    };
    for (std::size_t green = 0; green < page.channels.size(); ++green) {
      const std::string layer(split(page.channels[green].name).layer);
      const std::size_t red = find(layer, "RY");
      const std::size_t blue = find(layer, "BY");
      const std::size_t none = page.channels.size();
      if (find(layer, "Y") != green || red == none || blue == none || find(layer, "G") != none) continue;
      if (std::max({red, green, blue}) - std::min({red, green, blue}) != 2) continue;  // not behind each other
      const std::string prefix = layer.empty() ? "" : layer + ".";
      const bool halves = page.channels[red].type == NumberType::f16 && page.channels[green].type == NumberType::f16 &&
                          page.channels[blue].type == NumberType::f16;
      const NumberType type = halves ? NumberType::f16 : NumberType::f32;
      // Behind each other in the order of colours, where Y, RY and BY were.
      const std::size_t first = std::min({red, green, blue});
      constexpr std::string_view kStored[] = {"RY", "Y", "BY"};
      constexpr std::string_view kNames[] = {"R", "G", "B"};
      std::vector<ChannelSource> sorted;
      for (const std::string_view name : kStored) sorted.push_back(source.channels[find(layer, name)]);
      for (std::size_t i = 0; i < 3; ++i) {
        page.channels[first + i] = {prefix + std::string(kNames[i]), type, ChannelRole::colour};
        source.channels[first + i] = sorted[i];
      }
      source.luminance_chroma.push_back({first, first + 1, first + 2});
      messages_.add("luminance and chroma (Y, RY, BY) become R, G and B");
    }
  }

  // Pixels.

  [[nodiscard]] const PageSource& source_of_page() const { return sources_[static_cast<std::size_t>(open_page_)]; }

  void open_page(int index) {
    const PageSource& source = sources_[static_cast<std::size_t>(index)];
    const Page& page = document_.pages[static_cast<std::size_t>(index)];
    const Part& part = headers_.parts[static_cast<std::size_t>(source.part)];
    check_memory(part, page);
    open_page_ = index;
    band_row_ = -1;
    checked_chunks_ = 0;
    if (open_part_ == source.part) return;
    scanlines_.reset();
    tiles_.reset();
    open_part_ = source.part;
    guarded([&] {
      if (part.tiled) {
        tiles_ = std::make_unique<Imf::TiledInputPart>(*file_, source.part);
      } else {
        scanlines_ = std::make_unique<Imf::InputPart>(*file_, source.part);
      }
    });
  }

  [[nodiscard]] double needed_bytes(const Part& part, const Page& page) const {
    if (part.tiled) return chunk_memory(page, part.tile_width, part.tile_height, true, options_.threads);
    return chunk_memory(page, page.width, rows_of_chunk(part.compression), false, options_.threads);
  }

  void check_memory(const Part& part, const Page& page) const {
    const double needed = needed_bytes(part, page);
    if (needed <= static_cast<double>(options_.memory_bytes)) return;
    constexpr double kMiB = 1 << 20;
    throw FileError("needs " + std::to_string(static_cast<std::int64_t>(needed / kMiB) + 1) +
                    " MiB to read its chunks, more than may be used");
  }

  void insert(Imf::FrameBuffer& buffer, const ChannelSource& channel, std::uint8_t* first, std::int64_t y, std::int64_t row_bytes) const {
    const std::int64_t pixel_bytes = document_.pages[static_cast<std::size_t>(open_page_)].pixel_bytes();
    char* const origin = origin_of(first + channel.offset, source_of_page().window.min_x, y, pixel_bytes, row_bytes);
    buffer.insert(channel.stored_name,
                  Imf::Slice(pixel_type(channel.type), origin, static_cast<std::size_t>(pixel_bytes), static_cast<std::size_t>(row_bytes)));
  }

  void read_scanlines(std::int32_t y, std::int32_t count, std::uint8_t* into, std::ptrdiff_t row_bytes) {
    const PageSource& source = source_of_page();
    const int first = source.window.min_y + y;
    check_scanlines(y, count);
    Imf::FrameBuffer buffer;
    bool has_direct = false;
    for (const ChannelSource& channel : source.channels) {
      if (channel.is_subsampled()) continue;
      insert(buffer, channel, into, first, row_bytes);
      has_direct = true;
    }
    if (has_direct) {
      scanlines_->setFrameBuffer(buffer);
      scanlines_->readPixels(first, first + count - 1);
    }
    for (const ChannelSource& channel : source.channels) {
      if (channel.is_subsampled()) read_subsampled(channel, first, count, into, row_bytes);
    }
  }

  void check_scanlines(std::int32_t y, std::int32_t count) {
    const Part& part = headers_.parts[static_cast<std::size_t>(source_of_page().part)];
    if (!has_unchecked_chunks(part)) return;
    const std::int32_t rows = rows_of_chunk(part.compression);
    for (std::int64_t i = std::max<std::int64_t>(y / rows, checked_chunks_); i <= (y + count - 1) / rows; ++i) {
      check_scanline_chunk(*source_, headers_, part, i);
      checked_chunks_ = i + 1;
    }
  }

  /// Numbers between the stored ones are interpolated, ids are repeated.
  void read_subsampled(const ChannelSource& channel, int first, std::int32_t count, std::uint8_t* into, std::ptrdiff_t row_bytes) {
    const Window& window = source_of_page().window;
    const std::int64_t begin_x = floor_divide(window.min_x, channel.x_sampling);
    const std::int64_t end_x = floor_divide(window.max_x, channel.x_sampling);
    const std::int64_t begin_y = floor_divide(first, channel.y_sampling);
    const std::int64_t end_y =
        std::min(floor_divide(first + count - 1, channel.y_sampling) + 1, floor_divide(window.max_y, channel.y_sampling));
    const std::int64_t size = bytes_of(channel.type);
    const std::int64_t sample_row = (end_x - begin_x + 1) * size;
    Bytes samples(static_cast<std::size_t>(sample_row * (end_y - begin_y + 1)));
    Imf::FrameBuffer buffer;
    buffer.insert(channel.stored_name,
                  Imf::Slice(pixel_type(channel.type), origin_of(samples.data(), begin_x, begin_y, size, sample_row),
                             static_cast<std::size_t>(size), static_cast<std::size_t>(sample_row), channel.x_sampling, channel.y_sampling));
    scanlines_->setFrameBuffer(buffer);
    scanlines_->readPixels(static_cast<int>(begin_y * channel.y_sampling), static_cast<int>(end_y * channel.y_sampling));

    const std::int64_t pixel_bytes = document_.pages[static_cast<std::size_t>(open_page_)].pixel_bytes();
    const auto sample = [&](std::int64_t x, std::int64_t y) {
      return samples.data() + (std::min(y, end_y) - begin_y) * sample_row + (std::min(x, end_x) - begin_x) * size;
    };
    for (std::int32_t row = 0; row < count; ++row) {
      const std::int64_t y = floor_divide(first + row, channel.y_sampling);
      const float down = static_cast<float>(first + row - y * channel.y_sampling) / static_cast<float>(channel.y_sampling);
      std::uint8_t* to = into + row * row_bytes + channel.offset;
      for (std::int64_t column = window.min_x; column <= window.max_x; ++column, to += pixel_bytes) {
        const std::int64_t x = floor_divide(column, channel.x_sampling);
        if (channel.type == NumberType::u32) {
          std::memcpy(to, sample(x, y), static_cast<std::size_t>(size));
          continue;
        }
        const float right = static_cast<float>(column - x * channel.x_sampling) / static_cast<float>(channel.x_sampling);
        const auto at = [&](int dx, int dy) { return load_float(sample(x + dx, y + dy), channel.type); };
        const auto along = [&](int dy) { return right == 0 ? at(0, dy) : at(0, dy) * (1 - right) + at(1, dy) * right; };
        store_float(to, channel.type, down == 0 ? along(0) : along(0) * (1 - down) + along(1) * down);
      }
    }
  }

  void read_tiled(std::int32_t y, std::int32_t count, std::uint8_t* into, std::ptrdiff_t row_bytes) {
    const Page& page = document_.pages[static_cast<std::size_t>(open_page_)];
    const std::int64_t page_row = page.row_bytes();
    while (count > 0) {
      const std::int32_t tile_row = y / page.tile_height;
      const std::int32_t begin = tile_row * page.tile_height;
      const std::int32_t height = std::min(page.tile_height, page.height - begin);
      const std::int32_t rows = std::min(count, begin + height - y);
      if (rows == height) {
        read_tile_row(tile_row, into, row_bytes);
      } else {
        if (band_row_ != tile_row) {
          band_.resize(static_cast<std::size_t>(page_row * height));
          read_tile_row(tile_row, band_.data(), page_row);
          band_row_ = tile_row;
        }
        for (std::int32_t i = 0; i < rows; ++i) {
          std::memcpy(into + i * row_bytes, band_.data() + (y - begin + i) * page_row, static_cast<std::size_t>(page_row));
        }
      }
      y += rows;
      count -= rows;
      into += rows * row_bytes;
    }
  }

  void read_tile_row(std::int32_t tile_row, std::uint8_t* into, std::ptrdiff_t row_bytes) {
    const PageSource& source = source_of_page();
    const Page& page = document_.pages[static_cast<std::size_t>(open_page_)];
    Imf::FrameBuffer buffer;
    for (const ChannelSource& channel : source.channels)
      insert(buffer, channel, into, source.window.min_y + std::int64_t{tile_row} * page.tile_height, row_bytes);
    check_tiles(tile_row);
    tiles_->setFrameBuffer(buffer);
    tiles_->readTiles(0, (page.width - 1) / page.tile_width, tile_row, tile_row, source.level.x, source.level.y);
  }

  void check_tiles(std::int32_t tile_row) {
    const PageSource& source = source_of_page();
    const Part& part = headers_.parts[static_cast<std::size_t>(source.part)];
    if (!has_unchecked_chunks(part)) return;
    const auto columns = [&](const Level& level) { return (std::int64_t{level.width} + part.tile_width - 1) / part.tile_width; };
    const auto rows = [&](const Level& level) { return (std::int64_t{level.height} + part.tile_height - 1) / part.tile_height; };
    std::int64_t index = tile_row * columns(source.level);
    for (const Level& level : levels_of(part.data_window.width(), part.data_window.height(), part.level_mode, part.rounding)) {
      if (level.x == source.level.x && level.y == source.level.y) break;
      index += columns(level) * rows(level);
    }
    const std::int32_t height = std::min(part.tile_height, source.level.height - tile_row * part.tile_height);
    for (std::int64_t x = 0; x < source.level.width; x += part.tile_width, ++index) {
      const auto width = static_cast<std::int32_t>(std::min<std::int64_t>(part.tile_width, source.level.width - x));
      check_tile_chunk(*source_, headers_, part, index, width, height);
    }
  }

  void convert_luminance_chroma(std::int32_t count, std::uint8_t* into, std::ptrdiff_t row_bytes) const {
    const PageSource& source = source_of_page();
    const Page& page = document_.pages[static_cast<std::size_t>(open_page_)];
    for (const LuminanceChroma& layer : source.luminance_chroma) {
      const auto weights = Imf::RgbaYca::computeYw(primaries_of(headers_.parts[static_cast<std::size_t>(source.part)]));
      const ChannelSource& red = source.channels[layer.red];
      const ChannelSource& green = source.channels[layer.green];
      const ChannelSource& blue = source.channels[layer.blue];
      for (std::int32_t row = 0; row < count; ++row) {
        std::uint8_t* pixel = into + row * row_bytes;
        for (std::int32_t x = 0; x < page.width; ++x, pixel += page.pixel_bytes()) {
          const float luminance = load_float(pixel + green.offset, green.type);
          const float r = (load_float(pixel + red.offset, red.type) + 1) * luminance;
          const float b = (load_float(pixel + blue.offset, blue.type) + 1) * luminance;
          store_float(pixel + red.offset, red.type, r);
          store_float(pixel + green.offset, green.type, (luminance - r * weights.x - b * weights.z) / weights.y);
          store_float(pixel + blue.offset, blue.type, b);
        }
      }
    }
  }

  std::unique_ptr<ByteSource> source_;
  ReadOptions options_;
  Headers headers_;
  InputStream stream_;
  Document document_;
  Messages messages_;
  std::vector<PageSource> sources_;  ///< one for each page
  std::unique_ptr<Imf::MultiPartInputFile> file_;
  std::unique_ptr<Imf::InputPart> scanlines_;
  std::unique_ptr<Imf::TiledInputPart> tiles_;
  int open_page_ = -1;
  std::int64_t checked_chunks_ = 0;  ///< of the page's scan lines
  int open_part_ = -1;
  Bytes band_;                  ///< a row of tiles
  std::int32_t band_row_ = -1;  ///< which one
};

}  // namespace exr

std::unique_ptr<Reader> open_exr(std::unique_ptr<ByteSource> source, const ReadOptions& options) {
  return std::make_unique<exr::ExrReader>(std::move(source), options);
}

}  // namespace mollify::files
