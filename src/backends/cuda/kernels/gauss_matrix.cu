// The first step of gauss.decimate for bytes, on tensor cores: an image becomes a grid of coarse samples. A warp takes 16 source rows;
// products with the splines of x make a column of 16 coarse samples of each, which stay in registers: as they lie, they are operands of
// products with the splines of y. The sums of all warps of a block are added up in the end. Weights, and what lies between the axes, are
// sums of two halves each, so that as much is kept as f32 keeps. Bytes are the halves whose bits they are, 2^-24 of their value.
#include "backends/cuda/kernels/gauss_matrix_shape.h"
#include "backends/cuda/kernels/matrix_pixels.cuh"

namespace mollify::cuda {
namespace {

/// Rows of a group that a lane reads: one of its upper eight, and one of its lower.
constexpr int kRowsOfLane = 2;
constexpr int kAtOnce = 2;  ///< products whose pixels are loaded together

template <int kChannels, int kTiles>
struct Decimation {
  using Four = FourPixels<Component::u8, kChannels>;
  using Pixel = typename Four::Pixel;
  static constexpr int kBytes = sizeof(Pixel);

  const GaussMatrix& a;
  const GaussMatrixShape& shape;
  const uint4* matrices;  // of x, from the lane's on
  const int* columns;     // the pixel that stands in for each that is read, or -1; from the lane's first on
  const int* row_places;  // the same of rows, from the lane's first on
  const char* image;
  const char* outside;  // a pixel beyond a constant border
  std::int32_t first;   // the source column of the lane's first pixel
  bool is_aligned;      // whether four pixels may be loaded together, where they are inside
  int lane;
  Sums sums[kTiles][kChannels] = {};

  template <bool kInside>
  __device__ void load(Four& four, const char* row, int n) const {
    const std::int32_t at = first + n * kMatrixSide;
    if (kInside || (is_aligned && row != nullptr && at >= 0 && at + kMatrixAligned <= a.source.width)) {
      four.load(row + std::int64_t{at} * kBytes);
    } else {
#pragma unroll
      for (int i = 0; i < kMatrixAligned; ++i) {
        const int column = columns[n * kMatrixSide + i];
        const char* const pixel = row == nullptr || column < 0 ? outside : row + std::int64_t{column} * kBytes;
        four.set(i, a.source.is_aligned || kChannels == 1 ? *reinterpret_cast<const Pixel*>(pixel) : by_component(pixel));
      }
    }
  }
  static __device__ Pixel by_component(const char* pixel) {
    if constexpr (kChannels == 1) {
      return *reinterpret_cast<const Pixel*>(pixel);
    } else {
      return Four::load_by_component(pixel);
    }
  }

  /// Adds what a group of source rows is worth to all sums.
  template <bool kInside>
  __device__ void add(int group) {
    const char* row[kRowsOfLane];
    Four pixels[kAtOnce][kRowsOfLane];
    Sums across[kRowsOfLane][kChannels] = {};
#pragma unroll
    for (int r = 0; r < kRowsOfLane; ++r) {
      const std::int32_t place = row_places[group * kGroupRows + r * (kGroupRows / 2)];
      row[r] = !kInside && place < 0 ? nullptr : image + place * a.source.row_bytes;
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) load<kInside>(pixels[u][r], row[r], u);
    }
    for (int n = 0; n < shape.products; n += kAtOnce) {
      const bool has_next = n + kAtOnce < shape.products;
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        const uint4 upper = matrices[(n + u) * 32], lower = matrices[(shape.products + n + u) * 32];
        const unsigned weights[2][4] = {{upper.x, upper.y, upper.z, upper.w}, {lower.x, lower.y, lower.z, lower.w}};
#pragma unroll
        for (int r = 0; r < kRowsOfLane; ++r) {
          unsigned operands[kChannels][2];
          pixels[u][r].get_operands(operands);
          if (has_next) load<kInside>(pixels[u][r], row[r], n + kAtOnce + u);
#pragma unroll
          for (int h = 0; h < 2; ++h) {
#pragma unroll
            for (int c = 0; c < kChannels; ++c) multiply_add(across[r][c], weights[h], operands[c][0], operands[c][1], across[r][c]);
          }
        }
      }
    }

    // As operands: the halves next to the numbers, and those next to what these lack.
    unsigned between[kChannels][2][4];
#pragma unroll
    for (int c = 0; c < kChannels; ++c) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        constexpr float kToBytes = 16777216.0F / kSplineGainX;
        const float low = across[i / 2][c].at[i % 2 * 2] * kToBytes, high = across[i / 2][c].at[i % 2 * 2 + 1] * kToBytes;
        between[c][0][i] = two_halves(upper_half(low), upper_half(high));
        between[c][1][i] = two_halves(low - upper_half(low), high - upper_half(high));
      }
    }
    const auto* const splines = reinterpret_cast<const uint2*>(a.splines_y) + lane;
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      const uint2 upper = __ldg(splines + (t * shape.groups() + group) * 32);
      const uint2 lower = __ldg(splines + ((kTiles + t) * shape.groups() + group) * 32);
