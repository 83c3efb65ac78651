// Both axes of a separable filter of few taps in one pass, without shared memory. A thread moves down four components of a row. It loads
// all that its taps along x read, most of which lies in the first cache for its neighbours, and keeps the filtered rows that its taps along
// y read in registers.
#include "backends/cuda/kernels/coding.cuh"
#include "backends/cuda/kernels/sep_registers_shape.h"

namespace mollify::cuda {
namespace {

template <class Pixels, int kTaps, bool kTurns = kTakesTurns>
__device__ void sep_registers(const SepFused& a) {
  constexpr int kChannels = Pixels::channels;
  constexpr int kPixelsOfThread = 4 / kChannels;
  constexpr int kReach = kTaps - 1;
  extern __shared__ int4 memory[];
  auto* const columns = reinterpret_cast<int*>(memory);  // the pixel that stands in for each that the block reads, or -1
  const auto* const taps = reinterpret_cast<const float*>(a.taps);
  float weights_x[kTaps], weights_y[kTaps];
#pragma unroll
  for (int k = 0; k < kTaps; ++k) {
    weights_x[k] = taps[k];
    weights_y[k] = taps[kTaps + k];
  }
  const BlockPlace block = block_place(a);
  const auto threads = static_cast<std::int32_t>(blockDim.x);
  const std::int32_t first_pixel = block.across * threads * kPixelsOfThread;
  for (std::int32_t i = threadIdx.x; i < threads * kPixelsOfThread + kReach; i += threads) {
    columns[i] = mapped(a.outside.mode_x, a.first_x + first_pixel + i, a.source.width);
  }
  __syncthreads();

  // A thread behind the end of a row makes what the last one makes, so that warps are whole, and stores nothing.
  const std::int32_t components = a.destination.width * kChannels;
  const std::int32_t wanted = first_pixel * kChannels + 4 * static_cast<std::int32_t>(threadIdx.x);
  const std::int32_t component = min(wanted, (components - 1) / 4 * 4);
  const std::int32_t pixel = component / kChannels;
  // The window begins `skipped` pixels behind a multiple of four components, so that it is a few loads of four.
  const std::int32_t begin = a.first_x + pixel;
  const std::int32_t skipped = kChannels == 1 ? begin - floor_of(begin, 4) * 4 : 0;
  constexpr int kFours = kChannels == 4 ? kTaps : (kTaps + 3 + 3 + 3) / 4;
  const std::int32_t first_component = (begin - skipped) * kChannels;
  // All threads of a warp go the same way: were it left to each, loads of one way would wait for those of the other.
  const bool is_inside =
      __all_sync(~0U, a.source.is_aligned && first_component >= 0 && first_component + 4 * kFours <= a.source.width * kChannels);
  const bool stores = wanted < components;
  const bool is_whole = a.destination.is_aligned && component + 4 <= components;

  const std::int32_t y0 = block.down * a.rows;
  const std::int32_t rows = min(a.rows, a.destination.height - y0);
  const char* const image = row_of(a.source, block.image, 0);
  // Each lane of a warp finds one of the next rows: how far it lies from the first of the image, or -1 for a constant border.
  const auto find = [&](std::int32_t row) {
    const std::int32_t at = mapped(a.outside.mode_y, a.first_y + y0 + row + static_cast<std::int32_t>(threadIdx.x % 32), a.source.height);
    return at < 0 ? std::int64_t{-1} : at * a.source.row_bytes;
  };
  const auto filtered = [&](std::int64_t found, int lane, float(&out)[4]) {
    const std::int64_t distance = __shfl_sync(~0U, found, lane);
    const SourceRow source{distance == -1 ? nullptr : image + distance};
    float samples[4 + kReach * kChannels];
    if (is_inside && source.begin != nullptr) {
      if constexpr (kChannels == 4) {
#pragma unroll
        for (int k = 0; k < kTaps; ++k) {
          const Four v = Pixels::numbers(a, Pixels::load(a, source.begin, first_component + 4 * k));
#pragma unroll
          for (int c = 0; c < 4; ++c) samples[4 * k + c] = v.at[c];
        }
      } else {
        float fours[4 * kFours];
#pragma unroll
        for (int k = 0; k < kFours; ++k) {
          const Four v = Pixels::numbers(a, Pixels::load(a, source.begin, first_component + 4 * k));
#pragma unroll
          for (int c = 0; c < 4; ++c) fours[4 * k + c] = v.at[c];
        }
        // How many are skipped is the same for all threads.
#pragma unroll
        for (int s = 0; s < 4; ++s) {
          if (skipped == s) {
#pragma unroll
            for (int i = 0; i < 4 + kReach; ++i) samples[i] = fours[s + i];
          }
        }
      }
    } else {
      const int* const at = columns + (pixel - first_pixel);
#pragma unroll
      for (int k = 0; k < (kChannels == 4 ? kTaps : 4 + kReach); ++k) {
        const int column = source.begin == nullptr ? -1 : at[k];
#pragma unroll
        for (int c = 0; c < kChannels; ++c) {
          samples[k * kChannels + c] = column < 0 ? static_cast<float>(a.outside.value[c])
                                                  : load_component(Pixels::component, source.begin, std::int64_t{column} * kChannels + c);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) out[i] = 0.0F;
#pragma unroll
    for (int k = 0; k < kTaps; ++k) {
#pragma unroll
      for (int i = 0; i < 4; ++i) out[i] = fmaf(weights_x[k], samples[k * kChannels + i], out[i]);
    }
  };

  // The filtered rows that the taps along y read: from slot s on where rows take turns, from slot 0 on where they move up.
  constexpr int kStepsOfTurn = kTurns ? kTaps : 1;
  float ring[kTaps][4];
  const auto move_up = [&] {
#pragma unroll
    for (int k = 0; k < kReach; ++k) {
#pragma unroll
      for (int i = 0; i < 4; ++i) ring[k][i] = ring[k + 1][i];
    }
  };
  std::int64_t found = find(0);
#pragma unroll kStepsOfTurn
  for (int k = 0; k < kReach; ++k) {
    if constexpr (!kTurns) move_up();
    filtered(found, k, ring[kTurns ? k : kReach - 1]);
  }
  char* out = row_of(a.destination, block.image, y0);
  for (std::int32_t y = 0; y < rows; y += kTaps) {
    found = find(y + kReach);
#pragma unroll kStepsOfTurn
    for (int s = 0; s < kTaps; ++s) {
      if (y + s >= rows) return;
      const int slot = kTurns ? s : 0;
      filtered(found, s, ring[(slot + kReach) % kTaps]);
      float v[4] = {};
#pragma unroll
      for (int k = 0; k < kTaps; ++k) {
#pragma unroll
        for (int i = 0; i < 4; ++i) v[i] = fmaf(weights_y[k], ring[(slot + k) % kTaps][i], v[i]);
      }
      if constexpr (!kTurns) move_up();
      if (stores && is_whole) {
        Pixels::store(a, out, component, v);
      } else if (stores) {
        store_any<kChannels>(a, out, component, {{v[0], v[1], v[2], v[3]}});
      }
      out += a.destination.row_bytes;
    }
  }
}

}  // namespace

#define MOLLIFY_SEP_REGISTERS(name, pixels, taps)                                                                             \
  __global__ void __launch_bounds__(kSepRegistersThreads) sep_registers_##name##_##taps(const __grid_constant__ SepFused a) { \
    sep_registers<pixels, taps>(a);                                                                                           \
  }
// See has_sep_registers().
#define MOLLIFY_OF_SEP_REGISTERS(add)                                                                                                \
  add(1_u8, BytesOf<1>, 3) add(4_u8, BytesOf<4>, 3) add(1_f16, HalvesOf<1>, 3) add(4_f16, HalvesOf<4>, 3) add(1_f32, FloatsOf<1>, 3) \
      add(1_f32, FloatsOf<1>, 5) add(1_f32, FloatsOf<1>, 7) add(1_f32, FloatsOf<1>, 9) add(4_f32, FloatsOf<4>, 3)                    \
          add(4_f32, FloatsOf<4>, 5) add(4_f32, FloatsOf<4>, 7)

extern "C" {
MOLLIFY_OF_SEP_REGISTERS(MOLLIFY_SEP_REGISTERS)
}

}  // namespace mollify::cuda
