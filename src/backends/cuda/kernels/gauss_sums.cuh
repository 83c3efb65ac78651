// Weights of gauss.decimate where sums of f32 make coarse samples of pixels, and pixels of these, by the same splines.
//   coarse[m] = sum over i of spline[i] * pixel[m * factor - centre + i]
//   pixel[x] = factor * sum over m of spline[x - m * factor + centre] * coarse[m]
// The grid of coarse samples in between is blurred by sep_fused.cu or gauss_grid.cu, or by what makes pixels of it, gauss_strips.cu.
#pragma once

#include "backends/cuda/kernels/coding.cuh"
#include "backends/cuda/kernels/gauss_decimate_shape.h"

namespace mollify::cuda {

/// Weights of an axis, in shared memory: for pixel r of a coarse sample, those of the `support` coarse samples that it belongs to, one
/// after another. There is room for `compiled` of them, in whole fours. `reversed`: the one that began first comes first. All are
/// multiplied by `scale`.
__device__ inline void put_row_weights(const float* spline, std::int32_t factor, std::int32_t support, std::int32_t compiled, bool reversed,
                                       float scale, float* out) {
  const std::int32_t stride = whole_fours(compiled);
  for (std::int32_t i = threadIdx.x; i < factor * stride; i += blockDim.x) {
    const std::int32_t r = i / stride;
    const std::int32_t j = i - r * stride;
    out[i] = j < support ? scale * spline[r + factor * (reversed ? support - 1 - j : j)] : 0.0F;
  }
}

/// Those of one row.
template <int kSupport>
__device__ void load_row_weights(const float* weights, std::int32_t row, float (&out)[whole_fours(kSupport)]) {
#pragma unroll
  for (int j = 0; j < kSupport; j += 4) {
    reinterpret_cast<float4*>(out)[j / 4] = reinterpret_cast<const float4*>(weights + row * whole_fours(kSupport))[j / 4];
  }
}

}  // namespace mollify::cuda
