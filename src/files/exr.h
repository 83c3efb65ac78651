// What the reader and the writer of OpenEXR share: headers as they are stored, levels, channel roles, streams over our bytes.
#pragma once

#include <ImfIO.h>

#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "files/codec.h"
#include "files/document.h"

namespace mollify::files::exr {

struct Attribute {
  std::string name;
  std::string type;
  Bytes data;
  std::int64_t type_offset = 0;  ///< where the file has the name of its type
};

struct StoredChannel {
  std::string name;
  NumberType type = NumberType::f16;
  int x_sampling = 1;  ///< 2: a number for every second column
  int y_sampling = 1;
};

/// Both corners are inside, as the file has them.
struct Window {
  std::int32_t min_x = 0, min_y = 0, max_x = -1, max_y = -1;
  [[nodiscard]] std::int32_t width() const { return max_x - min_x + 1; }
  [[nodiscard]] std::int32_t height() const { return max_y - min_y + 1; }
  bool operator==(const Window&) const = default;
};

enum class LevelMode : std::uint8_t { one, mip, rip };
enum class Rounding : std::uint8_t { down, up };

/// One level of a tiled part. Mip levels have equal numbers, rip levels any two.
struct Level {
  int x = 0, y = 0;
  std::int32_t width = 0, height = 0;
};
/// All levels in the order of the file, level (0, 0) first.
[[nodiscard]] std::vector<Level> levels_of(std::int32_t width, std::int32_t height, LevelMode mode, Rounding rounding);

/// One header of a file.
struct Part {
  std::vector<Attribute> attributes;  ///< all of them, in the order of the file
  std::vector<StoredChannel> channels;
  Window data_window;
  Window display_window;
  int compression = 0;
  int line_order = 0;
  bool tiled = false;
  std::int32_t tile_width = 0;
  std::int32_t tile_height = 0;
  LevelMode level_mode = LevelMode::one;
  Rounding rounding = Rounding::down;
  std::string name;
  std::int64_t table_offset = 0;  ///< where its table of chunk offsets begins
  std::int64_t chunks = 0;
  [[nodiscard]] const Attribute* find(std::string_view wanted) const;
};

struct Headers {
  std::vector<Part> parts;
  bool multi_part = false;  ///< chunks begin with the number of their part
};
/// Reads the headers of all parts and checks that the file is large enough for the chunks that they promise. Throws FileError
/// where the file holds deep data, and where it would take more than `most_bytes` to hold the attributes.
[[nodiscard]] Headers read_headers(ByteSource& source, std::int64_t most_bytes);
/// How many rows a chunk of this compression holds; 0 for compressions that are unknown.
[[nodiscard]] int rows_of_chunk(int compression);
/// What the library takes to read or write a page in chunks of this size, and a row of tiles where the height of tiles is not 0. It holds a
/// chunk for each thread twice, as it is stored and as numbers, and its codec may hold a third.
[[nodiscard]] double chunk_memory(const Page& page, std::int32_t chunk_width, std::int32_t chunk_rows, bool tiled, int threads);
[[nodiscard]] std::int64_t floor_divide(std::int64_t a, std::int64_t b);

/// Where the last chunk ends.
[[nodiscard]] std::int64_t end_of_chunks(ByteSource& source, const Headers& headers);

/// Holds the sizes of chunks against what they have to hold, where the library does not: it leaves the numbers of another chunk
/// where one is short. Chunks are counted as in the table. The other compressions have checksums, or run out of bytes.
void check_scanline_chunk(ByteSource& source, const Headers& headers, const Part& part, std::int64_t index);
void check_tile_chunk(ByteSource& source, const Headers& headers, const Part& part, std::int64_t index, std::int32_t width,
                      std::int32_t height);
[[nodiscard]] bool has_unchecked_chunks(const Part& part);

/// The attributes that are no part of the structure, as items.
[[nodiscard]] std::vector<Item> items_of(const Part& part);
/// The attribute that an item is written as: OpenEXR's own, chromaticities, text. Anything else is unaccounted().
[[nodiscard]] Attribute attribute_of(const Item& item);
/// Whether the attribute is part of the structure, which the document has as fields of its pages. No item may have its name.
[[nodiscard]] bool is_structure(std::string_view name);
/// Pixels per inch, from "xDensity" and "pixelAspectRatio"
[[nodiscard]] std::optional<Resolution> resolution_of(const Part& part);

/// The values of "cryptomatte/..../name" attributes: their channels begin with one of them.
[[nodiscard]] std::vector<std::string> cryptomatte_layers(const std::vector<Part>& parts);
/// What becomes of a channel in a blur, by its name, its type and the names of its neighbours.
[[nodiscard]] ChannelRole role_of(const StoredChannel& channel, const std::vector<StoredChannel>& all,
                                  const std::vector<std::string>& cryptomattes);
/// The order that users expect: the layer without a name first, in each layer R G B A before other names.
[[nodiscard]] std::vector<StoredChannel> in_usual_order(std::vector<StoredChannel> channels);
/// "diffuse.R" is "diffuse" and "R"; a name without a dot has no layer.
struct SplitName {
  std::string_view layer, component;
};
[[nodiscard]] SplitName split(std::string_view name);

/// OpenEXR reads names and numbers byte by byte, so small reads come from a buffer. It does not get to see the types of attributes
/// that say nothing about the pixels: it would parse them, and refuse the file where one is odd.
class InputStream final : public Imf::IStream {
 public:
  InputStream(ByteSource& source, const Headers& headers);
  bool read(char* into, int count) override;
  std::uint64_t tellg() override { return position_; }
  void seekg(std::uint64_t position) override { position_ = position; }

 private:
  void load(std::uint64_t offset, std::span<std::uint8_t> into);
  struct Range {
    std::uint64_t begin, end;
  };
  ByteSource& source_;
  std::vector<Range> hidden_;
  std::uint64_t position_ = 0;
  Bytes buffer_;
  std::uint64_t buffer_begin_ = 0;
};

/// Small writes are gathered. OpenEXR writes its tables in destructors, which hide errors: check() throws the first one.
class OutputStream final : public Imf::OStream {
 public:
  explicit OutputStream(ByteSink& sink);
  void write(const char* bytes, int count) override;
  std::uint64_t tellp() override { return begin_ + gathered_.size(); }
  void seekp(std::uint64_t position) override;
  /// Everything that was written has reached the sink after this.
  void check();

 private:
  void flush();
  ByteSink& sink_;
  Bytes gathered_;
  std::uint64_t begin_ = 0;
  std::exception_ptr error_;
};

/// Runs something of OpenEXR's and turns what it throws into a FileError of one line.
[[noreturn]] void throw_as_file_error(const std::exception& error);
template <class Call>
decltype(auto) guarded(Call&& call) {
  try {
    return call();
  } catch (const FileError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw_as_file_error(error);
  }
}

/// The pool of OpenEXR has at least so many threads after this; with one thread the caller does all work.
void use_threads(int threads);

}  // namespace mollify::files::exr
