// Runs plans on images in host memory.
#pragma once

#include <memory>

#include "backends/backend.h"
#include "backends/cuda/pipeline.h"
#include "backends/workers.h"

namespace mollify::cuda {

[[nodiscard]] Result<std::shared_ptr<const ExecutableImpl>> make_executable(const Plan& plan, std::shared_ptr<Context> context,
                                                                            std::shared_ptr<Workers> workers);

/// What a public Executable of this backend holds; null for other backends.
[[nodiscard]] std::shared_ptr<const Prepared> prepared_of(const ExecutableImpl& executable);

}  // namespace mollify::cuda
