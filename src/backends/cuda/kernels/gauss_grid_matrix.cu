// The blur of gauss.decimate's grid in one pass on tensor cores. A warp makes 16x16 coarse samples, of two channels at most: grids are
// small, and more warps wait for less. Products with the weights of y make 16 rows of columns, 16 columns after the other; as they lie,
// they are operands of the products with the weights of x. Coarse samples beyond the edge are like the nearest.
#include "backends/cuda/kernels/coarse_products.cuh"

namespace mollify::cuda {
namespace {

template <int kChannels>
__device__ void gauss_grid_matrix(const GaussGrid& a) {
  using LeftPair = Halves::LeftPair;
  using RightPair = Halves::RightPair;
  constexpr int kTiles = kProductColumns / 8;
  constexpr int kOfWarp = grid_channels_of_warp(kChannels);
  extern __shared__ int4 memory[];
  const std::int32_t blocks_x = grid_blocks(a.taps_x), blocks_y = grid_blocks(a.taps_y);
  const std::int32_t pairs_x = (blocks_x + 1) / 2, pairs_y = (blocks_y + 1) / 2;
  auto* const weights_y = reinterpret_cast<LeftPair*>(memory);                     // of each pair, of each lane
  auto* const weights_x = reinterpret_cast<RightPair*>(weights_y + pairs_y * 32);  // of each pair, each matrix of results, each lane
  const auto* const taps_x = reinterpret_cast<const float*>(a.taps);
  const float* const taps_y = taps_x + a.taps_x;
  const auto tap_x = [&](std::int32_t i) { return i >= 0 && i < a.taps_x ? __ldg(taps_x + i) : 0.0F; };
  const auto tap_y = [&](std::int32_t i) { return i >= 0 && i < a.taps_y ? __ldg(taps_y + i) : 0.0F; };
  for (int i = threadIdx.x; i < pairs_y * 32; i += kProductThreads) {
    const int of_lane = i % 32;
#pragma unroll
    for (int b = 0; b < 2; ++b) {
      const std::int32_t tap = (i / 32 * 2 + b) * kProductDepth + of_lane % 4 * 2 - of_lane / 4;
      const float v[4] = {tap_y(tap), tap_y(tap + 1), tap_y(tap - 8), tap_y(tap - 7)};
      Halves::put(weights_y[i], b, v);
    }
  }
  for (int i = threadIdx.x; i < pairs_x * kTiles * 32; i += kProductThreads) {
    const int of_lane = i % 32, tile = i / 32 % kTiles, pair = i / 32 / kTiles;
#pragma unroll
    for (int b = 0; b < 2; ++b) {
      const std::int32_t tap = (pair * 2 + b) * kProductDepth + of_lane % 4 * 2 - (tile * 8 + of_lane / 4);
      Halves::put(weights_x[i], b, tap_x(tap), tap_x(tap + 1));
    }
  }
  const BlockPlace block = block_place(a);
  const std::int32_t top = block.down * kProductRows - a.skip_y;
  // Samples without a weight are not read, as they may be infinite.
  auto* const rows = reinterpret_cast<int*>(weights_x + pairs_x * kTiles * 32);
  for (int i = threadIdx.x; i < pairs_y * 2 * kProductDepth; i += kProductThreads) {
    rows[i] = clamped(top + a.first_y + min(i, kProductRows + a.taps_y - 2), a.source.height);
  }
  __syncthreads();

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, q = lane % 4, g = lane / 4;
  constexpr int kWarpsOfTile = kChannels / kOfWarp;
  const int first_channel = warp % kWarpsOfTile * kOfWarp;
  const std::int32_t left = (block.across * grid_tiles_of_block(kChannels) + warp / kWarpsOfTile) * kProductColumns - a.skip_x;
  if (left >= a.destination.width) return;
  const char* const image = row_of(a.source, block.image, 0) + first_channel * 4;
  Sample<kOfWarp> samples[2][2];  // of two blocks of rows; two rows
  const auto of_columns = [&](std::int32_t column_block) {
    const std::int32_t column = left + a.first_x + min(column_block * kProductDepth + g, kProductColumns + a.taps_x - 2);
    return image + static_cast<std::int64_t>(clamped(column, a.source.width)) * (4 * kChannels);
  };
  const char* from = of_columns(0);
  const auto fetch = [&](std::int32_t row_pair) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int2 two = *reinterpret_cast<const int2*>(rows + (2 * row_pair + r) * kProductDepth + 2 * q);
      samples[r][0] = Sample<kOfWarp>::load(from + two.x * a.source.row_bytes);
      samples[r][1] = Sample<kOfWarp>::load(from + two.y * a.source.row_bytes);
    }
  };

  Sums results[kTiles][kOfWarp] = {};
  fetch(0);
  for (std::int32_t pair = 0; pair < pairs_x; ++pair) {
    LeftPair between[kOfWarp] = {};
#pragma unroll
    for (int b = 0; b < 2; ++b) {
      if (2 * pair + b >= blocks_x) break;
      Sums sums[kOfWarp] = {};
      for (std::int32_t row_pair = 0; row_pair < pairs_y; ++row_pair) {
        const bool is_last = row_pair + 1 == pairs_y;
        RightPair right[kOfWarp];
#pragma unroll
        for (int c = 0; c < kOfWarp; ++c) {
#pragma unroll
          for (int r = 0; r < 2; ++r) Halves::put(right[c], r, samples[r][0].at[c], samples[r][1].at[c]);
        }
        if (is_last) from = of_columns(2 * pair + b + 1);
        fetch(is_last ? 0 : row_pair + 1);
        const LeftPair& weights = weights_y[row_pair * 32 + lane];
#pragma unroll
        for (int c = 0; c < kOfWarp; ++c) Halves::multiply<2>(sums[c], weights, right[c], sums[c]);
      }
#pragma unroll
      for (int c = 0; c < kOfWarp; ++c) Halves::put(between[c], b, sums[c].at);
    }
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      const RightPair& weights = weights_x[(pair * kTiles + tile) * 32 + lane];
#pragma unroll
      for (int c = 0; c < kOfWarp; ++c) Halves::multiply<2>(results[tile][c], between[c], weights, results[tile][c]);
    }
  }

#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const std::int32_t y = top + g + 8 * r;
    if (y < 0 || y >= a.destination.height) continue;
    auto* const row = reinterpret_cast<float*>(row_of(a.destination, block.image, y)) + first_channel;
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const std::int32_t x = left + tile * 8 + 2 * q + i;
        if (x < 0 || x >= a.destination.width) continue;
        float* const out = row + std::int64_t{x} * kChannels;
        if constexpr (kOfWarp == 2) {
          *reinterpret_cast<float2*>(out) = make_float2(results[tile][0].at[2 * r + i], results[tile][1].at[2 * r + i]);
        } else {
          *out = results[tile][0].at[2 * r + i];
        }
      }
    }
  }
}

}  // namespace

#define MOLLIFY_GAUSS_GRID_MATRIX(channels)                                                                                    \
  __global__ void __launch_bounds__(kProductThreads) gauss_grid_matrix_##channels##_f32(const __grid_constant__ GaussGrid a) { \
    take_turn();                                                                                                               \
    gauss_grid_matrix<channels>(a);                                                                                            \
  }

extern "C" {
MOLLIFY_GAUSS_GRID_MATRIX(1)
}

}  // namespace mollify::cuda
