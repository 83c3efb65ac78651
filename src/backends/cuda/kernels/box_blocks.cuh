// Sums of columns of blocks of rows, with which the first windows of box_segments.cuh begin: how a kernel makes them, and how they are
// read.
#pragma once

#include "backends/cuda/kernels/box_columns.cuh"

namespace mollify::cuda {
namespace {

__device__ inline bool has_blocks(const BoxSlide& a) {
  return a.whole > 0 || a.part > 0;
}

/// Sums of columns of a chunk's first window, from blocks: those from the chunk's own on. Rows of block sums are pairs: of whole blocks,
/// and of their beginnings.
template <class Kind, int kColumns, int kStep>
__device__ inline void add_blocks(const BoxSlide& a, const BlockPlace& block, std::int32_t column, typename Kind::Sums (&sums)[kColumns]) {
  const auto add_row = [&](std::int32_t row) {
    const auto* const some = reinterpret_cast<const typename Kind::Sums*>(row_of(a.blocks, block.image, row)) + column;
#pragma unroll
    for (int p = 0; p < kColumns; ++p) Kind::add(sums[p], some[p * kStep]);
  };
#pragma unroll 2
  for (int i = 0; i < a.whole; ++i) add_row(2 * (block.down + i));
  if (a.part > 0) add_row(2 * (block.down + a.whole) + 1);
}

/// Sums of columns of a block of rows, and of its first a.window_y rows. The warps of a block of threads share out the rows.
template <class Kind, Access kAccess>
__device__ void sum_block(const BoxAny& a, const BlockPlace& block, bool are_aligned, const std::int64_t* places,
                          typename Kind::Sums* sums) {
  using Sums = typename Kind::Sums;
  constexpr int kColumns = box_block_columns(sizeof(typename Kind::Pixel)), kWarps = kBoxBlockThreads / 32, kReach = 32 * kColumns;
  static_assert(kReach <= kBoxBlockThreads && kWarps * kReach * sizeof(Sums) <= kBoxBlockSumsBytes);
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  const std::int32_t lane = thread % 32, warp = thread / 32;
  const std::int32_t first_column = block.across * kReach;
  const Columns<Kind, kColumns, 1, kAccess> columns(a, row_of(a.source, block.image, 0), a.first_x + first_column + lane * kColumns,
                                                    are_aligned);
  Sums all{};
  const auto add_rows = [&](std::int32_t first, std::int32_t last, int kind) {
    const std::int32_t share = (last - first + kWarps - 1) / kWarps;
    const std::int32_t begin = min(first + warp * share, last);
    Sums some[kColumns] = {};
    sum_rows<Kind, kAccess == Access::any ? kRareRows : kBoxBlockRows, kBoxBlockRows>(a, columns, places, begin, min(begin + share, last),
                                                                                      block.down * a.rows + a.first_y, some);
    __syncthreads();  // those of before have been read
#pragma unroll
    for (int p = 0; p < kColumns; ++p) sums[warp * kReach + lane * kColumns + p] = some[p];
    __syncthreads();
    if (thread >= kReach) return;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) Kind::add(all, sums[w * kReach + thread]);
    const std::int32_t column = first_column + thread;
    if (column < a.destination.width) reinterpret_cast<Sums*>(row_of(a.destination, block.image, 2 * block.down + kind))[column] = all;
  };
  add_rows(0, a.window_y, 1);
  add_rows(a.window_y, a.rows, 0);
}

template <class Kind>
__device__ __noinline__ void sum_any_block(const BoxAny& a, BlockPlace block, const std::int64_t* places, typename Kind::Sums* sums) {
  sum_block<Kind, Access::any>(a, block, false, places, sums);
}

template <class Kind>
__device__ inline void box_blocks(const BoxAny& a) {
  constexpr unsigned kPixel = sizeof(typename Kind::Pixel), kColumns = box_block_columns(kPixel);
  extern __shared__ int4 memory[];
  const BlockPlace block = block_place(a);
  const std::int32_t first_row = block.down * a.rows + a.first_y;
  auto* const sums = reinterpret_cast<typename Kind::Sums*>(memory);
  const std::int64_t* const places = find_rows(a, first_row, a.rows + kBoxBlockRows, memory + kBoxBlockSumsBytes / 16);
  const bool are_aligned = are_multiples(a.source, kPixel * kColumns) && a.first_x % static_cast<std::int32_t>(kColumns) == 0;
  const std::int32_t first = a.first_x + block.across * box_block_reach(kPixel);
  const Access access = access_to(a, kPixel, are_aligned, first, box_block_reach(kPixel), first_row, a.rows);
  if (access == Access::any) {
    sum_any_block<Kind>(a, block, places, sums);
  } else if (access == Access::together) {
    sum_block<Kind, Access::together>(a, block, are_aligned, places, sums);
  } else {
    sum_block<Kind, Access::single>(a, block, are_aligned, places, sums);
  }
}

}  // namespace
}  // namespace mollify::cuda
