// How gauss_decimate.cu divides its work and lays out shared memory: the planner, the host and the kernels reckon with the same numbers.
#pragma once

#include "backends/cuda/kernels/fours.h"

namespace mollify::cuda {

inline constexpr int kDecimateRows = 8;       ///< that a thread loads before it sums them up, at most
inline constexpr int kDecimateThreads = 512;  ///< of a block that decimates, at most
/// Of a multiprocessor, by which chunks are divided, as when times were measured. Registers have room for half as many.
inline constexpr int kDecimateThreadsAtOnce = 1024;
inline constexpr int kUpsampleThreads = 128;  ///< of a block; each makes four components of a row
inline constexpr int kMostSupport = 8;        ///< coarse samples on an axis that a pixel belongs to

/// Blocks that registers of a multiprocessor have room for when pixels are expanded: with one channel a thread makes four pixels, each of
/// which has weights of its own.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr int upsample_at_once(int channels) {
  return channels == 4 ? 8 : 5;
}

/// Kernels of common formats are compiled for these; any other takes one for up to kMostSupport.
inline constexpr int kLeastCompiledSupport = 3;
inline constexpr int kMostCompiledSupport = 6;

/// Floats of the weights of an axis in shared memory: for each pixel of a coarse sample those of all that it belongs to, in whole fours.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t floats_of_weights(std::int32_t factor, std::int32_t support) {
  return factor * whole_fours(support);
}

/// What a block of threads reads and makes of a row when it decimates.
struct DecimateShape {
  std::int32_t columns;     ///< that it reads
  std::int32_t samples;     ///< coarse samples that it makes; none where a spline is wider than the columns
  std::int32_t pitch;       ///< pixels in shared memory from a coarse sample's first to the next one's: odd, so that no bank is met twice
  std::int32_t row_floats;  ///< of its columns in shared memory

  MOLLIFY_HOST_DEVICE constexpr DecimateShape(int channels, std::int32_t threads, std::int32_t factor, std::int32_t support)
      : columns(threads * 4 / channels),
        samples((columns - (pixels_of_fours(channels) - 1) - (support - 1) * factor) / factor),
        pitch(factor | 1),
        row_floats(whole_fours((columns / factor + 1) * pitch * channels)) {}
};

/// Floats in shared memory of a block that decimates: weights of both axes, four columns of each thread, and two rows,
/// of which one is filled while the other is read.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t decimate_floats(const DecimateShape& shape, std::int32_t threads,
                                                                         std::int32_t factor_x, std::int32_t support_x,
                                                                         std::int32_t factor_y, std::int32_t compiled) {
  return floats_of_weights(factor_x, support_x) + floats_of_weights(factor_y, compiled) + 4 * threads + 2 * shape.row_floats;
}

}  // namespace mollify::cuda
