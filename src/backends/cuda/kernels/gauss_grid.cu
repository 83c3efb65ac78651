// The blur of gauss.decimate's grid, which is f32: of four channels in tiles, of others in two passes where a grid has so few rows that
// blocks of sep_fused.cu would filter most rows more than once. Rows of two passes are written to whole fours of components. Coarse samples
// beyond the edge are like the nearest.
#include "backends/cuda/kernels/gauss_grid_shape.h"
#include "backends/cuda/kernels/pixels.cuh"

namespace mollify::cuda {
namespace {

/// A block of threads makes neighbouring components of a row out of shared memory. A thread makes four of them that lie a block apart, so
/// that threads next to one another read what lies side by side.
template <int kChannels>
__device__ void gauss_grid_rows(const SepPass& a) {
  extern __shared__ int4 memory[];
  const BlockPlace block = block_place(a);
  const std::int32_t components = whole_fours(a.destination.width * kChannels);
  const std::int32_t first = block.across * kGridComponents;
  const std::int32_t needed = kGridComponents + (a.count - 1) * kChannels;
  auto* const taps = reinterpret_cast<float*>(memory);
  float* const samples = taps + a.count;
  const auto* const row = reinterpret_cast<const float*>(row_of(a.source, block.image, block.down));
  for (int k = threadIdx.x; k < a.count; k += kGridThreads) taps[k] = reinterpret_cast<const float*>(a.taps)[k];
  for (int i = threadIdx.x; i < needed; i += kGridThreads) {
    const std::int32_t pixel = (first + i) / kChannels;
    samples[i] = row[clamped(pixel + a.first, a.source.width) * kChannels + (first + i - pixel * kChannels)];
  }
  __syncthreads();
  float sums[4] = {};
  const float* at = samples + threadIdx.x;
#pragma unroll 4
  for (int k = 0; k < a.count; ++k) {
#pragma unroll
    for (int p = 0; p < 4; ++p) sums[p] = fmaf(taps[k], at[p * kGridThreads], sums[p]);
    at += kChannels;
  }
  auto* const out = reinterpret_cast<float*>(row_of(a.destination, block.image, block.down));
#pragma unroll
  for (int p = 0; p < 4; ++p) {
    const std::int32_t component = first + static_cast<std::int32_t>(threadIdx.x) + p * kGridThreads;
    if (component < components) out[component] = sums[p];
  }
}

/// A thread makes four components of some rows below one another. A weight that a row does not have is left out and not zero, which a NaN
/// would survive.
template <int kChannels>
__device__ void gauss_grid_columns(const SepPass& a) {
  extern __shared__ int4 memory[];
  const BlockPlace block = block_place(a);
  auto* const taps = reinterpret_cast<float*>(memory);
  for (int k = threadIdx.x; k < a.count; k += kGridThreads) taps[k] = reinterpret_cast<const float*>(a.taps)[k];
  __syncthreads();
  const std::int32_t component = block.across * kGridComponents + 4 * static_cast<std::int32_t>(threadIdx.x);
  if (component >= a.destination.width * kChannels) return;
  const std::int32_t y0 = block.down * kGridRows;
  float4 sums[kGridRows] = {};
#pragma unroll 4
  for (int j = 0; j < a.count + kGridRows - 1; ++j) {
    const auto* const row = reinterpret_cast<const float*>(row_of(a.source, block.image, clamped(a.first + y0 + j, a.source.height)));
    const float4 v = *reinterpret_cast<const float4*>(row + component);
#pragma unroll
    for (int p = 0; p < kGridRows; ++p) {
      if (j < p || j - p >= a.count) continue;
      const float w = taps[j - p];
      sums[p] = make_float4(fmaf(w, v.x, sums[p].x), fmaf(w, v.y, sums[p].y), fmaf(w, v.z, sums[p].z), fmaf(w, v.w, sums[p].w));
    }
  }
#pragma unroll
  for (int p = 0; p < kGridRows; ++p) {
    if (y0 + p >= a.destination.height) break;
    *reinterpret_cast<float4*>(reinterpret_cast<float*>(row_of(a.destination, block.image, y0 + p)) + component) = sums[p];
  }
}

// ---- tiles of four channels

/// Adds taps[j - p] * load(j) to sums[p], for all j. A weight that a sum does not have is left out and not zero, which a NaN would survive.
template <int kSums, class Load>
__device__ void add_taps(const float* taps, std::int32_t count, float4 (&sums)[kSums], const Load& load) {
  const auto add = [&](int p, float w, const float4& v) {
    sums[p] = make_float4(fmaf(w, v.x, sums[p].x), fmaf(w, v.y, sums[p].y), fmaf(w, v.z, sums[p].z), fmaf(w, v.w, sums[p].w));
  };
  const auto add_some = [&](std::int32_t j) {
    const float4 v = load(j);
#pragma unroll
    for (int p = 0; p < kSums; ++p) {
      if (j >= p && j - p < count) add(p, taps[j - p], v);
    }
  };
  for (std::int32_t j = 0; j < kSums - 1; ++j) add_some(j);
#pragma unroll 8
  for (std::int32_t j = kSums - 1; j < count; ++j) {
    const float4 v = load(j);
#pragma unroll
    for (int p = 0; p < kSums; ++p) add(p, taps[j - p], v);
  }
  for (std::int32_t j = max(count, kSums - 1); j < count + kSums - 1; ++j) add_some(j);
}

/// Sums down columns of a tile and what its taps along rows reach go to shared memory, from where sums along rows are made.
__device__ void gauss_grid_tile_of(const GaussGrid& a) {
  extern __shared__ int4 memory[];
  const BlockPlace block = block_place(a);
  const std::int32_t left = block.across * kGridTileAcross, top = block.down * kGridTileDown;
  const std::int32_t pitch = grid_tile_row(a.taps_x);
  auto* const tile = reinterpret_cast<float4*>(memory);
  auto* const taps = reinterpret_cast<float*>(tile + kGridTileDown * pitch);
  for (int i = threadIdx.x; i < a.taps_x + a.taps_y; i += kGridTileThreads) taps[i] = reinterpret_cast<const float*>(a.taps)[i];
  __syncthreads();

  constexpr int kRows = 4;  // that a thread makes below one another
  const std::int32_t columns = kGridTileAcross + a.taps_x - 1;
  for (std::int32_t item = threadIdx.x; item < columns * (kGridTileDown / kRows); item += kGridTileThreads) {
    const std::int32_t y = item / columns * kRows, x = item % columns;
    const std::int32_t column = clamped(a.first_x + left + x, a.source.width), first = a.first_y + top + y;
    float4 sums[kRows] = {};
    add_taps<kRows>(taps + a.taps_x, a.taps_y, sums, [&](std::int32_t j) {
      return reinterpret_cast<const float4*>(row_of(a.source, block.image, clamped(first + j, a.source.height)))[column];
    });
#pragma unroll
    for (int p = 0; p < kRows; ++p) tile[(y + p) * pitch + grid_tile_place(x)] = sums[p];
  }
  __syncthreads();

  constexpr int kOfRow = kGridTileAcross / kGridTileSums;  // threads
  const std::int32_t y = threadIdx.x / kOfRow, x = threadIdx.x % kOfRow * kGridTileSums;
  const float4* const row = tile + y * pitch + grid_tile_place(x);
  float4 sums[kGridTileSums] = {};
  add_taps<kGridTileSums>(taps, a.taps_x, sums, [&](std::int32_t j) { return row[grid_tile_place(j)]; });
  if (top + y >= a.destination.height) return;
#pragma unroll
  for (int p = 0; p < kGridTileSums; ++p) {
    if (left + x + p < a.destination.width) {
      reinterpret_cast<float4*>(row_of(a.destination, block.image, top + y))[left + x + p] = sums[p];
    }
  }
}

}  // namespace

#define MOLLIFY_GAUSS_GRID(channels)                                                                                       \
  __global__ void __launch_bounds__(kGridThreads) gauss_grid_rows_##channels##_f32(const __grid_constant__ SepPass a) {    \
    take_turn();                                                                                                           \
    gauss_grid_rows<channels>(a);                                                                                          \
  }                                                                                                                        \
  __global__ void __launch_bounds__(kGridThreads) gauss_grid_columns_##channels##_f32(const __grid_constant__ SepPass a) { \
    take_turn();                                                                                                           \
    gauss_grid_columns<channels>(a);                                                                                       \
  }

extern "C" {
MOLLIFY_GAUSS_GRID(1)
MOLLIFY_GAUSS_GRID(2)
MOLLIFY_GAUSS_GRID(3)
__global__ void __launch_bounds__(kGridTileThreads) gauss_grid_tile(const __grid_constant__ GaussGrid a) {
  take_turn();
  gauss_grid_tile_of(a);
}
}

}  // namespace mollify::cuda
