// Both axes of a separable filter of floats, with weights of each image's own.
#include "backends/cuda/kernels/sep_scatter.cuh"

namespace mollify::cuda {

// For each number of kSepSumsEachSizes that sep_warps.cu does not have.
#define MOLLIFY_OF_SEP_SCATTER_EACH(add) add(1, 33) add(4, 19) add(4, 33)

#define MOLLIFY_SEP_SCATTER_EACH(channels, taps)                                          \
  __global__ void __launch_bounds__(sep_scatter_threads(taps), sep_scatter_at_once(taps)) \
      sep_scatter_each_##channels##_f32_##taps(const __grid_constant__ SepSumsEach a) {   \
    sep_scatter<channels, taps, OwnWeights>(a);                                           \
  }

extern "C" {
MOLLIFY_OF_SEP_SCATTER_EACH(MOLLIFY_SEP_SCATTER_EACH)
}

}  // namespace mollify::cuda
