// With which numbers: tile shapes and the rough cost model. Pure functions of the device and the work.
#pragma once

#include <array>
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
/// rows such that every thread has work but no halo is paid too often. Small images are one task.
[[nodiscard]] PerAxis<std::int32_t> cpu_tile(const DeviceInfo& device, PerAxis<std::int32_t> size, const TileNeeds& needs);

/// How fast a GPU does what dispatches are made of; rough.
struct GpuTuning {
  std::string_view device;                 ///< part of its name; empty: any
  double bytes_per_second;                 ///< of a copy, read + written
  std::array<double, 3> loads_per_second;  ///< of cached pixels of up to 4, 8 and 16 bytes
  double stores_per_second;                ///< of pixels
  double shared_loads_per_second;          ///< of pixels
  double operations_per_second;            ///< multiply-adds of pixels
  double barriers_per_second;              ///< times threads that wait
  double launch_seconds;                   ///< of one dispatch
  std::int32_t groups_to_fill;             ///< work groups of 256 threads that keep every processor busy
};
[[nodiscard]] const GpuTuning& gpu_tuning(const DeviceInfo& device);

}  // namespace mollify
