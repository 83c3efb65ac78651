// What mollify/cuda.h and the entry points of the library share.
#pragma once

#include <memory>
#include <span>

#include "backends/cuda/pipeline.h"
#include "mollify/cuda.h"

namespace mollify::cuda {

/// Launches the groups of the weights, each by the plan of its form. What is wrong with the arguments is refused.
[[nodiscard]] Status enqueue_each(std::span<const std::shared_ptr<const Prepared>> forms, const WeightsOfEach& weights,
                                  const ConstImages& source, const Images& destination, const Scratch& scratch, Stream stream);

}  // namespace mollify::cuda
