// What was measured of a GPU together with the machine that it is in, as lines of text. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mollify/device_info.h"

namespace mollify {

/// A processor with so many threads, and the bus between its memory and the GPU.
struct HostRates {
  std::string processor;               ///< Its name and what runs its kernels.
  std::int32_t threads = 0;            ///< That blur, or copy images for the GPU.
  double bus_bytes_per_second = 0.0;   ///< Of images to the GPU and back.
  double gpu_call_seconds = 0.0;       ///< Of any run on the GPU, in addition.
  double seconds_for_predicted = 1.0;  ///< How long the processor takes for a second that the planner predicts.
  double cpu_call_seconds = 0.0;       ///< Of any run on it, in addition.
  bool operator==(const HostRates&) const = default;
};

/// How these lines name a processor.
[[nodiscard]] std::string host_name(const DeviceInfo& cpu);

/// What to_text() writes of these hosts of a GPU: the form, the GPU, its driver, the version of mollify, then a host a line.
[[nodiscard]] std::string to_text(const std::vector<HostRates>& hosts, const DeviceInfo& gpu);
/// Nothing where the text is damaged, or of another GPU, driver or version.
[[nodiscard]] std::optional<std::vector<HostRates>> parse_hosts(std::string_view text, const DeviceInfo& gpu);

}  // namespace mollify
