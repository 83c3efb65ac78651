#include "error_budget.h"

#include <algorithm>
#include <utility>

#include "mollify/spec.h"

namespace mollify::python {

ErrorBudget::ErrorBudget(double allowed, std::vector<double> gains, bool is_integer)
    : allowed_(allowed), amplification_(gains.size(), 1.0) {
  if (!is_integer) return;
  double all = 1.0;
  for (double& gain : gains) all *= gain = std::max(gain, 1.0);
  std::ranges::fill(amplification_, all);
  amplification_.front() = all / gains.front();  // it reads integers, whose full scale is 1
}

double ErrorBudget::share(std::size_t run) const {
  const double runs = static_cast<double>(amplification_.size());
  if (run + 1 < amplification_.size()) {
    return std::min(default_max_error(kBetweenRuns.format(1)), allowed_ / (runs * amplification_[run]));
  }
  double left = allowed_;
  for (std::size_t before = 0; before < run; ++before) left -= in_result(before, share(before));
  return left / amplification_[run];
}

}  // namespace mollify::python
