#include "cases/canvas.h"

#include <algorithm>
#include <cstring>

namespace mollify::cases {

Canvas::Canvas(const ImageDesc& desc, const Margins& margins, std::byte poison, std::int64_t row_payload_bytes) : desc_(desc) {
  const std::int64_t pixel_bytes = info(desc.format).pixel_bytes();
  const std::int64_t payload = std::max(row_payload_bytes, desc.row_payload_bytes());
  row_bytes_ = payload + pixel_bytes * (margins.left_pixels + margins.right_pixels);
  offset_ = row_bytes_ * margins.rows_above + pixel_bytes * margins.left_pixels;
  const std::int64_t rows = std::int64_t{desc.height} + margins.rows_above + margins.rows_below;
  bytes_.assign(static_cast<std::size_t>(row_bytes_ * rows), poison);
}

ImageView Canvas::view() {
  return {desc_, bytes_.data() + offset_, row_bytes_};
}

ConstImageView Canvas::view() const {
  return {desc_, bytes_.data() + offset_, row_bytes_};
}

std::optional<std::string> changed_outside(const std::vector<std::byte>& before, const std::vector<std::byte>& after,
                                           const ImageView& image) {
  const auto differs = [&](std::ptrdiff_t begin, std::ptrdiff_t end) -> std::optional<std::string> {
    const auto changed = std::mismatch(after.begin() + begin, after.begin() + end, before.begin() + begin).first;
    if (changed == after.begin() + end) return std::nullopt;
    const std::ptrdiff_t from_image = &*changed - static_cast<const std::byte*>(image.data);
    std::ptrdiff_t row = from_image / image.row_bytes;
    if (from_image < row * image.row_bytes) --row;
    return "a byte outside the destination changed: row " + std::to_string(row) + ", byte " +
           std::to_string(from_image - row * image.row_bytes);
  };
  const std::ptrdiff_t first = static_cast<const std::byte*>(image.data) - after.data();
  const std::ptrdiff_t payload = image.desc.row_payload_bytes();
  std::ptrdiff_t done = 0;
  for (std::ptrdiff_t y = 0; y < image.desc.height; ++y) {
    const std::ptrdiff_t row = first + y * image.row_bytes;
    if (auto change = differs(done, row)) return change;
    done = row + payload;
  }
  return differs(done, static_cast<std::ptrdiff_t>(after.size()));
}

}  // namespace mollify::cases
