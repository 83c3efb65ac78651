// Blurs in strips for a worker, in the process that owns the GPU.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "batch/wire.h"
#include "image_blur.h"

namespace mollify::cli {

/// Those of one worker. They end with it.
class StripService {
 public:
  /// Throws where the question is none.
  [[nodiscard]] Json answer(const Json& question, const std::vector<Descriptor>& blocks, DeviceBlurrer& blurrer);

 private:
  [[nodiscard]] Json prepare(const Json& question, DeviceBlurrer& blurrer);

  std::map<int, std::unique_ptr<StripBlur>> blurs_;  ///< by the numbers that the worker knows them by
  int next_ = 0;
};

}  // namespace mollify::cli
