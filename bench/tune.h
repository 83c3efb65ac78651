// Finding, by measurement, the options with which an algorithm is fastest on a device, and how right its cost model is.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/contest.h"
#include "cases/cases.h"
#include "mollify/mollify.h"

namespace mollify::bench {

/// One algorithm and one request that stands for others of its kind.
struct TuneTask {
  cases::Case request;         ///< the algorithm without options
  TuningRow row;               ///< what it stands for; options, gain and cost are to be measured
  double predicted_ratio = 1;  ///< of its time to that of the planner's choice, by the cost models alone
  /// Only approximations beyond the default accuracy do this. What precision they keep would then be tuned for a wish that
  /// few have, so it is left alone.
  bool is_approximate = false;
};

/// Every algorithm of the device with 4, 8 and 16 bytes a pixel at radius 1, 4, 9 and 20, as far as it can; the most
/// promising first, so that whoever stops early has what matters.
[[nodiscard]] std::vector<TuneTask> tune_tasks(const DeviceInfo& device, PerAxis<std::int32_t> size);

/// The values of an option to try: only of options that choose speed, not what is computed or where pixels lie.
[[nodiscard]] std::vector<std::string> tune_values(const OptionInfo& option, const TuneTask& task, const DeviceInfo& device);

struct TuneOptions {
  double seconds = 0.2;          ///< for the decision; for each value of an option a part of it
  std::function<bool()> stop{};  ///< asked in between: no more values are tried once it says yes
};

struct TuneResult {
  TuningRow row;                   ///< options where they beat the algorithm's own choice beyond noise, else none
  Statistics before;               ///< ns of the algorithm's own choice
  Statistics after;                ///< ns of the best options found; the same where there are none
  int tried = 0;                   ///< combinations that were timed
  std::vector<std::string> wrong;  ///< combinations that left wrong pixels here, one line each; never in the row
};

/// Takes each option's values in turn, the other options at their best so far; what remains then runs against the
/// algorithm's own choice. What is timed has left right pixels before, with these options and this kernel on a
/// small image. The error is that the task cannot run at all.
[[nodiscard]] Result<TuneResult> tune(Contest& contest, const TuneTask& task, const TuneOptions& options);

/// Whether `after` beats `before` by more than noise: the three faster quarters of its runs are all faster than the three
/// slower quarters of the other's,
/// and the medians are more than 3 % apart.
[[nodiscard]] bool beats(const Statistics& after, const Statistics& before);

}  // namespace mollify::bench
