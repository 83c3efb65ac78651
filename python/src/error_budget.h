// How exact each of several runs must be, so that all of them together are as exact as was asked for.
#pragma once

#include <cstddef>
#include <vector>

#include "element.h"

namespace mollify::python {

/// Errors of the library's runs are relative to the full scale of each: 1 where a run reads unorm pixels, else the largest magnitude that
/// it reads, times its gain. So for others the errors of the runs just add up. For unorm each counts as often as the gains make it larger.
class ErrorBudget {
 public:
  /// `allowed` is the error of the result, in the library's units. `gains` says for each run how many times larger than its source its
  /// result can be, `most_between` what error is allowed of the numbers between runs.
  ErrorBudget(double allowed, std::vector<double> gains, bool is_unorm, double most_between);

  /// The error that this run may make.
  [[nodiscard]] double share(std::size_t run) const;
  /// What an error of this run is in the result.
  [[nodiscard]] double in_result(std::size_t run, double error) const { return error * amplification_[run]; }

 private:
  double allowed_;
  double most_between_;
  std::vector<double> amplification_;  // of the error of each run
};

}  // namespace mollify::python
