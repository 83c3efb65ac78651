// Where a blur of images in host memory ends first, as far as that can be told before: the predicted time of the processor against that of
// a GPU with the transfers. It may change in any version.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "mollify/device.h"

namespace mollify {

/// What it takes to open a GPU and to measure its bus, in a process that has done neither. It is not known before.
inline constexpr double kSecondsToOpenGpu = 0.5;

/// What plans say of a blur on a GPU.
struct GpuWork {
  double seconds = 0.0;    ///< Predicted, without transfers.
  std::int64_t bytes = 0;  ///< Of the images that are read and written, which lie in host memory.
};

/// Where a blur is to run.
struct DeviceChoice {
  std::string device;  ///< "cpu", or the name of a GPU as Device::open() takes it.
  std::string why;     ///< What was compared, in a line.
};

/// A GPU of this machine, how fast images of host memory get there and back, and how fast the processor is. Both figures are rounded to
/// quarter octaves, so that what disturbs a measurement a little decides nothing.
struct GpuAndCpu {
  std::string gpu;                     ///< As Device::open() takes it; empty where there is none, or its bus cannot be measured.
  double bus_bytes_per_second = 0.0;   ///< From and to host memory, with the copies that the host makes.
  double seconds_for_predicted = 1.0;  ///< Of the processor: the planner's rates are those of no processor in particular.
};

/// Finds the first GPU that is one, CUDA before Vulkan, and measures both by some blurs of 1024x1024 pixels. `open` opens the devices of
/// these names, "cpu" included.
[[nodiscard]] GpuAndCpu measure_gpu_and_cpu(const std::function<Result<Device>(const std::string& name)>& open);

/// `cpu_seconds` is what plans predict for the processor. Nothing stands for work that the GPU cannot do.
[[nodiscard]] DeviceChoice choose_device(const GpuAndCpu& machine, double cpu_seconds, const std::optional<GpuWork>& on_gpu);
/// Without a GPU that is open already: "cpu" where opening one would take longer than the blur, else nothing.
[[nodiscard]] std::optional<DeviceChoice> choose_without_gpu(double cpu_seconds);

}  // namespace mollify
