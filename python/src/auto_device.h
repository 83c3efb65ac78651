// device="auto": where a blur of an array in host memory ends first, as far as that can be told before.
#pragma once

#include "mollify/experimental/auto_device.h"
#include "prepared.h"

namespace mollify::python {

inline constexpr const char* kAutoDevice = "auto";

/// The request is for the processor. Throws what Prepared does.
[[nodiscard]] DeviceChoice choose_device_of(const Task& task_on_cpu);

}  // namespace mollify::python
