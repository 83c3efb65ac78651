// How sep_scatter.cu lays out shared memory and shares out its work: the planner, the host and the kernel reckon with the same numbers.
#pragma once

#include "backends/cuda/kernels/fours.h"

namespace mollify::cuda {

inline constexpr int kSepScatterRows = 8;            ///< that are loaded and filtered along x at once
inline constexpr int kSepScatterStages = 2;          ///< of so many rows each, that are filtered or on their way
inline constexpr std::int32_t kSepScatterTaps = 45;  ///< on each axis, at most

/// Kernels are compiled for these numbers of taps, the same on either axis; those of one channel where sep_warps.cu has none.
inline constexpr std::int32_t kSepScatterSizes[] = {13, 17, 19, 21, 25, 29, 33, 37, 41, kSepScatterTaps};

/// Neighbouring components of a row that are a thread's along y: it keeps a sum for each tap of each of them.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr int sep_scatter_own(std::int32_t taps) {
  return taps <= 25 ? 4 : 2;
}
/// Of a block, at most: a strip is as wide in all kernels.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr int sep_scatter_threads(std::int32_t taps) {
  return 512 / sep_scatter_own(taps);
}
/// Blocks of so many threads that registers of a multiprocessor have room for.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr int sep_scatter_at_once(std::int32_t taps) {
  return taps <= 19 ? 4 : taps <= 25 ? 3 : 2;
}

/// Samples before the first tap of a strip's first pixel, so that fours of components are loads of 16 bytes. Strips begin at multiples
/// of four pixels, unless a region begins at none: then each pixel is a load.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr int sep_scatter_shift(int channels, std::int32_t taps) {
  return channels == 1 ? (4 - taps / 2 % 4) % 4 : 0;
}

struct SepScatterShape {
  std::int32_t fours;           ///< float4s of a source row
  std::int32_t source_bytes;    ///< from one source row in shared memory to the next: lanes side by side read different rows
  std::int32_t filtered_bytes;  ///< the same of rows filtered along x
  std::int32_t columns;         ///< pixels of a source row

  MOLLIFY_HOST_DEVICE constexpr SepScatterShape(int channels, std::int32_t taps, std::int32_t threads)
      : fours((sep_scatter_own(taps) * threads + (taps - 1 + sep_scatter_shift(channels, taps)) * channels + 3) / 4),
        source_bytes((16 * fours + 127) / 128 * 128 + 16),
        filtered_bytes(4 * sep_scatter_own(taps) * threads + 16),
        columns(4 * fours / channels) {}
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t shared_bytes() const {
    return kSepScatterRows * (kSepScatterStages * source_bytes + filtered_bytes) + 4 * columns;
  }
};

}  // namespace mollify::cuda
