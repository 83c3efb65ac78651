// The CPU as a device: what it is and its worker threads.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "backends/backend.h"

namespace mollify::cpu {

[[nodiscard]] std::vector<DeviceInfo> list_devices();
[[nodiscard]] Result<std::shared_ptr<DeviceImpl>> open_device(std::string_view which, const DeviceOptions& options);

}  // namespace mollify::cpu
