// Graphs that hold launches: what a launch reads must live as long as the graph that it was captured into.
#pragma once

#include <memory>

#include "backends/cuda/pipeline.h"

namespace mollify::cuda {

[[nodiscard]] Result<bool> is_captured(const Context& context, CUstream stream);

/// If the stream is being captured, its graph, and all that are made of it, keep the plan's tables alive.
[[nodiscard]] Status keep_for_graph(std::shared_ptr<const Prepared> prepared, CUstream stream);

/// Frees what was kept for graphs that are gone.
void free_of_graphs();

}  // namespace mollify::cuda
