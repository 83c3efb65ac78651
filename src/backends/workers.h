// The threads of the host that a device works with: a CPU's blurs, a GPU's copies from and to host memory.
#pragma once

#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

#include <cstdint>

#include "mollify/image.h"

namespace mollify {

class Workers {
 public:
  /// 0: one for each hardware thread.
  explicit Workers(std::int32_t threads);
  [[nodiscard]] std::int32_t threads() const { return threads_; }

  /// Calls task(index, worker) for every index below `count`; workers are numbered from 0 to threads() - 1, so that each can have
  /// its own scratch memory.
  template <class Task>
  void for_each(std::int64_t count, const Task& task) {
    if (threads_ == 1 || count == 1) {  // a wake-up costs more than most single tasks
      for (std::int64_t i = 0; i < count; ++i) task(i, 0);
      return;
    }
    arena_.execute([&] {
      tbb::parallel_for(
          std::int64_t{0}, count, [&](std::int64_t i) { task(i, tbb::this_task_arena::current_thread_index()); },
          tbb::simple_partitioner());
    });
  }

  /// Pixels of one image to another of the same shape. Small ones are copied by the caller alone.
  void copy(const ConstImageView& from, const ImageView& to);

 private:
  std::int32_t threads_;
  tbb::task_arena arena_;
};

}  // namespace mollify