#pragma unroll
      for (int c = 0; c < kChannels; ++c) {
        multiply_add(sums[t][c], between[c][0], upper.x, upper.y, sums[t][c]);
        multiply_add(sums[t][c], between[c][1], upper.x, upper.y, sums[t][c]);
        multiply_add(sums[t][c], between[c][0], lower.x, lower.y, sums[t][c]);
      }
    }
  }

  template <bool kInside>
  __device__ void add_all(int warp) {
    for (int i = 0; i < shape.groups_of_warp; ++i) {
      add<kInside>(i * shape.warps + warp);
    }
  }
};

template <int kChannels, int kTiles>
__device__ void gauss_matrix(const GaussMatrix& a) {
  using Work = Decimation<kChannels, kTiles>;
  extern __shared__ int4 memory[];
  const GaussMatrixShape shape(a.factor_x, a.support_x, a.centre_x, a.factor_y, a.support_y);
  const int threads = static_cast<int>(blockDim.x);
  auto* const matrices = reinterpret_cast<uint4*>(memory);
  auto* const columns = reinterpret_cast<int*>(reinterpret_cast<char*>(memory) + shape.matrix_bytes(kChannels));
  int* const row_places = columns + shape.columns();
  const BlockPlace block = block_place(a);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, q = lane % 4, g = lane / 4;
  const std::int32_t left = block.across * kCoarseAcross - a.skip_x;  // of the coarse samples
  const std::int32_t top = block.down * kTiles * kCoarseRows - a.skip_y;
  const std::int32_t first_column = a.first_x + left * a.factor_x - shape.lead, first_row = a.first_y + top * a.factor_y;
  for (int i = threadIdx.x; i < 2 * shape.products * 32; i += threads) matrices[i] = __ldg(reinterpret_cast<const uint4*>(a.splines_x) + i);
  for (int i = threadIdx.x; i < shape.columns(); i += threads) columns[i] = mapped(a.outside.mode_x, first_column + i, a.source.width);
  for (int i = threadIdx.x; i < shape.rows(); i += threads) row_places[i] = mapped(a.outside.mode_y, first_row + i, a.source.height);
  __syncthreads();

  const auto are_multiples = [](const Pixels& images, unsigned bytes) {
    return ((images.data | static_cast<std::uint64_t>(images.row_bytes) | static_cast<std::uint64_t>(images.image_bytes)) % bytes) == 0;
  };
  Work work{.a = a, .shape = shape};
  work.matrices = matrices + lane;
  work.columns = columns + 4 * q;
  work.row_places = row_places + g;
  work.image = row_of(a.source, block.image, 0);
  work.outside = reinterpret_cast<const char*>(a.outside_pixel);
  work.first = first_column + 4 * q;
  work.lane = lane;
  work.is_aligned = first_column % kMatrixAligned == 0 && are_multiples(a.source, kMatrixAligned * Work::kBytes);
  const bool is_inside = work.is_aligned && first_column >= 0 && first_column + shape.columns() <= a.source.width;
  const bool has_rows = a.outside.mode_y != kConstant || (first_row >= 0 && first_row + shape.rows() <= a.source.height);
  if (is_inside && has_rows) {
    work.template add_all<true>(warp);
  } else {
    work.template add_all<false>(warp);
  }

  // A warp's sums after another's: of each lane, four numbers of each tile, and of each of these all channels.
  __syncthreads();
  auto* const of_warps = reinterpret_cast<float*>(memory);
  constexpr int kItems = kTiles * 4 * 32;
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int c = 0; c < kChannels; ++c)
        of_warps[((warp * kTiles + t) * 4 + i) * 32 * kChannels + lane * kChannels + c] = work.sums[t][c].at[i];
    }
  }
  __syncthreads();
  for (int item = threadIdx.x; item < kItems; item += threads) {
    const int of_lane = item % 32, i = item / 32 % 4, t = item / 128;
    const std::int32_t x = left + of_lane / 4 * 2 + i / 2, y = top + t * kCoarseRows + of_lane % 4 * 2 + i % 2;
    if (x < 0 || x >= a.destination.width || y < 0 || y >= a.destination.height) continue;
    auto* const out = reinterpret_cast<float*>(row_of(a.destination, block.image, y)) + std::int64_t{x} * kChannels;
#pragma unroll
    for (int c = 0; c < kChannels; ++c) {
      float sum = 0.0F;
      for (int w = 0; w < shape.warps; ++w) sum += of_warps[(w * kItems + item) * kChannels + c];
      out[c] = sum * (1.0F / kSplineGainY);
    }
  }
}

}  // namespace

#define MOLLIFY_GAUSS_MATRIX(channels, tiles)                                                                                              \
  __global__ void __launch_bounds__(32 * kMostGroupWarps, 2) gauss_matrix_##channels##_u8_##tiles(const __grid_constant__ GaussMatrix a) { \
    gauss_matrix<channels, tiles>(a);                                                                                                      \
  }
#define MOLLIFY_OF_GAUSS_MATRIX(add) add(1, 1) add(1, 2) add(4, 1) add(4, 2)

extern "C" {
MOLLIFY_OF_GAUSS_MATRIX(MOLLIFY_GAUSS_MATRIX)
}

}  // namespace mollify::cuda
