// What Gaussians on halved images share: the kernel of the last level, as 16-bit sums can have it, and what these round.
#pragma once

#include <string>
#include <utility>

#include "algorithms/common/propose.h"
#include "math/decimation.h"

namespace mollify {

inline constexpr BoxSpline kHalvingSpline{4};    // four boxes of two pixels are [1 4 6 4 1] / 16
inline constexpr double kLeastLevelSpan = 1.25;  // pixels of the last level that a sigma must span: fits are rough below
inline constexpr double kMostLevelSpan = 16.0;   // what fitting takes grows with the cube of that

/// What rounded means gain by rounding up when numbers are halved or doubled once, in their units.
inline constexpr double kHalvingGain = 0.5 / 8 + 0.5 / 4 + 0.5 / 2 + 0.5 / 2 + 0.5;
inline constexpr double kDoublingGain = 0.5 / 4 + 0.5 / 2 + 0.5;

/// The kernel of the last level on one axis.
struct LevelTaps {
  AxisTaps taps;
  double l1_distance = 0.0;  ///< of the whole to the Gaussian that was asked for
  [[nodiscard]] std::int64_t radius() const { return taps.anchor; }
};

/// What propose(halvings) makes of sums of 16 bits that are halved as often as the error needs.
template <class Propose>
[[nodiscard]] Result<Proposal> with_halvings(const Problem& p, Propose propose) {
  constexpr int kMostHalvings = 8;
  Result<Proposal> out = propose(0);
  for (int halvings = 1; out && out->error > p.allowed_error && halvings <= kMostHalvings; ++halvings) {
    Result<Proposal> finer = propose(halvings);
    if (finer && finer->error < out->error) out = std::move(finer);
  }
  return out;
}

/// The whole image on one thread. Which levels take the least time is asked of that: a region or threads must not change bits.
class OfWholeImage {
 public:
  explicit OfWholeImage(const Problem& p)
      : spec_(p.spec), device_(p.device), problem_{spec_, p.src, {}, device_, p.options, p.allowed_error, p.batch} {
    spec_.roi.reset();
    device_.threads = 1;
    problem_.dst = destination_desc(spec_, p.src, p.dst.format);
  }
  OfWholeImage(const OfWholeImage&) = delete;
  OfWholeImage& operator=(const OfWholeImage&) = delete;
  [[nodiscard]] const Problem& problem() const { return problem_; }

 private:
  BlurSpec spec_;
  DeviceInfo device_;
  Problem problem_;
};

/// What propose(problem) makes of the problem with the options that find(problem) comes to for the whole image.
template <class Find, class Propose>
[[nodiscard]] Result<Proposal> with_levels_of_whole(const Problem& p, Find find, Propose propose) {
  const OfWholeImage whole(p);
  const Result<Proposal> found = find(whole.problem());
  if (!found) return found.error();
  Problem problem = p;
  problem.options = found->options;
  return propose(problem);
}

/// Pixels on either side that halving, taps of such a radius on the last level and doubling reach together.
[[nodiscard]] constexpr std::int64_t reach_of_levels(int levels, std::int64_t radius) {
  const std::int64_t factor = std::int64_t{1} << levels;
  return radius * factor + kHalvingSpline.order * (factor - 1);
}

/// What the same read, see cpu::PyramidAxis: a level has whole pixels, from which the next lower one is made a pair at a time.
[[nodiscard]] constexpr Halo halo_of_levels(int levels, std::int64_t radius) {
  const std::int64_t factor = std::int64_t{1} << levels;
  const std::int64_t pixels = (radius + kHalvingSpline.order) * factor - kHalvingSpline.order;
  return {{pixels, factor, -2}, {pixels, factor, 2}};
}

/// The fitted taps without negative ones and without the outermost ones, as far as `l1_budget` goes.
[[nodiscard]] LevelTaps level_taps(const std::vector<double>& fitted, double l1_distance, double l1_budget);

/// Why a sigma cannot be blurred where the image is `levels` times halved, or nothing.
[[nodiscard]] std::string level_obstacle(double sigma, int levels);

}  // namespace mollify
