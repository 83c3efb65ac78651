// Several ways to make the same blur, timed beside one another: on the same images, taking turns.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "bench/measure.h"
#include "mollify/mollify.h"

namespace mollify::bench {

class GpuContest;

struct ContestOptions {
  double seconds = 0.1;  ///< for all together, warm-up aside
  int min_runs = 5;      ///< of each, however long they take
};

/// Keeps the images between calls, so that many contests of one shape fill them with noise once.
class Contest {
 public:
  explicit Contest(Device device);
  ~Contest();
  Contest(const Contest&) = delete;
  Contest& operator=(const Contest&) = delete;

  [[nodiscard]] const Device& device() const { return device_; }
  /// Nanoseconds of a run of each, in their order; on a GPU by its own clock, with the images on it. All are of this device
  /// and have the same shapes.
  [[nodiscard]] Result<std::vector<Statistics>> time(std::span<const Executable> executables, const ContestOptions& options);

 private:
  struct Cpu;
  Device device_;
  std::unique_ptr<Cpu> cpu_;
  std::unique_ptr<GpuContest> gpu_;
};

}  // namespace mollify::bench
