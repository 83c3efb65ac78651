// The first step of gauss.decimate on tensor cores: an image becomes a grid of coarse samples. A warp takes 16 source rows; products of
// these with the splines of x make rows of coarse samples, which stay in registers. Turned over, they are operands of products with the
// splines of y. The sums of all warps of a block are added up in the end. Weights, and what lies between the axes, are sums of two numbers
// each, so that as much is kept as f32 keeps. Bytes are the halves whose bits they are, 2^-24 of their value.
#include "backends/cuda/kernels/coarse_products.cuh"
#include "backends/cuda/kernels/gauss_matrix_shape.h"
#include "backends/cuda/kernels/matrix_pixels.cuh"

namespace mollify::cuda {
namespace {

/// Rows of a group that a lane reads: one of its upper eight, and one of its lower.
constexpr int kRowsOfLane = 2;

/// Which of a product's 16 pixels of a row the i-th of a lane is: by 16 bytes, four lanes load what lies side by side.
template <int kBytes>
__device__ constexpr int pixel_of_lane(int q, int i) {
  constexpr int kTogether = kBytes == 8 ? 2 : 4;
  return i / kTogether * (4 * kTogether) + kTogether * q + i % kTogether;
}

/// How pixels of a type are multiplied: along x by `Across`, down by `Down`. Weights are multiplied by gains, so that neither half of one
/// is too small, and sums between the axes are halves.
template <Component kComponent>
struct Ways;
template <>
struct Ways<Component::u8> {
  using Across = Halves;
  using Down = Halves;
  static constexpr float kGainX = 32768.0F, kGainY = 1024.0F, kUnit = 1.0F / 16777216.0F;
};
template <>
struct Ways<Component::f16> {
  using Across = Halves;
  using Down = Tf32;
  static constexpr float kGainX = 4096.0F, kGainY = 1.0F, kUnit = 1.0F;
};
template <>
struct Ways<Component::f32> {
  using Across = Tf32;
  using Down = Tf32;
  static constexpr float kGainX = 1.0F, kGainY = 1.0F, kUnit = 1.0F;
};

/// The lane's four of a product's 16 pixels of a row. get_left() makes what products take on the left of two rows.
template <Component kComponent, int kChannels>
struct FourOfRow : FourPixels<kComponent, kChannels> {
  using Base = FourPixels<kComponent, kChannels>;
  struct Left {
    unsigned at[4];
  };

  /// From the first of a product's pixels on that the lane reads, with more than 8 bytes in between where 16 bytes are two pixels.
  __device__ void load_apart(const char* from) {
    if constexpr (sizeof(typename Base::Pixel) == 8) {
      Base::load(from, 64);
    } else {
      Base::load(from);
    }
  }
  static __device__ void get_left(Left (&left)[kChannels], const FourOfRow& upper, const FourOfRow& lower) {
    unsigned operands[2][kChannels][2];
    upper.get_operands(operands[0]);
    lower.get_operands(operands[1]);
#pragma unroll
    for (int c = 0; c < kChannels; ++c) {
#pragma unroll
      for (int i = 0; i < 4; ++i) left[c].at[i] = operands[i % 2][c][i / 2];
    }
  }
  static __device__ void multiply(Sums& sums, const Left& left, const Halves::RightPair& weights) {
    multiply_add(sums, left.at, weights.upper[0], weights.upper[1], sums);
    multiply_add(sums, left.at, weights.lower[0], weights.lower[1], sums);
  }
};
template <>
struct FourOfRow<Component::f32, 1> {
  using Pixel = float;
  using Left = Tf32::LeftPair;
  float4 at;

  __device__ void load_apart(const char* from) { at = __ldg(reinterpret_cast<const float4*>(from)); }
  __device__ void set(int i, Pixel pixel) { (&at.x)[i] = pixel; }

  static __device__ void get_left(Left (&left)[1], const FourOfRow& upper, const FourOfRow& lower) {
    const float first[4] = {upper.at.x, upper.at.y, lower.at.x, lower.at.y}, second[4] = {upper.at.z, upper.at.w, lower.at.z, lower.at.w};
    Tf32::put(left[0], 0, first);
    Tf32::put(left[0], 1, second);
  }
  static __device__ void multiply(Sums& sums, const Left& left, const Tf32::RightPair& weights) {
    Tf32::multiply<2>(sums, left, weights, sums);
  }
};

/// Turns over what lies between the axes: rows become columns. `sums` are of the left and the right coarse samples of the group's rows.
__device__ inline void turn(Halves::LeftPair& turned, const Sums (&sums)[2]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      const float low = sums[side].at[2 * half], high = sums[side].at[2 * half + 1];
      turned.upper[2 * half + side] = transposed(two_halves(upper_half(low), upper_half(high)));
      turned.lower[2 * half + side] = transposed(two_halves(low - upper_half(low), high - upper_half(high)));
    }
  }
}
__device__ inline void turn(Tf32::LeftPair& turned, const Sums (&sums)[2]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float v[4];
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      const unsigned low = __float_as_uint(sums[side].at[2 * half]), high = __float_as_uint(sums[side].at[2 * half + 1]);
      const unsigned lower = transposed(__byte_perm(low, high, 0x5410)), upper = transposed(__byte_perm(low, high, 0x7632));
      v[2 * side] = __uint_as_float(__byte_perm(lower, upper, 0x5410));
      v[2 * side + 1] = __uint_as_float(__byte_perm(lower, upper, 0x7632));
    }
    Tf32::put(turned, half, v);
  }
}

