// Both axes of a separable filter of floats in one pass, with sums in registers. A block of threads moves down a strip of columns. Eight
// source rows at a time are filtered along x, from shared memory to shared memory. A thread then adds each of its filtered components,
// weighted, to the sums of all rows of the destination that it belongs to. While rows are filtered, the next ones are on their way to
// shared memory.
#pragma once

#include "backends/cuda/kernels/copy_ahead.cuh"
#include "backends/cuda/kernels/pixels.cuh"
#include "backends/cuda/kernels/sep_scatter_shape.h"
#include "backends/cuda/kernels/sep_weights.cuh"

namespace mollify::cuda {
namespace {

constexpr int kRows = kSepScatterRows;

/// The rows of a strip that lie in shared memory.
template <int kChannels>
class Source {
 public:
  __device__ Source(const Shared& a, const SepScatterShape& shape, std::int32_t image, std::int32_t first_column, std::int32_t first_row,
                    int* columns)
      : a_(a), shape_(shape), image_(image), first_column_(first_column), first_row_(first_row), columns_(columns) {
    for (int i = threadIdx.x; i < shape.columns; i += blockDim.x) {
      columns[i] = mapped(a.outside.mode_x, first_column + i, a.source.width);
    }
  }

  /// Starts to copy the rows from the s-th of the chunk on.
  __device__ void fetch(std::int32_t s, char* stage) const {
    const int lane = threadIdx.x % 32;
    for (int r = threadIdx.x / 32; r < kRows; r += blockDim.x / 32) {
      const auto* const row = reinterpret_cast<const float*>(source_row(a_, image_, first_row_ + s + r).begin);
      auto* const to = reinterpret_cast<float*>(stage + r * shape_.source_bytes);
      for (int n = lane; n < shape_.fours; n += 32) fetch_four(row, n, to + 4 * n);
    }
  }

 private:
  __device__ void fetch_four(const float* row, int n, float* to) const {
    constexpr int kPixels = 4 / kChannels;
    const std::int32_t first = first_column_ + kPixels * n;
    const bool is_inside = first % kPixels == 0 && first >= 0 && first + kPixels <= a_.source.width;
    const std::int32_t column = kChannels == 4 && !is_inside ? columns_[n] : first;
    if (row != nullptr && a_.source.is_aligned && (is_inside || (kChannels == 4 && column >= 0))) {
      copy_ahead<16>(SharedPlace(to), row + std::int64_t{column} * kChannels);
      return;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::int32_t at = columns_[kPixels * n + i / kChannels];
      if (row == nullptr || at < 0) {
        to[i] = static_cast<float>(a_.outside.value[i % kChannels]);
      } else {
        copy_ahead<4>(SharedPlace(to + i), row + std::int64_t{at} * kChannels + i % kChannels);
      }
    }
  }

