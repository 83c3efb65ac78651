// How kernels that blur and upsample coarse samples on tensor cores divide their work: the planner, the host and the kernels reckon with
// the same numbers.
#pragma once

#include "backends/cuda/kernels/fours.h"
#include "backends/cuda/kernels/sep_matrix_shape.h"

namespace mollify::cuda {

inline constexpr int kProductRows = 16;     ///< rows of results that a warp makes at once
inline constexpr int kProductColumns = 16;  ///< coarse samples of a row that pixels are made of at once
inline constexpr int kProductDepth = 8;     ///< numbers that one product sums up
inline constexpr int kProductThreads = 128;

/// Blocks that registers of a multiprocessor have room for where pixels are upsampled.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr int upsample_matrix_at_once(bool by_halves) {
  return by_halves ? 4 : 3;
}

/// Matrices of eight columns of pixels, of which a lane has two of each row, and which it stores together as 16 bytes.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr int tiles_of_group(int pixel_bytes) {
  return 16 / pixel_bytes / 2;
}
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr int pixels_of_group(int pixel_bytes) {
  return 8 * tiles_of_group(pixel_bytes);
}
/// Which pixel of a group column `2 * q + i` of matrix `tile` is, for lanes q of a row: those of a lane are neighbours.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr int pixel_of_group(int pixel_bytes, int tile, int q, int i) {
  return 2 * tiles_of_group(pixel_bytes) * q + 2 * tile + i;
}

/// Coarse samples on an axis that neighbouring pixels are made of, wherever they begin.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t samples_of_pixels(std::int32_t pixels, std::int32_t factor, std::int32_t support) {
  return (pixels + factor - 2) / factor + support;
}

/// Pixels of a row that one set of coarse samples makes, whole groups: none where coarse samples lie too close. Where numbers may be
/// infinite, these act on all of a segment, so that it is short.
[[nodiscard]] constexpr std::int32_t upsample_segment(std::int32_t factor, std::int32_t support, int pixel_bytes, bool may_be_infinite) {
  const std::int32_t group = pixels_of_group(pixel_bytes);
  std::int32_t segment = (may_be_infinite ? 64 : 128) / group * group;
  while (segment > 0 && samples_of_pixels(segment, factor, support) > kProductColumns) segment -= group;
  return segment;
}
/// Products down columns of an axis whose rows are made of so many coarse samples: one or two are compiled.
[[nodiscard]] constexpr std::int32_t upsample_row_blocks(std::int32_t factor, std::int32_t support) {
  return (samples_of_pixels(kProductRows, factor, support) + kProductDepth - 1) / kProductDepth;
}
inline constexpr std::int32_t kMostUpsampleRowBlocks = 2;

/// Shared memory of a block that upsamples: the weights of x, for each lane of each matrix, as halves or as f32.
[[nodiscard]] constexpr std::int32_t upsample_matrix_shared_bytes(std::int32_t segment, bool by_halves) {
  return segment / 8 * 32 * (by_halves ? 16 : 32);
}

/// Of a block that blurs a grid: channels that a warp makes, tiles of columns, products along an axis, and the weights of both axes and
/// which rows are read.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr int grid_channels_of_warp(int channels) {
  return channels == 1 ? 1 : 2;
}
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr int grid_tiles_of_block(int channels) {
  return kProductThreads / 32 / (channels / grid_channels_of_warp(channels));
}
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t grid_blocks(std::int32_t taps) {
  return (kProductRows - 1 + taps + kProductDepth - 1) / kProductDepth;
}
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t grid_matrix_shared_bytes(std::int32_t taps_x, std::int32_t taps_y) {
  constexpr std::int32_t kPairOfLane = 32;  // bytes: two matrices on the left of 16x8 numbers, or four on the right of 8x8
  const std::int32_t pairs_x = (grid_blocks(taps_x) + 1) / 2, pairs_y = (grid_blocks(taps_y) + 1) / 2;
  return (pairs_x + pairs_y) * 32 * kPairOfLane + pairs_y * 2 * kProductDepth * 4;
}

}  // namespace mollify::cuda
