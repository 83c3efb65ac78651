#include "bench/turns.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace mollify::bench {

double unsteadiness(const Figures& figures) {
  const double spread = (figures.time_ns.p90 - figures.time_ns.p10) / figures.time_ns.median;
  const double copies = figures.copy_ns() > 0.0 ? std::abs(figures.copy_before_ns - figures.copy_after_ns) / figures.copy_ns() : 0.0;
  return std::max(spread, copies);
}

Result<std::vector<Figures>> time_steadily(std::size_t count, int attempts, const TimeSome& time_some) {
  std::vector<std::size_t> which(count);
  std::iota(which.begin(), which.end(), std::size_t{0});
  std::vector<Figures> best(count);
  for (int attempt = 1; attempt <= attempts && !which.empty(); ++attempt) {
    Result<std::vector<Figures>> some = time_some(which);
    if (!some) return some;
    for (std::size_t i = 0; i < which.size(); ++i) {
      Figures& kept = best[which[i]];
      if (attempt == 1 || unsteadiness((*some)[i]) < unsteadiness(kept)) kept = std::move((*some)[i]);
      kept.attempts = attempt;
      kept.unstable = unsteadiness(kept) > kMostUnsteady;
    }
    std::erase_if(which, [&](std::size_t i) { return !best[i].unstable; });
  }
  return best;
}

Result<std::vector<Figures>> time_between_copies(std::span<const Candidate> entrants, const Candidate& copy,
                                                 const MeasureOptions& options) {
  std::vector<Candidate> order{copy};
  for (const Candidate& entrant : entrants) {
    order.push_back(entrant);
    order.push_back(copy);
  }
  const Result<std::vector<Statistics>> measured = measure(order, options);
  if (!measured) return measured.error();
  std::vector<Figures> figures;
  for (std::size_t i = 1; i < order.size(); i += 2) {
    figures.push_back({.time_ns = (*measured)[i], .copy_before_ns = (*measured)[i - 1].median, .copy_after_ns = (*measured)[i + 1].median});
  }
  return figures;
}

}  // namespace mollify::bench
