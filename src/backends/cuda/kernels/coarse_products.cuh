// Products of matrices of f32 numbers on tensor cores, and what is stored of their sums. Each number is the sum of two that tensor cores
// multiply: the one next to it, and the one next to what that lacks. What both sides lack is not multiplied, which costs 2^-22.
// In comments, g is a lane's number / 4, and q its rest.
#pragma once

#include "backends/cuda/kernels/coarse_products_shape.h"
#include "backends/cuda/kernels/matrices.cuh"

namespace mollify::cuda {
namespace {

// What products by either kind of number have: put() makes the operands of a lane, of a pair of neighbouring matrices of eight columns on
// the left and eight rows on the right. On the left a lane has columns 2q and 2q + 1 of row g, and of row g + 8, as sums of products lie
// too; on the right, rows 2q and 2q + 1 of column g. multiply() is sums = left * right + addend, of the first or of both of a pair.

/// By halves, for numbers up to 2^15 whose error may be 2^-25.
struct Halves {
  struct alignas(16) LeftPair {
    unsigned upper[4];
    unsigned lower[4];
  };
  struct alignas(16) RightPair {
    unsigned upper[2];
    unsigned lower[2];
  };

  static __device__ void put(LeftPair& pair, int i, const float (&v)[4]) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float first = upper_half(v[2 * r]), second = upper_half(v[2 * r + 1]);
      pair.upper[2 * i + r] = two_halves(first, second);
      pair.lower[2 * i + r] = two_halves(v[2 * r] - first, v[2 * r + 1] - second);
    }
  }
  static __device__ void put(RightPair& pair, int i, float first, float second) {
    pair.upper[i] = two_halves(upper_half(first), upper_half(second));
    pair.lower[i] = two_halves(first - upper_half(first), second - upper_half(second));
  }
  template <int kBlocks>
  static __device__ void multiply(Sums& sums, const LeftPair& left, const RightPair& right, const Sums& addend) {
    if constexpr (kBlocks == 1) {  // the place of the second block is taken by what the first one lacks
      const unsigned twice[4] = {left.upper[0], left.upper[1], left.upper[0], left.upper[1]};
      const unsigned rest[4] = {left.lower[0], left.lower[1], 0, 0};
      multiply_add(sums, twice, right.upper[0], right.lower[0], addend);
      multiply_add(sums, rest, right.upper[0], 0, sums);
    } else {
      multiply_add(sums, left.upper, right.upper[0], right.upper[1], addend);
      multiply_add(sums, left.upper, right.lower[0], right.lower[1], sums);
      multiply_add(sums, left.lower, right.upper[0], right.upper[1], sums);
    }
  }
};

/// By tf32, whose range is that of f32.
struct Tf32 {
  struct alignas(16) LeftPair {
    unsigned upper[2][4];
    unsigned lower[2][4];
  };
  struct alignas(16) RightPair {
    unsigned upper[2][2];
    unsigned lower[2][2];
  };

  static __device__ void put(LeftPair& pair, int i, const float (&v)[4]) {
#pragma unroll
    for (int k = 0; k < 2; ++k) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float number = v[2 * r + k];
        pair.upper[i][2 * k + r] = __float_as_uint(upper_half(number));
        pair.lower[i][2 * k + r] = __float_as_uint(number - upper_half(number));
      }
    }
  }
  static __device__ void put(RightPair& pair, int i, float first, float second) {
    pair.upper[i][0] = __float_as_uint(upper_half(first));
    pair.upper[i][1] = __float_as_uint(upper_half(second));
    pair.lower[i][0] = __float_as_uint(first - upper_half(first));
    pair.lower[i][1] = __float_as_uint(second - upper_half(second));
  }
  template <int kBlocks>
  static __device__ void multiply(Sums& sums, const LeftPair& left, const RightPair& right, const Sums& addend) {
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
      multiply_add_tf32(sums, left.upper[i], right.upper[i], i == 0 ? addend : sums);
      multiply_add_tf32(sums, left.upper[i], right.lower[i], sums);
      multiply_add_tf32(sums, left.lower[i], right.upper[i], sums);
    }
  }
};

