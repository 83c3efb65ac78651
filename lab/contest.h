// Which of two programs blurs a case faster, by runs in turns.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mollify/result.h"

namespace mollify::lab {

/// Times of one case by both programs, one right after the other, in nanoseconds.
struct PairOfTimes {
  double first = 0.0;
  double second = 0.0;
};

enum class Verdict : std::uint8_t {
  slower,     ///< The second program is slower: the interval lies above the tolerance.
  faster,     ///< The second program is faster: the interval lies below it.
  same,       ///< The interval lies within the tolerance.
  undecided,  ///< More pairs are needed.
};
[[nodiscard]] std::string_view name(Verdict verdict);

/// The ratio of the second program's time to the first's: the geometric mean over the pairs, and its 95 % interval by Student's t
/// distribution of the logarithms.
struct Ratio {
  double mean = 1.0;
  double least = 1.0;
  double most = 1.0;
};

/// An Error with fewer than two pairs, which have no interval.
[[nodiscard]] Result<Ratio> ratio_of(std::span<const PairOfTimes> pairs);

/// `tolerance` is a part, such as 0.02.
[[nodiscard]] Verdict verdict_of(const Ratio& ratio, double tolerance);

/// Cases that a contest is about where nobody names any: Gaussians and boxes of three formats, small enough for a CPU or large enough for a
/// GPU.
[[nodiscard]] std::vector<std::string> usual_contest_cases(bool on_gpu);

}  // namespace mollify::lab
