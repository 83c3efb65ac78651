// Which filters sep_warps.cu makes, and how it lays out shared memory: the planner, the host and the kernel reckon with the same numbers.
#pragma once

#include "backends/cuda/kernels/fours.h"

namespace mollify::cuda {

inline constexpr int kSepWarpsRows = 4;           ///< that are copied to shared memory together
inline constexpr std::int32_t kSepWarpsMost = 4;  ///< warps of a block, at most

/// Kernels are compiled for these numbers of taps, the same on either axis.
inline constexpr std::int32_t kSepWarpsSizes[] = {3, 5, 7, 9, 13, 17, 19, 21, 25, 29};

/// Whether there is one for images of so many bits a component. With more taps, bytes and halves take less time by products, and floats by
/// rows that a block of threads filters together.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr bool has_sep_warps(int channels, int bits, std::int32_t taps) {
  if (channels == 4) return taps <= (bits == 8 ? 3 : bits == 16 ? 7 : 9);
  return channels == 1 && taps <= (bits == 8 ? 7 : 29) && taps != (bits == 32 ? 21 : 19);
}

inline constexpr std::int32_t kSepWarpsMostRows = 512;  ///< of a chunk, and up to three more

/// Rows that are read for a chunk of so many rows, up to three more than needed: stages are whole.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t sep_warps_source_rows(std::int32_t rows, std::int32_t taps) {
  return (rows + taps - 1 + kSepWarpsRows - 1) / kSepWarpsRows * kSepWarpsRows;
}

/// Of images whose components have so many bits.
struct SepWarpsShape {
  int own;           ///< neighbouring components of a row that are a lane's
  int unit_bytes;    ///< that these take
  int pixels;        ///< of a unit
  int stages;        ///< of a ring, of rows that are copied together: they are filtered or on their way
  bool is_unrolled;  ///< the loop over the rows of a stage
  int at_once;       ///< blocks of the most warps that registers of a multiprocessor have room for
  int halo;          ///< units before those of the lanes, and after them. They take multiples of 32 bytes, a sector of memory.

  MOLLIFY_HOST_DEVICE constexpr SepWarpsShape(int channels, int bits, std::int32_t taps)
      : own(channels == 4                            ? 128 / bits
            : bits == 32 || (bits == 16 && taps > 5) ? 4
                                                     : 8),
        unit_bytes(own * bits / 8),
        pixels(own / channels),
        stages(channels == 1 || taps >= 9 ? 2 : 3),
        is_unrolled(channels == 4 && taps >= 9),
        at_once(is_unrolled || own * taps > 76 ? 3
                : own * taps > 44              ? 4
                                               : 5),
        halo((taps / 2 * channels * bits / 8 + 31) / 32 * 32 / unit_bytes) {}
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr int units() const { return 32 + 2 * halo; }  ///< of a row of a warp's ring
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr int row_bytes() const { return units() * unit_bytes; }
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr int ring_bytes() const { return stages * kSepWarpsRows * row_bytes(); }
  /// A warp has its ring, the column that stands in for each pixel of a row, and what taps weigh that lie outside, for each pixel.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr int warp_bytes() const { return ring_bytes() + 4 * pixels * (units() + 32); }
  /// A block has those of its warps, and where each source row of a chunk of so many rows lies.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr int shared_bytes(std::int32_t warps, std::int32_t rows, std::int32_t taps) const {
    return warps * warp_bytes() + 8 * sep_warps_source_rows(rows, taps);
  }
};

}  // namespace mollify::cuda
