// Filters whose images each have weights of their own, and whose kernels are compiled for the number of these.
#pragma once

#include "backends/cuda/kernels/fours.h"

namespace mollify::cuda {

/// Numbers of taps, the same on either axis: of kernels of sep_warps.cu where that has them, else of sep_scatter.cu.
inline constexpr std::int32_t kSepSumsEachSizes[] = {9, 19, 33};

/// Weights of x and of y in shared memory, each from a multiple of four on.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t sep_weights_bytes(std::int32_t taps) {
  return 2 * 16 * ((taps + 3) / 4);
}

}  // namespace mollify::cuda
