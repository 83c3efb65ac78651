// What mollify/cuda.h and the entry points of the library share.
#pragma once

#include <memory>
#include <vector>

#include "backends/cuda/pipeline.h"
#include "mollify/cuda.h"

namespace mollify::cuda {

/// The launches of a batch whose images have weights of their own.
struct LaunchesOfEach {
  std::vector<std::shared_ptr<const Prepared>> forms;  ///< for more and more taps
  CUfunction write_words = nullptr;                    ///< words.cu
};

/// Launches the groups of the weights, each by the plan of its form. What is wrong with the arguments is refused.
[[nodiscard]] Status enqueue_each(const LaunchesOfEach& launches, const WeightsOfEach& weights, const ConstImages& source,
                                  const Images& destination, const Scratch& scratch, Stream stream);

}  // namespace mollify::cuda
