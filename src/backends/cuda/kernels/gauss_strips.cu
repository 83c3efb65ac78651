// gauss.decimate: the last two steps at once, of images of four channels, by sums of f32. A block of threads moves down a strip of pixels.
// It blurs a few rows of the grid at a time, in shared memory, and makes pixels of them from there.
#include "backends/cuda/kernels/gauss_strips_shape.h"
#include "backends/cuda/kernels/gauss_sums.cuh"

namespace mollify::cuda {
namespace {

/// Adds to sums[p] what `count` taps make of the samples from p on. load(k) gives samples 4 k to 4 k + 3. Taps are in shared memory, with
/// zeros behind them, which up to six samples behind those of a sum are multiplied with.
template <class Load>
__device__ void add_fours(const float4* taps, std::int32_t count, float4 (&sums)[kStripSums], const Load& load) {
  static_assert(kStripSums == 4);  // as many as weights are loaded at once
  const auto add = [&](int p, float w, const float4& v) {
    sums[p] = make_float4(fmaf(w, v.x, sums[p].x), fmaf(w, v.y, sums[p].y), fmaf(w, v.z, sums[p].z), fmaf(w, v.w, sums[p].w));
  };
  float weights[8];  // of the four before, and these
  const auto next = [&](std::int32_t k) {
    const float4 w = taps[k];
    weights[4] = w.x, weights[5] = w.y, weights[6] = w.z, weights[7] = w.w;
  };
  float4 samples[4];
  load(0, samples);
  next(0);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int p = 0; p <= i; ++p) add(p, weights[4 + i - p], samples[i]);
  }
#pragma unroll 1
  for (std::int32_t k = 1; 4 * k < count + kStripSums - 1; ++k) {
#pragma unroll
    for (int i = 0; i < 4; ++i) weights[i] = weights[4 + i];
    load(k, samples);
    next(k);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int p = 0; p < kStripSums; ++p) add(p, weights[4 + i - p], samples[i]);
    }
  }
}

/// One of the sums that threads share out: groups of `count`, one after the other.
struct PerItem {
  std::int32_t group;
  std::int32_t at;  ///< in the group
  /// To the thread's next one.
  __device__ void advance(std::int32_t count) {
    for (at += kStripThreads; at >= count; at -= count) ++group;
  }
};

/// Weights of y for differences, in shared memory: for each pixel of a coarse sample, of the newest row less the ones before the j-th,
/// the sum of the weights from the j-th row on. Those of all rows are 1.
template <int kSupport>
__device__ void put_difference_weights(const float* spline, std::int32_t factor, std::int32_t support, float* out) {
  for (auto phase = static_cast<std::int32_t>(threadIdx.x); phase < factor; phase += kStripThreads) {
    float sum = 0.0F;
#pragma unroll
    for (int j = kSupport - 1; j > 0; --j) {
      if (j < support) sum += spline[phase + factor * j];
      out[phase * whole_fours(kSupport - 1) + j - 1] = sum;
    }
  }
}

/// Numbers of bytes are codes and this much more: the second byte of such a float is the code, the first one its fraction. The half that is
/// added makes it the nearest code.
constexpr float kCodesFrom = 32768.5F;

/// 16 bytes of pixels of their numbers.
template <class Pixels>
__device__ uint4 span_of(const float (&v)[Pixels::of_span]) {
  if constexpr (Pixels::component == Component::u8) {
    const auto second_bytes = [&](int i) { return __byte_perm(__float_as_uint(v[i]), __float_as_uint(v[i + 1]), 0x0051); };
    const auto pixel = [&](int i) { return __byte_perm(second_bytes(i), second_bytes(i + 2), 0x5410); };
    return make_uint4(pixel(0), pixel(4), pixel(8), pixel(12));
  } else {
    return Pixels::fractions_of_span(v);
  }
}

