// What changed between two files of results.
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

struct Changes {
  std::vector<Change> slower;      ///< the largest change first
  std::vector<Change> faster;      ///< the largest change first
  std::vector<std::string> wrong;  ///< cases that were timed before and have wrong pixels now
  std::size_t same = 0;
  std::size_t only_before = 0;
  std::size_t only_after = 0;
  [[nodiscard]] std::size_t compared() const { return slower.size() + faster.size() + same; }
};

/// A case changed if its medians differ by more than the threshold and the middle 80 % of the runs of the one time do not
/// reach those of the other. Peers and cases without a time are left out, but for those that have become wrong; of a case that occurs
/// twice, the last counts.
[[nodiscard]] Changes compare(std::span<const Json> before, std::span<const Json> after, const CompareOptions& options);

}  // namespace mollify::lab
