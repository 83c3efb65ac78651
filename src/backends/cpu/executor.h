// Runs pipelines over images: cuts them into tiles and shares these among the workers.
#pragma once

#include <memory>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/pipeline.h"
#include "backends/workers.h"

namespace mollify::cpu {

[[nodiscard]] Result<std::shared_ptr<const ExecutableImpl>> make_executable(const Plan& plan, std::vector<Pipeline> pipelines,
                                                                            std::shared_ptr<Workers> workers);

}  // namespace mollify::cpu
