// A separable filter in two passes, for any number of taps and any stride: along x to sums, then along y.
#include "backends/cuda/kernels/pixels.cuh"
#include "backends/cuda/kernels/sep_passes_shape.h"

namespace mollify::cuda {
namespace {

/// A block of threads makes neighbouring pixels of a row. Decoded pixels pass through shared memory, as many as a run of taps reads.
template <int kChannels, class Sum>
__device__ void sep_rows(const SepPass& a) {
  extern __shared__ double bytes[];
  auto* const memory = reinterpret_cast<Sum*>(bytes);
  const BlockPlace block = block_place(a);
  const std::int32_t x0 = block.across * kSepRowsColumns;
  const std::int32_t x = x0 + static_cast<std::int32_t>(threadIdx.x);
  const SourceRow row = source_row(a, block.image, a.across + block.down);
  const Sum* const taps = reinterpret_cast<const Sum*>(a.taps);
  Sum sum[kChannels] = {};
  for (std::int32_t k0 = 0; k0 < a.count; k0 += kSepRowsTaps) {
    const std::int32_t count = min(kSepRowsTaps, a.count - k0);
    const std::int32_t wanted = a.first + x0 * a.step + k0;      // the first pixel that is needed
    const std::int32_t begin = wanted - ((wanted % 4) + 4) % 4;  // loads are of four components, and aligned
    const std::int32_t skipped = wanted - begin;
    const std::int32_t fours = (skipped + (kSepRowsColumns - 1) * a.step + count + 3) / 4 * kChannels;
    const bool is_inside = a.source.is_aligned && row.begin != nullptr && begin >= 0 && begin + fours / kChannels * 4 <= a.source.width;
    __syncthreads();
    for (int q = threadIdx.x; q < fours; q += blockDim.x) {
      const std::int32_t component = begin * kChannels + 4 * q;
      reinterpret_cast<FourOf<Sum>*>(memory)[q] =
          is_inside ? load_inside<kChannels, Sum>(a, row, component) : load_across_edges<kChannels, Sum>(a, row, component);
    }
    __syncthreads();
    const Sum* samples = memory + (skipped + static_cast<int>(threadIdx.x) * a.step) * kChannels;
    for (std::int32_t k = 0; k < count; ++k) {
      const Sum w = taps[k0 + k];
#pragma unroll
      for (int c = 0; c < kChannels; ++c) sum[c] = fma(w, samples[k * kChannels + c], sum[c]);
    }
  }
  if (x >= a.destination.width) return;
  Sum* const out = reinterpret_cast<Sum*>(row_of(a.destination, block.image, block.down)) + std::int64_t{x} * kChannels;
#pragma unroll
  for (int c = 0; c < kChannels; ++c) out[c] = sum[c];
}

/// A thread makes four components of a row.
template <int kChannels, class Sum>
__device__ void sep_columns(const SepPass& a) {
  const BlockPlace block = block_place(a);
  const std::int32_t i = 4 * (block.across * static_cast<std::int32_t>(blockDim.x) + static_cast<std::int32_t>(threadIdx.x));
  if (i >= a.destination.width * kChannels) return;
  const Sum* const taps = reinterpret_cast<const Sum*>(a.taps);
  Sum sum[4] = {};
  const std::int32_t first = a.first + block.down * a.step;
  for (std::int32_t k = 0; k < a.count; ++k) {
    const std::int32_t y = mapped(a.outside.mode_y, first + k, a.length);
    FourOf<Sum> v;
    if (y >= 0) {
      v = *reinterpret_cast<const FourOf<Sum>*>(row_of(a.source, block.image, y - a.across) + std::int64_t{i} * sizeof(Sum));
    } else {
#pragma unroll
      for (int j = 0; j < 4; ++j) v.at[j] = Sum(a.outside_row[(i + j) % kChannels]);
    }
    const Sum w = taps[k];
#pragma unroll
    for (int j = 0; j < 4; ++j) sum[j] = fma(w, v.at[j], sum[j]);
  }
  store_sums<kChannels>(a, row_of(a.destination, block.image, block.down), i, sum);
}

}  // namespace

#define MOLLIFY_SEP_PASSES(channels)                                                \
  __global__ void sep_rows_##channels##_f32(const __grid_constant__ SepPass a) {    \
    take_turn();                                                                    \
    sep_rows<channels, float>(a);                                                   \
  }                                                                                 \
  __global__ void sep_rows_##channels##_f64(const __grid_constant__ SepPass a) {    \
    take_turn();                                                                    \
    sep_rows<channels, double>(a);                                                  \
  }                                                                                 \
  __global__ void sep_columns_##channels##_f32(const __grid_constant__ SepPass a) { \
    take_turn();                                                                    \
    sep_columns<channels, float>(a);                                                \
  }                                                                                 \
  __global__ void sep_columns_##channels##_f64(const __grid_constant__ SepPass a) { \
    take_turn();                                                                    \
    sep_columns<channels, double>(a);                                               \
  }

extern "C" {
MOLLIFY_SEP_PASSES(1)
MOLLIFY_SEP_PASSES(2)
MOLLIFY_SEP_PASSES(3)
MOLLIFY_SEP_PASSES(4)
}

}  // namespace mollify::cuda
