// What one block of threads of box_passes.cu does.
#pragma once

#include <cstdint>

namespace mollify::cuda {

inline constexpr std::int32_t kBoxRowsThreads = 128;     ///< which share a row
inline constexpr std::int32_t kBoxColumnsAcross = 32;    ///< columns of a block of threads
inline constexpr std::int32_t kBoxColumnsSegments = 16;  ///< threads which share a column
inline constexpr std::int32_t kBoxColumnsThreads = kBoxColumnsAcross * kBoxColumnsSegments;

/// A sum of each thread.
[[nodiscard]] constexpr std::int64_t box_passes_shared_bytes(int channels, std::int32_t threads) {
  return std::int64_t{8} * channels * threads;
}

}  // namespace mollify::cuda
