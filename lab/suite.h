// What the lab measures: suites of groups. A group is one problem with every way to solve it that is of interest.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cases/cases.h"

namespace mollify::lab {

/// The cases differ in algorithm, options and allowed error only. The first is the planner's own choice.
struct Group {
  std::string label;  ///< "4096x4096 rgba8 gaussian:sigma=1,radius=3"
  std::vector<cases::Case> cases;
};

struct Suite {
  std::string_view name;
  std::string_view summary;
  double seconds;                       ///< for each thing that is timed
  int min_runs;                         ///< of it
  std::optional<double> limit_seconds;  ///< for all of it: but for the first, no group begins that would end later
  std::vector<Group> (*groups)(const DeviceInfo& device);
};

[[nodiscard]] std::span<const Suite> suites();
/// Null if there is none of this name.
[[nodiscard]] const Suite* find_suite(std::string_view name);

}  // namespace mollify::lab
