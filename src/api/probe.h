// The rates of a GPU that no row is about: from its cache folder, else measured there and then.
#pragma once

#include <functional>

#include "backends/backend.h"

namespace mollify {

/// Measures a device for at most a second.
using MeasureRates = std::function<Result<GpuRates>()>;

/// What is stored in the options' cache folder, else what `measure` says, which is stored. All 0 where the options or a row of the library
/// want no probe, where there is no such folder, and where rows of `mollify tune` are stored that were measured without rates: their costs
/// are beside those of a typical GPU. A file that cannot be used stays as it is.
[[nodiscard]] GpuRates rates_at_first_use(const DeviceInfo& device, const DeviceOptions& options, const MeasureRates& measure);

/// By a copy and a blur. `info` is what the device says of itself.
[[nodiscard]] Result<GpuRates> probe(DeviceImpl& device, const DeviceInfo& info);

}  // namespace mollify
