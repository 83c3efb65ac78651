// Products of small matrices of halves, summed in f32, by a warp. In comments, g is a lane's number / 4, and q its rest.
#pragma once

#include "backends/cuda/kernels/pixels.cuh"

namespace mollify::cuda {

/// Two numbers as halves, rounded to the nearest: `low` in the low 16 bits.
__device__ inline unsigned two_halves(float low, float high) {
  const __half2 halves = __floats2half2_rn(low, high);
  return reinterpret_cast<const unsigned&>(halves);
}

/// Cut to the eleven bits of a half, so that the rest is what it lacks.
__device__ inline float upper_half(float v) {
  return __uint_as_float(__float_as_uint(v) & 0xFFFFE000U);
}

/// What a lane holds of a matrix of sums.
struct alignas(16) Sums {
  float at[4];
};

/// sums = left * right + addend, of 16x16 and 16x8 numbers. A lane holds, of `left`, rows g, g + 8, g, g + 8 at columns 2q and 2q + 1, the
/// latter two 8 columns on; of `right`, rows 2q and 2q + 1 of column g, and 8 rows below; of sums, columns 2q and 2q + 1 of row g, and of
/// row g + 8.
__device__ inline void multiply_add(Sums& sums, const unsigned (&left)[4], unsigned right, unsigned below, const Sums& addend) {
#if defined(MOLLIFY_EMULATION)
  emulation::multiply_add(sums.at, left, right, below, addend.at);
#elif __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
      : "=f"(sums.at[0]), "=f"(sums.at[1]), "=f"(sums.at[2]), "=f"(sums.at[3])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right), "r"(below), "f"(addend.at[0]), "f"(addend.at[1]),
        "f"(addend.at[2]), "f"(addend.at[3]));
#else
  const auto half = [&](unsigned a, unsigned b, unsigned c, const Sums& to) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"
        : "=f"(sums.at[0]), "=f"(sums.at[1]), "=f"(sums.at[2]), "=f"(sums.at[3])
        : "r"(a), "r"(b), "r"(c), "f"(to.at[0]), "f"(to.at[1]), "f"(to.at[2]), "f"(to.at[3]));
  };
  half(left[0], left[1], right, addend);
  half(left[2], left[3], below, sums);
#endif
}

/// The matrix of 8x8 numbers of 16 bits, turned over: a lane holds columns 2q and 2q + 1 of row g.
__device__ inline unsigned transposed(unsigned matrix) {
#if defined(MOLLIFY_EMULATION)
  return emulation::transposed(matrix);
#else
  unsigned out;
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(out) : "r"(matrix));
  return out;
#endif
}

/// As multiply_add(), of 16x8 and 8x8 numbers of f32, of which the lower 13 bits are not read. A lane holds two columns of `left`, of each
/// rows g and g + 8, and two rows of `right`, of each column g. Which two these are is free, if `left` and `right` have the same.
__device__ inline void multiply_add_tf32(Sums& sums, const unsigned (&left)[4], const unsigned (&right)[2], const Sums& addend) {
#if defined(MOLLIFY_EMULATION)
  emulation::multiply_add_tf32(sums.at, left, right, addend.at);
#elif __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
      : "=f"(sums.at[0]), "=f"(sums.at[1]), "=f"(sums.at[2]), "=f"(sums.at[3])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]), "f"(addend.at[0]), "f"(addend.at[1]),
        "f"(addend.at[2]), "f"(addend.at[3]));
#else
  __trap();  // tensor cores of earlier GPUs have no such numbers, and plans for them no such products
#endif
}

}  // namespace mollify::cuda
