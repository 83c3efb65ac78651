// Open devices, each opened once.
#pragma once

#include <cstdint>
#include <string>

#include "mollify/device.h"

namespace mollify::python {

/// Throws std::invalid_argument where there is no such device.
[[nodiscard]] Device open_device(const std::string& name, std::int32_t threads);

}  // namespace mollify::python
