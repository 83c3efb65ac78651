// With which numbers: tile shapes of CPUs, and what a copy and arithmetic take, roughly. Pure functions of the device and the work.
#pragma once

#include <cstdint>
#include <limits>

#include "mollify/plan.h"

namespace mollify {

/// Seconds that copying `bytes` (read + written) takes, rough.
[[nodiscard]] double copy_seconds(const DeviceInfo& device, std::int64_t bytes);

/// Seconds of `operations` multiply-adds spread over the device's threads, rough.
[[nodiscard]] double arithmetic_seconds(const DeviceInfo& device, double operations);

/// Bytes of the largest image that a CPU leaves in its caches when it writes it.
[[nodiscard]] std::int64_t cached_bytes(const DeviceInfo& device);

/// What a tiled CPU kernel needs of memory and work.
struct TileNeeds {
  PerAxis<std::int64_t> halo;                                            ///< pixels that a tile reads beyond its own, both sides together
  std::int64_t column_bytes = 0;                                         ///< working set of one column of pixels
  double pixel_operations = 0.0;                                         ///< multiply-adds for each output pixel
  std::int32_t row_multiple = 1;                                         ///< strips are multiples of this many rows
  std::int64_t most_columns = std::numeric_limits<std::int32_t>::max();  ///< of one tile
};

/// How much of `size` one task makes: columns such that the working set stays in the core's cache but the halo stays small,
/// rows such that every thread has work but no halo is paid too often. What takes less time than waking a thread is one task.
[[nodiscard]] PerAxis<std::int32_t> cpu_tile(const DeviceInfo& device, PerAxis<std::int32_t> size, const TileNeeds& needs);
/// Whether an image is so small that more than one task pays only because threads would have nothing to do.
[[nodiscard]] bool is_small(PerAxis<std::int32_t> size, const TileNeeds& needs);

}  // namespace mollify
