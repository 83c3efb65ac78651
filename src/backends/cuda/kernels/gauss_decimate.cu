// gauss.decimate: an image becomes a grid of coarse samples, and pixels are made of those of the blurred grid, by the same splines.
//   coarse[m] = sum over i of spline[i] * pixel[m * factor - centre + i]
//   pixel[x] = factor * sum over m of spline[x - m * factor + centre] * coarse[m]
// The grid in between is blurred by sep_fused.cu.
#include "backends/cuda/kernels/coding.cuh"
#include "backends/cuda/kernels/gauss_decimate_shape.h"

namespace mollify::cuda {
namespace {

/// Weights along y, in shared memory: for row r of a coarse sample, those of the coarse samples that it belongs to, one after the other.
/// `reversed`: the one that began first comes first.
template <int kSupport>
__device__ void put_row_weights(const float* spline, std::int32_t factor, std::int32_t support, bool reversed, float* out) {
  constexpr int kStride = whole_fours(kSupport);
  for (int i = threadIdx.x; i < factor * kStride; i += blockDim.x) {
    const int r = i / kStride;
    const int j = i % kStride;
    out[i] = j < support ? spline[r + factor * (reversed ? support - 1 - j : j)] : 0.0F;
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

// ---- decimation


/// Four components of a row for a thread, of columns that all lie inside the image: one load.
template <class Pixels>
struct InsideColumns {
  const GaussDecimate& a;
  std::int32_t component;

  __device__ typename Pixels::Stored load(const char* row) const { return Pixels::load(a, row, component); }
  __device__ Four numbers(const typename Pixels::Stored& stored, bool is_outside) const {
    if (!is_outside) return Pixels::numbers(a, stored);
    return outside_four<Pixels::channels>(a, component);
  }
};

/// The same of any columns, one by one. Which component of a row each is remains the same in all rows.
template <class Pixels>
struct MappedColumns {
  const GaussDecimate& a;
  std::int32_t component;
  std::int32_t at[4];  ///< -1: outside a constant border

  __device__ MappedColumns(const GaussDecimate& arguments, std::int32_t first) : a(arguments), component(first) {
    constexpr int kChannels = Pixels::channels;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::int32_t pixel = floor_of(first + i, kChannels);
      const std::int32_t inside = mapped(a.outside.mode_x, pixel, a.source.width);
      at[i] = inside < 0 ? -1 : inside * kChannels + (first + i - pixel * kChannels);
    }
  }
  __device__ typename Pixels::Stored load(const char* row) const {
    return Pixels::load_each(a, row, max(at[0], 0), max(at[1], 0), max(at[2], 0), max(at[3], 0));
  }
  __device__ Four numbers(const typename Pixels::Stored& stored, bool is_outside) const {
    const Four constant = outside_four<Pixels::channels>(a, component);
    if (is_outside) return constant;
    Four v = Pixels::numbers(a, stored);
#pragma unroll
    for (int i = 0; i < 4; ++i) v.at[i] = at[i] < 0 ? constant.at[i] : v.at[i];
    return v;
  }
};

/// What a block of threads has in shared memory.
struct DecimateMemory {
  const float* spline_x;
  const float* weights_y;
  float* rows[2];
};

/// Sums of finished columns along x: coarse samples of one row.
template <int kChannels>
__device__ void sum_across(const GaussDecimate& a, const DecimateShape& shape, const float* spline, const float* columns,
                           std::int32_t samples, float* out) {
  for (int m = threadIdx.x; m < samples * kChannels; m += blockDim.x) {
    const float* const first = columns + m / kChannels * shape.pitch * kChannels + m % kChannels;
    float sum = 0.0F;
    for (std::int32_t i = 0; i < a.factor_x; ++i) {
      float part = 0.0F;
      for (std::int32_t j = 0; j < a.support_x; ++j) {
        part = fmaf(spline[i + a.factor_x * j], first[(j * shape.pitch + i) * kChannels], part);
      }
      sum += part;
    }
    out[m] = sum;
  }
}

/// Moves down the columns of a strip. Where the sums of f32 count, the rows of a step are summed by themselves first, which rounds less.
template <class Pixels, int kSupport, bool kBySteps, class Columns>
__device__ void decimate_columns(const GaussDecimate& a, const DecimateShape& shape, const DecimateMemory& memory, const Columns& columns,
                                 std::int32_t shift, const BlockPlace& block) {
  constexpr int kChannels = Pixels::channels;
  const std::int32_t top = block.down * a.rows;  // of the coarse samples that the block makes
  const std::int32_t bottom = min(top + a.rows, a.destination.height);
  const std::int32_t first_row = a.first_y + top * a.factor_y;
  const std::int32_t left = block.across * shape.samples;
  const std::int32_t samples = min(shape.samples, a.destination.width - left);
  const std::int32_t end = (bottom - top + a.support_y - 1) * a.factor_y;

  // Where the thread's four numbers lie in a row of shared memory; what lies before the first pixel that counts is not kept.
  int place[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int component = 4 * static_cast<int>(threadIdx.x) + i;
    const int pixel = component / kChannels - shift;
    const bool is_kept = pixel >= 0 && pixel < shape.columns - shift;
    place[i] = is_kept ? (pixel / a.factor_x * shape.pitch + pixel % a.factor_x) * kChannels + component % kChannels : -1;
  }

  typename Pixels::Stored stored[kDecimateRows] = {};
  unsigned outside = 0;  // a bit for each row of a step
  const char* const image = row_of(a.source, block.image, 0);
  // Each lane of a warp finds one of the rows of a step.
  const auto find = [&](std::int32_t row) {
    return mapped(a.outside.mode_y, first_row + row + static_cast<std::int32_t>(threadIdx.x % kDecimateRows), a.source.height);
  };
  const auto fetch = [&](int i, std::int32_t found) {
    const std::int32_t row = __shfl_sync(~0U, found, i);
    outside = row < 0 ? outside | 1U << i : outside & ~(1U << i);
    if (row >= 0) stored[i] = columns.load(image + row * a.source.row_bytes);
  };
  std::int32_t found = find(0);
#pragma unroll
  for (int i = 0; i < kDecimateRows; ++i) {
    if (i < a.step_rows) fetch(i, found);
  }
  float sums[kSupport][4] = {};
  std::int32_t phase = 0;  // of the step's first row in its coarse sample
  std::int32_t y = top - (a.support_y - 1);
  int filled = 0;
  for (std::int32_t row = 0; row < end; row += a.step_rows) {
    float step[kSupport][4] = {};
    const bool has_next = row + a.step_rows < end;
    found = find(row + a.step_rows);
#pragma unroll
    for (int i = 0; i < kDecimateRows; ++i) {
      if (i >= a.step_rows) break;
      const Four v = columns.numbers(stored[i], (outside >> i & 1U) != 0);
      if (has_next) fetch(i, found);
      float weights[whole_fours(kSupport)];
      load_row_weights<kSupport>(memory.weights_y, phase + i, weights);
#pragma unroll
      for (int j = 0; j < kSupport; ++j) {
        if (j >= a.support_y) break;
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          float& sum = kBySteps ? step[j][c] : sums[j][c];
          sum = fmaf(weights[j], v.at[c], sum);
        }
      }
    }
    if constexpr (kBySteps) {
#pragma unroll
      for (int j = 0; j < kSupport; ++j) {
#pragma unroll
        for (int c = 0; c < 4; ++c) sums[j][c] += step[j][c];
      }
    }
    phase += a.step_rows;
    if (phase < a.factor_y) continue;
    phase = 0;
    // The first sums are complete, and right once they have seen all rows of their spline. The barrier also tells that all threads are
    // done with the row before the last.
    if (y >= top) {
      float* const columns_of_row = memory.rows[filled];
      if (kChannels == 4) {
        *reinterpret_cast<float4*>(columns_of_row + place[0]) = make_float4(sums[0][0], sums[0][1], sums[0][2], sums[0][3]);
      } else {
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          if (place[c] >= 0) columns_of_row[place[c]] = sums[0][c];
        }
      }
      __syncthreads();
      float* const out = reinterpret_cast<float*>(row_of(a.destination, block.image, y)) + std::int64_t{left} * kChannels;
      sum_across<kChannels>(a, shape, memory.spline_x, columns_of_row, samples, out);
      filled ^= 1;
    }
    ++y;
#pragma unroll
    for (int j = 0; j < kSupport; ++j) {
#pragma unroll
      for (int c = 0; c < 4; ++c) sums[j][c] = j + 1 < kSupport ? sums[j + 1 < kSupport ? j + 1 : j][c] : 0.0F;
    }
  }
}

template <class Pixels, int kSupport, bool kBySteps>
__device__ void gauss_decimate(const GaussDecimate& a) {
  constexpr int kChannels = Pixels::channels;
  extern __shared__ float4 memory[];
  const DecimateShape shape(kChannels, static_cast<std::int32_t>(blockDim.x), a.factor_x, a.support_x);
  const std::int32_t taps_x = a.factor_x * a.support_x;
  auto* const spline_x = reinterpret_cast<float*>(memory);
  float* const weights_y = spline_x + whole_fours(taps_x);
  float* const rows = weights_y + floats_of_rows(a.factor_y, kSupport);
  const auto* const splines = reinterpret_cast<const float*>(a.splines);
  for (int i = threadIdx.x; i < taps_x; i += blockDim.x) spline_x[i] = splines[i];
  put_row_weights<kSupport>(splines + taps_x, a.factor_y, a.support_y, true, weights_y);
  __syncthreads();

  const BlockPlace block = block_place(a);
  const std::int32_t wanted = a.first_x + block.across * shape.samples * a.factor_x;  // the first column that counts
  constexpr int kPixels = pixels_of_fours(kChannels);
  const std::int32_t shift = wanted - floor_of(wanted, kPixels) * kPixels;
  const std::int32_t first = (wanted - shift) * kChannels;
  const std::int32_t component = first + 4 * static_cast<std::int32_t>(threadIdx.x);
  const DecimateMemory shared{spline_x, weights_y, {rows, rows + shape.row_floats}};
  if (a.source.is_aligned && first >= 0 && first + 4 * static_cast<std::int32_t>(blockDim.x) <= a.source.width * kChannels) {
    decimate_columns<Pixels, kSupport, kBySteps>(a, shape, shared, InsideColumns<Pixels>{a, component}, shift, block);
  } else {
    decimate_columns<Pixels, kSupport, kBySteps>(a, shape, shared, MappedColumns<Pixels>(a, component), shift, block);
  }
}

// ---- upsampling

/// A thread moves down four components of the destination. It expands each row of coarse samples along x once, keeps those that the next
/// rows of pixels need, and mixes them.
template <class Pixels, int kSupport>
__device__ void gauss_upsample(const GaussUpsample& a) {
  constexpr int kChannels = Pixels::channels;
  constexpr int kPixels = pixels_of_fours(kChannels);  // that four components are of, at most
  extern __shared__ float4 memory[];
  auto* const weights_y = reinterpret_cast<float*>(memory);
  const auto* const splines = reinterpret_cast<const float*>(a.splines);
  put_row_weights<kSupport>(splines + a.factor_x * a.support_x, a.factor_y, a.support_y, false, weights_y);
  __syncthreads();

  const BlockPlace block = block_place(a);
  const std::int32_t component = 4 * (block.across * kUpsampleThreads + static_cast<std::int32_t>(threadIdx.x));
  const std::int32_t components = a.destination.width * kChannels;
  if (component >= components) return;
  const std::int32_t y0 = block.down * a.rows;
  const std::int32_t y1 = min(y0 + a.rows, a.destination.height);

  // Of the pixels: the number of the newest coarse sample, and the weights of that and those before it.
  std::int32_t newest[kPixels];
  float weights_x[kPixels][kSupport];
  const std::int32_t first_pixel = component / kChannels;
#pragma unroll
  for (int p = 0; p < kPixels; ++p) {
    const std::int32_t x = a.first_x + min(first_pixel + p, a.destination.width - 1) * a.step_x;
    newest[p] = x / a.factor_x;
    const float* const weights = splines + (x - newest[p] * a.factor_x);
#pragma unroll
    for (int j = 0; j < kSupport; ++j) weights_x[p][j] = j < a.support_x ? weights[a.factor_x * j] : 0.0F;
  }
  // Of the i-th component: its pixel among those, and its channel.
  const auto pixel_of = [&](int i) { return kChannels == 3 ? (component % 3 + i) / 3 : i / kChannels; };
  const auto channel_of = [&](int i) { return kChannels == 3 ? (component + i) % 3 : i % kChannels; };

  const auto expanded = [&](std::int32_t row, float(&out)[4]) {
    const auto* const coarse = reinterpret_cast<const float*>(row_of(a.source, block.image, row));
#pragma unroll
    for (int i = 0; i < 4; ++i) out[i] = 0.0F;
#pragma unroll
    for (int j = 0; j < kSupport; ++j) {
      if (j >= a.support_x) break;
      if constexpr (kChannels == 4) {
        const float4 v = reinterpret_cast<const float4*>(coarse)[newest[0] - j];
        const float w = weights_x[0][j];
        out[0] = fmaf(w, v.x, out[0]), out[1] = fmaf(w, v.y, out[1]), out[2] = fmaf(w, v.z, out[2]), out[3] = fmaf(w, v.w, out[3]);
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          std::int32_t sample = newest[0];
          float w = weights_x[0][j];
#pragma unroll
          for (int p = 1; p < kPixels; ++p) {  // registers have no index
            if (pixel_of(i) == p) sample = newest[p], w = weights_x[p][j];
          }
          out[i] = fmaf(w, coarse[(sample - j) * kChannels + channel_of(i)], out[i]);
        }
      }
    }
  };

