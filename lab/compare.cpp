#include "lab/compare.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace mollify::lab {
namespace {

/// One measurement in the unit of the comparison.
struct Sample {
  std::string case_name;
  std::string device;
  double p10 = 0.0;
  double median = 0.0;
  double p90 = 0.0;
};

bool is_wrong(const Json& record) {
  return record.value("outcome", "") == "wrong";
}

std::map<std::string, Sample> samples_of(std::span<const Json> records, Unit unit) {
  std::map<std::string, Sample> samples;
  for (const Json& record : records) {
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
                               .median = scale * median,
                               .p90 = scale * time->value("p90", median)};
  }
  return samples;
}

}  // namespace

Changes compare(std::span<const Json> before, std::span<const Json> after, const CompareOptions& options) {
  const std::map<std::string, Sample> old_samples = samples_of(before, options.unit);
  const std::map<std::string, Sample> new_samples = samples_of(after, options.unit);
  Changes changes;
  for (const auto& [key, now] : new_samples) {
    const auto found = old_samples.find(key);
    if (found == old_samples.end()) {
      ++changes.only_after;
      continue;
    }
    const Sample& then = found->second;
    const Change change{now.case_name, now.device, then.median, now.median};
    if (now.p10 > then.p90 && change.factor() > 1.0 + options.threshold) {
      changes.slower.push_back(change);
    } else if (now.p90 < then.p10 && change.factor() < 1.0 / (1.0 + options.threshold)) {
      changes.faster.push_back(change);
    } else {
      ++changes.same;
    }
  }
  std::set<std::string> gone_wrong;
  for (const Json& record : after) {
    const std::string key = key_of(record);
    if (!is_wrong(record)) {
      gone_wrong.erase(key);
    } else if (old_samples.contains(key) && !new_samples.contains(key)) {
      gone_wrong.insert(key);
    }
  }
  for (const std::string& key : gone_wrong) changes.wrong.push_back(old_samples.at(key).case_name);
  changes.only_before = old_samples.size() - changes.compared() - changes.wrong.size();
  std::ranges::sort(changes.slower, std::greater{}, &Change::factor);
  std::ranges::sort(changes.faster, std::less{}, &Change::factor);
  return changes;
}

}  // namespace mollify::lab
