// The frames of an animated PNG, composed: each as the whole picture that is shown.
#pragma once

#include "files/png_decoder.h"

namespace mollify::files::png {

class Canvas {
 public:
  /// Allocates nothing yet.
  Canvas(ByteSource& source, const Contents& contents, Messages& messages);

  /// The whole picture of a page that is a frame. Cheapest in order.
  [[nodiscard]] const std::uint8_t* picture(std::size_t page, MemoryLimit& memory);

 private:
  void start(MemoryLimit& memory);
  void show_next();
  void dispose(std::size_t page);
  void save(const Rect& rect);
  void draw(const Picture& frame, Blend blend);
  void put_row(std::uint8_t* onto, const std::uint8_t* row, std::int32_t count, Blend blend) const;
  [[nodiscard]] std::uint8_t* at(const Rect& rect, std::int32_t row);

  ByteSource& source_;
  const Contents& contents_;
  Messages& messages_;
  const Page& page_;
  std::int64_t pixel_bytes_;
  std::size_t first_;
  std::size_t next_;  ///< the page that is composed next
  Bytes pixels_;
  Bytes saved_;  ///< what the last frame covered, where it is to be shown again
  Bytes row_;
  Bytes interlaced_;
};

}  // namespace mollify::files::png
