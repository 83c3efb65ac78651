// What plans for a GPU go by: how it runs work groups, and how fast it does what they are made of. Pure, and of no backend.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "mollify/device_info.h"

namespace mollify {

/// Whatever is known of a GPU's speed, roughly. gpu_model() fills all of it for any device.
struct GpuModel {
  std::string_view row;             ///< whose rates these are: the part of the device's name that they hold for, or kMeasured or kTypical
  Multiprocessors multiprocessors;  ///< as the driver says, and of the row where that says nothing: no field is 0

  double bytes_per_second = 0.0;             ///< of a copy, read + written
  std::array<double, 3> loads_per_second{};  ///< of cached pixels of up to 4, 8 and 16 bytes
  double stores_per_second = 0.0;            ///< of pixels
  double shared_loads_per_second = 0.0;      ///< of pixels
  double operations_per_second = 0.0;        ///< multiply-adds of pixels
  double barriers_per_second = 0.0;          ///< pixels that a step between barriers makes, of any number of threads
  double waits_per_second = 0.0;             ///< threads that wait at a barrier: where it was measured it counts instead of that
  double launch_seconds = 0.0;               ///< of one dispatch
  double step_seconds = 2.6e-7;              ///< of a group that fetches a row, waits for it and sums it up, and has nothing to wait behind
  std::int64_t cached_bytes = 32'000'000;    ///< of images that stay in the cache of all multiprocessors
  bool is_processor = false;                 ///< measured, of a driver that runs on the processor: only what is done takes time
  bool has_banks = true;                     ///< of shared memory: threads that read at strides of pixels may wait for one another
  bool prefers_small_groups = false;         ///< that move down an image, row by row
  bool counts_idle_threads = false;          ///< what threads beyond the image take
  std::int64_t max_iterations = std::int64_t{1} << 32;  ///< of all of a thread's loops: the driver leaves longer ones
};

inline constexpr std::string_view kMeasured = "measured";  ///< The device was measured when it was opened first.
inline constexpr std::string_view kTypical = "any GPU";    ///< Nothing is known of the device.

[[nodiscard]] GpuModel gpu_model(const DeviceInfo& device);
/// Whether the device's rates come from a row for devices of its name.
[[nodiscard]] bool has_gpu_row(const DeviceInfo& device);

// ---- Occupancy

/// What a work group takes of a multiprocessor.
struct GroupNeeds {
  std::int32_t threads = 1;
  double registers = 0.0;         ///< of a thread
  std::int64_t shared_bytes = 0;  ///< of the group
};

/// Groups that a multiprocessor runs at once: as many as its registers, shared memory and threads allow, one at
/// least.
[[nodiscard]] std::int64_t groups_at_once(const GpuModel& model, const GroupNeeds& needs);

/// Threads that a multiprocessor runs at once, in groups of any size, where each takes so many registers.
[[nodiscard]] std::int32_t threads_at_once(const GpuModel& model, double registers);

/// Threads that the whole device holds at once.
[[nodiscard]] std::int64_t threads_to_fill(const GpuModel& model);

/// What a thread takes that needs so many registers: a scheduler hands them out by whole eights to whole subgroups, and has none left for
/// others of what is too little for one more.
[[nodiscard]] double allocated_registers(const GpuModel& model, std::int64_t registers);

}  // namespace mollify
