// What the planner knows of a device: a plain value, which Device::info() returns and programs can write themselves.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mollify/experimental/gpu_info.h"
#include "mollify/experimental/tuning_row.h"

namespace mollify {

/// What runs a plan.
enum class Backend : std::uint8_t { cpu, vulkan, cuda };
/// The name that the command line uses, such as "cpu".
[[nodiscard]] std::string_view name(Backend backend);

/// What the planner knows of a device. It is a plain value, so that plans can be made for devices that are not there.
struct DeviceInfo {
  Backend backend = Backend::cpu;    ///< What runs the plans.
  std::string name;                  ///< The name that the maker gave the device.
  std::string driver;                ///< What runs the kernels, such as "highway AVX3", or a Vulkan driver and its version.
  std::int32_t threads = 1;          ///< Worker threads of one run, on a CPU.
  std::int64_t l2_bytes = 1 << 20;   ///< Bytes of the second-level cache of one core of a CPU.
  std::int64_t llc_bytes = 8 << 20;  ///< Bytes of the last-level cache of a CPU.
  GpuInfo gpu;                       ///< What the planner knows of a GPU.
  std::vector<std::string> kernels;  ///< Ids of the compute kernels that the backend has.
  std::vector<TuningRow> tuning;     ///< Rows measured on this machine. They come before those that the library ships.
  /// Whether the backend has this compute kernel.
  [[nodiscard]] bool has_kernel(std::string_view id) const;
  bool operator==(const DeviceInfo&) const = default;
};

}  // namespace mollify
