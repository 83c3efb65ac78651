// Timing that can be trusted on a busy machine: the candidates take turns, so a disturbance hits all of them alike,
// and medians with the spread beside them say how much it was disturbed.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "mollify/result.h"

namespace mollify::bench {

struct Statistics {
  double median = 0.0;
  double p10 = 0.0;
  double p25 = 0.0;
  double p75 = 0.0;
  double p90 = 0.0;
  int count = 0;
};
/// Percentiles interpolate linearly between the sorted samples. All zero without samples.
[[nodiscard]] Statistics summarize(std::vector<double> samples);

struct Candidate {
  std::string name;
  /// Runs once on the buffer pair of this index.
  std::function<Status(std::size_t pair)> run;
  /// In place of `run`, for what has a clock of its own: one or more runs, nanoseconds of each.
  std::function<Result<std::vector<double>>()> turn{};
};

/// A GPU that has been idle, while a pipeline is compiled for instance, takes about so long to be back at its clock.
inline constexpr double kClockSeconds = 0.25;

struct MeasureOptions {
  double seconds = 1.0;          ///< for each candidate, warm-up aside; who has had them leaves the rounds to the others
  int min_runs = 9;              ///< of each candidate, however long they take
  std::size_t pairs = 1;         ///< buffer pairs to rotate through
  double min_sample = 1e-3;      ///< seconds: shorter runs are timed several at once, which the clock cannot blur
  std::function<bool()> stop{};  ///< asked before each turn; once true, measure() ends with an error
};

/// Nanoseconds of one run of each candidate, in their order. The error is that of the first run that failed.
[[nodiscard]] Result<std::vector<Statistics>> measure(std::span<const Candidate> candidates, const MeasureOptions& options);

}  // namespace mollify::bench
