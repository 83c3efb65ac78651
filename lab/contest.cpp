#include "lab/contest.h"

#include <array>
#include <cmath>
#include <string_view>

namespace mollify::lab {
namespace {

/// The 97.5 % quantile of Student's t distribution.
double student_quantile(std::size_t degrees_of_freedom) {
  constexpr std::array kQuantiles = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                     2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                     2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  return kQuantiles[std::min(degrees_of_freedom, kQuantiles.size()) - 1];
}

}  // namespace

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::slower:
      return "slower";
    case Verdict::faster:
      return "faster";
    case Verdict::same:
      return "same";
    case Verdict::undecided:
      return "undecided";
  }
  return {};
}

Result<Ratio> ratio_of(std::span<const PairOfTimes> pairs) {
  if (pairs.size() < 2) return Error{ErrorCode::invalid_argument, "one pair has no interval", {}};
  const auto count = static_cast<double>(pairs.size());
  double sum = 0.0;
  for (const PairOfTimes& pair : pairs) sum += std::log(pair.second / pair.first);
  const double mean = sum / count;
  double squares = 0.0;
  for (const PairOfTimes& pair : pairs) squares += std::pow(std::log(pair.second / pair.first) - mean, 2);
  const double half = student_quantile(pairs.size() - 1) * std::sqrt(squares / (count - 1.0) / count);
  return Ratio{std::exp(mean), std::exp(mean - half), std::exp(mean + half)};
}

Verdict verdict_of(const Ratio& ratio, double tolerance) {
  const double above = 1.0 + tolerance, below = 1.0 / above;
  if (ratio.least > above) return Verdict::slower;
  if (ratio.most < below) return Verdict::faster;
  return ratio.least >= below && ratio.most <= above ? Verdict::same : Verdict::undecided;
}

std::vector<std::string> usual_contest_cases(bool on_gpu) {
  const std::string size = on_gpu ? "2048x2048" : "512x512";
  std::vector<std::string> cases;
  for (const std::string format : {"rgba8", "rgba16f", "r32f"}) {
    for (const std::string kernel : {"gaussian:sigma=1", "gaussian:sigma=3", "gaussian:sigma=10", "box:radius=5", "box:radius=64"}) {
      cases.push_back("auto/" + size + "/" + format + "/" + kernel + "/clamp");
    }
  }
  return cases;
}

}  // namespace mollify::lab
