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
  double seconds = 0.0;         // spent so far
  std::vector<double> samples;  // ns of one run

  // One turn; nanoseconds of one run, averaged over `repeats` unless the candidate has its own clock.
  Result<std::vector<double>> sample() {
    const auto begin = Clock::now();
    if (candidate->turn) {
      Result<std::vector<double>> timed = candidate->turn();
      seconds += std::chrono::duration<double>(Clock::now() - begin).count();
      return timed;
    }
    for (int i = 0; i < repeats; ++i) {
      if (Status status = candidate->run(rotation->take()); !status) return status.error();
    }
    const double elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
    seconds += elapsed;
    return std::vector<double>{elapsed * 1e9 / repeats};
  }

  [[nodiscard]] bool has_enough(const MeasureOptions& options) const {
    return static_cast<int>(samples.size()) >= options.min_runs && seconds >= options.seconds;
  }
};

constexpr int kWarmUpRuns = 2;
constexpr int kMaxRepeats = 100000;

Status warm_up(Runner& runner, const MeasureOptions& options) {
  const bool needs_clock = static_cast<bool>(runner.candidate->turn);
  for (int i = 0; i < kWarmUpRuns || (needs_clock && runner.seconds < kClockSeconds); ++i) {
    const Result<std::vector<double>> ns = runner.sample();
    if (!ns) return ns.error();
    const double repeats = std::ceil(options.min_sample / std::max(ns->front() * 1e-9, 1e-9));
    runner.repeats = static_cast<int>(std::clamp(repeats, 1.0, double{kMaxRepeats}));
    if (runner.seconds > 1.0) break;  // so slow that nothing is left to warm
  }
  runner.seconds = 0.0;
  return {};
}

Status check_stop(const MeasureOptions& options) {
  if (options.stop && options.stop()) return Error{ErrorCode::internal, "stopped", {}};
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
    if (Status status = check_stop(options); !status) return status.error();
    if (Status status = warm_up(runner, options); !status) return status.error();
  }

  const auto is_done = [&](const Runner& runner) { return runner.has_enough(options); };
  while (!std::ranges::all_of(runners, is_done)) {
    for (Runner& runner : runners) {
      if (is_done(runner)) continue;
      if (Status status = check_stop(options); !status) return status.error();
      const Result<std::vector<double>> ns = runner.sample();
      if (!ns) return ns.error();
      runner.samples.insert(runner.samples.end(), ns->begin(), ns->end());
    }
  }

  std::vector<Statistics> statistics;
  for (Runner& runner : runners) statistics.push_back(summarize(std::move(runner.samples)));
  return statistics;
}

}  // namespace mollify::bench
