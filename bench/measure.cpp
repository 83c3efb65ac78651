#include "bench/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <utility>

namespace mollify::bench {
namespace {

using Clock = std::chrono::steady_clock;
static_assert(Clock::is_steady);

double percentile(const std::vector<double>& sorted, double fraction) {
  const double position = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

// All candidates draw from one rotation: none finds in the cache what the one before it left there.
struct Rotation {
  std::size_t pairs;
  std::size_t next = 0;

  std::size_t take() { return std::exchange(next, (next + 1) % pairs); }
};

// A candidate on its way through the measurement.
struct Runner {
  const Candidate* candidate;
  Rotation* rotation;
  int repeats = 1;
  std::vector<double> samples;  // ns of one run

  // Seconds of one run, averaged over `repeats`.
  Result<double> sample() {
    const auto begin = Clock::now();
    for (int i = 0; i < repeats; ++i) {
      if (Status status = candidate->run(rotation->take()); !status) return status.error();
    }
    return std::chrono::duration<double>(Clock::now() - begin).count() / repeats;
  }
};

constexpr int kWarmUpRuns = 2;
constexpr int kMaxRepeats = 100000;

Status warm_up(Runner& runner, double min_sample) {
  for (int i = 0; i < kWarmUpRuns; ++i) {
    const Result<double> seconds = runner.sample();
    if (!seconds) return seconds.error();
    const double repeats = std::ceil(min_sample / std::max(*seconds, 1e-9));
    runner.repeats = static_cast<int>(std::clamp(repeats, 1.0, double{kMaxRepeats}));
  }
  return {};
}

}  // namespace

Statistics summarize(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::ranges::sort(samples);
  return {.median = percentile(samples, 0.5),
          .p10 = percentile(samples, 0.1),
          .p25 = percentile(samples, 0.25),
          .p75 = percentile(samples, 0.75),
          .p90 = percentile(samples, 0.9),
          .count = static_cast<int>(samples.size())};
}

Result<std::vector<Statistics>> measure(std::span<const Candidate> candidates, const MeasureOptions& options) {
  Rotation rotation{options.pairs};
  std::vector<Runner> runners;
  for (const Candidate& candidate : candidates) {
    Runner& runner = runners.emplace_back(Runner{.candidate = &candidate, .rotation = &rotation, .samples = {}});
    if (Status status = warm_up(runner, options.min_sample); !status) return status.error();
  }

  const auto begin = Clock::now();
  const auto budget = std::chrono::duration<double>(options.seconds * static_cast<double>(candidates.size()));
  for (int round = 0; round < options.min_runs || Clock::now() - begin < budget; ++round) {
    for (Runner& runner : runners) {
      const Result<double> seconds = runner.sample();
      if (!seconds) return seconds.error();
      runner.samples.push_back(*seconds * 1e9);
    }
  }

  std::vector<Statistics> statistics;
  for (Runner& runner : runners) statistics.push_back(summarize(std::move(runner.samples)));
  return statistics;
}

}  // namespace mollify::bench
