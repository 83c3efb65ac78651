// Means of windows of bytes, four a pixel: see box_segments.cuh. Sums of columns are two components in a word, and windows slide by dot
// products of the halves of these with 1 and -1. Sums of many rows are of 32 bits. All of it is exact.
#include "backends/cuda/kernels/box_segments.cuh"

namespace mollify::cuda {
namespace {

/// Components 1 and 3 of a pixel, in halves of a word. Sums of whole pixels less 256 times sums of these are sums of components 0 and 2.
__device__ inline unsigned odd_of(unsigned pixel) {
  return __byte_perm(pixel, 0, 0x4341);
}

/// Adds the lower or the upper half of a word, or takes it away.
template <bool kUpper, bool kLeaves>
__device__ inline void add_half(int& sum, unsigned word) {
#ifdef MOLLIFY_EMULATION
  const int half = static_cast<int>(kUpper ? word >> 16 : word & 0xFFFFU);
  sum += kLeaves ? -half : half;
#else
  constexpr unsigned kFactor = (kLeaves ? 0xFFU : 1U) << (kUpper ? 8 : 0);
  asm("dp2a.lo.u32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(word), "r"(kFactor));
#endif
}

/// Pixels of four bytes.
struct PixelsOfBytes {
  using Pixel = unsigned;
  static constexpr bool can_spoil = false;
  static __device__ Pixel load(const char* pixel) {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(pixel);
    return bytes[0] | unsigned{bytes[1]} << 8 | unsigned{bytes[2]} << 16 | unsigned{bytes[3]} << 24;
  }
  static __device__ void store(char* to, Pixel pixel) {
    for (int c = 0; c < 4; ++c) reinterpret_cast<unsigned char*>(to)[c] = static_cast<unsigned char>(pixel >> 8 * c);
  }
  static __device__ Pixel outside(const BoxAny& a) {
    Pixel pixel = 0;
#pragma unroll
    for (int c = 0; c < 4; ++c) pixel |= __double2uint_rn(a.outside.value[c]) << 8 * c;
    return pixel;
  }
  /// The bytes of a pixel are bytes of four words: selector `pair` takes one of two words each.
  static __device__ Pixel joined(const unsigned (&means)[4], unsigned pair) {
    return __byte_perm(__byte_perm(means[0], means[1], pair), __byte_perm(means[2], means[3], pair), 0x5410);
  }
  /// Of products with a.factor. Half a window is in the sums.
  template <class Number>
  static __device__ Pixel quotient(const BoxAny& a, const FourOf<Number>& sums) {
    unsigned means[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) means[c] = __umulhi(static_cast<unsigned>(sums.at[c]), a.factor);
    return joined(means, 0x40U + 0x11U * (a.shift / 8));
  }
};

/// `kByFloats`: how means are made.
template <bool kByFloats>
struct SummedBytes : PixelsOfBytes {
  struct alignas(8) Sums {
    unsigned words, odd;  ///< of whole pixels, and of components 1 and 3
  };
  using Column = uint2;  ///< of components 0 and 2, and of 1 and 3
  using Number = int;
  using Windows = FourOf<int>;

  static __device__ void enter(const BoxAny&, Sums& sums, Pixel pixel) {
    sums.words += pixel;
    sums.odd += odd_of(pixel);
  }
  static __device__ void slide(const BoxAny&, Sums& sums, Pixel coming, Pixel leaving) {
    sums.words += coming - leaving;
    sums.odd += odd_of(coming) - odd_of(leaving);
  }
  static __device__ void add(Sums& sums, const Sums& some) {
    sums.words += some.words;
    sums.odd += some.odd;
  }
  static __device__ Column column(const Sums& sums) { return make_uint2(sums.words - 256U * sums.odd, sums.odd); }

  template <bool kLeaves>
  static __device__ void change(Windows& sums, Column column) {
    add_half<false, kLeaves>(sums.at[0], column.x);
    add_half<false, kLeaves>(sums.at[1], column.y);
    add_half<true, kLeaves>(sums.at[2], column.x);
    add_half<true, kLeaves>(sums.at[3], column.y);
  }
  static __device__ void add(Windows& sums, Column column) { change<false>(sums, column); }
  static __device__ void take(Windows& sums, Column column) { change<true>(sums, column); }
  /// Means are products, for which half a window is added, or of floats.
  static __device__ void begin(const BoxAny& a, Windows& sums) {
    if constexpr (kByFloats) return;
#pragma unroll
    for (int& sum : sums.at) sum += static_cast<int>(a.half);
  }
  static __device__ Pixel mean(const BoxAny& a, const Windows& sums) {
    if constexpr (kByFloats) {
      // The float whose bits are those of a sum is 2^-149 of it. Multiplied by 2^126 times the scale it is 2^-23 of the mean, of which as
      // many are 1 in steps of floats from 1 on: added to that, the mean is rounded, and its bits are the lowest.
      const float scale = a.scale * 0x1p126F;
      unsigned means[4];
#pragma unroll
      for (int c = 0; c < 4; ++c) means[c] = __float_as_uint(fmaf(__int_as_float(sums.at[c]), scale, 1.0F));
      return joined(means, 0x40U);
    } else {
      return quotient(a, sums);
    }
  }
};

/// Of many rows.
struct ManySummedBytes : PixelsOfBytes {
  using Sums = FourOf<unsigned>;
  using Column = Sums;
  using Number = unsigned;
  static __device__ void enter(const BoxAny&, Sums& sums, Pixel pixel) {
#pragma unroll
    for (unsigned c = 0; c < 4; ++c) sums.at[c] += __byte_perm(pixel, 0, 0x4440U | c);
  }
  static __device__ void slide(const BoxAny&, Sums& sums, Pixel coming, Pixel leaving) {
#pragma unroll
    for (unsigned c = 0; c < 4; ++c) sums.at[c] += __byte_perm(coming, 0, 0x4440U | c) - __byte_perm(leaving, 0, 0x4440U | c);
  }
  static __device__ Column column(const Sums& sums) {
    return sums;
  }
  static __device__ void add(Sums& sums, const Sums& some) {
    cuda::add(sums, some);
  }
  static __device__ void take(Sums& sums, const Sums& some) {
    cuda::take(sums, some);
  }
  static __device__ void begin(const BoxAny& a, Sums& sums) {
#pragma unroll
    for (unsigned& sum : sums.at) sum += a.half;
  }
  static __device__ Pixel mean(const BoxAny& a, const Sums& sums) {
    return quotient(a, sums);
  }
};

}  // namespace

// A form of kBoxSegmentsOfBytes, and how means are made: see has_float_means().
#define MOLLIFY_OF_BOX_SEGMENTS(add)                                                                       \
  add(0, floats, SummedBytes<true>) add(1, floats, SummedBytes<true>) add(1, integers, SummedBytes<false>) \
      add(2, integers, SummedBytes<false>) add(3, integers, ManySummedBytes)

#define MOLLIFY_BOX_SEGMENTS_OF_BYTES(form, means, ...) \
  MOLLIFY_BOX_SEGMENTS(box_segments_4_u8_##form##_##means, __VA_ARGS__, kBoxSegmentsOfBytes, form)

extern "C" {
MOLLIFY_OF_BOX_SEGMENTS(MOLLIFY_BOX_SEGMENTS_OF_BYTES)

__global__ void __launch_bounds__(kBoxBlockThreads, kBoxBlocksAtOnce) box_blocks_4_u8(const __grid_constant__ BoxAny a) {
  take_turn();
  box_blocks<SummedBytes<true>>(a);
}
__global__ void __launch_bounds__(kBoxBlockThreads, kBoxBlocksAtOnce) box_blocks_4_u8_many(const __grid_constant__ BoxAny a) {
  take_turn();
  box_blocks<ManySummedBytes>(a);
}
}

}  // namespace mollify::cuda
