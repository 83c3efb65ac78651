// gauss.decimate: pixels of coarse samples, by sums of f32.
#include "backends/cuda/kernels/gauss_sums.cuh"

namespace mollify::cuda {
namespace {

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

  // Of a row: the coarse samples that the four components are made of.
  float samples[kMostSupportX][4];
  const auto fetch = [&](std::int32_t row) {
    const auto* const coarse = reinterpret_cast<const float*>(row_of(a.source, block.image, min(row, a.source.height - 1)));
#pragma unroll
    for (int j = 0; j < kMostSupportX; ++j) {
      if (j >= a.support_x) break;
      if constexpr (kChannels == 4) {
        const float4 v = reinterpret_cast<const float4*>(coarse)[newest[0] - j];
        samples[j][0] = v.x, samples[j][1] = v.y, samples[j][2] = v.z, samples[j][3] = v.w;
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          std::int32_t sample = newest[0];
#pragma unroll
          for (int p = 1; p < kPixels; ++p) {  // registers have no index
            if (pixel_of(i) == p) sample = newest[p];
          }
          samples[j][i] = coarse[(sample - j) * kChannels + channel_of(i)];
        }
      }
    }
  };
  const auto expand = [&](float(&out)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) out[i] = 0.0F;
#pragma unroll
    for (int j = 0; j < kMostSupportX; ++j) {
      if (j >= a.support_x) break;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float w = weights_x[0][j];
#pragma unroll
        for (int p = 1; p < kPixels; ++p) {
          if (pixel_of(i) == p) w = weights_x[p][j];
        }
        out[i] = fmaf(w, samples[j][i], out[i]);
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
      ++coarse;
      fetch(coarse);
      expand(rows[0]);
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

#define MOLLIFY_GAUSS_UPSAMPLE(name, pixels, support, exact)                       \
  __global__ void __launch_bounds__(kUpsampleThreads, exact ? kUpsampleAtOnce : 1) \
      gauss_upsample_##name##_##support(const __grid_constant__ GaussUpsample a) { \
    take_turn();                                                                   \
    gauss_upsample<pixels, support, exact>(a);                                     \
  }
#define MOLLIFY_OF_COMPILED_SUPPORTS(add, name, pixels) \
  add(name, pixels, 3, true) add(name, pixels, 4, true) add(name, pixels, 5, true) add(name, pixels, 6, true)
#define MOLLIFY_OF_ANY_SUPPORT(add)                                                                        \
  add(1_any, AnyCoding<1>, 8, false) add(2_any, AnyCoding<2>, 8, false) add(3_any, AnyCoding<3>, 8, false) \
      add(4_any, AnyCoding<4>, 8, false)
#define MOLLIFY_OF_GAUSS_UPSAMPLE(add)                  \
  MOLLIFY_OF_COMPILED_SUPPORTS(add, 1_u8, BytesOf<1>)   \
  MOLLIFY_OF_COMPILED_SUPPORTS(add, 1_f16, HalvesOf<1>) \
  MOLLIFY_OF_COMPILED_SUPPORTS(add, 1_f32, FloatsOf<1>) \
  MOLLIFY_OF_ANY_SUPPORT(add)

extern "C" {
MOLLIFY_OF_GAUSS_UPSAMPLE(MOLLIFY_GAUSS_UPSAMPLE)
}

}  // namespace mollify::cuda
