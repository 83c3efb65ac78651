// Which filters sep_registers.cu makes.
#pragma once

#include "backends/cuda/kernels/fours.h"

namespace mollify::cuda {

inline constexpr int kSepRegistersThreads = 128;  ///< of a block, at most; each makes four components of a row
inline constexpr int kSepRegistersAtOnce = 8;     ///< blocks of a multiprocessor

/// Kernels are compiled for odd numbers of taps, the same on either axis, from three on. With more taps, Gaussians of bytes and halves are
/// made by products; nine taps of pixels of four floats are faster in shared memory.
[[nodiscard]] constexpr bool has_sep_registers(int channels, int bits, std::int32_t taps_x, std::int32_t taps_y) {
  const std::int32_t most = bits < 32 ? 3 : channels == 4 ? 7 : 9;
  return (channels == 1 || channels == 4) && taps_x == taps_y && taps_x >= 3 && taps_x <= most && taps_x % 2 == 1;
}

}  // namespace mollify::cuda
