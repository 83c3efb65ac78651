#include "error_budget.h"

#include <algorithm>
#include <utility>

namespace mollify::python {

ErrorBudget::ErrorBudget(double allowed, std::vector<double> gains, bool is_unorm, double most_between)
    : allowed_(allowed), most_between_(most_between), amplification_(gains.size(), 1.0) {
  if (!is_unorm) return;
  double all = 1.0;
  for (double& gain : gains) all *= gain = std::max(gain, 1.0);
  std::ranges::fill(amplification_, all);
  amplification_.front() = all / gains.front();  // it reads unorm pixels, whose full scale is 1
}

double ErrorBudget::share(std::size_t run) const {
  const double runs = static_cast<double>(amplification_.size());
  if (run + 1 < amplification_.size()) {
    return std::min(most_between_, allowed_ / (runs * amplification_[run]));
  }
  double left = allowed_;
  for (std::size_t before = 0; before < run; ++before) left -= in_result(before, share(before));
  return left / amplification_[run];
}

}  // namespace mollify::python