  const Shared& a_;
  const SepScatterShape& shape_;
  std::int32_t image_;
  std::int32_t first_column_;
  std::int32_t first_row_;
  const int* columns_;  ///< the pixel that stands in for each of a row, or -1
};

// ---- Along x

/// Of pixels of four components: a thread filters eight neighbours, kOwn components of each.
template <int kTaps, int kOwn, class Weights>
__device__ inline void filter_pixels(const Weights& weights, const SepScatterShape& shape, const char* stage, char* filtered) {
  constexpr int kPixels = 8;
  constexpr int kParts = 4 / kOwn;
  struct alignas(4 * kOwn) Part {
    float at[kOwn];
  };
  const int r = threadIdx.x % kRows;
  const int place = 16 * kPixels * (threadIdx.x / (kRows * kParts)) + 4 * kOwn * (threadIdx.x / kRows % kParts);
  const char* const from = stage + r * shape.source_bytes + place;
  float sums[kPixels][kOwn] = {};
#pragma unroll
  for (int s = 0; s < kPixels + kTaps - 1; ++s) {
    const Part sample = *reinterpret_cast<const Part*>(from + 16 * s);
#pragma unroll
    for (int p = 0; p < kPixels; ++p) {
      if (s - p < 0 || s - p >= kTaps) continue;
#pragma unroll
      for (int c = 0; c < kOwn; ++c) sums[p][c] = fmaf(weights.x(s - p), sample.at[c], sums[p][c]);
    }
  }
  char* const to = filtered + r * shape.filtered_bytes + place;
#pragma unroll
  for (int p = 0; p < kPixels; ++p) {
    Part sum;
#pragma unroll
    for (int c = 0; c < kOwn; ++c) sum.at[c] = sums[p][c];
    *reinterpret_cast<Part*>(to + 16 * p) = sum;
  }
}

/// Of pixels of one component: a thread filters sixteen neighbours at a time.
template <int kTaps, int kOwn, class Weights>
__device__ inline void filter_planes(const Weights& weights, const SepScatterShape& shape, const char* stage, char* filtered) {
  constexpr int kPixels = 16;
  constexpr int kShift = sep_scatter_shift(1, kTaps);
  const int r = threadIdx.x % kRows;
#pragma unroll 1
  for (int segment = threadIdx.x / kRows; segment * kPixels < kOwn * static_cast<int>(blockDim.x); segment += blockDim.x / kRows) {
    const auto* const from = reinterpret_cast<const float4*>(stage + r * shape.source_bytes) + segment * kPixels / 4;
    float sums[kPixels] = {};
#pragma unroll
    for (int n = 0; n < (kShift + kPixels + kTaps - 1 + 3) / 4; ++n) {
      const float4 four = from[n];
      const float samples[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int p = 0; p < kPixels; ++p) {
          const int k = 4 * n + i - kShift - p;
          if (k >= 0 && k < kTaps) sums[p] = fmaf(weights.x(k), samples[i], sums[p]);
        }
      }
    }
    auto* const to = reinterpret_cast<float4*>(filtered + r * shape.filtered_bytes) + segment * kPixels / 4;
#pragma unroll
    for (int n = 0; n < kPixels / 4; ++n) to[n] = make_float4(sums[4 * n], sums[4 * n + 1], sums[4 * n + 2], sums[4 * n + 3]);
  }
}

// ---- Along y

template <int kChannels, int kTaps, template <int> class WeightsOf, class Arguments>
__device__ void sep_scatter(const Arguments& a) {
  constexpr int kOwn = sep_scatter_own(kTaps);
  struct alignas(4 * kOwn) Own {
    float at[kOwn];
  };
  extern __shared__ int4 memory[];
  const auto threads = static_cast<std::int32_t>(blockDim.x);
  const SepScatterShape shape(kChannels, kTaps, threads);
  char* const stages = reinterpret_cast<char*>(memory);
  const std::int32_t stage_bytes = kRows * shape.source_bytes;
  char* const filtered = stages + kSepScatterStages * stage_bytes;
  char* const weights_at = filtered + kRows * shape.filtered_bytes;
  auto* const columns = reinterpret_cast<int*>(weights_at + WeightsOf<kTaps>::kSharedBytes);

  const BlockPlace block = block_place(a);
  const WeightsOf<kTaps> weights(a, block.image, weights_at);
  const std::int32_t x0 = block.across * threads * kOwn / kChannels;
  const std::int32_t y0 = block.down * a.rows;
  const std::int32_t rows = min(a.rows, a.destination.height - y0);
  const std::int32_t source_rows = rows + kTaps - 1;
  const Source<kChannels> source(a, shape, weights.image, x0 + weights.first_x() - sep_scatter_shift(kChannels, kTaps),
                                 y0 + weights.first_y(), columns);
  __syncthreads();
#pragma unroll
  for (int stage = 0; stage < kSepScatterStages; ++stage) {
    if (stage * kRows < source_rows) source.fetch(stage * kRows, stages + stage * stage_bytes);
    end_stage();
  }

  const std::int32_t components = a.destination.width * kChannels;
  const std::int32_t component = x0 * kChannels + kOwn * static_cast<std::int32_t>(threadIdx.x);
  const bool is_whole = a.destination.is_aligned && component + kOwn <= components;
  auto* out = reinterpret_cast<float*>(row_of(a.destination, weights.image, y0)) + component;
  float sums[kTaps][kOwn] = {};  // of the rows from the one on that is complete next
  int stage = 0;
  for (std::int32_t s = 0; s < source_rows; s += kRows) {
    char* const rows_of_stage = stages + stage * stage_bytes;
    wait_for_stage<kSepScatterStages - 1>();
    __syncthreads();
    if constexpr (kChannels == 4) {
      filter_pixels<kTaps, kOwn>(weights, shape, rows_of_stage, filtered);
    } else {
      filter_planes<kTaps, kOwn>(weights, shape, rows_of_stage, filtered);
    }
    __syncthreads();
    if (s + kSepScatterStages * kRows < source_rows) source.fetch(s + kSepScatterStages * kRows, rows_of_stage);
    end_stage();
    stage = stage + 1 == kSepScatterStages ? 0 : stage + 1;
#pragma unroll kUnrollsRows ? kRows : 1
    for (int r = 0; r < kRows; ++r) {
      const Own v = reinterpret_cast<const Own*>(filtered + r * shape.filtered_bytes)[threadIdx.x];
#pragma unroll
      for (int k = 0; k < kTaps; ++k) {
#pragma unroll
        for (int c = 0; c < kOwn; ++c) {
          sums[k][c] = fmaf(weights.y(kTaps - 1 - k), v.at[c], k + 1 < kTaps ? sums[k + 1][c] : 0.0F);
        }
      }
      const std::int32_t y = s + r - (kTaps - 1);
      if (y < 0 || y >= rows) continue;
      if (is_whole) {
        Own sum;
#pragma unroll
        for (int c = 0; c < kOwn; ++c) sum.at[c] = sums[0][c];
        *reinterpret_cast<Own*>(out) = sum;
      } else {
#pragma unroll
        for (int c = 0; c < kOwn; ++c) {
          if (component + c < components) out[c] = sums[0][c];
        }
      }
      out = reinterpret_cast<float*>(reinterpret_cast<char*>(out) + a.destination.row_bytes);
    }
  }
}

}  // namespace

}  // namespace mollify::cuda
