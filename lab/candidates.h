// Ways to solve a problem: algorithms, with their options, under accuracies that let them run.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "lab/suite.h"

namespace mollify::lab {

/// A problem before anybody chose an algorithm.
struct Problem {
  KernelSpec kernel;
  PerAxis<std::int32_t> size;
  PixelFormat format = PixelFormat::rgba8;
};

struct Variants {
  /// Whether an algorithm takes part.
  std::function<bool(std::string_view id)> takes_part;
  /// Each option value alone, or the algorithms as they are.
  bool options = true;
  /// Options whose values are all combined with one another.
  std::vector<std::string_view> combined{};
  /// Largest allowed errors to try beside the format's own, the tightest first.
  std::vector<double> max_errors{};
  /// Every accuracy is a case of its own where it makes another plan, or the first that lets the algorithm run will do.
  bool every_accuracy = false;
};

/// What the device has a plan for, each plan once, and none that would take many seconds a run.
[[nodiscard]] Group make_group(const Problem& problem, const Variants& variants, const DeviceInfo& device);

}  // namespace mollify::lab