template <Component kComponent, int kChannels, int kTiles>
struct Decimation {
  using Pixels = FourOfRow<kComponent, kChannels>;
  using Pixel = typename Pixels::Pixel;
  using Way = Ways<kComponent>;
  using WeightsX = typename Way::Across::RightPair;
  static constexpr int kBytes = sizeof(Pixel);
  static constexpr int kAtOnce = products_at_once(kBytes);

  const GaussMatrix& a;
  const GaussMatrixShape& shape;
  const WeightsX* weights_left;   // of the lane, of each product, of the left coarse samples
  const WeightsX* weights_right;  // of the right ones
  const float* weights_y;         // of the lane's rows of the first group
  const int* columns;             // the pixel that stands in for each that is read, or -1
  const char* image;
  const char* outside;               // a pixel beyond a constant border
  std::int32_t first;                // the source column that is read first
  std::int32_t first_row, last_row;  // of the source, the lane's first, and the last with a weight
  bool is_aligned;                   // whether four pixels may be loaded together, where they are inside
  int q;                             // of the lane
  const char* row[kRowsOfLane];  // if all columns are inside, from the lane's first pixel of the next product on; null: a constant border
  Pixels pixels[kAtOnce][kRowsOfLane];
  Sums sums[kTiles][kChannels] = {};

  /// The next product's pixels are the `ahead`-th from where rows are, the n-th of all.
  template <bool kInside>
  __device__ void load(Pixels& into, const char* from, int ahead, int n) const {
    const std::int32_t at = first + n * kMatrixSide;
    if (kInside) {
      into.load_apart(from + ahead * (kMatrixSide * kBytes));
    } else if (is_aligned && from != nullptr && at >= 0 && at + kMatrixSide <= a.source.width) {
      into.load_apart(from + std::int64_t{at + pixel_of_lane<kBytes>(q, 0)} * kBytes);
    } else {
#pragma unroll
      for (int i = 0; i < kMatrixAligned; ++i) {
        const int column = columns[n * kMatrixSide + pixel_of_lane<kBytes>(q, i)];
        const char* const pixel = from == nullptr || column < 0 ? outside : from + std::int64_t{column} * kBytes;
        into.set(i, a.source.is_aligned || kChannels == 1 ? *reinterpret_cast<const Pixel*>(pixel) : by_component(pixel));
      }
    }
  }
  static __device__ Pixel by_component(const char* pixel) {
    if constexpr (kChannels == 1) {
      return *reinterpret_cast<const Pixel*>(pixel);
    } else {
      return Pixels::load_by_component(pixel);
    }
  }
  /// Rows without a weight are not read, as they may be infinite.
  template <bool kInside>
  __device__ void find_rows(int group) {
#pragma unroll
    for (int r = 0; r < kRowsOfLane; ++r) {
      const std::int32_t at = min(first_row + group * kGroupRows + r * (kGroupRows / 2), last_row);
      const std::int32_t place = mapped(a.outside.mode_y, at, a.source.height);
      row[r] = place < 0 ? nullptr : image + place * a.source.row_bytes;
      if (kInside) row[r] += std::int64_t{first + pixel_of_lane<kBytes>(q, 0)} * kBytes;
    }
  }

  /// Adds what a product's pixels are worth to sums along x.
  static __device__ void multiply(Sums (&across)[kChannels], const typename Pixels::Left (&left)[kChannels], const WeightsX& weights) {
#pragma unroll
    for (int c = 0; c < kChannels; ++c) Pixels::multiply(across[c], left[c], weights);
  }

