// Several ways to do the same, timed so that their figures can be compared: they take turns, each between two copies of
// the same bytes, and what came out unsteady is measured again.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "bench/measure.h"

namespace mollify::bench {

/// What was measured of one entrant.
struct Figures {
  Statistics time_ns;
  double copy_before_ns = 0.0;  ///< medians of the copies that took their turns just before and just after it
  double copy_after_ns = 0.0;
  std::optional<double> submit_ns{};
  std::optional<double> end_to_end_ns{};
  std::optional<double> dispatch_ns{};
  std::optional<double> nothing_ns{};
  bool unstable = false;
  int attempts = 1;

  [[nodiscard]] double copy_ns() const { return (copy_before_ns + copy_after_ns) / 2; }
};

/// How much the runs, and the copies around them, disagree: 0 is perfectly steady.
[[nodiscard]] double unsteadiness(const Figures& figures);
/// Above this a result is called unstable.
inline constexpr double kMostUnsteady = 0.15;

/// Times the entrants of these indices in one go, in order.
using TimeSome = std::function<Result<std::vector<Figures>>(std::span<const std::size_t> which)>;

/// All of `count` entrants, the unstable ones up to `attempts` times; of several attempts the steadiest counts.
[[nodiscard]] Result<std::vector<Figures>> time_steadily(std::size_t count, int attempts, const TimeSome& time_some);

/// `copy` takes its turn before the first of `entrants`, between each two, and after the last.
[[nodiscard]] Result<std::vector<Figures>> time_between_copies(std::span<const Candidate> entrants, const Candidate& copy,
                                                               const MeasureOptions& options);

}  // namespace mollify::bench
