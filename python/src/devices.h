// Devices by name. Each is opened once. No name means the processor.
#pragma once

#include <cstdint>
#include <string>

#include "mollify/device.h"

namespace mollify::python {

/// The error says which devices there are, or what is missing.
[[nodiscard]] Result<Device> find_device(const std::string& name, std::int32_t threads);
/// Throws std::invalid_argument, beginning with "device: ", where there is none of this name.
[[nodiscard]] Device open_device(const std::string& name, std::int32_t threads);
/// Whether one of the devices that were opened is a GPU.
[[nodiscard]] bool has_open_gpu();

}  // namespace mollify::python
