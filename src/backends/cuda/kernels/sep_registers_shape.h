// Which filters sep_registers.cu makes.
#pragma once

#include "backends/cuda/kernels/fours.h"

namespace mollify::cuda {

inline constexpr int kSepRegistersThreads = 128;  ///< of a block, at most; each makes four components of a row
inline constexpr int kSepRegistersAtOnce = 8;     ///< blocks of a multiprocessor

/// Kernels are compiled for odd numbers of taps, the same on either axis, up to this.
inline constexpr std::int32_t kSepRegistersTaps = 9;
[[nodiscard]] constexpr bool has_sep_registers(int channels, std::int32_t taps_x, std::int32_t taps_y) {
  return (channels == 1 || channels == 4) && taps_x == taps_y && taps_x >= 3 && taps_x <= kSepRegistersTaps && taps_x % 2 == 1;
}

}  // namespace mollify::cuda
