// Timing by a GPU's own clock, beside copies on the same device.
#pragma once

#include "bench/time_case.h"

namespace mollify::bench {

/// `verified` is the result of the case that `executable` was prepared for.
[[nodiscard]] Result<Timing> time_on_gpu(const Executable& executable, const cases::CaseResult& verified,
                                         const cases::Case& c, const TimingOptions& options);

}  // namespace mollify::bench
