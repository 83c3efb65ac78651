// What changed between results of then and of now.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "lab/results.h"

namespace mollify::lab {

enum class Unit : bool {
  time,    ///< of the machine: two runs on one machine that was alike busy
  copies,  ///< of the same bytes: two runs whose surroundings differed
};

struct CompareOptions {
  double threshold = 0.05;  ///< changes of less than this part are none
  Unit unit = Unit::time;
};

struct Change {
  std::string case_name;
  std::string device;
  double before = 0.0;  ///< medians, nanoseconds or copies
  double after = 0.0;
  [[nodiscard]] double factor() const { return after / before; }
};

/// How far runs of one side are from each other: the largest median of a case divided by its least, less one. A change of that size shows
/// nothing.
struct Drift {
  std::size_t cases = 0;  ///< that one side has in two runs or more
  double median = 0.0;
  double most = 0.0;
};

struct Changes {
  std::vector<Change> slower;      ///< the largest change first
  std::vector<Change> faster;      ///< the largest change first
  std::vector<std::string> wrong;  ///< cases that were timed before and have wrong pixels now
  std::size_t same = 0;
  std::size_t only_before = 0;
  std::size_t only_after = 0;
  Drift drift;
  [[nodiscard]] std::size_t compared() const { return slower.size() + faster.size() + same; }
};

/// The records of one run.
using Records = std::vector<Json>;

/// Each side is one run or more. A case changed if its medians differ by more than the threshold and the middle 80 % of the times of all
/// runs of one side do not reach those of the other. With several runs a side's median is that of its runs. Peers and cases without a time
/// are left out, but for those that have become wrong; of a case that occurs twice in a run, the last counts.
[[nodiscard]] Changes compare(std::span<const Records> before, std::span<const Records> after, const CompareOptions& options);

}  // namespace mollify::lab