  const bool is_whole = a.destination.is_aligned && component + 4 <= components;
  float rows[kSupport][4] = {};  // rows[j]: the row of coarse samples j before the newest
  std::int32_t place = a.first_y + y0 * a.step_y;
  std::int32_t coarse = place / a.factor_y - a.support_y;  // the newest row
  std::int32_t phase = place - (coarse + 1) * a.factor_y;  // how far the place lies behind the first pixel of the row after it
  char* out = row_of(a.destination, block.image, y0);
  for (std::int32_t y = y0; y < y1; ++y) {
    while (phase >= 0) {
#pragma unroll
      for (int j = kSupport - 1; j > 0; --j) {
#pragma unroll
        for (int c = 0; c < 4; ++c) rows[j][c] = rows[j - 1][c];
      }
      expanded(++coarse, rows[0]);
      phase -= a.factor_y;
    }
    float weights[whole_fours(kSupport)];
    load_row_weights<kSupport>(weights_y, phase + a.factor_y, weights);
    float v[4] = {};
#pragma unroll
    for (int j = 0; j < kSupport; ++j) {
      if (j >= a.support_y) break;
#pragma unroll
      for (int c = 0; c < 4; ++c) v[c] = fmaf(weights[j], rows[j][c], v[c]);
    }
    if (is_whole) {
      Pixels::store(a, out, component, v);
    } else {
      store_one_by_one<kChannels>(a, out, component, v);
    }
    out += a.destination.row_bytes;
    phase += a.step_y;
  }
}

}  // namespace

