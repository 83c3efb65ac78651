// The last step of gauss.decimate on tensor cores: pixels are made of blurred coarse samples. A block of threads has a segment of columns
// that is made of 16 columns of coarse samples; each of its warps makes bands of 16 rows. Products with the weights of y make the band's
// rows of these 16 columns. They stay in registers: as they lie, they are operands of the products with the weights of x.
#include "backends/cuda/kernels/coarse_products.cuh"

namespace mollify::cuda {
namespace {

/// Where a pixel lies among coarse samples: that which began last, and how far behind its beginning.
struct Place {
  std::int32_t sample;
  std::int32_t phase;

  static __device__ Place of(std::int32_t pixel, std::int32_t factor) {
    const std::int32_t sample = floor_of(pixel, factor);
    return {sample, pixel - sample * factor};
  }
  /// The place of the pixel as far behind this one as `distance` is from the first.
  [[nodiscard]] __device__ Place after(const Place& distance, std::int32_t factor) const {
    const std::int32_t sum = phase + distance.phase;
    return sum < factor ? Place{sample + distance.sample, sum} : Place{sample + distance.sample + 1, sum - factor};
  }
};

/// The weights of an axis.
struct Spline {
  const float* weights;
  std::int32_t factor;
  std::int32_t support;

  /// Of samples `sample` and the next one in a pixel.
  __device__ void weigh(const Place& pixel, std::int32_t sample, float& first, float& second) const {
    const std::int32_t before = pixel.sample - sample;  // the pixel's newest
    const float* const of_first = weights + pixel.phase + factor * before;
    first = before >= 0 && before < support ? __ldg(of_first) : 0.0F;
    second = before >= 1 && before <= support ? __ldg(of_first - factor) : 0.0F;
  }
};

template <class Numbers, Component kComponent, int kChannels, int kRowBlocks>
__device__ void gauss_upsample_matrix(const GaussUpsampleMatrix& a) {
  using Pixels = LanePixels<kComponent, kChannels>;
  using LeftPair = typename Numbers::LeftPair;
  using RightPair = typename Numbers::RightPair;
  constexpr std::int32_t kWarps = kProductThreads / 32;
  let_next_begin();
  extern __shared__ int4 memory[];
  auto* const weights_x = reinterpret_cast<RightPair*>(memory);  // of each matrix, of each lane
  const BlockPlace block = block_place(a);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, q = lane % 4, g = lane / 4;
  const std::int32_t left = block.across * a.segment - a.skip_x;
  const Spline across{reinterpret_cast<const float*>(a.splines), a.factor_x, a.support_x};
  const Spline down{across.weights + a.factor_x * a.support_x, a.factor_y, a.support_y};
  const std::int32_t first_sample = floor_of(left + a.first_x, a.factor_x) - (a.support_x - 1);
  for (int i = threadIdx.x; i < a.segment / 8 * 32; i += kProductThreads) {
    const int of_lane = i % 32, tile = i / 32;
    const int pixel =
        tile / Pixels::kTiles * Pixels::kPixels + pixel_of_group(Pixels::kBytes, tile % Pixels::kTiles, of_lane / 8, of_lane / 4 % 2);
    const Place place = Place::of(left + a.first_x + pixel, a.factor_x);
#pragma unroll
    for (int b = 0; b < 2; ++b) {
      float first, second;
      across.weigh(place, first_sample + b * kProductDepth + of_lane % 4 * 2, first, second);
      Numbers::put(weights_x[i], b, first, second);
    }
  }
  await_previous();
  __syncthreads();

  // Samples beyond those that the segment needs have no weight, but must not be read, as they may be infinite.
  const std::int32_t last_sample = floor_of(left + a.first_x + a.segment - 1, a.factor_x);
  std::int64_t columns[2];
#pragma unroll
  for (int b = 0; b < 2; ++b) {
    const std::int32_t column = min(first_sample + b * kProductDepth + g, last_sample);
    columns[b] = static_cast<std::int64_t>(clamped(column, a.source.width)) * (4 * kChannels);
  }
  const std::int32_t end = min((block.down + 1) * a.bands, a.all_bands);
  std::int32_t band = block.down * a.bands + warp;
  if (band >= end) return;
  // Division takes as long as a product.
  const Place step = Place::of(kWarps * kProductRows, a.factor_y), to_last = Place::of(kProductRows - 1, a.factor_y);
  const Place to_row[2] = {Place::of(g, a.factor_y), Place::of(g + 8, a.factor_y)};
  Place top = Place::of(band * kProductRows - a.skip_y + a.first_y, a.factor_y);

  const char* const image = row_of(a.source, block.image, 0);
  Sample<kChannels> samples[kRowBlocks][2][2];  // of blocks of rows and of columns; two rows
  float taps[kRowBlocks][4];
  const auto fetch = [&] {
    const std::int32_t first = top.sample - (a.support_y - 1);
    const std::int32_t last = min(top.after(to_last, a.factor_y).sample, a.source.height - 1);
    const Place row_places[2] = {top.after(to_row[0], a.factor_y), top.after(to_row[1], a.factor_y)};
#pragma unroll
    for (int r = 0; r < kRowBlocks; ++r) {
      const std::int32_t sample = first + r * kProductDepth + 2 * q;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const char* const from = image + max(min(sample + i, last), 0) * a.source.row_bytes;
#pragma unroll
        for (int b = 0; b < 2; ++b) samples[r][b][i] = Sample<kChannels>::load(from + columns[b]);
      }
#pragma unroll
      for (int i = 0; i < 2; ++i) down.weigh(row_places[i], sample, taps[r][2 * i], taps[r][2 * i + 1]);
    }
  };

