// What one block of threads of gauss_grid.cu does.
#pragma once

#include "backends/cuda/kernels/fours.h"

namespace mollify::cuda {

inline constexpr std::int32_t kGridThreads = 128;
inline constexpr std::int32_t kGridComponents = 4 * kGridThreads;  ///< of a row, of a block
inline constexpr std::int32_t kGridRows = 4;                       ///< that a thread makes down columns

/// Taps, and what they read of a row.
[[nodiscard]] constexpr std::int64_t grid_rows_shared_bytes(int channels, std::int64_t taps) {
  return 4 * (taps + kGridComponents + (taps - 1) * channels);
}
[[nodiscard]] constexpr std::int64_t grid_columns_shared_bytes(std::int64_t taps) {
  return 4 * taps;
}

}  // namespace mollify::cuda
