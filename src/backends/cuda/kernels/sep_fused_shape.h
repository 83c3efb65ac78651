// How sep_fused.cu lays out shared memory: the planner, the host and the kernel reckon with the same numbers.
#pragma once

#include "backends/cuda/kernels/fours.h"

namespace mollify::cuda {

inline constexpr int kSepFusedThreads = 128;
inline constexpr int kSepFusedAtOnce = 5;  ///< blocks of threads that registers of a multiprocessor have room for
inline constexpr int kSepFusedRows = 8;    ///< that are loaded and filtered along x at once

/// Columns of a strip: two groups of four rows of them have four components for each thread.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t sep_fused_columns(int channels) {
  return kSepFusedThreads / 2 * 4 / channels / 4 * 4;
}

struct SepFusedShape {
  std::int32_t shift;         ///< samples before the first tap of a strip's first pixel, so that loads are aligned
  std::int32_t blocks_x;      ///< of four samples that four neighbouring pixels are made of
  std::int32_t blocks_y;      ///< of four rows that four rows are made of
  std::int32_t source_fours;  ///< float4s of a source row
  std::int32_t ring_fours;    ///< float4s of a row of the ring
  std::int32_t ring_rows;     ///< a multiple of kSepFusedRows

  MOLLIFY_HOST_DEVICE constexpr SepFusedShape(int channels, std::int32_t columns, std::int32_t taps_x, std::int32_t taps_y,
                                              std::int32_t first_x)
      : shift((first_x % pixels_of_fours(channels) + pixels_of_fours(channels)) % pixels_of_fours(channels)),
        blocks_x((shift + taps_x + 3 + 3) / 4),
        blocks_y((taps_y + 3 + 3) / 4),
        source_fours((columns / 4 + blocks_x - 1) * channels),
        ring_fours(columns / 4 * channels),
        ring_rows((4 * blocks_y + 4 + kSepFusedRows - 1) / kSepFusedRows * kSepFusedRows) {}
  /// float4s of the weights of an axis, with zeros before and after them.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t taps_fours_x() const { return blocks_x + 1; }
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t taps_fours_y() const { return blocks_y + 1; }
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int64_t shared_bytes() const {
    return 16 * (std::int64_t{taps_fours_x()} + taps_fours_y() + (kSepFusedRows + 1) * std::int64_t{source_fours} +
                 std::int64_t{ring_rows} * ring_fours);
  }
};

}  // namespace mollify::cuda