  Sums start;
#pragma unroll
  for (int i = 0; i < 4; ++i) start.at[i] = __ldg(reinterpret_cast<const float*>(a.starts) + i);
  const std::int32_t groups = (min(a.segment, a.destination.width - left) + Pixels::kPixels - 1) / Pixels::kPixels;
  char* const destination = row_of(a.destination, block.image, 0) + static_cast<std::int64_t>(left) * Pixels::kBytes;
  const bool is_aligned = ((reinterpret_cast<std::uint64_t>(destination) | static_cast<std::uint64_t>(a.destination.row_bytes)) % 16) == 0;
  const std::int32_t whole_groups = is_aligned && left >= 0 ? min(a.segment, a.destination.width - left) / Pixels::kPixels : 0;
  fetch();
  for (; band < end; band += kWarps) {
    LeftPair weights_y = {};
#pragma unroll
    for (int r = 0; r < kRowBlocks; ++r) Numbers::put(weights_y, r, taps[r]);
    LeftPair between[kChannels];
#pragma unroll
    for (int b = 0; b < 2; ++b) {
#pragma unroll
      for (int c = 0; c < kChannels; ++c) {
        RightPair right = {};
#pragma unroll
        for (int r = 0; r < kRowBlocks; ++r) Numbers::put(right, r, samples[r][b][0].at[c], samples[r][b][1].at[c]);
        Sums sums;
        Numbers::template multiply<kRowBlocks>(sums, weights_y, right, Sums{});
        Numbers::put(between[c], b, sums.at);
      }
    }
    top = top.after(step, a.factor_y);
    if (band + kWarps < end) fetch();

    const std::int32_t y = band * kProductRows - a.skip_y;
    char* rows[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) rows[r] = destination + (y + g + 8 * r) * a.destination.row_bytes;
    const RightPair* weights = weights_x + lane;
    const auto make_group = [&](Sums(&sums)[Pixels::kTiles][kChannels]) {
#pragma unroll
      for (int tile = 0; tile < Pixels::kTiles; ++tile) {
        const RightPair right = weights[tile * 32];
#pragma unroll
        for (int c = 0; c < kChannels; ++c) Numbers::template multiply<2>(sums[tile][c], between[c], right, start);
      }
      weights += Pixels::kTiles * 32;
    };
    const bool has_all_rows = y >= 0 && y + kProductRows <= a.destination.height;
    const std::int32_t first_part = has_all_rows ? whole_groups : 0;
#pragma unroll 1
    for (std::int32_t group = 0; group < first_part; ++group) {
      Sums sums[Pixels::kTiles][kChannels];
      make_group(sums);
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        Pixels::store_whole(rows[r], sums, r, q);
        rows[r] += Pixels::kPixels * Pixels::kBytes;
      }
    }
    for (std::int32_t group = first_part; group < groups; ++group) {
      Sums sums[Pixels::kTiles][kChannels];
      make_group(sums);
      const std::int32_t x = left + group * Pixels::kPixels;
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const std::int32_t row = y + g + 8 * r;
        if (row >= 0 && row < a.destination.height) Pixels::store_some(rows[r], sums, r, q, -x, a.destination.width - x);
        rows[r] += Pixels::kPixels * Pixels::kBytes;
      }
    }
  }
}

}  // namespace

#define MOLLIFY_GAUSS_UPSAMPLE_MATRIX(name, numbers, component, channels, row_blocks)                     \
  __global__ void __launch_bounds__(kProductThreads, upsample_matrix_at_once(component == Component::u8)) \
      gauss_upsample_matrix_##name##_##row_blocks(const __grid_constant__ GaussUpsampleMatrix a) {        \
    gauss_upsample_matrix<numbers, component, channels, row_blocks>(a);                                   \
  }
#define MOLLIFY_GAUSS_UPSAMPLE_MATRIX_ROWS(add, name, numbers, component, channels) \
  add(name, numbers, component, channels, 1) add(name, numbers, component, channels, 2)
#define MOLLIFY_OF_GAUSS_UPSAMPLE_MATRIX(add)                             \
  MOLLIFY_GAUSS_UPSAMPLE_MATRIX_ROWS(add, 1_u8, Halves, Component::u8, 1) \
  MOLLIFY_GAUSS_UPSAMPLE_MATRIX_ROWS(add, 1_f16, Tf32, Component::f16, 1) \
  MOLLIFY_GAUSS_UPSAMPLE_MATRIX_ROWS(add, 1_f32, Tf32, Component::f32, 1)

extern "C" {
MOLLIFY_OF_GAUSS_UPSAMPLE_MATRIX(MOLLIFY_GAUSS_UPSAMPLE_MATRIX)
}

}  // namespace mollify::cuda