/// A thread makes pixels of 16 bytes of each row. Threads share out the sums of the blur: four rows or four columns at a time.
template <class Pixels, int kSupport>
__device__ void gauss_strips(const GaussStrips& a) {
  using Pixel = typename Pixels::Stored;
  using Number = typename Pixels::Number;
  constexpr int kPixels = pixels_of_span(Pixels::component), kNumbers = 4 * kPixels;
  constexpr int kNear = kSupport + (kPixels > 1 ? 1 : 0);  // coarse samples of a row that a thread's pixels are made of
  // Rows are the newest one and how much each one before differs from the next, which takes a multiplication less. Differences of floats
  // may be infinite where floats are not.
  constexpr bool kByDifferences = Pixels::component != Component::f32;
  const StripShape shape(kPixels, a.factor_x, a.support_x, a.taps_x);
  let_next_begin();
  extern __shared__ int4 memory[];
  auto* const tile = reinterpret_cast<float4*>(memory);
  float4* const blurred = tile + a.step_rows * shape.pitch;
  auto* const taps_x = reinterpret_cast<float*>(blurred + a.step_rows * shape.blurred);
  float* const taps_y = taps_x + padded_taps(a.taps_x);
  float* const weights_y = taps_y + padded_taps(a.taps_y);
  const auto* const splines = reinterpret_cast<const float*>(a.splines);
  const auto put_taps = [](const float* from, std::int32_t count, float* to) {
    for (std::int32_t i = threadIdx.x; i < padded_taps(count); i += kStripThreads) to[i] = i < count ? from[i] : 0.0F;
  };
  put_taps(reinterpret_cast<const float*>(a.taps), a.taps_x, taps_x);
  put_taps(reinterpret_cast<const float*>(a.taps) + a.taps_x, a.taps_y, taps_y);
  if constexpr (kByDifferences) {
    put_difference_weights<kSupport>(splines + a.factor_x * a.support_x, a.factor_y, a.support_y, weights_y);
  } else {
    put_row_weights(splines + a.factor_x * a.support_x, a.factor_y, a.support_y, kSupport, false, 1.0F, weights_y);
  }

  const BlockPlace block = block_place(a);
  const std::int32_t left = block.across * kStripThreads * kPixels;                // of the strip's pixels
  const std::int32_t first = (a.first_x + left) / a.factor_x - (a.support_x - 1);  // blurred sample that the strip begins with
  const std::int32_t x = left + kPixels * static_cast<std::int32_t>(threadIdx.x);
  const std::int32_t newest = (a.first_x + x + kPixels - 1) / a.factor_x;
  float weights_x[kNear][kPixels];
  std::int32_t places[kNear];
#pragma unroll
  for (int j = 0; j < kNear; ++j) {
    // A pixel of a span may have nothing of the last one, which must be a number all the same.
    places[j] = shape.place(max(newest - j - first, 0));
#pragma unroll
    for (int p = 0; p < kPixels; ++p) {
      const std::int32_t at = a.first_x + x + p - (newest - j) * a.factor_x;
      weights_x[j][p] = at >= 0 && at < a.factor_x * a.support_x ? splines[at] : 0.0F;
    }
  }

  const std::int32_t oldest = a.first_y / a.factor_y + block.down * a.rows - (a.support_y - 1);  // row of blurred samples
  std::int32_t top = (a.first_y / a.factor_y + block.down * a.rows) * a.factor_y - a.first_y;    // row of pixels
  const std::int32_t bottom = min(top + a.rows * a.factor_y, a.destination.height);
  const bool is_whole = are_multiples(a.destination, 16) && x + kPixels <= a.destination.width;
  constexpr std::int32_t kPixelBytes = 16 / kPixels;
  char* out = row_of(a.destination, block.image, max(top, 0)) + std::int64_t{x} * kPixelBytes;
  // Of the first sums of a thread in each step: down columns and along rows.
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  const PerItem down{thread / shape.columns, thread % shape.columns}, along{thread / shape.spans, thread % shape.spans};
  const char* const grid = row_of(a.source, block.image, 0);
  const auto grid_pitch = static_cast<std::uint32_t>(a.source.row_bytes / 16);
  float rows[kSupport][kNumbers] = {};
  std::int32_t missing = a.support_y - 1;
  await_previous();
  __syncthreads();

  std::int32_t left_rows = a.rows + a.support_y - 1;  // of blurred samples
  for (std::int32_t row = oldest; top < bottom; row += a.step_rows) {
    const std::int32_t step_rows = min(a.step_rows, whole_fours(left_rows));
    left_rows -= step_rows;
    for (PerItem item = down; item.group * kStripSums < step_rows; item.advance(shape.columns)) {
      const std::int32_t y = item.group * kStripSums, column = item.at;
      const auto from = static_cast<std::uint32_t>(clamped(a.blur_x + first + column, a.source.width));
      const std::int32_t above = a.blur_y + row + y;
      float4 sums[kStripSums] = {};
      add_fours(reinterpret_cast<const float4*>(taps_y), a.taps_y, sums, [&](std::int32_t k, float4(&v)[4]) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const auto at = static_cast<std::uint32_t>(clamped(above + 4 * k + i, a.source.height));
          v[i] = reinterpret_cast<const float4*>(grid)[at * grid_pitch + from];
        }
      });
#pragma unroll
      for (int p = 0; p < kStripSums; ++p) tile[(y + p) * shape.pitch + shape.place(column)] = sums[p];
    }
    __syncthreads();
    for (PerItem item = along; item.group < step_rows; item.advance(shape.spans)) {
      const std::int32_t y = item.group, span = shape.place(kStripSums) * item.at;
      const float4* const at = tile + y * shape.pitch + span;
      float4 sums[kStripSums] = {};
      add_fours(reinterpret_cast<const float4*>(taps_x), a.taps_x, sums, [&](std::int32_t k, float4(&v)[4]) {
#pragma unroll
        for (int i = 0; i < 4; ++i) v[i] = at[shape.place(kStripSums) * k + i];
      });
#pragma unroll
      for (int p = 0; p < kStripSums; ++p) blurred[y * shape.blurred + span + p] = sums[p];
    }
    __syncthreads();

    for (std::int32_t i = 0; i < step_rows && top < bottom; ++i) {
      const float4* const samples = blurred + i * shape.blurred;
#pragma unroll
      for (int j = kSupport - 1; j > (kByDifferences ? 1 : 0); --j) {
#pragma unroll
        for (int n = 0; n < kNumbers; ++n) rows[j][n] = rows[j - 1][n];
      }
      if constexpr (kByDifferences) {
#pragma unroll
        for (int n = 0; n < kNumbers; ++n) rows[1][n] = rows[0][n];
      }
#pragma unroll
      for (int j = 0; j < kNear; ++j) {
        const float4 v = samples[places[j]];
#pragma unroll
        for (int n = 0; n < kNumbers; ++n) {
          const float number = n % 4 == 0 ? v.x : n % 4 == 1 ? v.y : n % 4 == 2 ? v.z : v.w;
          rows[0][n] = j == 0 ? weights_x[j][n / 4] * number : fmaf(weights_x[j][n / 4], number, rows[0][n]);
        }
      }
      if constexpr (kByDifferences) {
#pragma unroll
        for (int n = 0; n < kNumbers; ++n) {
          if (Pixels::component == Component::u8) rows[0][n] += kCodesFrom;
          rows[1][n] -= rows[0][n];
        }
      }
      if (missing > 0) {
        --missing;
        continue;
      }
      const std::int32_t from = max(-top, 0), to = min(a.factor_y, bottom - top);
      const auto mixed = [&](std::int32_t phase, float(&v)[kNumbers]) {
        constexpr int kFirst = kByDifferences ? 1 : 0;  // row that is weighed
        float weights[whole_fours(kSupport - kFirst)];
        load_row_weights<kSupport - kFirst>(weights_y, phase, weights);
#pragma unroll
        for (int j = kFirst; j < kSupport; ++j) {
          const float w = weights[j - kFirst];
#pragma unroll
          for (int n = 0; n < kNumbers; ++n) {
            v[n] = j == 0 ? w * rows[0][n] : fmaf(w, rows[j][n], j == 1 && kByDifferences ? rows[0][n] : v[n]);
          }
        }
      };
      if (is_whole) {
#pragma unroll 2
        for (std::int32_t phase = from; phase < to; ++phase) {
          float v[kNumbers];
          mixed(phase, v);
          *reinterpret_cast<uint4*>(out) = span_of<Pixels>(v);
          out += a.destination.row_bytes;
        }
      } else {
#pragma unroll 1
        for (std::int32_t phase = from; phase < to; ++phase) {
          float v[kNumbers];
          mixed(phase, v);
          const uint4 span = span_of<Pixels>(v);
#pragma unroll
          for (int p = 0; p < kPixels; ++p) {
            if (x + p >= a.destination.width) break;
            if (a.destination.is_aligned) {
              reinterpret_cast<Pixel*>(out)[p] = reinterpret_cast<const Pixel*>(&span)[p];
            } else {
#pragma unroll
              for (int c = 0; c < 4; ++c) reinterpret_cast<Number*>(out)[4 * p + c] = reinterpret_cast<const Number*>(&span)[4 * p + c];
            }
          }
          out += a.destination.row_bytes;
        }
      }
      top += a.factor_y;
    }
  }
}

}  // namespace

