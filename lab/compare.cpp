#include "lab/compare.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "bench/measure.h"

namespace mollify::lab {
namespace {

/// What one side knows of a case, in the unit of the comparison.
struct Sample {
  std::string case_name;
  std::string device;
  double p10 = 0.0;             ///< the least of its runs
  double p90 = 0.0;             ///< the largest of its runs
  std::vector<double> medians;  ///< one a run

  [[nodiscard]] double median() const { return bench::summarize(medians).median; }
  [[nodiscard]] double drift() const {
    const auto [least, most] = std::ranges::minmax(medians);
    return most / least - 1.0;
  }
};

bool is_wrong(const Json& record) {
  return record.value("outcome", "") == "wrong";
}

using Samples = std::map<std::string, Sample>;

Samples samples_of(const Records& run, Unit unit) {
  Samples samples;
  for (const Json& record : run) {
    const Json* time = record.find("time_ns");
    if (time == nullptr || !time->is_object()) continue;
    if (const Json* peer = record.find("peer"); peer != nullptr && !peer->is_null()) continue;
    if (is_wrong(record)) continue;
    const double copy = record.value("copy_ns", 0.0);
    if (unit == Unit::copies && !(copy > 0.0)) continue;
    const double scale = unit == Unit::copies ? 1.0 / copy : 1.0;
    const double median = time->value("median", 0.0);
    if (!(median > 0.0)) continue;
    samples[key_of(record)] = {.case_name = record.value("case", ""),
                               .device = record.value("device", ""),
                               .p10 = scale * time->value("p10", median),
                               .p90 = scale * time->value("p90", median),
                               .medians = {scale * median}};
  }
  return samples;
}

Samples samples_of(std::span<const Records> runs, Unit unit) {
  Samples all;
  for (const Records& run : runs) {
    for (const auto& [key, sample] : samples_of(run, unit)) {
      const auto [found, is_new] = all.try_emplace(key, sample);
      if (is_new) continue;
      Sample& known = found->second;
      known.p10 = std::min(known.p10, sample.p10);
      known.p90 = std::max(known.p90, sample.p90);
      known.medians.push_back(sample.medians.front());
    }
  }
  return all;
}

Drift drift_of(std::initializer_list<const Samples*> sides) {
  std::vector<double> drifts;
  for (const Samples* side : sides) {
    for (const auto& [key, sample] : *side) {
      if (sample.medians.size() > 1) drifts.push_back(sample.drift());
    }
  }
  if (drifts.empty()) return {};
  return {drifts.size(), bench::summarize(drifts).median, std::ranges::max(drifts)};
}

/// Cases that had a time before, and that some run now calls wrong and does not time.
std::set<std::string> become_wrong(std::span<const Records> after, const Samples& old_samples) {
  std::set<std::string> wrong;
  for (const Records& run : after) {
    const Samples timed = samples_of(run, Unit::time);
    for (const Json& record : run) {
      const std::string key = key_of(record);
      if (is_wrong(record) && old_samples.contains(key) && !timed.contains(key)) wrong.insert(key);
    }
  }
  return wrong;
}

}  // namespace

Changes compare(std::span<const Records> before, std::span<const Records> after, const CompareOptions& options) {
  const Samples old_samples = samples_of(before, options.unit);
  const Samples new_samples = samples_of(after, options.unit);
  Changes changes;
  for (const auto& [key, now] : new_samples) {
    const auto found = old_samples.find(key);
    if (found == old_samples.end()) {
      ++changes.only_after;
      continue;
    }
    const Sample& then = found->second;
    const Change change{now.case_name, now.device, then.median(), now.median()};
    if (now.p10 > then.p90 && change.factor() > 1.0 + options.threshold) {
      changes.slower.push_back(change);
    } else if (now.p90 < then.p10 && change.factor() < 1.0 / (1.0 + options.threshold)) {
      changes.faster.push_back(change);
    } else {
      ++changes.same;
    }
  }
  const std::set<std::string> wrong = become_wrong(after, old_samples);
  for (const auto& [key, then] : old_samples) {
    if (wrong.contains(key)) {
      changes.wrong.push_back(then.case_name);
    } else if (!new_samples.contains(key)) {
      ++changes.only_before;
    }
  }
  changes.drift = drift_of({&old_samples, &new_samples});
  std::ranges::sort(changes.slower, std::greater{}, &Change::factor);
  std::ranges::sort(changes.faster, std::less{}, &Change::factor);
  return changes;
}

}  // namespace mollify::lab
