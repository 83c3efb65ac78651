// What one block of threads of gauss_grid.cu does.
#pragma once

#include "backends/cuda/kernels/fours.h"

namespace mollify::cuda {

inline constexpr std::int32_t kGridThreads = 128;
inline constexpr std::int32_t kGridComponents = 4 * kGridThreads;  ///< of a row, of a block
inline constexpr std::int32_t kGridRows = 4;                       ///< that a thread makes down columns

// Of images of four channels: a block makes a tile of coarse samples.
inline constexpr std::int32_t kGridTileAcross = 32;
inline constexpr std::int32_t kGridTileDown = 16;
inline constexpr std::int32_t kGridTileThreads = 256;
inline constexpr std::int32_t kGridTileSums = 2;  ///< samples side by side that a thread makes
static_assert(kGridTileAcross * kGridTileDown == kGridTileThreads * kGridTileSums);

/// Places of `samples` of a row in shared memory: one is left free after those of a thread, so that no bank is met twice.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t grid_tile_place(std::int32_t sample) {
  return sample + sample / kGridTileSums;
}
/// Rows of the tile whose columns are summed, and the taps.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t grid_tile_row(std::int32_t taps_x) {
  return grid_tile_place(kGridTileAcross + taps_x);
}
[[nodiscard]] constexpr std::int64_t grid_tile_shared_bytes(std::int32_t taps_x, std::int32_t taps_y) {
  return std::int64_t{16} * kGridTileDown * grid_tile_row(taps_x) + std::int64_t{4} * (taps_x + taps_y);
}

/// Taps, and what they read of a row.
[[nodiscard]] constexpr std::int64_t grid_rows_shared_bytes(int channels, std::int64_t taps) {
  return 4 * (taps + kGridComponents + (taps - 1) * channels);
}
[[nodiscard]] constexpr std::int64_t grid_columns_shared_bytes(std::int64_t taps) {
  return 4 * taps;
}

}  // namespace mollify::cuda