#define MOLLIFY_GAUSS_STRIPS(name, pixels, support)                                   \
  __global__ void __launch_bounds__(kStripThreads, strips_at_once(pixels::component)) \
      gauss_strips_##name##_##support(const __grid_constant__ GaussStrips a) {        \
    gauss_strips<pixels, support>(a);                                                 \
  }
#define MOLLIFY_OF_STRIPS_OF_BYTES(add) add(4_u8, BytesOf<4>, 3) add(4_u8, BytesOf<4>, 4)
#define MOLLIFY_OF_STRIPS_OF_HALVES(add) add(4_f16, HalvesOf<4>, 3) add(4_f16, HalvesOf<4>, 4) add(4_f16, HalvesOf<4>, 5)
#define MOLLIFY_OF_STRIPS_OF_FLOATS(add) \
  add(4_f32, FloatsOf<4>, 3) add(4_f32, FloatsOf<4>, 4) add(4_f32, FloatsOf<4>, 5) add(4_f32, FloatsOf<4>, 6)
#define MOLLIFY_OF_GAUSS_STRIPS(add) MOLLIFY_OF_STRIPS_OF_BYTES(add) MOLLIFY_OF_STRIPS_OF_HALVES(add) MOLLIFY_OF_STRIPS_OF_FLOATS(add)

extern "C" {
MOLLIFY_OF_GAUSS_STRIPS(MOLLIFY_GAUSS_STRIPS)
}

}  // namespace mollify::cuda
