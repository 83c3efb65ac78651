// The times of a probe, by the device's own clock.
#pragma once

#include <memory>

#include "backends/vulkan/recorder.h"
#include "model/probe.h"

namespace mollify::vulkan {

/// Runs for about so many seconds.
[[nodiscard]] Result<ProbeTimes> probe_times(const std::shared_ptr<const Prepared>& prepared, double seconds);

}  // namespace mollify::vulkan
