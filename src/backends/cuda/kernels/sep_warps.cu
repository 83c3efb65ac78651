// Both axes of a separable filter in one pass by single warps, with the same weights for all images.
#include "backends/cuda/kernels/sep_warps.cuh"

namespace mollify::cuda {

// See has_sep_warps().
#define MOLLIFY_OF_SEP_WARPS(add)                                                                                                     \
  add(1_u8, BytesOf<1>, 3) add(1_u8, BytesOf<1>, 5) add(1_u8, BytesOf<1>, 7) add(4_u8, BytesOf<4>, 3) add(1_f16, HalvesOf<1>, 3)      \
      add(1_f16, HalvesOf<1>, 5) add(1_f16, HalvesOf<1>, 7) add(1_f16, HalvesOf<1>, 9) add(1_f16, HalvesOf<1>, 13)                    \
          add(1_f16, HalvesOf<1>, 17) add(1_f16, HalvesOf<1>, 21) add(1_f16, HalvesOf<1>, 25) add(1_f16, HalvesOf<1>, 29)             \
              add(4_f16, HalvesOf<4>, 3) add(4_f16, HalvesOf<4>, 5) add(4_f16, HalvesOf<4>, 7) add(1_f32, FloatsOf<1>, 3)             \
                  add(1_f32, FloatsOf<1>, 5) add(1_f32, FloatsOf<1>, 7) add(1_f32, FloatsOf<1>, 9) add(1_f32, FloatsOf<1>, 13)        \
                      add(1_f32, FloatsOf<1>, 17) add(1_f32, FloatsOf<1>, 19) add(1_f32, FloatsOf<1>, 25) add(1_f32, FloatsOf<1>, 29) \
                          add(4_f32, FloatsOf<4>, 3) add(4_f32, FloatsOf<4>, 5) add(4_f32, FloatsOf<4>, 7) add(4_f32, FloatsOf<4>, 9)

#define MOLLIFY_SEP_WARPS(name, pixels, taps)                                              \
  __global__ void __launch_bounds__(32 * kSepWarpsMost, kWarpsShape<pixels, taps>.at_once) \
      sep_warps_##name##_##taps(const __grid_constant__ SepSums a) {                       \
    sep_warps<pixels, taps, SameWeights>(a);                                               \
  }

extern "C" {
MOLLIFY_OF_SEP_WARPS(MOLLIFY_SEP_WARPS)
}

}  // namespace mollify::cuda
