// Means of windows of halves and floats, four a pixel: see box_segments.cuh.
#include "backends/cuda/kernels/box_segments.cuh"

namespace mollify::cuda {
namespace {

/// What both have in common: sums are of four floats, here and in shared memory.
struct SumsOfFloats {
  using Sums = Four;
  using Column = Four;
  using Number = float;
  static constexpr bool can_spoil = true;
  static __device__ void add(Four& sums, const Four& some) { cuda::add(sums, some); }
  static __device__ void take(Four& sums, const Four& some) { cuda::take(sums, some); }
  static __device__ Column column(const Sums& sums) { return sums; }
  static __device__ void begin(const BoxAny&, Four&) {}
  /// Or adding them up overflows.
  static __device__ bool is_finite(const Four& sums) { return ((sums.at[0] + sums.at[1]) + (sums.at[2] + sums.at[3])) * 0.0F == 0.0F; }
  static __device__ Four scaled(const Four& v, float scale) {
    return {{v.at[0] * scale, v.at[1] * scale, v.at[2] * scale, v.at[3] * scale}};
  }
  static __device__ Four outside_numbers(const BoxAny& a) {
    return {{static_cast<float>(a.outside.value[0]), static_cast<float>(a.outside.value[1]), static_cast<float>(a.outside.value[2]),
             static_cast<float>(a.outside.value[3])}};
  }
};

struct SummedFloats : SumsOfFloats {
  using Pixel = Four;
  using SumsOfFloats::is_finite;  // of a pixel, too
  static __device__ Pixel load(const char* pixel) {
    const auto* const numbers = reinterpret_cast<const float*>(pixel);
    return {{numbers[0], numbers[1], numbers[2], numbers[3]}};
  }
  static __device__ void store(char* to, const Pixel& pixel) {
    for (int c = 0; c < 4; ++c) reinterpret_cast<float*>(to)[c] = pixel.at[c];
  }
  static __device__ Pixel outside(const BoxAny& a) { return outside_numbers(a); }
  static __device__ void enter(const BoxAny& a, Sums& sums, const Pixel& pixel) {
#pragma unroll
    for (int c = 0; c < 4; ++c) sums.at[c] = fmaf(pixel.at[c], a.lift, sums.at[c]);
  }
  static __device__ void slide(const BoxAny& a, Sums& sums, const Pixel& coming, const Pixel& leaving) {
#pragma unroll
    for (int c = 0; c < 4; ++c) sums.at[c] = fmaf(coming.at[c] - leaving.at[c], a.lift, sums.at[c]);
  }
  static __device__ Pixel mean(const BoxAny& a, const Four& sums) {
    return scaled(sums, a.scale);
  }
  static __device__ Four share(const BoxAny& a, const Pixel& pixel) {
    return scaled(pixel, a.scale * a.lift);
  }
  static __device__ Pixel stored(const Four& means) {
    return means;
  }
};

struct SummedHalves : SumsOfFloats {
  using Pixel = uint2;
  using SumsOfFloats::is_finite;
  static __device__ bool is_finite(const Pixel& pixel) {
    constexpr unsigned kExponent = 0x7C00U;
    const auto are_finite = [](unsigned word) { return (word & kExponent) != kExponent && (word >> 16 & kExponent) != kExponent; };
    return are_finite(pixel.x) && are_finite(pixel.y);
  }
  static __device__ Pixel load(const char* pixel) {
    const auto* const halves = reinterpret_cast<const unsigned short*>(pixel);
    return make_uint2(halves[0] | unsigned{halves[1]} << 16, halves[2] | unsigned{halves[3]} << 16);
  }
  static __device__ void store(char* to, const Pixel& pixel) {
    auto* const halves = reinterpret_cast<unsigned short*>(to);
    halves[0] = static_cast<unsigned short>(pixel.x);
    halves[1] = static_cast<unsigned short>(pixel.x >> 16);
    halves[2] = static_cast<unsigned short>(pixel.y);
    halves[3] = static_cast<unsigned short>(pixel.y >> 16);
  }
  static __device__ Pixel outside(const BoxAny& a) { return stored(outside_numbers(a)); }
  static __device__ Four numbers(const Pixel& pixel) {
    const float2 a = __half22float2(reinterpret_cast<const __half2&>(pixel.x)),
                 b = __half22float2(reinterpret_cast<const __half2&>(pixel.y));
    return {{a.x, a.y, b.x, b.y}};
  }
  /// Twice a pixel that enters: halves from kBoxOutlier on become infinite.
  static __device__ Four twice(const Pixel& pixel) {
    static_assert(kBoxOutlier == 32768.0);
    const auto doubled = [](unsigned word) {
      const __half2 v = reinterpret_cast<const __half2&>(word);
      const __half2 sum = __hadd2(v, v);
      return reinterpret_cast<const unsigned&>(sum);
    };
    return numbers(make_uint2(doubled(pixel.x), doubled(pixel.y)));
  }
  static __device__ void enter(const BoxAny& a, Sums& sums, const Pixel& pixel) {
    const Four coming = twice(pixel);
    const float lift = 0.5F * a.lift;
#pragma unroll
    for (int c = 0; c < 4; ++c) sums.at[c] = fmaf(coming.at[c], lift, sums.at[c]);
  }
  static __device__ void slide(const BoxAny& a, Sums& sums, const Pixel& from, const Pixel& to) {
    const Four coming = twice(from), leaving = numbers(to);
    const float lift = 0.5F * a.lift;
#pragma unroll
    for (int c = 0; c < 4; ++c) sums.at[c] = fmaf(fmaf(leaving.at[c], -2.0F, coming.at[c]), lift, sums.at[c]);
  }
  static __device__ Pixel mean(const BoxAny& a, const Four& sums) {
    return stored(scaled(sums, a.scale));
  }
  static __device__ Four share(const BoxAny& a, const Pixel& pixel) {
    return scaled(numbers(pixel), a.scale * a.lift);
  }
  static __device__ Pixel stored(Four means) {
    Pixel pixel;
    store_aligned(Component::f16, reinterpret_cast<char*>(&pixel), 0, means.at);
    return pixel;
  }
};

}  // namespace

#define MOLLIFY_OF_BOX_SEGMENTS_OF_FLOATS(add) \
  add(f16, Halves, 0) add(f16, Halves, 1) add(f16, Halves, 2) add(f32, Floats, 0) add(f32, Floats, 1) add(f32, Floats, 2)
#define MOLLIFY_BOX_SEGMENTS_OF_FLOATS(type, kind, form) \
  MOLLIFY_BOX_SEGMENTS(box_segments_4_##type##_##form, Summed##kind, kBoxSegmentsOf##kind, form)
#define MOLLIFY_BOX_BLOCKS_OF_FLOATS(type, kind)                                                                                \
  __global__ void __launch_bounds__(kBoxBlockThreads, kBoxBlocksAtOnce) box_blocks_4_##type(const __grid_constant__ BoxAny a) { \
    take_turn();                                                                                                                \
    box_blocks<Summed##kind>(a);                                                                                                \
  }

extern "C" {
MOLLIFY_OF_BOX_SEGMENTS_OF_FLOATS(MOLLIFY_BOX_SEGMENTS_OF_FLOATS)
MOLLIFY_BOX_BLOCKS_OF_FLOATS(f16, Halves)
MOLLIFY_BOX_BLOCKS_OF_FLOATS(f32, Floats)
}

}  // namespace mollify::cuda
