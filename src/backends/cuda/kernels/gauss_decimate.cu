// gauss.decimate: an image becomes a grid of coarse samples, and pixels are made of those of the blurred grid, by the same splines.
//   coarse[m] = sum over i of spline[i] * pixel[m * factor - centre + i]
//   pixel[x] = factor * sum over m of spline[x - m * factor + centre] * coarse[m]
// The grid in between is blurred by sep_fused.cu.
#include "backends/cuda/kernels/coding.cuh"
#include "backends/cuda/kernels/gauss_decimate_shape.h"

namespace mollify::cuda {
namespace {

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

// ---- decimation

/// Sums of finished columns along x: coarse samples of one row. `weights` are those of the places in a coarse sample.
template <int kChannels, int kSupportX>
__device__ void sum_across(const GaussDecimate& a, const DecimateShape& shape, const float* weights, const float* columns,
                           std::int32_t samples, float* out) {
  const int next = shape.pitch * kChannels;  // from a coarse sample's first pixel to the next one's
  for (int m = threadIdx.x; m < samples * kChannels; m += blockDim.x) {
    const float* at = columns + m / kChannels * next + m % kChannels;
    float sum = 0.0F;
#pragma unroll 2
    for (std::int32_t i = 0; i < a.factor_x; ++i) {
      float w[whole_fours(kSupportX)];
      load_row_weights<kSupportX>(weights, i, w);
      float part = 0.0F;
#pragma unroll
      for (int j = 0; j < kSupportX; ++j) part = fmaf(w[j], at[j * next], part);
      sum += part;
      at += kChannels;
    }
    out[m] = sum;
  }
}

/// Calls body(integral_constant) with a support.
template <class Body>
__device__ void with_support(std::int32_t support, const Body& body) {
  switch (support) {
    case 2:
      return body(std::integral_constant<int, 2>{});
    case 3:
      return body(std::integral_constant<int, 3>{});
    case 4:
      return body(std::integral_constant<int, 4>{});
    case 5:
      return body(std::integral_constant<int, 5>{});
    case 6:
      return body(std::integral_constant<int, 6>{});
    case 7:
      return body(std::integral_constant<int, 7>{});
    case 8:
      return body(std::integral_constant<int, 8>{});
    default:
      return body(std::integral_constant<int, 1>{});
  }
}

/// Which component of a row stands in for each of four. That is the same in all rows.
template <int kChannels>
__device__ int4 mapped_columns(const GaussDecimate& a, std::int32_t component) {
  int at[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const std::int32_t pixel = floor_of(component + i, kChannels);
    const std::int32_t inside = mapped(a.outside.mode_x, pixel, a.source.width);
    at[i] = inside < 0 ? -1 : inside * kChannels + (component + i - pixel * kChannels);
  }
  return make_int4(at[0], at[1], at[2], at[3]);
}

/// A block of threads moves down a strip of columns. A thread sums up four components of rows for all coarse samples that these belong to.
/// The rows of a step are summed by themselves first, which rounds less.
template <class Pixels, int kSupport, bool kExact>
__device__ void gauss_decimate(const GaussDecimate& a) {
  constexpr int kChannels = Pixels::channels;
  const std::int32_t support_y = kExact ? kSupport : a.support_y;
  extern __shared__ int4 memory[];
  const DecimateShape shape(kChannels, static_cast<std::int32_t>(blockDim.x), a.factor_x, a.support_x);
  auto* const weights_x = reinterpret_cast<float*>(memory);
  float* const weights_y = weights_x + floats_of_weights(a.factor_x, a.support_x);
  // Of each thread: which component of a row stands in for each of its four, -1 for a constant border.
  int4* const mapped_fours = reinterpret_cast<int4*>(weights_y + floats_of_weights(a.factor_y, kSupport));
  float* const finished = reinterpret_cast<float*>(mapped_fours + blockDim.x);  // two rows
  const auto* const splines = reinterpret_cast<const float*>(a.splines);
  put_row_weights(splines, a.factor_x, a.support_x, a.support_x, false, 1.0F, weights_x);
  put_row_weights(splines + a.factor_x * a.support_x, a.factor_y, support_y, kSupport, true, 1.0F, weights_y);

  const BlockPlace block = block_place(a);
  const std::int32_t left = block.across * shape.samples;  // of the coarse samples that the block makes
  const std::int32_t top = block.down * a.rows;
  const std::int32_t samples = min(shape.samples, a.destination.width - left);
  const std::int32_t bottom = min(top + a.rows, a.destination.height);
  const std::int32_t wanted = a.first_x + left * a.factor_x;  // the first column that counts
  constexpr int kPixels = pixels_of_fours(kChannels);
  const std::int32_t shift = wanted - floor_of(wanted, kPixels) * kPixels;
  const std::int32_t component = (wanted - shift) * kChannels + 4 * static_cast<std::int32_t>(threadIdx.x);
  mapped_fours[threadIdx.x] = mapped_columns<kChannels>(a, component);
  __syncthreads();

  // All threads of a warp go the same way: were it left to each, loads of one way would wait for those of the other.
  const bool is_inside = __all_sync(~0U, a.source.is_aligned && component >= 0 && component + 4 <= a.source.width * kChannels);
  const bool has_constant = a.outside.mode_x == kConstant || a.outside.mode_y == kConstant;
  const char* const image = row_of(a.source, block.image, 0);
  const std::int32_t first_row = a.first_y + top * a.factor_y;
  // Each lane of a warp finds one of the rows of a step: how far it lies from the first, or -1 for a constant border.
  const auto find = [&](std::int32_t row) {
    const std::int32_t at =
        mapped(a.outside.mode_y, first_row + row + static_cast<std::int32_t>(threadIdx.x % kDecimateRows), a.source.height);
    return at < 0 ? static_cast<std::int64_t>(-1) : at * a.source.row_bytes;
  };
  typename Pixels::Stored stored[kDecimateRows] = {};
  unsigned outside = 0;  // a bit for each row of a step
  const auto fetch = [&](int i, std::int64_t found) {
    const std::int64_t distance = __shfl_sync(~0U, found, i);
    if (has_constant) {
      outside = distance == -1 ? outside | 1U << i : outside & ~(1U << i);
      if (distance == -1) return;
    }
    if (is_inside) {
      stored[i] = Pixels::load(a, image + distance, component);
    } else {
      const int4 at = mapped_fours[threadIdx.x];
      stored[i] = Pixels::load_each(a, image + distance, max(at.x, 0), max(at.y, 0), max(at.z, 0), max(at.w, 0));
    }
  };
  const auto numbers = [&](int i) {
    Four v = Pixels::numbers(a, stored[i]);
    if (has_constant) {
      const Four constant = outside_four<kChannels>(a, component);
      const int4 at = mapped_fours[threadIdx.x];
      const bool is_row_outside = (outside >> i & 1U) != 0;
      const bool is_outside[4] = {at.x < 0 || is_row_outside, at.y < 0 || is_row_outside, at.z < 0 || is_row_outside,
                                  at.w < 0 || is_row_outside};
#pragma unroll
      for (int c = 0; c < 4; ++c) v.at[c] = is_outside[c] ? constant.at[c] : v.at[c];
    }
    return v;
  };

  const std::int32_t end = (bottom - top + support_y - 1) * a.factor_y;
  std::int64_t found = find(0);
#pragma unroll
  for (int i = 0; i < kDecimateRows; ++i) {
    if (i < a.step_rows) fetch(i, found);
  }
  float sums[kSupport][4] = {};
  std::int32_t phase = 0;  // of the step's first row in its coarse sample
  std::int32_t y = top - (support_y - 1);
  int filled = 0;
  for (std::int32_t row = 0; row < end; row += a.step_rows) {
    float step[kSupport][4] = {};
    const bool has_next = row + a.step_rows < end;
    found = find(row + a.step_rows);
#pragma unroll
    for (int i = 0; i < kDecimateRows; ++i) {
      if (i >= a.step_rows) break;
      const Four v = numbers(i);
      if (has_next) fetch(i, found);
      float weights[whole_fours(kSupport)];
      load_row_weights<kSupport>(weights_y, phase + i, weights);
#pragma unroll
      for (int j = 0; j < kSupport; ++j) {
        if (j >= support_y) break;
#pragma unroll
        for (int c = 0; c < 4; ++c) step[j][c] = fmaf(weights[j], v.at[c], step[j][c]);
      }
    }
#pragma unroll
    for (int j = 0; j < kSupport; ++j) {
#pragma unroll
      for (int c = 0; c < 4; ++c) sums[j][c] += step[j][c];
    }
    phase += a.step_rows;
    if (phase < a.factor_y) continue;
    phase = 0;
    // The first sums are complete, and right once they have seen all rows of their spline. The barrier also tells that all threads are
    // done with the row before the last.
    if (y >= top) {
      float* const columns = finished + filled * shape.row_floats;
      const auto place = [&](int i) {
        const int pixel = (4 * static_cast<int>(threadIdx.x) + i) / kChannels - shift;
        const int channel = (4 * static_cast<int>(threadIdx.x) + i) % kChannels;
        const bool is_kept = pixel >= 0 && pixel < shape.columns - shift;
        return is_kept ? (pixel / a.factor_x * shape.pitch + pixel % a.factor_x) * kChannels + channel : -1;
      };
      if constexpr (kChannels == 4) {
        *reinterpret_cast<float4*>(columns + place(0)) = make_float4(sums[0][0], sums[0][1], sums[0][2], sums[0][3]);
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          if (place(i) >= 0) columns[place(i)] = sums[0][i];
        }
      }
      __syncthreads();
      float* const out = reinterpret_cast<float*>(row_of(a.destination, block.image, y)) + std::int64_t{left} * kChannels;
      with_support(a.support_x,
                   [&](auto support) { sum_across<kChannels, decltype(support)::value>(a, shape, weights_x, columns, samples, out); });
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

// ---- upsampling

/// A thread moves down four components of the destination. It expands each row of coarse samples along x once, keeps those that the next
/// rows of pixels need, and mixes them.
template <class Pixels, int kSupport, bool kExact>
__device__ void gauss_upsample(const GaussUpsample& a) {
  const std::int32_t support_y = kExact ? kSupport : a.support_y;
  constexpr int kChannels = Pixels::channels;
  constexpr int kMostSupportX = kExact ? kSupport + 1 : kSupport;  // gauss_upsample() in drafts_gauss.cpp takes others for more
  constexpr int kPixels = pixels_of_fours(kChannels);              // that four components are of, at most
  extern __shared__ int4 memory[];
  auto* const weights_y = reinterpret_cast<float*>(memory);
  const auto* const splines = reinterpret_cast<const float*>(a.splines);
  put_row_weights(splines + a.factor_x * a.support_x, a.factor_y, support_y, kSupport, false, 1.0F / Pixels::full, weights_y);
  __syncthreads();

  const BlockPlace block = block_place(a);
  const std::int32_t component = 4 * (block.across * kUpsampleThreads + static_cast<std::int32_t>(threadIdx.x));
  const std::int32_t components = a.destination.width * kChannels;
  if (component >= components) return;
  const std::int32_t y0 = block.down * a.rows;
  const std::int32_t y1 = min(y0 + a.rows, a.destination.height);

  // Of the pixels: the number of the newest coarse sample, and the weights of that and those before it.
  std::int32_t newest[kPixels];
  float weights_x[kPixels][kMostSupportX];
  const std::int32_t first_pixel = component / kChannels;
#pragma unroll
  for (int p = 0; p < kPixels; ++p) {
    const std::int32_t x = a.first_x + min(first_pixel + p, a.destination.width - 1) * a.step_x;
    newest[p] = x / a.factor_x;
    const float* const weights = splines + (x - newest[p] * a.factor_x);
#pragma unroll
    for (int j = 0; j < kMostSupportX; ++j) weights_x[p][j] = j < a.support_x ? weights[a.factor_x * j] : 0.0F;
  }
  // Of the i-th component: its pixel among those, and its channel.
  const auto pixel_of = [&](int i) { return kChannels == 3 ? (component % 3 + i) / 3 : i / kChannels; };
  const auto channel_of = [&](int i) { return kChannels == 3 ? (component + i) % 3 : i % kChannels; };

  const auto expanded = [&](std::int32_t row, float(&out)[4]) {
    const auto* const coarse = reinterpret_cast<const float*>(row_of(a.source, block.image, row));
#pragma unroll
    for (int i = 0; i < 4; ++i) out[i] = 0.0F;
#pragma unroll
    for (int j = 0; j < kMostSupportX; ++j) {
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
  std::int32_t coarse = place / a.factor_y - support_y;    // the newest row
  std::int32_t phase = place - (coarse + 1) * a.factor_y;  // how far the place lies behind the first pixel of the row after it
  char* out = row_of(a.destination, block.image, y0);
  const auto mixed = [&](std::int32_t row_phase, float(&v)[4]) {
    float weights[whole_fours(kSupport)];
    load_row_weights<kSupport>(weights_y, row_phase, weights);
#pragma unroll
    for (int j = 0; j < kSupport; ++j) {
      if (j >= support_y) break;
#pragma unroll
      for (int c = 0; c < 4; ++c) v[c] = j == 0 ? weights[j] * rows[j][c] : fmaf(weights[j], rows[j][c], v[c]);
    }
  };
  for (std::int32_t left = y1 - y0; left > 0;) {
    while (phase >= 0) {
#pragma unroll
      for (int j = kSupport - 1; j > 0; --j) {
#pragma unroll
        for (int c = 0; c < 4; ++c) rows[j][c] = rows[j - 1][c];
      }
      expanded(++coarse, rows[0]);
      phase -= a.factor_y;
    }
    // All rows of pixels that are mixed of these.
    const std::int32_t count = min(a.step_y == 1 ? -phase : (a.step_y - 1 - phase) / a.step_y, left);
    std::int32_t row_phase = phase + a.factor_y;
    // Two loops: without calls in it, four rows are mixed side by side; with them, unrolling would cost registers.
    if (is_whole) {
#pragma unroll 4
      for (std::int32_t i = 0; i < count; ++i) {
        float v[4];
        mixed(row_phase, v);
        Pixels::store_fractions(a, out, component, v);
        out += a.destination.row_bytes;
        row_phase += a.step_y;
      }
    } else {
      for (std::int32_t i = 0; i < count; ++i) {
        float v[4];
        mixed(row_phase, v);
        Pixels::store_fraction_each(a, out, component, {{v[0], v[1], v[2], v[3]}});
        out += a.destination.row_bytes;
        row_phase += a.step_y;
      }
    }
    phase += count * a.step_y;
    left -= count;
  }
}

}  // namespace

#define MOLLIFY_GAUSS_DECIMATE(name, pixels, support, exact)                                                                       \
  __global__ void __launch_bounds__(kDecimateThreads) gauss_decimate_##name##_##support(const __grid_constant__ GaussDecimate a) { \
    gauss_decimate<pixels, support, exact>(a);                                                                                     \
  }
#define MOLLIFY_GAUSS_UPSAMPLE(name, pixels, support, exact)                                          \
  __global__ void __launch_bounds__(kUpsampleThreads, exact ? upsample_at_once(pixels::channels) : 1) \
      gauss_upsample_##name##_##support(const __grid_constant__ GaussUpsample a) {                    \
    gauss_upsample<pixels, support, exact>(a);                                                        \
  }
#define MOLLIFY_OF_COMPILED_SUPPORTS(add, name, pixels) \
  add(name, pixels, 3, true) add(name, pixels, 4, true) add(name, pixels, 5, true) add(name, pixels, 6, true)
#define MOLLIFY_OF_ANY_SUPPORT(add)                                                                        \
  add(1_any, AnyCoding<1>, 8, false) add(2_any, AnyCoding<2>, 8, false) add(3_any, AnyCoding<3>, 8, false) \
      add(4_any, AnyCoding<4>, 8, false)
// Bytes and halves of one and four channels become coarse samples by products, gauss_matrix.cu, where there are tensor cores for them.
#define MOLLIFY_OF_GAUSS_DECIMATE(add)                  \
  MOLLIFY_OF_COMPILED_SUPPORTS(add, 1_f32, FloatsOf<1>) \
  MOLLIFY_OF_COMPILED_SUPPORTS(add, 4_f32, FloatsOf<4>) \
  MOLLIFY_OF_ANY_SUPPORT(add)
#define MOLLIFY_OF_UPSAMPLE_CHANNELS(add, channels)                     \
  MOLLIFY_OF_COMPILED_SUPPORTS(add, channels##_u8, BytesOf<channels>)   \
  MOLLIFY_OF_COMPILED_SUPPORTS(add, channels##_f16, HalvesOf<channels>) \
  MOLLIFY_OF_COMPILED_SUPPORTS(add, channels##_f32, FloatsOf<channels>)
#define MOLLIFY_OF_GAUSS_UPSAMPLE(add) \
  MOLLIFY_OF_UPSAMPLE_CHANNELS(add, 1) \
  MOLLIFY_OF_UPSAMPLE_CHANNELS(add, 4) \
  MOLLIFY_OF_ANY_SUPPORT(add)

extern "C" {
MOLLIFY_OF_GAUSS_DECIMATE(MOLLIFY_GAUSS_DECIMATE)
MOLLIFY_OF_GAUSS_UPSAMPLE(MOLLIFY_GAUSS_UPSAMPLE)
}

}  // namespace mollify::cuda
