// Encodes the pixels of one page by libtiff.
#pragma once

#include <cstdint>
#include <vector>

#include "files/tiff_layout.h"
#include "files/tiff_library.h"

namespace mollify::files::tiff {

/// A row of strips or tiles of all planes is gathered, encoded and appended. Tiles that hold pixels as they are get their rows as these
/// come.
class PageEncoder {
 public:
  PageEncoder(ByteSink& sink, const Page& page, const PageLayout& layout, bool big_endian, const WriteOptions& options);

  void write(std::int32_t count, const std::uint8_t* from, std::ptrdiff_t row_bytes);

  /// Whether all rows are written.
  [[nodiscard]] bool is_complete() const { return row_ == page_.height; }

  struct Places {
    std::vector<std::uint64_t> offsets, counts;
  };
  /// Of all strips or tiles, after the last row.
  [[nodiscard]] Places places() const;

 private:
  void set_up(const WriteOptions& options);
  [[nodiscard]] std::int64_t across() const { return (page_.width + std::int64_t{layout_.strile_width} - 1) / layout_.strile_width; }
  [[nodiscard]] bool writes_directly(bool big_endian) const;
  /// Rows of one row of tiles.
  void write_directly(std::int32_t count, const std::uint8_t* from, std::ptrdiff_t row_bytes);
  void gather(const std::uint8_t* from);
  void encode();

  ByteSink& sink_;
  const Page& page_;
  PageLayout layout_;
  LibraryWriter library_;
  bool is_direct_;
  Places direct_;  ///< of the tiles that have been begun
  Bytes band_, row_copy_, plane_row_;
  std::int64_t strile_bytes_ = 0;
  std::int64_t row_ = 0;
};

}  // namespace mollify::files::tiff
