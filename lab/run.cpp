#include "lab/run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <utility>

#include "bench/time_group.h"
#include "cases/filter.h"
#include "lab/clocks.h"
#include "lab/record.h"

namespace mollify::lab {
namespace {

constexpr int kAttempts = 2;  // an unstable result is measured once more

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// How long a group takes, in units of its own: so much for each case, and as much again for so many bytes.
double work_of(const Group& group) {
  constexpr double kBytes = 64 << 20;
  double work = 0.0;
  for (const cases::Case& c : group.cases) {
    work += 1.0 + static_cast<double>(c.src.payload_bytes() + c.dst.payload_bytes()) / kBytes;
  }
  return work;
}

class Runner {
 public:
  Runner(const Device& device, const Suite& suite, Results& results, const RunOptions& options, const Observer& observer)
      : device_(device),
        suite_(suite),
        results_(results),
        options_(options),
        observer_(observer),
        clocks_(device.info()),
        context_{std::string(suite.name), options.device_name, options.device_flags, device.info().driver, bench::environment()} {}

  Result<Tally> run() {
    std::vector<Group> groups = suite_.groups(device_.info());
    std::size_t left = 0;
    double work_left = 0.0;
    for (Group& group : groups) {
      std::erase_if(group.cases, [&](const cases::Case& c) { return !is_wanted(c); });
      const std::size_t all = group.cases.size();
      std::erase_if(group.cases, [&](const cases::Case& c) { return is_done(cases::name(c)); });
      tally_.done_before += static_cast<int>(all - group.cases.size());
      left += group.cases.size();
      work_left += work_of(group);
    }
    const std::optional<double> limit = options_.limit_seconds ? options_.limit_seconds : suite_.limit_seconds;
    double work_done = 0.0;
    for (const Group& group : groups) {
      if (group.cases.empty()) continue;
      if (is_stopped()) break;
      const auto seconds_for = [&](double work) { return seconds_since(start_) / work_done * work; };
      if (limit && work_done > 0.0 && seconds_since(start_) + seconds_for(work_of(group)) > *limit) {
        tally_.out_of_time = true;
        break;
      }
      if (Status status = run_group(group); !status) return status.error();
      if (is_stopped()) break;
      left -= group.cases.size();
      work_done += work_of(group);
      work_left -= work_of(group);
      double seconds_left = seconds_for(work_left);
      if (limit) seconds_left = std::min(seconds_left, std::max(0.0, *limit - seconds_since(start_)));
      observer_.finished(group, fastest_, tally_, seconds_left);
    }
    tally_.stopped = is_stopped();
    tally_.left = static_cast<int>(left);
    return tally_;
  }

 private:
  [[nodiscard]] bool is_stopped() const { return options_.stop != nullptr && *options_.stop; }

  [[nodiscard]] bool is_wanted(const cases::Case& c) const {
    if (options_.choices == Choices::defaults && !c.algorithm.options.empty()) return false;
    return options_.filter.empty() || cases::matches(options_.filter, cases::name(c));
  }

  [[nodiscard]] bool is_done(const std::string& case_name, const std::string& peer = {}) const {
    const DeviceInfo& info = device_.info();
    if (info.backend != Backend::cpu) return results_.has(key_of(case_name, info.name, 1, peer));
    return results_.has(key_of(case_name, info.name, info.threads, peer, context_.environment.highway_target));
  }

  Status run_group(const Group& group) {
    fastest_ = nullptr;
    const auto progress = [&](std::string_view what, std::size_t done, std::size_t total) { observer_.working(group, what, done, total); };
    const Result<bench::GroupTiming> timing = bench::time_group(device_, group.cases,
                                                                {.seconds = options_.seconds.value_or(suite_.seconds),
                                                                 .min_runs = suite_.min_runs,
                                                                 .attempts = kAttempts,
                                                                 .peers = options_.peers,
                                                                 .stop = [this] { return is_stopped(); },
                                                                 .progress = progress});
    if (is_stopped()) return {};
    if (!timing) {
      observer_.note(group.label + ": " + timing.error().message);
      ++tally_.wrong;
      return {};
    }
    return write(group, *timing);
  }

  Status write(const Group& group, const bench::GroupTiming& timing) {
    const Json clocks = clocks_.read();
    context_.environment.load_average = bench::load_average();
    const AlgorithmChoice chosen = chosen_of(group);
    for (std::size_t i = 0; i < group.cases.size(); ++i) {
      const bench::CaseTiming& one = timing.cases[i];
      if (!one.record) {
        if (Status s = write_failure(group, group.cases[i], one.record.error()); !s) return s;
        continue;
      }
      ++tally_.timed;
      tally_.unstable += one.record->unstable ? 1 : 0;
      const bool is_chosen = one.plan->algorithm == chosen && !group.cases[i].spec.accuracy.max_error;
      const Json json = to_record(*one.record, &*one.plan, is_chosen, group.label, clocks, context_);
      if (Status s = results_.add(json); !s) return s;
      const auto median = [](const Json& record) { return record["time_ns"]["median"].get<double>(); };
      if (fastest_.is_null() || median(json) < median(fastest_)) fastest_ = json;
    }
    for (const bench::Record& peer : timing.peers) {
      if (is_done(peer.case_name, *peer.peer)) continue;
      ++tally_.peers;
      if (Status s = results_.add(to_record(peer, nullptr, false, group.label, clocks, context_)); !s) return s;
    }
    for (const std::string& note : timing.notes) {
      if (notes_.insert(note).second) observer_.note(note);
    }
    return {};
  }

  Status write_failure(const Group& group, const cases::Case& c, const Error& error) {
    if (error.code == ErrorCode::unsupported) {
      ++tally_.refused;
    } else {
      ++tally_.wrong;
      observer_.note(cases::name(c) + ": " + error.message);
    }
    return results_.add(to_record(c, error, device_.info(), group.label, context_));
  }

  /// What the planner would take for the group's problem.
  [[nodiscard]] AlgorithmChoice chosen_of(const Group& group) const {
    const cases::Case& c = group.cases.front();
    BlurSpec spec = c.spec;
    spec.accuracy = {};
    const Result<Plan> plan = make_plan(spec, c.src, c.dst, device_.info());
    return plan ? plan->algorithm : AlgorithmChoice{};
  }

  const Device& device_;
  const Suite& suite_;
  Results& results_;
  const RunOptions& options_;
  const Observer& observer_;
  Clocks clocks_;
  Context context_;
  Tally tally_;
  Json fastest_;
  std::set<std::string> notes_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

Result<Tally> run_suite(const Device& device, const Suite& suite, Results& results, const RunOptions& options, const Observer& observer) {
  return Runner(device, suite, results, options, observer).run();
}

}  // namespace mollify::lab
