// What one block of threads of box_any.cu does, and how it lays out shared memory.
#pragma once

#include <cstdint>

#include "backends/cuda/kernels/fours.h"

namespace mollify::cuda {

/// Rows that are made together, and pixels of a row that one thread makes: a window is the rest of one run of so many, what lies between,
/// and the beginning of another run.
inline constexpr std::int32_t kBoxRun = 8;
/// Windows have at least so many pixels along either axis: shorter ones have no two runs.
inline constexpr std::int32_t kBoxLeastWindow = kBoxRun + 1;
/// Runs that lie between, down columns, at most. Sums of integers need none of them.
inline constexpr std::int32_t kBoxMostRuns = 64;
inline constexpr std::int32_t kBoxMostThreads = 512;

/// Whole runs between the first and the last of a window.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t box_runs(std::int32_t window) {
  return (window - kBoxLeastWindow) / kBoxRun;
}

/// Of rows that are made together, a power of two that the destination holds no more of.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t box_kept_rows(std::int32_t step) {
  return step == 1 ? kBoxRun : step < kBoxRun / 2 ? kBoxRun / 2 : step < kBoxRun ? 2 : 1;
}

struct BoxShape {
  std::int32_t columns;       ///< pixels of a row that a block of threads reads, whole runs
  std::int32_t row_floats;    ///< of sums down columns: threads of a warp that read eight rows at once use different banks
  std::int32_t stored_bytes;  ///< of a row of results

  /// `four_bytes`: of four stored components of the result.
  MOLLIFY_HOST_DEVICE constexpr BoxShape(int channels, std::int32_t threads, std::int32_t four_bytes)
      : columns(4 * threads / channels / kBoxRun * kBoxRun), row_floats(4 * threads + 4), stored_bytes(threads * four_bytes + 16) {}
  /// Pixels of a row that it makes, whole runs. Loads begin up to three pixels before the first window.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t made(std::int32_t taps) const {
    return (columns - 3 - (taps - 1)) / kBoxRun * kBoxRun;
  }
  /// Sums down columns, of runs of these, results, and the columns that pixels are loaded from.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t runs_at() const { return 4 * kBoxRun * row_floats + 16; }
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t stored_at() const {
    return runs_at() + 4 * kBoxRun * (row_floats / kBoxRun + 1);
  }
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t columns_at() const { return stored_at() + kBoxRun * stored_bytes; }
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t shared_bytes() const { return columns_at() + 4 * (columns + kBoxRun); }
};

inline constexpr std::int32_t kBoxDownThreads = 128;

/// The same for a row of box_wide.cu.
struct BoxAlongShape {
  std::int32_t columns;        ///< pixels of a row that a block of threads reads, a run each
  std::int32_t sums_bytes;     ///< of sums down columns
  std::int32_t runs_bytes;     ///< of sums of runs
  std::int32_t results_bytes;  ///< of results

  MOLLIFY_HOST_DEVICE constexpr BoxAlongShape(int channels, std::int32_t threads, std::int32_t four_bytes)
      : columns(kBoxRun * threads),
        sums_bytes(4 * (columns * channels + (channels == 4 ? 4 * threads : 0)) + 16),
        runs_bytes((4 * threads * channels + 15) / 16 * 16),
        results_bytes(columns * channels / 4 * four_bytes) {}
  /// Pixels of a row that it makes, whole runs.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t made(std::int32_t taps) const {
    return (columns - 3 - (taps - 1)) / kBoxRun * kBoxRun;
  }
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t runs_at() const { return sums_bytes; }
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t groups_at() const { return runs_at() + runs_bytes; }
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t stored_at() const { return groups_at() + (runs_bytes / kBoxRun + 15) / 16 * 16; }
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t shared_bytes() const { return stored_at() + results_bytes; }
};

}  // namespace mollify::cuda
