// Runs pipelines over images: cuts them into tiles and shares these among the workers.
#pragma once

#include <tbb/task_arena.h>

#include <memory>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/pipeline.h"

namespace mollify::cpu {

/// The threads of one device. A task learns which of them runs it, so that each has its own scratch memory.
class Workers {
 public:
  explicit Workers(std::int32_t threads);
  [[nodiscard]] std::int32_t threads() const { return threads_; }

  /// Calls task(index, worker) for every index below `count`; workers are numbered from 0 to threads() - 1.
  template <class Task>
  void for_each(std::int64_t count, const Task& task);

 private:
  tbb::task_arena arena_;
  std::int32_t threads_;
};

[[nodiscard]] Result<std::shared_ptr<const ExecutableImpl>> make_executable(const Plan& plan, std::vector<Pipeline> pipelines,
                                                                            std::shared_ptr<Workers> workers);

}  // namespace mollify::cpu