  /// Adds what a group of source rows is worth to all sums. Its first pixels are loaded, and those of `next` are left so.
  template <bool kInside>
  __device__ void add(int group, int next) {
    Sums left_sums[kChannels] = {}, right_sums[kChannels] = {};
    const WeightsX *of_left = weights_left, *of_right = weights_right;
    for (int n = 0; n < shape.products; n += kAtOnce) {
      const int coming = n + kAtOnce < shape.products ? n + kAtOnce : 0;
      if (coming == 0) find_rows<kInside>(next);
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        typename Pixels::Left left[kChannels];
        Pixels::get_left(left, pixels[u][0], pixels[u][1]);
#pragma unroll
        for (int r = 0; r < kRowsOfLane; ++r) load<kInside>(pixels[u][r], row[r], u, coming + u);
        if (n + u < shape.end_of_left) multiply(left_sums, left, of_left[u * 32]);
        if (n + u >= shape.begin_of_right) multiply(right_sums, left, of_right[u * 32]);
      }
      of_left += kAtOnce * 32;
      of_right += kAtOnce * 32;
      if (kInside) {
#pragma unroll
        for (int r = 0; r < kRowsOfLane; ++r) row[r] += kAtOnce * kMatrixSide * kBytes;
      }
    }
    typename Way::Down::LeftPair between[kChannels];
#pragma unroll
    for (int c = 0; c < kChannels; ++c) {
      const Sums of_channel[2] = {left_sums[c], right_sums[c]};
      turn(between[c], of_channel);
    }
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      typename Way::Down::RightPair weights;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float* const at = weights_y + group * kGroupRows + half * (kGroupRows / 2) - t * kCoarseRows * a.factor_y;
        Way::Down::put(weights, half, at[0], at[1]);
      }
#pragma unroll
      for (int c = 0; c < kChannels; ++c) Way::Down::template multiply<2>(sums[t][c], between[c], weights, sums[t][c]);
    }
  }

  template <bool kInside>
  __device__ void add_all(int warp) {
    find_rows<kInside>(warp);
#pragma unroll
    for (int r = 0; r < kRowsOfLane; ++r) {
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) load<kInside>(pixels[u][r], row[r], u, u);
      if (kInside) row[r] += kAtOnce * kMatrixSide * kBytes;
    }
    for (int i = 0; i < shape.groups_of_warp; ++i) {
      add<kInside>(i * shape.warps + warp, min(i + 1, shape.groups_of_warp - 1) * shape.warps + warp);
    }
  }
};

/// The tile of a block. Those at the sides take longest, so they come first.
__device__ inline BlockPlace sides_first(const Shared& a) {
  const std::uint32_t column = blockIdx.x / a.blocks_down, image = column / a.blocks_across;
  const auto nth = static_cast<std::int32_t>(column - image * a.blocks_across);
  return {nth == 0   ? 0
          : nth == 1 ? a.blocks_across - 1
                     : nth - 1,
          static_cast<std::int32_t>(blockIdx.x - column * a.blocks_down), static_cast<std::int32_t>(image)};
}