#define MOLLIFY_GAUSS_DECIMATE(name, pixels, support, by_steps)                                          \
  __global__ void __launch_bounds__(kDecimateThreads, by_steps ? 1 : 2) gauss_decimate_##name##_##support(const __grid_constant__ GaussDecimate a) {           \
    gauss_decimate<pixels, support, by_steps>(a);                                                        \
  }                                                                                                      \
  __global__ void __launch_bounds__(kUpsampleThreads)                                                    \
      gauss_upsample_##name##_##support(const __grid_constant__ GaussUpsample a) {                       \
    gauss_upsample<pixels, support>(a);                                                                  \
  }
#define MOLLIFY_GAUSS_DECIMATE_SUPPORTS(name, pixels, by_steps) \
  MOLLIFY_GAUSS_DECIMATE(name, pixels, 4, by_steps)             \
  MOLLIFY_GAUSS_DECIMATE(name, pixels, 6, by_steps)             \
  MOLLIFY_GAUSS_DECIMATE(name, pixels, 8, by_steps)
#define MOLLIFY_GAUSS_DECIMATE_PLAIN(channels)                                \
  using Bytes##channels = Plain<channels, Component::u8>;                     \
  using Halves##channels = Plain<channels, Component::f16>;                   \
  using Floats##channels = Plain<channels, Component::f32>;                   \
  MOLLIFY_GAUSS_DECIMATE_SUPPORTS(channels##_u8, Bytes##channels, false)      \
  MOLLIFY_GAUSS_DECIMATE_SUPPORTS(channels##_f16, Halves##channels, false)    \
  MOLLIFY_GAUSS_DECIMATE_SUPPORTS(channels##_f32, Floats##channels, true)

extern "C" {
MOLLIFY_GAUSS_DECIMATE_PLAIN(1)
MOLLIFY_GAUSS_DECIMATE_PLAIN(4)
MOLLIFY_GAUSS_DECIMATE(1_any, AnyCoding<1>, 8, true)
MOLLIFY_GAUSS_DECIMATE(2_any, AnyCoding<2>, 8, true)
MOLLIFY_GAUSS_DECIMATE(3_any, AnyCoding<3>, 8, true)
MOLLIFY_GAUSS_DECIMATE(4_any, AnyCoding<4>, 8, true)
}

}  // namespace mollify::cuda
