// Devices that need not be there: what the planner is told of them, read from a text file.
#pragma once

#include <string>
#include <vector>

#include "mollify/plan.h"

namespace mollify::golden {

struct DescribedDevice {
  std::string id;  ///< "h200": how the recording calls it
  DeviceInfo info;
};

/// The devices of a text file. Each begins with a line `device ID`; every other line is the name of a field and its value. Lines
/// that begin with # are comments. A device has all kernels of its backend, of Vulkan those of this build. Throws std::runtime_error for a
/// line that cannot be read.
[[nodiscard]] std::vector<DescribedDevice> read_devices(const std::string& path);

/// The lines that read_devices() makes the device of.
[[nodiscard]] std::string describe(const std::string& id, DeviceInfo device);

}  // namespace mollify::golden
