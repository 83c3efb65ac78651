// What one block of threads of sep_passes.cu does.
#pragma once

#include <cstdint>

namespace mollify::cuda {

inline constexpr std::int32_t kSepRowsColumns = 128;  ///< pixels of a block of threads, one each
inline constexpr std::int32_t kSepRowsTaps = 128;     ///< taps whose samples lie in shared memory at once
inline constexpr std::int32_t kSepColumnsThreads = 128;

[[nodiscard]] constexpr std::int64_t sep_rows_shared_bytes(int channels, std::int32_t step, bool wide) {
  const std::int64_t pixels = 3 + (kSepRowsColumns - 1) * std::int64_t{step} + kSepRowsTaps;
  return (pixels + 3) / 4 * 4 * channels * (wide ? 8 : 4);
}

}  // namespace mollify::cuda