template <Component kComponent, int kChannels, int kTiles>
__device__ void gauss_matrix(const GaussMatrix& a) {
  using Work = Decimation<kComponent, kChannels, kTiles>;
  using Way = Ways<kComponent>;
  using WeightsX = typename Work::WeightsX;
  let_next_begin();
  extern __shared__ int4 memory[];
  const GaussMatrixShape shape(a.factor_x, a.support_x, a.centre_x, a.factor_y, a.support_y);
  const int threads = static_cast<int>(blockDim.x);
  auto* const weights_x = reinterpret_cast<WeightsX*>(memory);
  auto* const of_warps = reinterpret_cast<Sample<kChannels>*>(weights_x + shape.matrices() * 32);
  auto* const columns = reinterpret_cast<int*>(of_warps + shape.warps * kTiles * 4 * 32);
  auto* const weights_y = reinterpret_cast<float*>(columns + shape.columns());  // with zeros before and behind
  const BlockPlace block = sides_first(a);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, q = lane % 4, g = lane / 4;
  const std::int32_t left = block.across * kCoarseAcross - a.skip_x;  // of the coarse samples
  const std::int32_t top = block.down * kTiles * kCoarseRows - a.skip_y;
  const std::int32_t first_column = a.first_x + left * a.factor_x - shape.lead, first_row = a.first_y + top * a.factor_y;
  for (int i = threadIdx.x; i < shape.columns(); i += threads) columns[i] = mapped(a.outside.mode_x, first_column + i, a.source.width);
  const auto* const spline_x = reinterpret_cast<const float*>(a.splines);
  for (int i = threadIdx.x; i < shape.matrices() * 32; i += threads) {
    const int of_lane = i % 32, matrix = i / 32;
    const bool is_left = matrix < shape.end_of_left;
    const int product = is_left ? matrix : matrix - shape.end_of_left + shape.begin_of_right;
    const int sample = of_lane / 4 + (is_left ? 0 : kCoarseSide);
    float v[4];
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      const std::int32_t tap = product * kMatrixSide + pixel_of_lane<Work::kBytes>(of_lane % 4, p) - sample * a.factor_x - shape.lead;
      v[p] = tap >= 0 && tap < a.factor_x * a.support_x ? Way::kGainX * __ldg(spline_x + tap) : 0.0F;
    }
    Way::Across::put(weights_x[i], 0, v[0], v[1]);
    Way::Across::put(weights_x[i], 1, v[2], v[3]);
  }
  const std::int32_t before = shape.rows_before(a.factor_y);
  for (int i = threadIdx.x; i < before + shape.rows(); i += threads) {
    const std::int32_t tap = i - before;
    weights_y[i] = tap >= 0 && tap < a.factor_y * a.support_y ? Way::kGainY * __ldg(spline_x + a.factor_x * a.support_x + tap) : 0.0F;
  }
  await_previous();
  __syncthreads();

  Work work{.a = a, .shape = shape};
  work.weights_left = weights_x + lane;
  work.weights_right = weights_x + lane + (shape.end_of_left - shape.begin_of_right) * 32;
  work.weights_y = weights_y + before + 2 * q - g * a.factor_y;
  work.columns = columns;
  work.image = row_of(a.source, block.image, 0);
  work.outside = reinterpret_cast<const char*>(a.outside_pixel);
  work.first = first_column;
  work.first_row = first_row + g;
  work.last_row = first_row + (kTiles * kCoarseRows - 1 + a.support_y) * a.factor_y - 1;
  work.is_aligned = first_column % kMatrixAligned == 0 && are_multiples(a.source, Work::kBytes >= 4 ? 16 : 4 * Work::kBytes);
  work.q = q;
  const bool has_columns = work.is_aligned && first_column >= 0 && first_column + shape.columns() <= a.source.width;
  const bool has_rows = a.outside.mode_y != kConstant || (first_row >= 0 && work.last_row < a.source.height);
  if (has_columns && has_rows) {
    work.template add_all<true>(warp);
  } else {
    work.template add_all<false>(warp);
  }

  // The sums of all warps: of each lane, four numbers of each tile, and of each of these all channels.
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      Sample<kChannels> item;
#pragma unroll
      for (int c = 0; c < kChannels; ++c) item.at[c] = work.sums[t][c].at[i];
      of_warps[((warp * kTiles + t) * 4 + i) * 32 + lane] = item;
    }
  }
  __syncthreads();
  constexpr int kItems = kTiles * 4 * 32;
  for (int i = threadIdx.x; i < kItems; i += threads) {
    const int of_lane = i % 32, number = i / 32 % 4, t = i / 128;
    const std::int32_t x = left + of_lane / 4 + number / 2 * kCoarseSide, y = top + t * kCoarseRows + of_lane % 4 * 2 + number % 2;
    if (x < 0 || x >= a.destination.width || y < 0 || y >= a.destination.height) continue;
    Sample<kChannels> sum = {};
    for (int w = 0; w < shape.warps; ++w) {
      const Sample<kChannels> item = of_warps[w * kItems + i];
#pragma unroll
      for (int c = 0; c < kChannels; ++c) sum.at[c] += item.at[c];
    }
#pragma unroll
    for (int c = 0; c < kChannels; ++c) sum.at[c] *= 1.0F / (Way::kGainX * Way::kGainY * Way::kUnit);
    reinterpret_cast<Sample<kChannels>*>(row_of(a.destination, block.image, y))[x] = sum;
  }
}

}  // namespace

#define MOLLIFY_GAUSS_MATRIX(name, component, channels, tiles)                                                                      \
  __global__ void __launch_bounds__(32 * kMostGroupWarps, 2) gauss_matrix_##name##_##tiles(const __grid_constant__ GaussMatrix a) { \
    gauss_matrix<component, channels, tiles>(a);                                                                                    \
  }
#define MOLLIFY_GAUSS_MATRIX_TILES(add, name, component, channels) add(name, component, channels, 1) add(name, component, channels, 2)
#define MOLLIFY_OF_GAUSS_MATRIX(add)                        \
  MOLLIFY_GAUSS_MATRIX_TILES(add, 1_u8, Component::u8, 1)   \
  MOLLIFY_GAUSS_MATRIX_TILES(add, 1_f16, Component::f16, 1) \
  MOLLIFY_GAUSS_MATRIX_TILES(add, 1_f32, Component::f32, 1)

extern "C" {
MOLLIFY_OF_GAUSS_MATRIX(MOLLIFY_GAUSS_MATRIX)
}

}  // namespace mollify::cuda
