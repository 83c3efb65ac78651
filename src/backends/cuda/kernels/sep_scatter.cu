// Both axes of a separable filter of floats, with the same weights for all images.
#include "backends/cuda/kernels/sep_scatter.cuh"

namespace mollify::cuda {

// For each number of kSepScatterSizes that sep_warps.cu does not have.
#define MOLLIFY_OF_SEP_SCATTER_TAPS(add, channels) add(channels, 33) add(channels, 37) add(channels, 41) add(channels, 45)
#define MOLLIFY_OF_SEP_SCATTER(add)   \
  MOLLIFY_OF_SEP_SCATTER_TAPS(add, 1) \
  MOLLIFY_OF_SEP_SCATTER_TAPS(add, 4) add(4, 13) add(4, 17) add(4, 19) add(4, 21) add(4, 25) add(4, 29)

#define MOLLIFY_SEP_SCATTER(channels, taps)                                               \
  __global__ void __launch_bounds__(sep_scatter_threads(taps), sep_scatter_at_once(taps)) \
      sep_scatter_##channels##_f32_##taps(const __grid_constant__ SepSums a) {            \
    sep_scatter<channels, taps, SameWeights>(a);                                          \
  }

extern "C" {
MOLLIFY_OF_SEP_SCATTER(MOLLIFY_SEP_SCATTER)
}

}  // namespace mollify::cuda
