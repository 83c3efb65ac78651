#include "backends/workers.h"

#include <tbb/info.h>

#include <algorithm>
#include <cstring>

namespace mollify {

// More threads than processors gain nothing, and TBB would say so on stderr.
Workers::Workers(std::int32_t threads)
    : threads_(threads > 0 ? threads : tbb::info::default_concurrency()),
      arena_(std::min<int>(threads_, tbb::info::default_concurrency())) {}

void Workers::copy(const ConstImageView& from, const ImageView& to) {
  constexpr std::int64_t kPieceBytes = 256 << 10;  // takes longer than to wake a thread
  const std::int64_t row_bytes = std::max<std::int64_t>(from.desc.row_payload_bytes(), 1);
  const std::int64_t height = from.desc.height;
  const std::int64_t rows = std::max<std::int64_t>(kPieceBytes / row_bytes, 1);
  for_each((height + rows - 1) / rows, [&](std::int64_t piece, std::int64_t) {
    for (std::int64_t y = piece * rows; y < std::min(height, (piece + 1) * rows); ++y) {
      const auto row = static_cast<std::int32_t>(y);
      std::memcpy(to.row(row), from.row(row), static_cast<std::size_t>(row_bytes));
    }
  });
}

}  // namespace mollify
