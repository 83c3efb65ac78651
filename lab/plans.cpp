#include "lab/plans.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>
#include <utility>

#include "bench/tune.h"

namespace mollify::lab {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kScreeningRuns = 1;
constexpr int kLastRuns = 7;

/// A way that is ready to run.
struct Entrant {
  Executable executable;
  double nanoseconds = 0.0;
  [[nodiscard]] const AlgorithmChoice& choice() const { return executable.plan().algorithm; }
};

class Gap {
 public:
  Gap(bench::Contest& contest, const cases::Case& request, const PlanGapOptions& options)
      : contest_(contest), request_(request), options_(options) {}

  Result<PlanGap> find() {
    PlanOptions own;
    if (!options_.planned.id.empty()) own.algorithm = options_.planned;
    const Result<Plan> planned = make_plan(request_.spec, request_.src, request_.dst, device(), own);
    if (!planned) return planned.error();
    if (Status s = enter(*planned); !s) return s.error();
    for (const AlgorithmInfo& algorithm : algorithms()) {
      if (is_stopped()) return stopped();
      if (Status s = enter({std::string(algorithm.id), {}}); !s) return s.error();
    }
    if (Status s = time({.seconds = 0.0, .min_runs = kScreeningRuns}); !s) return s.error();
    drop_hopeless();
    if (Status s = tune_all(); !s) return s.error();
    if (Status s = time({.seconds = options_.seconds * static_cast<double>(entrants_.size()), .min_runs = kLastRuns}); !s) return s.error();
    const Entrant& best = *std::ranges::min_element(entrants_, {}, &Entrant::nanoseconds);
    out_.planned = {entrants_.front().choice(), entrants_.front().nanoseconds};
    out_.best = {best.choice(), best.nanoseconds};
    return std::move(out_);
  }

 private:
  [[nodiscard]] const DeviceInfo& device() const { return contest_.device().info(); }
  [[nodiscard]] bool is_stopped() const { return options_.stop && options_.stop(); }
  static Error stopped() { return {ErrorCode::internal, "stopped", {}}; }

  /// Unless an entrant does the same already.
  Status enter(const Plan& plan) {
    const auto is_same = [&](const Entrant& other) { return other.choice() == plan.algorithm; };
    if (std::ranges::any_of(entrants_, is_same)) return {};
    const Result<Executable> executable = contest_.device().prepare(plan);
    if (!executable) return executable.error();
    entrants_.push_back({*executable});
    return {};
  }
  /// Unless the device has no plan for that.
  Status enter(const AlgorithmChoice& choice) {
    const Result<Plan> plan = make_plan(request_.spec, request_.src, request_.dst, device(), {.algorithm = choice, .tuning = Tuning::none});
    return plan ? enter(*plan) : Status();
  }

  Status time(const bench::ContestOptions& options) {
    std::vector<Executable> executables;
    for (const Entrant& entrant : entrants_) executables.push_back(entrant.executable);
    const Result<std::vector<bench::Statistics>> times = contest_.time(executables, options);
    if (!times) return times.error();
    for (std::size_t i = 0; i < entrants_.size(); ++i) entrants_[i].nanoseconds = (*times)[i].p10;
    out_.timed = std::max(out_.timed, static_cast<int>(entrants_.size()));
    return {};
  }

  /// The planned one stays, and stays the first.
  void drop_hopeless() {
    const double most = kHopelessRatio * std::ranges::min_element(entrants_, {}, &Entrant::nanoseconds)->nanoseconds;
    const auto hopeless =
        std::remove_if(entrants_.begin() + 1, entrants_.end(), [&](const Entrant& entrant) { return entrant.nanoseconds > most; });
    entrants_.erase(hopeless, entrants_.end());
  }

  /// Adds each algorithm's best options to the entrants. An algorithm whose pixels are wrong leaves them, unless it was planned.
  Status tune_all() {
    std::vector<std::pair<double, std::string>> fastest;  // each algorithm once
    for (const Entrant& entrant : entrants_) fastest.emplace_back(entrant.nanoseconds, entrant.choice().id);
    std::ranges::sort(fastest);
    std::set<std::string> seen;
    const Clock::time_point end =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options_.tuning_seconds));
    for (const auto& [nanoseconds, algorithm] : fastest) {
      if (is_stopped()) return stopped();
      if (!seen.insert(algorithm).second) continue;
      if (Clock::now() >= end) {
        ++out_.untuned;
        continue;
      }
      if (Status s = tune(algorithm, end); !s) return s;
    }
    return {};
  }

  Status tune(const std::string& algorithm, Clock::time_point end) {
    bench::TuneTask task;
    task.request = request_;
    task.request.algorithm = {algorithm, {}};
    task.row.algorithm = algorithm;
    const Result<bench::TuneResult> tuned =
        bench::tune(contest_, task, {.seconds = options_.seconds, .stop = [&] { return is_stopped() || Clock::now() >= end; }});
    if (!tuned) {
      if (tuned.error().code == ErrorCode::device_lost) return tuned.error();
      if (tuned.error().code != ErrorCode::internal) return {};
      out_.wrong.push_back(algorithm + ": " + tuned.error().message);
      std::erase_if(entrants_, [&](const Entrant& other) { return &other != &entrants_.front() && other.choice().id == algorithm; });
      return {};
    }
    out_.wrong.insert(out_.wrong.end(), tuned->wrong.begin(), tuned->wrong.end());
    out_.timed += tuned->tried;
    return tuned->row.options.empty() ? Status() : enter({algorithm, tuned->row.options});
  }

  bench::Contest& contest_;
  const cases::Case& request_;
  const PlanGapOptions& options_;
  std::vector<Entrant> entrants_;  // the planned one first
  PlanGap out_;
};

}  // namespace

std::vector<cases::Case> requests_of(const Suite& suite, const DeviceInfo& device, std::span<const PixelFormat> formats,
                                     std::int32_t longest) {
  std::vector<cases::Case> requests;
  const auto add = [&](const cases::Case& request) {
    if (std::ranges::find(requests, request) == requests.end()) requests.push_back(request);
  };
  for (const Group& group : suite.groups(device)) {
    cases::Case request = group.cases.front();
    if (longest > 0) {
      for (ImageDesc* image : {&request.src, &request.dst}) {
        image->width = std::min(image->width, longest);
        image->height = std::min(image->height, longest);
      }
    }
    if (formats.empty()) add(request);
    for (const PixelFormat format : formats) {
      request.src.format = request.dst.format = format;
      add(request);
    }
  }
  return requests;
}

Result<PlanGap> gap_of_plan(bench::Contest& contest, const cases::Case& request, const PlanGapOptions& options) {
  return Gap(contest, request, options).find();
}

}  // namespace mollify::lab
