// Streams for backends whose kernels know only images: windows of the stream's own, two of which are in flight.
#pragma once

#include <memory>

#include "backends/backend.h"

namespace mollify {

/// A stream by windows of the plan, which has a halo. Rows of the source go to the device once: those that the next window needs as well
/// are copied there. It refers to the executable.
[[nodiscard]] Result<std::unique_ptr<StreamImpl>> make_window_stream(const ExecutableImpl& whole);

}  // namespace mollify
