// Makes an image in strips from top to bottom: tiles that go on where those of the last strip stopped.
#pragma once

#include <memory>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/pipeline.h"
#include "backends/workers.h"

namespace mollify::cpu {

/// `worker_bytes` is the scratch memory of any tile that was planned. What it is given must outlive it.
[[nodiscard]] Result<std::unique_ptr<StreamImpl>> make_stream(const Plan& plan, const std::vector<Pipeline>& pipelines, Workers& workers,
                                                              std::int64_t worker_bytes);

}  // namespace mollify::cpu
