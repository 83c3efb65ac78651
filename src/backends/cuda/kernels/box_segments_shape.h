// How box_segments.cu shares out its work.
#pragma once

#include "backends/cuda/kernels/fours.h"

namespace mollify::cuda {

inline constexpr std::int32_t kBoxSeedRows = 16;  ///< of the first windows, that are loaded together

/// A block of threads: each keeps sums of so many columns, and slides along one row of a step where it makes a segment.
struct BoxSegments {
  std::int32_t threads;
  std::int32_t columns;    ///< of a thread: pixels that it loads at once
  std::int32_t step_rows;  ///< that are summed together
  std::int32_t at_once;    ///< blocks that registers of a multiprocessor have room for
  /// Columns that a block reads.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t reach() const { return threads * columns; }
  /// Pixels of a row that a thread makes.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t segment() const { return step_rows * columns; }
  /// Threads that share a row.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t segments() const { return threads / step_rows; }
  /// Whether they are of one warp, and need no memory to tell each other what segments come to.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr bool is_of_warp() const { return segments() <= 32; }
  /// Sums of columns from one segment to the next in shared memory, so that threads side by side use different banks.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t segment_pitch() const { return segment() + 1; }
  /// The same from row to row: a segment before the first for columns that nobody needs, and one behind the last that is read and not used.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t row_pitch() const { return (segments() + 2) * segment_pitch(); }
  /// Pixels of a row that come out. Loads begin at multiples of a thread's columns.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t made(std::int32_t window) const {
    return (reach() - (window - 1) - (columns - 1)) / 4 * 4;
  }
  /// Rows that a chunk reads, and behind them some that are loaded and not used.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t source_rows(std::int32_t rows, std::int32_t window) const {
    return rows + window + (2 * step_rows > kBoxSeedRows ? 2 * step_rows : kBoxSeedRows);
  }
  /// Sums of columns; what segments and their beginnings come to; the place of each row that the chunk reads.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t totals_at() const { return (8 * step_rows * row_pitch() + 15) / 16 * 16; }
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t places_at() const { return totals_at() + (is_of_warp() ? 0 : 32 * threads); }
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t shared_bytes(std::int32_t rows, std::int32_t window) const {
    return places_at() + 8 * source_rows(rows, window);
  }
};

/// From narrow to wide.
inline constexpr BoxSegments kBoxSegments[] = {{128, 2, 8, 4}, {128, 4, 4, 4}, {256, 4, 4, 2}};

inline constexpr std::int32_t kBoxSegmentsHigh = 257;   ///< rows of a window: their sums of bytes are 16 bits
inline constexpr std::int32_t kBoxSegmentsRows = 2048;  ///< of a chunk, at most

/// Of the kernel that sums blocks of rows: a block of threads, columns of each lane of a warp and of all, rows that are loaded together,
/// and blocks that a multiprocessor has room for.
inline constexpr std::int32_t kBoxBlockThreads = 128;
inline constexpr std::int32_t kBoxBlockColumns = 4;
inline constexpr std::int32_t kBoxBlockReach = 32 * kBoxBlockColumns;
inline constexpr std::int32_t kBoxBlockRows = 8;
inline constexpr std::int32_t kBoxBlocksAtOnce = 6;
/// Two numbers of each column that a warp has summed up; then the place of each row.
inline constexpr std::int32_t kBoxBlockSumsBytes = kBoxBlockThreads / 32 * kBoxBlockReach * 8;
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t box_blocks_shared_bytes(std::int32_t rows) {
  return kBoxBlockSumsBytes + 8 * (rows + kBoxBlockRows);
}

/// Whether means of windows of so many bytes are made of floats: their sums have fewer than 24 bits, and no mean is so near to a half that
/// rounding the factor matters.
[[nodiscard]] constexpr bool are_float_means(std::int64_t pixels) {
  return pixels < 32768;
}

}  // namespace mollify::cuda
