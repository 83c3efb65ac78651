// Both axes of a separable filter of floats by single warps, with weights of each image's own.
#include "backends/cuda/kernels/sep_warps.cuh"

namespace mollify::cuda {

// Those numbers of kSepSumsEachSizes that sep_warps.cu has.
#define MOLLIFY_OF_SEP_WARPS_EACH(add) add(1_f32, FloatsOf<1>, 9) add(1_f32, FloatsOf<1>, 19) add(4_f32, FloatsOf<4>, 9)

#define MOLLIFY_SEP_WARPS_EACH(name, pixels, taps)                                         \
  __global__ void __launch_bounds__(32 * kSepWarpsMost, kWarpsShape<pixels, taps>.at_once) \
      sep_warps_each_##name##_##taps(const __grid_constant__ SepSumsEach a) {              \
    sep_warps<pixels, taps, OwnWeights>(a);                                                \
  }

extern "C" {
MOLLIFY_OF_SEP_WARPS_EACH(MOLLIFY_SEP_WARPS_EACH)
}

}  // namespace mollify::cuda
