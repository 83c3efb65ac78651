// How box_segments.cuh shares out its work.
#pragma once

#include <span>

#include "backends/cuda/kernels/fours.h"

namespace mollify::cuda {

inline constexpr std::int32_t kBoxSeedRows = 16;  ///< of the first windows, that are loaded together at most

/// A block of threads: each keeps sums of so many columns, and slides along one row of a step where it makes a segment.
struct BoxSegments {
  std::int32_t pixel_bytes;
  std::int32_t sums_bytes;  ///< of a column in shared memory: two components in a word, or four words
  std::int32_t threads;
  std::int32_t columns;    ///< of a thread
  std::int32_t step_rows;  ///< that are summed together
  std::int32_t at_once;    ///< blocks that run on a multiprocessor at the same time
  std::int32_t rounds;     ///< so many times as many blocks make a large image: with one each, all would wait for the slowest
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr bool is_of_floats() const { return pixel_bytes > 4; }
  /// From a column of a thread to its next one. Side by side, a thread loads all of a row at once; pixels of 16 bytes fill a load each.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t column_step() const { return pixel_bytes == 16 ? threads : 1; }
  /// Columns that a thread's first one is a multiple of.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t alignment() const { return pixel_bytes == 16 ? 1 : columns; }
  /// Columns that a block reads.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t reach() const { return threads * columns; }
  /// Pixels of a row that a thread makes.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t segment() const { return step_rows * columns; }
  /// Threads that share a row.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t segments() const { return threads / step_rows; }
  /// Whether they are of one warp, and need no memory to tell each other what segments come to.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr bool is_of_warp() const { return segments() <= 32; }
  /// Rows of a first window that are loaded together.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t seed_rows() const {
    return is_of_floats() ? (columns > 2 ? 4 : 8) : kBoxSeedRows;
  }
  /// Sums of columns from one segment to the next in shared memory, so that threads side by side use different banks.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t segment_pitch() const { return segment() + 1 - segment() % 2; }
  /// The same from row to row: a segment before the first for columns that nobody needs, and one behind the last that is read and not used.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t row_pitch() const { return (segments() + 2) * segment_pitch(); }
  /// Means, 16 bytes at a time: of a segment, from a segment to the next, and from row to row.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t parts() const { return segment() * pixel_bytes / 16; }
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t parts_pitch() const { return parts() + 1 - parts() % 2; }
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t means_pitch() const { return segments() * parts_pitch(); }
  /// Pixels of a row that come out. Loads begin at multiples of alignment().
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t made(std::int32_t window) const {
    return (reach() - (window - 1) - (alignment() - 1)) / 4 * 4;
  }
  /// Rows that are loaded together where pixels are made anew.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t mended_rows() const { return columns > 2 ? 4 : 8; }
  /// Rows that a chunk reads, and behind them some that are loaded and not used.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t source_rows(std::int32_t rows, std::int32_t window) const {
    const std::int32_t of_steps = 2 * step_rows > seed_rows() ? 2 * step_rows : seed_rows();
    const std::int32_t of_mended = is_of_floats() ? step_rows + mended_rows() : 0;
    return rows + window + (of_steps > of_mended ? of_steps : of_mended);
  }
  // Shared memory holds sums of columns, then means, then what segments and warps come to, then the place of each row that the chunk reads.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t means_at() const {
    return (sums_bytes * step_rows * row_pitch() + 15) / 16 * 16;
  }
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t totals_at() const { return means_at() + 16 * step_rows * means_pitch(); }
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t places_at() const {
    return totals_at() + (is_of_warp() && !is_of_floats() ? 0 : 16 * (threads + threads / 32));
  }
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t shared_bytes(std::int32_t rows, std::int32_t window) const {
    return places_at() + 8 * source_rows(rows, window);
  }
};

/// From narrow to wide. The last of bytes is for windows of more rows than kBoxSegmentsHigh.
inline constexpr BoxSegments kBoxSegmentsOfBytes[] = {
    {4, 8, 128, 2, 8, 4, 1}, {4, 8, 128, 4, 4, 4, 1}, {4, 8, 256, 4, 4, 2, 1}, {4, 16, 512, 4, 2, 1, 1}};
inline constexpr BoxSegments kBoxSegmentsOfHalves[] = {{8, 16, 128, 2, 4, 4, 1}, {8, 16, 256, 2, 4, 2, 1}, {8, 16, 512, 2, 4, 1, 1}};
inline constexpr BoxSegments kBoxSegmentsOfFloats[] = {{16, 16, 256, 1, 8, 1, 3}, {16, 16, 320, 2, 4, 1, 2}, {16, 16, 256, 4, 2, 1, 3}};
/// Of pixels of four channels of so many bytes.
[[nodiscard]] constexpr std::span<const BoxSegments> box_segments_of(std::int32_t pixel_bytes) {
  if (pixel_bytes == 4) return kBoxSegmentsOfBytes;
  if (pixel_bytes == 8) return kBoxSegmentsOfHalves;
  return kBoxSegmentsOfFloats;
}

inline constexpr std::int32_t kBoxSegmentsHigh = 257;   ///< rows of a window whose sums of bytes are 16 bits
inline constexpr std::int32_t kBoxSegmentsRows = 2048;  ///< of a chunk, at most

/// Of the kernel that sums blocks of rows: a block of threads, rows that are loaded together, and blocks that a multiprocessor has room
/// for.
inline constexpr std::int32_t kBoxBlockThreads = 128;
inline constexpr std::int32_t kBoxBlockRows = 8;
inline constexpr std::int32_t kBoxBlocksAtOnce = 6;
/// Columns of a lane, which it loads at once, and of a warp. Warps share out rows.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t box_block_columns(std::int32_t pixel_bytes) {
  return 16 / pixel_bytes;
}
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t box_block_reach(std::int32_t pixel_bytes) {
  return 32 * box_block_columns(pixel_bytes);
}
/// Sums of each column that a warp has made; then the place of each row.
inline constexpr std::int32_t kBoxBlockSumsBytes = kBoxBlockThreads * 64;
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t box_blocks_shared_bytes(std::int32_t rows) {
  return kBoxBlockSumsBytes + 8 * (rows + kBoxBlockRows);
}

/// Whether means of windows of so many bytes may be made of floats: their sums have fewer than 24 bits, and no mean is so near to a half
/// that rounding the factor matters.
[[nodiscard]] constexpr bool may_be_float_means(std::int64_t pixels) {
  return pixels < 32768;
}
/// Which kernels of kBoxSegmentsOfBytes there are: the narrowest has no windows of more pixels, and wide ones have few of less.
[[nodiscard]] constexpr bool has_float_means(std::int64_t form) {
  return form < 2;
}
[[nodiscard]] constexpr bool has_integer_means(std::int64_t form) {
  return form > 0;
}

/// Halves from here on count as infinite as they enter a sum: pixels of windows that hold one are summed anew.
inline constexpr double kBoxOutlier = 32768.0;

}  // namespace mollify::cuda
