// Files of the user's cache folder, one a device and purpose.
#pragma once

#include <string>
#include <string_view>

#include "mollify/device_info.h"

namespace mollify {

/// The path of a device's file in a cache folder: its purpose, the backend and the device's name.
[[nodiscard]] std::string stored_path(std::string_view cache_folder, std::string_view purpose, const DeviceInfo& device);

/// Replaces the file as a whole or not at all, since other processes may read or write it. Makes its folder. False where it cannot be
/// written.
bool replace_file(const std::string& path, const std::string& text);

}  // namespace mollify
