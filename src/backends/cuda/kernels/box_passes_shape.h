// What one block of threads of box_passes.cu does.
#pragma once

#include <algorithm>
#include <cstdint>

namespace mollify::cuda {

inline constexpr std::int32_t kBoxColumnsAcross = 32;  ///< columns of a block of threads
inline constexpr std::int32_t kBoxRowsMostThreads = 128;
inline constexpr std::int32_t kBoxColumnsMostSegments = 16;

/// Threads that share a row: some pixels of a window for each.
[[nodiscard]] constexpr std::int32_t box_rows_threads(std::int64_t window) {
  constexpr std::int64_t kPixels = 8, kWarp = 32, kMost = kBoxRowsMostThreads;
  return static_cast<std::int32_t>(std::clamp((window / kPixels + kWarp - 1) / kWarp * kWarp, kWarp, kMost));
}
/// Threads that share a column.
[[nodiscard]] constexpr std::int32_t box_columns_segments(std::int64_t window) {
  constexpr std::int64_t kPixels = 16, kMost = kBoxColumnsMostSegments;
  return static_cast<std::int32_t>(std::clamp(window / kPixels, std::int64_t{1}, kMost));
}

/// A sum of each thread.
[[nodiscard]] constexpr std::int64_t box_passes_shared_bytes(int channels, std::int32_t threads) {
  return std::int64_t{8} * channels * threads;
}

}  // namespace mollify::cuda
