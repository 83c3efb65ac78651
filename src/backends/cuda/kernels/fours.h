// What headers need that the host and the kernels read.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define MOLLIFY_HOST_DEVICE __host__ __device__
#else
#define MOLLIFY_HOST_DEVICE
#endif

namespace mollify::cuda {

/// The fewest pixels that are whole fours of components: loads begin at multiples of so many.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t pixels_of_fours(int channels) {
  return channels == 4 ? 1 : channels == 2 ? 2 : 4;
}

/// So many floats, and up to three more, which are whole fours.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t whole_fours(std::int32_t floats) {
  return (floats + 3) / 4 * 4;
}

}  // namespace mollify::cuda
