// Tuning rows as text: what `mollify tune` measures and stores for a device, and what the library ships. The planner takes
// rows from DeviceInfo::tuning, which Device::open() fills from the cache folder, and then those that are shipped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mollify/plan.h"
#include "mollify/result.h"

namespace mollify {

/// Rows and what they were measured on and with.
struct TuningTable {
  std::string device;   ///< DeviceInfo::name; for shipped rows a part of it
  std::string driver;   ///< DeviceInfo::driver
  std::string version;  ///< of mollify
  std::vector<TuningRow> rows;
  bool operator==(const TuningTable&) const = default;
};

/// Lines of text: a first one that names the form, the device, the driver, the version, then one row a line. `#` starts a
/// line that means nothing.
[[nodiscard]] std::string to_text(const TuningTable& table);
/// The inverse; numbers keep three digits. The error names the line. Algorithms and options are not looked up: a row that
/// names what is not there is one that the planner passes over.
[[nodiscard]] Result<TuningTable> parse_tuning(std::string_view text);

/// A table without rows for this device, its driver, and this version of mollify.
[[nodiscard]] TuningTable empty_tuning(const DeviceInfo& device);

/// Where the rows of this device are kept in a cache folder.
[[nodiscard]] std::string tuning_path(std::string_view cache_folder, const DeviceInfo& device);

/// The rows that a cache folder holds for this device: none without a file or a folder. The error says in one line why the
/// file that is there cannot be used: damaged, or measured on another device, driver or version of mollify.
[[nodiscard]] Result<std::vector<TuningRow>> stored_tuning(std::string_view cache_folder, const DeviceInfo& device);

/// The rows that the library ships for devices of this name.
[[nodiscard]] std::vector<TuningRow> shipped_tuning(const DeviceInfo& device);

/// The taps of a kernel's longer axis that tuning rows go by; of a Gaussian without a radius those within 4 sigma.
[[nodiscard]] std::int64_t tuning_taps(const KernelSpec& kernel);

/// What TuningRow::pixel_bytes says of pixels of this format.
[[nodiscard]] std::int32_t tuning_pixel_bytes(PixelFormat format);

}  // namespace mollify
