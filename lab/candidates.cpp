#include "lab/candidates.h"

#include <algorithm>
#include <string>
#include <utility>

namespace mollify::lab {
namespace {

/// A plan that is expected to take longer is no candidate; the prediction is rough.
constexpr double kMostPredictedSeconds = 4.0;

/// The algorithm as it is, all combinations of the combined options, and each other value alone.
std::vector<AlgorithmChoice> choices_of(const AlgorithmInfo& algorithm, const Variants& variants, const DeviceInfo& device) {
  std::vector<AlgorithmChoice> choices{{std::string(algorithm.id), {}}};
  for (const OptionInfo& option : algorithm.options) {
    if (std::ranges::find(variants.combined, option.name) == variants.combined.end()) continue;
    std::vector<AlgorithmChoice> more;
    for (const AlgorithmChoice& choice : choices) {
      for (const std::string& value : cases::listed_values(option, device)) {
        more.push_back(choice);
        more.back().options[std::string(option.name)] = value;
      }
    }
    choices.insert(choices.end(), more.begin(), more.end());
  }
  if (!variants.options) return choices;
  for (const OptionInfo& option : algorithm.options) {
    for (const std::string& value : cases::listed_values(option, device)) {
      choices.push_back({std::string(algorithm.id), {{std::string(option.name), value}}});
    }
  }
  return choices;
}

/// Collects cases whose plans differ.
class Collector {
 public:
  Collector(const Problem& problem, const DeviceInfo& device) : device_(device) {
    case_.spec.kernel = problem.kernel;
    case_.src = case_.dst = {problem.size.x, problem.size.y, problem.format};
  }

  /// Whether the device has a plan, be it a new one or not.
  bool add(const AlgorithmChoice& choice, std::optional<double> max_error) {
    cases::Case c = case_;
    c.algorithm = choice;
    c.spec.accuracy.max_error = max_error;
    PlanOptions options;
    if (!choice.id.empty()) options.algorithm = choice;
    Result<Plan> plan = make_plan(c.spec, c.src, c.dst, device_, options);
    if (!plan) return false;
    if (plan->predicted_seconds > kMostPredictedSeconds) return true;
    const auto is_same = [&](const Plan& other) { return other.algorithm == plan->algorithm && other.passes == plan->passes; };
    if (std::ranges::none_of(plans_, is_same)) {
      plans_.push_back(*std::move(plan));
      group_.cases.push_back(std::move(c));
    }
    return true;
  }

  [[nodiscard]] Group finish() && {
    const std::string name = cases::name(case_);  // auto/WxH/FORMAT/KERNEL/BORDER
    const std::size_t first = name.find('/') + 1;
    group_.label = name.substr(first, name.rfind('/') - first);
    std::ranges::replace(group_.label, '/', ' ');
    return std::move(group_);
  }

 private:
  const DeviceInfo& device_;
  cases::Case case_;
  std::vector<Plan> plans_;
  Group group_;
};

}  // namespace

Group make_group(const Problem& problem, const Variants& variants, const DeviceInfo& device) {
  std::vector<std::optional<double>> accuracies{std::nullopt};
  accuracies.insert(accuracies.end(), variants.max_errors.begin(), variants.max_errors.end());

  Collector collector(problem, device);
  collector.add({}, std::nullopt);
  for (const AlgorithmInfo& algorithm : algorithms()) {
    if (!variants.takes_part(algorithm.id)) continue;
    for (const AlgorithmChoice& choice : choices_of(algorithm, variants, device)) {
      for (const std::optional<double>& accuracy : accuracies) {
        if (collector.add(choice, accuracy) && !variants.every_accuracy) break;
      }
    }
  }
  return std::move(collector).finish();
}

}  // namespace mollify::lab
