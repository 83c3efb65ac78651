// How far a device's plans are from the best that tuning finds: each request of a suite by the planner's own choice, and by whatever else
// keeps the default error.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "bench/contest.h"
#include "cases/cases.h"
#include "lab/suite.h"

namespace mollify::lab {

/// What a suite's groups are about, each once: no algorithm and the default error. In each of `formats`, or in the group's own where there
/// are none; sides longer than `longest` are cut to it, 0: none are.
[[nodiscard]] std::vector<cases::Case> requests_of(const Suite& suite, const DeviceInfo& device, std::span<const PixelFormat> formats,
                                                   std::int32_t longest);

struct PlanGapOptions {
  double seconds = 0.2;          ///< for each decision of tuning, and for the last comparison
  double tuning_seconds = 30.0;  ///< for tuning all algorithms of a request: the fastest are tuned first
  std::function<bool()> stop{};  ///< asked in between; once true, the request ends with an error
  AlgorithmChoice planned{};     ///< in place of the planner's choice, unless its id is empty
};

/// One way to make a blur, and what it takes.
struct TimedPlan {
  AlgorithmChoice choice;
  double nanoseconds = 0.0;  ///< the tenth percentile of its runs, of which a busy machine delays fewest
};

struct PlanGap {
  TimedPlan planned;
  TimedPlan best;                  ///< the planned one itself where nothing is faster
  int timed = 0;                   ///< plans that were timed
  int untuned = 0;                 ///< algorithms that time left untuned, though their own choice was not hopeless
  std::vector<std::string> wrong;  ///< what left wrong pixels here, one line each; none of it is the best
  [[nodiscard]] double ratio() const { return planned.nanoseconds / best.nanoseconds; }
};

/// All ways take turns once; those that took more than so many times as long as the fastest are hopeless.
inline constexpr double kHopelessRatio = 4.0;

/// The algorithms' own choices first, then options of those that are not hopeless by bench::tune(), then all of these in turns. The error
/// is that there is no plan, that the device failed, or that it was stopped.
[[nodiscard]] Result<PlanGap> gap_of_plan(bench::Contest& contest, const cases::Case& request, const PlanGapOptions& options);

}  // namespace mollify::lab
