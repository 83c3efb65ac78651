// Every weight of a matrix: one load and one multiply-add for each and every pixel.
#include "backends/cuda/kernels/nxn_direct_shape.h"
#include "backends/cuda/kernels/pixels.cuh"

namespace mollify::cuda {
namespace {

/// A thread makes one pixel.
template <int kChannels, class Sum>
__device__ void nxn_direct(const NxnDirect& a) {
  const BlockPlace block = block_place(a);
  const std::int32_t x = block.across * kNxnColumns + static_cast<std::int32_t>(threadIdx.x % kNxnColumns);
  const std::int32_t y = block.down * kNxnRows + static_cast<std::int32_t>(threadIdx.x / kNxnColumns);
  if (x >= a.destination.width || y >= a.destination.height) return;
  const Sum* weight = reinterpret_cast<const Sum*>(a.weights);
  Sum sum[4] = {};
  for (std::int32_t j = 0; j < a.height; ++j) {
    const SourceRow row = source_row(a, block.image, a.first_y + y * a.step_y + j);
    for (std::int32_t i = 0; i < a.width; ++i) {
      const FourOf<Sum> v = load_pixel<kChannels, Sum>(a, row, a.first_x + x * a.step_x + i);
      const Sum w = *weight++;
#pragma unroll
      for (int c = 0; c < kChannels; ++c) sum[c] = fma(w, v.at[c], sum[c]);
    }
  }
  store_pixel<kChannels>(a, row_of(a.destination, block.image, y), x, sum);
}

}  // namespace

#define MOLLIFY_NXN_DIRECT(channels)                                                 \
  __global__ void nxn_direct_##channels##_f32(const __grid_constant__ NxnDirect a) { \
    nxn_direct<channels, float>(a);                                                  \
  }                                                                                  \
  __global__ void nxn_direct_##channels##_f64(const __grid_constant__ NxnDirect a) { \
    nxn_direct<channels, double>(a);                                                 \
  }

extern "C" {
MOLLIFY_NXN_DIRECT(1)
MOLLIFY_NXN_DIRECT(2)
MOLLIFY_NXN_DIRECT(3)
MOLLIFY_NXN_DIRECT(4)
}

}  // namespace mollify::cuda
