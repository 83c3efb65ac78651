// gauss.pyramid: a Gaussian on 8-bit images in 16-bit integers, on CPUs: the image is halved by binomial filters, blurred
// where it is small by a fitted kernel, and doubled by the same filters. They are cubic B-splines and nest, so this is one
// decimated Gaussian of factor 2^levels, and its fit's distance to the true Gaussian is known. Means of 16 bits take half the
// instructions that floats do, so it wins over gauss.decimate until tiles halve too much of each other's pixels; fits are not
// good enough below a sigma of about 5. Source: this project; the pyramid is that of Burt and Adelson 1983.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include "algorithms/common/propose.h"
#include "algorithms/multirate/gauss_levels.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/pass_arguments.h"
#include "base/text.h"
#include "math/decimation.h"
#include "math/weights.h"
#include "model/tuning.h"

namespace mollify {
namespace {

constexpr std::string_view kKernel = "gauss_pyramid";
constexpr double kDefaultSpan = 9.0;  // pixels of the last level: beyond it one more level is cheaper, and exact enough
constexpr double kCutShare = 0.1;     // of the error, for the outermost taps
constexpr ListedNumberOption kLevels("levels", {"1", "2", "3", "4"}, "the cheapest within the error", "halvings of the image",
                                     {.tuned = Tuned::never});
constexpr std::array kOptions = {kLevels.info()};

Result<Proposal> propose_levels(const Problem& p, int levels, int halvings) {
  const auto& gaussian = std::get<Gaussian>(p.spec.kernel);
  const FormatInfo& format = info(p.src.format);
  const double factor = 1 << levels;
  for (const Axis axis : {Axis::x, Axis::y}) {
    const std::string obstacle = level_obstacle(on(gaussian.sigma, axis), levels);
    if (!obstacle.empty()) return refusal(obstacle);
  }
  const double l1_budget = kCutShare * p.allowed_error / kernel_distance_error(1.0, p.src.format);
  const auto taps_on = [&](Axis axis) {
    const std::shared_ptr<const Decimation> fit = fit_decimation(on_axis(gaussian, axis), 1 << levels, kHalvingSpline);
    return level_taps(fit->coarse.weights, fit->l1_distance, l1_budget);
  };
  LevelTaps x = taps_on(Axis::x);
  LevelTaps y = taps_on(Axis::y);
  const std::optional<FixedWeights> fixed_x = rounded_to_fixed(x.taps, halvings);
  const std::optional<FixedWeights> fixed_y = rounded_to_fixed(y.taps, halvings);
  if (!fixed_x || !fixed_y) return refusal("its taps do not fit 16-bit sums");

  // What means gain by rounding up, in units of the sum; those of the first level, and of the bytes themselves, are exact.
  constexpr double kPairs = 0.5 + 0.5;  // of the taps, on both axes
  const double most = 2.0 * (kHalvingGain * (levels - 1) + kDoublingGain * levels) + kPairs + fixed_x->gained + fixed_y->gained;
  const double least = -fixed_x->lost - fixed_y->lost;
  const Result<RoundingOf16BitSums> rounding = rounding_of_16_bit_sums(p, least, most);
  if (!rounding) return rounding.error();

  Proposal out;
  out.error = kernel_distance_error(x.l1_distance + y.l1_distance, p.src.format) + fixed_x->distance + fixed_y->distance + rounding->error;
  out.options = {kLevels.as(levels)};

  const int channels = format.channels == 3 ? 4 : format.channels;  // as levels hold them
  const auto halo = [&](const LevelTaps& axis) {
    const std::int64_t unit = std::int64_t{1} << levels;
    return cpu::PyramidAxis(0, unit, levels, axis.radius()).down[0].count - unit;
  };
  const double small = 1.0 - 1.0 / (factor * factor / 4.0);  // what levels beyond the first add, three times
  const double ring = static_cast<double>(2 * y.radius() + 2 * cpu::kRowGroup) / factor;
  constexpr double kRows = 10.0;      // of the first level, halved one way, that are read again
  constexpr double kUpperRows = 8.0;  // of the others, as wide
  TileNeeds needs;
  needs.halo = {halo(x), halo(y)};
  needs.column_bytes = static_cast<std::int64_t>(channels * 2.0 * (kRows + (levels > 1 ? kUpperRows : 0.0) + ring));
  // In multiply-adds of floats, as measured: reading and writing the image, and a pair of taps where it is small.
  constexpr double kLevelCost = 5.8;
  constexpr double kPairCost = 0.9;
  const double spreading = format.channels == 3 ? 1.44 : 1.0;  // three channels to the room of four and back
  const double taps = static_cast<double>(x.radius() + y.radius()) * kPairCost / (factor * factor);
  needs.pixel_operations = spreading * channels * (kLevelCost * (1.0 + small / 3.0) + taps);
  Pass pass;
  pass.kernel = kKernel;
  write_arguments(cpu::PyramidArguments{{halvings, rounding->number()}, levels}, pass);
  pass.size = {p.dst.width, p.dst.height};
  pass.tile = cpu_tile(p.device, pass.size, needs);
  out.moved_bytes = moved_bytes(p, pass.tile, needs.halo);
  out.scratch_bytes =
      p.device.threads * cpu::GaussPyramidScratch(nullptr, pass.tile.x, levels, x.radius(), y.radius(), format.channels).bytes;
  const auto with_halo = [](std::int64_t tile, std::int64_t more) { return static_cast<double>(tile + more) / static_cast<double>(tile); };
  const double overlap = with_halo(pass.tile.x, needs.halo.x) * with_halo(pass.tile.y, needs.halo.y);
  const double pixels = static_cast<double>(p.dst.width) * p.dst.height;
  out.seconds = arithmetic_seconds(p.device, pixels * needs.pixel_operations * overlap) + copy_seconds(p.device, out.moved_bytes);
  out.reach = reach_on_both_sides(reach_of_levels(levels, x.radius()), reach_of_levels(levels, y.radius()));
  out.halo = {halo_of_levels(levels, x.radius()), halo_of_levels(levels, y.radius())};
  pass.taps = {std::move(x.taps), std::move(y.taps)};
  out.passes.push_back(std::move(pass));
  return out;
}

Result<Proposal> propose_levels(const Problem& p, int levels) {
  return with_halvings(p, [&](int halvings) { return propose_levels(p, levels, halvings); });
}

Result<Proposal> propose_cheapest(const Problem& p) {
  const auto& gaussian = std::get<Gaussian>(p.spec.kernel);
  Result<Proposal> best =
      refusal("sigma " + number(std::min(gaussian.sigma.x, gaussian.sigma.y)) + " is not 1.25 to 16 pixels of any level");
  for (int levels = 1; levels <= cpu::kMaxPyramidLevels; ++levels) {
    const double span = std::min(gaussian.sigma.x, gaussian.sigma.y) / (1 << levels);
    if (span > kDefaultSpan && levels < cpu::kMaxPyramidLevels) continue;
    Result<Proposal> other = propose_levels(p, levels);
    if (!other) continue;
    const auto misses = [&](const Proposal& q) { return q.error > p.allowed_error; };
    const bool is_better = !best || (misses(*best) ? other->error < best->error : !misses(*other) && other->seconds < best->seconds);
    if (is_better) best = std::move(other);
  }
  return best;
}

Result<Proposal> propose(const Problem& p) {
  if (!p.device.has_kernel(kKernel)) return refusal_without_kernel(p, kKernel);
  if (Status s = only_options(p, {kLevels}); !s) return s.error();
  if (!std::holds_alternative<Gaussian>(p.spec.kernel)) return refusal("the kernel is no Gaussian");
  if (Status s = check_16_bit_sums(p); !s) return s.error();
  if (const std::optional<std::int32_t> levels = kLevels.given(p)) return propose_levels(p, *levels);
  return with_levels_of_whole(p, propose_cheapest, [](const Problem& problem) { return propose_levels(problem, *kLevels.given(problem)); });
}

}  // namespace

constinit const Algorithm kGaussPyramid = {{"gauss.pyramid", "a Gaussian on 8-bit images in 16-bit integers: halve, blur, double",
                                            "this project, after Burt and Adelson 1983", kOptions},
                                           propose};

}  // namespace mollify