/// What sums begin with.
template <Component kComponent>
inline constexpr float kFirstSum = kComponent == Component::u8 ? kCodeZero : 0.0F;

[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr int bytes_of(Component component) {
  return component == Component::u8 ? 1 : component == Component::f16 ? 2 : 4;
}

/// Pixels of one row of a group as a lane stores them, of the lane's sums. `row`: 0 for row g, 1 for row g + 8. Sums of bytes are codes and
/// 1024 more, in the range of codes but for what rounding adds.
template <Component kComponent, int kChannels>
struct LanePixels {
  static constexpr int kBytes = kChannels * bytes_of(kComponent);
  static constexpr int kTiles = tiles_of_group(kBytes);
  static constexpr int kPixels = pixels_of_group(kBytes);

  /// Word `w` of the lane's 16 bytes.
  static __device__ unsigned word(const Sums (&sums)[kTiles][kChannels], int row, int w) {
    const auto of = [&](int tile, int i, int c) { return sums[tile][c].at[2 * row + i]; };
    if constexpr (kComponent == Component::f32) {
      return __float_as_uint(of(w / 2, w % 2, 0));
    } else if constexpr (kComponent == Component::f16) {
      return kChannels == 4 ? two_halves(of(0, w / 2, w % 2 * 2 % kChannels), of(0, w / 2, (w % 2 * 2 + 1) % kChannels))
                            : two_halves(of(w % kTiles, 0, 0), of(w % kTiles, 1, 0));
    } else if constexpr (kChannels == 4) {
      const auto codes = [&](int c) { return two_halves(of(w / 2, w % 2, c), of(w / 2, w % 2, c + 1)); };
      return __byte_perm(codes(0), codes(2), 0x6420);
    } else {
      const auto codes = [&](int tile) { return two_halves(of(tile, 0, 0), of(tile, 1, 0)); };
      return __byte_perm(codes(2 * w), codes(2 * w + 1), 0x6420);
    }
  }

  /// To where the group's row begins.
  static __device__ void store_whole(char* to, const Sums (&sums)[kTiles][kChannels], int row, int q) {
    const auto of = [&](int w) { return word(sums, row, w); };
    reinterpret_cast<uint4*>(to)[q] = make_uint4(of(0), of(1), of(2), of(3));
  }
  /// The pixels from `begin` to `end` of the group alone, component by component.
  static __device__ void store_some(char* to, const Sums (&sums)[kTiles][kChannels], int row, int q, std::int32_t begin, std::int32_t end) {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int pixel = pixel_of_group(kBytes, tile, q, i);
        if (pixel < begin || pixel >= end) continue;
#pragma unroll
        for (int c = 0; c < kChannels; ++c) {
          store_component(kComponent, to, pixel * kChannels + c, sums[tile][c].at[2 * row + i] - kFirstSum<kComponent>);
        }
      }
    }
  }
};

/// A coarse sample.
template <int kChannels>
struct alignas(4 * kChannels) Sample {
  float at[kChannels];

  static __device__ Sample load(const char* from) {
    Sample sample;
    if constexpr (kChannels == 4) {
      const float4 v = __ldg(reinterpret_cast<const float4*>(from));
      sample.at[0] = v.x, sample.at[1] = v.y, sample.at[2] = v.z, sample.at[3] = v.w;
    } else if constexpr (kChannels == 2) {
      const float2 v = __ldg(reinterpret_cast<const float2*>(from));
      sample.at[0] = v.x, sample.at[1] = v.y;
    } else {
      static_assert(kChannels == 1);
      sample.at[0] = __ldg(reinterpret_cast<const float*>(from));
    }
    return sample;
  }
};

}  // namespace
}  // namespace mollify::cuda
