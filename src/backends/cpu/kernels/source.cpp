#include "backends/cpu/kernels/source.h"

#include <limits>

namespace mollify::cpu {
namespace {

/// Rows from y to the nearest that the window has.
std::int64_t distance(const ConstWindow& window, std::int64_t y) {
  const std::int64_t last = std::int64_t{window.y} + window.pixels.desc.height - 1;
  return std::max<std::int64_t>({window.y - y, y - last, 0});
}

}  // namespace

const std::byte* Source::row_in_windows(std::int64_t y, std::int64_t x) const {
  const Span* columns = columns_.begin();
  for (const Span& span : columns_) {
    if (span.holds(x)) columns = &span;
  }
  const ConstWindow* nearest = nullptr;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const ConstWindow& window : windows_) {
    const std::int64_t rows = distance(window, y);
    if (!holds_columns(window, *columns) || rows >= least) continue;
    nearest = &window;
    least = rows;
    if (rows == 0) break;
  }
  const std::int64_t row = std::clamp<std::int64_t>(y - nearest->y, 0, nearest->pixels.desc.height - 1);
  return nearest->pixels.row(row) - std::int64_t{nearest->x} * info(desc.format).pixel_bytes();
}

}  // namespace mollify::cpu
