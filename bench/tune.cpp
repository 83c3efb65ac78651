#include "bench/tune.h"

#include <algorithm>
#include <future>
#include <optional>
#include <utility>

namespace mollify::bench {
namespace {

constexpr double kWorthwhile = 1.03;
constexpr std::size_t kAtOnce = 8;  // each may hold intermediates as large as the image
constexpr int kScreeningRuns = 3;
constexpr int kDecidingRuns = 15;
constexpr double kScreeningPart = 0.2;  // of the seconds that the decision takes
/// Large enough for several groups and pieces, small enough for the reference.
constexpr PerAxis<std::int32_t> kCheckedSize{131, 97};

/// A combination of options that is ready to run, or why it is not.
struct Entrant {
  Options options;  ///< beside the algorithm's own choice
  std::optional<Executable> executable{};
  std::string wrong{};           ///< what was wrong with its pixels
  std::optional<Error> error{};  ///< refused, or the device could not
};

class Tuner {
 public:
  Tuner(Contest& contest, const TuneTask& task, const TuneOptions& options) : contest_(contest), task_(task), options_(options) {}

  Result<TuneResult> run() {
    Entrant own = prepare({});
    if (own.error) return *own.error;
    if (!own.wrong.empty()) return Error{ErrorCode::internal, "wrong here: " + own.wrong, {}};
    predicted_seconds_ = own.executable->plan().predicted_seconds;
    Entrant best = own;
    for (const OptionInfo& option : algorithm_options()) {
      if (Status s = improve(best, option); !s) return s.error();
    }
    if (Status s = decide(own, best); !s) return s.error();
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::span<const OptionInfo> algorithm_options() const {
    for (const AlgorithmInfo& algorithm : algorithms()) {
      if (algorithm.id == task_.request.algorithm.id) return algorithm.options;
    }
    return {};
  }

  /// Plans, runs on a small image against the reference, and makes ready. Thread-safe.
  [[nodiscard]] Entrant prepare(const Options& options) const {
    Entrant entrant{options};
    const cases::Case& request = task_.request;
    const AlgorithmChoice choice{request.algorithm.id, options};
    const Device& device = contest_.device();
    const Result<Plan> plan =
        make_plan(request.spec, request.src, request.dst, device.info(), {.algorithm = choice, .tuning = Tuning::none});
    if (!plan) {
      entrant.error = plan.error();
      return entrant;
    }
    cases::Case small = request;
    small.algorithm = plan->algorithm;  // with every option, so that no tuning row gets a say
    small.src.width = small.dst.width = kCheckedSize.x;
    small.src.height = small.dst.height = kCheckedSize.y;
    const cases::CaseResult checked = cases::run_case(device, small, 2);
    if (checked.outcome == cases::Outcome::failed) entrant.wrong = to_string(choice) + ": " + checked.message;
    if (checked.outcome == cases::Outcome::refused) entrant.error = Error{ErrorCode::unsupported, checked.message, {}};
    if (checked.outcome != cases::Outcome::pass) return entrant;
    Result<Executable> executable = device.prepare(*plan);
    if (executable)
      entrant.executable = std::move(*executable);
    else
      entrant.error = executable.error();
    return entrant;
  }

  /// Compiling takes longer than timing, and drivers do it side by side.
  std::vector<Entrant> prepare_all(std::span<const Options> all) {
    std::vector<std::future<Entrant>> running;
    for (const Options& options : all) {
      running.push_back(std::async(std::launch::async, [this, &options] { return prepare(options); }));
    }
    std::vector<Entrant> ready;
    for (std::future<Entrant>& future : running) {
      Entrant entrant = future.get();
      if (!entrant.wrong.empty()) result_.wrong.push_back(entrant.wrong);
      if (entrant.executable) ready.push_back(std::move(entrant));
    }
    return ready;
  }

  /// The values of one option against the best so far, a few at a time.
  [[nodiscard]] Status improve(Entrant& best, const OptionInfo& option) {
    const Options& resolved = best.executable->plan().algorithm.options;
    if (!resolved.contains(option.name)) return {};  // not for this backend
    std::vector<Options> combinations;
    for (const std::string& value : tune_values(option, task_, contest_.device().info())) {
      if (resolved.find(option.name)->second == value) continue;
      combinations.push_back(best.options);
      combinations.back()[std::string(option.name)] = value;
    }
    for (std::size_t first = 0; first < combinations.size(); first += kAtOnce) {
      if (options_.stop && options_.stop()) return {};
      const std::size_t count = std::min(kAtOnce, combinations.size() - first);
      std::vector<Entrant> entrants = prepare_all(std::span(combinations).subspan(first, count));
      if (entrants.empty()) continue;
      entrants.insert(entrants.begin(), best);
      const Result<std::vector<Statistics>> times =
          time(entrants, {.seconds = options_.seconds * kScreeningPart, .min_runs = kScreeningRuns});
      if (!times) return times.error();
      result_.tried += static_cast<int>(entrants.size()) - 1;
      const auto fastest = std::ranges::min_element(*times, {}, &Statistics::median);
      best = entrants[static_cast<std::size_t>(fastest - times->begin())];
    }
    return {};
  }

  [[nodiscard]] Status decide(const Entrant& own, const Entrant& best) {
    std::vector<Entrant> entrants{own};
    if (!best.options.empty()) entrants.push_back(best);
    const Result<std::vector<Statistics>> times = time(entrants, {.seconds = options_.seconds, .min_runs = kDecidingRuns});
    if (!times) return times.error();
    result_.before = times->front();
    result_.after = times->back();
    result_.row = task_.row;
    result_.row.cost = result_.before.median * 1e-9 / predicted_seconds_;
    if (!beats(result_.after, result_.before)) return {};
    result_.row.options = best.options;
    result_.row.gain = result_.before.median / result_.after.median;
    return {};
  }

  [[nodiscard]] Result<std::vector<Statistics>> time(const std::vector<Entrant>& entrants, const ContestOptions& options) {
    std::vector<Executable> executables;
    for (const Entrant& entrant : entrants) executables.push_back(*entrant.executable);
    return contest_.time(executables, options);
  }

  Contest& contest_;
  const TuneTask& task_;
  const TuneOptions& options_;
  double predicted_seconds_ = 0.0;
  TuneResult result_;
};

}  // namespace

bool beats(const Statistics& after, const Statistics& before) {
  return after.p75 < before.p25 && after.median * kWorthwhile < before.median;
}

Result<TuneResult> tune(Contest& contest, const TuneTask& task, const TuneOptions& options) {
  return Tuner(contest, task, options).run();
}

}  // namespace mollify::bench
