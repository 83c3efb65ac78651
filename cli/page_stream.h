// One page from its reader to its writer, some rows at a time: for pages that do not fit into memory, and for all that are faster so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "blur_file.h"
#include "files/codec.h"
#include "page_blur.h"

namespace mollify::cli {

/// Rows of strips, where a test asks for strips of so many. 0: it asks for pages as a whole, where they fit into memory.
[[nodiscard]] std::optional<std::int32_t> strip_rows_as_asked();

/// Memory that reading and writing take in addition to the rows of a page.
struct CodecNeeds {
  std::int64_t bytes = 0;
  std::string what;  ///< the largest part of it
};

/// Strips of a result, the rows of the source that they need, and the buffers that they pass through while others are read and written.
class StripPlan {
 public:
  /// Strips that take `memory_bytes` at most with all that is needed for them. Where streams need more, it closes them. Throws Failure,
  /// with the name of the source, where there are none.
  StripPlan(const std::string& path, PageBlur& blur, const files::Page& result, const CodecNeeds& codecs, std::int64_t memory_bytes);

  /// With strips of so many rows.
  [[nodiscard]] static std::int64_t needed_bytes(const PageBlur& blur, const files::Page& result, const CodecNeeds& codecs,
                                                 std::int64_t rows);

  struct Strip {
    files::RowRange result, source;
    std::int32_t read_rows = 0;  ///< of the source, those that no strip before it needs
  };
  [[nodiscard]] const std::vector<Strip>& strips() const { return strips_; }
  /// Rows of each buffer for strips of the source.
  [[nodiscard]] const std::vector<std::int64_t>& source_buffers() const { return source_buffers_; }
  static constexpr std::size_t kResultBuffers = 2;
  /// Rows of each buffer for strips of the result.
  [[nodiscard]] std::int32_t rows() const { return rows_; }

 private:
  void add_strips(const PageBlur& blur, std::int32_t height);

  std::int32_t rows_ = 0;
  std::vector<std::int64_t> source_buffers_;
  std::vector<Strip> strips_;
};

/// Rows of a page of a source, with the zeros around it, that slide down the page. Each row is read once.
class SlidingRows {
 public:
  SlidingRows(files::Reader& reader, const files::PageWork& work, const files::Page& page, std::int64_t most_rows);

  /// The rows of the page; calls come from top to bottom.
  [[nodiscard]] files::PagePixels rows(files::RowRange wanted);

 private:
  void read(files::RowRange rows);
  [[nodiscard]] std::uint8_t* row(std::int32_t y) { return pixels_.data() + (y - held_.begin) * row_bytes_; }

  files::Reader& reader_;
  const files::PageWork& work_;
  const files::Page& page_;
  std::ptrdiff_t row_bytes_;
  files::RowRange held_;
  files::Bytes pixels_;
};

}  // namespace mollify::cli
