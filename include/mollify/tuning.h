// Tuning rows as text: what `mollify tune` measures and stores for a device, and what the library ships. The planner takes
// rows from DeviceInfo::tuning, which Device::open() fills from the cache folder, and then those that are shipped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mollify/plan.h"
#include "mollify/result.h"

namespace mollify {

/// Tuning rows together with what they were measured on and with.
struct TuningTable {
  std::string device;           ///< The device as DeviceInfo::name has it. Shipped rows have a part of the name.
  std::string driver;           ///< The driver as DeviceInfo::driver has it.
  std::string version;          ///< The version of mollify.
  std::vector<TuningRow> rows;  ///< What was measured of algorithms.
  GpuRates rates{};             ///< How fast the GPU is, if that was measured.
  bool operator==(const TuningTable&) const = default;
};

/// The table as lines of text: the form, the device, the driver and the version, then a GPU's rates if they were measured, then one row a
/// line. A line that begins with `#` is a comment. Numbers keep three digits; those of rates keep four.
[[nodiscard]] std::string to_text(const TuningTable& table);
/// Reads what to_text() writes. The error names the line. It is not checked whether there are such algorithms and options; the planner
/// passes over rows that name others.
[[nodiscard]] Result<TuningTable> parse_tuning(std::string_view text);

/// A table without rows for this device, its driver, its rates, and this version of mollify.
[[nodiscard]] TuningTable empty_tuning(const DeviceInfo& device);

/// The path of the file that has the rows of this device in a cache folder.
[[nodiscard]] std::string tuning_path(std::string_view cache_folder, const DeviceInfo& device);

/// What a cache folder holds for this device. It is empty_tuning() without rates if there is no file or no folder. The error says in one
/// line why a file cannot be used: it is damaged, or was measured on another device, driver or version of mollify.
[[nodiscard]] Result<TuningTable> stored_table(std::string_view cache_folder, const DeviceInfo& device);

/// The rows of stored_table().
[[nodiscard]] Result<std::vector<TuningRow>> stored_tuning(std::string_view cache_folder, const DeviceInfo& device);

/// The rows that the library ships for devices of this name.
[[nodiscard]] std::vector<TuningRow> shipped_tuning(const DeviceInfo& device);

/// The number of taps on a kernel's longer axis, as TuningRow::min_taps counts them. A Gaussian without a radius counts those within 4
/// sigma.
[[nodiscard]] std::int64_t tuning_taps(const KernelSpec& kernel);

/// The value that TuningRow::pixel_bytes has for pixels of this format: 4, 8 or 16.
[[nodiscard]] std::int32_t tuning_pixel_bytes(PixelFormat format);

}  // namespace mollify
