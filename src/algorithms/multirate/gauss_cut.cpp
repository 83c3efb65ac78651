// gauss.cut: a Gaussian that is cut at a radius, on CPUs: here on 8-bit images in 16-bit integers, in gauss_cut_tails.cpp in floats. Halved
// images cannot follow the jump at which it ends; a window as wide can, by running sums. So each axis is a window as high as the jump, and
// what is left of the Gaussian on halved numbers, as in gauss.pyramid. Unlike there, columns are blurred before rows, all
// of them at full height: what some 27 multiply-adds a component take, and the taps of the last level. It is not exact
// enough below a radius of about 26, and loses where gauss.pyramid or gauss.decimate can follow the jump themselves.
// Source: this project; running sums are folklore.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "algorithms/common/propose.h"
#include "algorithms/multirate/gauss_cut_tails.h"
#include "algorithms/multirate/gauss_levels.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/pass_arguments.h"
#include "base/text.h"
#include "math/decimation.h"
#include "math/weights.h"
#include "model/tuning.h"

namespace mollify {
namespace {

constexpr std::string_view kKernel = "gauss_cut";
constexpr std::int64_t kMostRadius = 128;  // sums of more bytes exceed 16 bits
constexpr double kMostHeight = 65535.0;
constexpr double kHeights = 1 << 24;  // to a weight of 1
constexpr double kUndershoots = 65536.0;
constexpr double kDefaultSpan = 12.0;  // pixels of the last level: beyond it one more level is cheaper, and exact enough
constexpr double kCutShare = 0.1;      // of the error, for the outermost taps
constexpr ListedNumberOption kLevelsX("levels_x", {"1", "2", "3", "4"}, "the cheapest within the error", "halvings of rows",
                                      {.tuned = Tuned::never});
constexpr ListedNumberOption kLevelsY("levels_y", {"1", "2", "3", "4"}, "the cheapest within the error", "halvings of columns",
                                      {.tuned = Tuned::never});
constexpr std::array kOptions = {kLevelsX.info(), kLevelsY.info()};

struct AxisPlan {
  cpu::CutAxis kernel;  ///< but for its taps,
  LevelTaps level;      ///< which these are to become
  FixedWeights fixed;
  [[nodiscard]] std::int64_t reach() const { return level.radius() + 1; }
  /// Pixels on either side that a result depends on.
  [[nodiscard]] std::int64_t reach_in_pixels() const {
    return std::max(kernel.radius, reach_of_levels(kernel.levels, kernel.undershoot > 0 ? reach() : level.radius()));
  }
  /// Of the window and the levels, whichever reads further.
  [[nodiscard]] Halo source_halo() const {
    Halo halo = halo_of_levels(kernel.levels, reach());
    halo.before.pixels = std::max(halo.before.pixels, kernel.radius);
    halo.after.pixels = std::max(halo.after.pixels, kernel.radius + halo.after.block - 1);
    return halo;
  }
  [[nodiscard]] cpu::CutShape shape() const { return {kernel.levels, reach(), kernel.radius}; }
  [[nodiscard]] std::int64_t halo() const {
    const std::int64_t unit = std::int64_t{1} << kernel.levels;
    return cpu::CutSpan(0, unit, kernel.levels, reach(), kernel.radius).count - unit;
  }
};

Result<AxisPlan> plan_axis(const AxisGaussian& gaussian, int levels, int halvings, double l1_budget) {
  const std::shared_ptr<const Decimation> fit = fit_decimation(gaussian, 1 << levels, kHalvingSpline, Jump::window);
  const double height = std::nearbyint(fit->window * kHeights);
  if (height < 0.0 || height > kMostHeight) return refusal("the jump at its end does not fit 16 bits");
  AxisPlan axis;
  axis.kernel.levels = levels;
  axis.kernel.radius = *gaussian.radius;
  axis.kernel.height = static_cast<std::uint16_t>(height);
  std::vector<double> fitted = fit->coarse.weights;
  double undershoot = 0.0;
  if (fitted.size() > 1 && fitted.front() < 0.0) {
    undershoot = -2.0 * fitted.front();
    axis.kernel.undershoot = static_cast<std::uint16_t>(std::nearbyint(std::min(undershoot, 0.5) * kUndershoots));
    fitted.erase(fitted.begin());
    fitted.pop_back();
    l1_budget = 0.0;  // the undershoot follows the outermost tap
  }
  axis.level = level_taps(fitted, fit->l1_distance, l1_budget);
  // What rounding moves the window and the undershoot by, the taps make good.
  const auto width = static_cast<double>(2 * axis.kernel.radius + 1);
  const double whole = 1.0 - fit->window * width + undershoot;
  for (double& w : axis.level.taps.weights) w *= axis.kernel.left_to_taps() / whole;
  axis.level.l1_distance +=
      2.0 * (std::abs(height / kHeights - fit->window) * width + std::abs(axis.kernel.undershoot / kUndershoots - undershoot));
  std::optional<FixedWeights> fixed = rounded_to_fixed(axis.level.taps, halvings, axis.kernel.left_to_taps());
  // They are held with the undershoot added, where white lies under all taps and black beyond them. What the taps read may be white and
  // the error of the axis before, which is less than half a step.
  constexpr double kMost = 65535.0;
  constexpr double kWhite = (255.0 + 0.5) * kUnitsOf16BitSums;
  if (!fixed || axis.kernel.left_to_taps() * kWhite + axis.kernel.undershoot + fixed->gained > kMost) {
    return refusal("its taps do not fit 16-bit sums");
  }
  axis.fixed = std::move(*fixed);
  return axis;
}

/// What an axis may gain and lose by rounding, in units of its sums.
struct Rounding {
  double least = 0.0, most = 0.0;
};

Rounding rounding_of(const AxisPlan& axis, Axis direction) {
  constexpr double kPairs = 0.5;    // means of the taps' pairs, and of the undershoot's
  constexpr double kProduct = 1.0;  // of the window, and of the undershoot
  // Bytes are halved exactly once, and summed exactly; the rows that come of that are summed as 8 bits.
  const bool from_bytes = direction == Axis::y;
  const double to_bytes = from_bytes ? 0.0 : kUnitsOf16BitSums / 2.0 * axis.kernel.window_share();
  const int halvings = axis.kernel.levels - (from_bytes ? 1 : 0);
  return {-axis.fixed.lost - kProduct - kPairs * axis.kernel.undershoot / kUndershoots - to_bytes,
          axis.fixed.gained + kPairs + kProduct + to_bytes + kHalvingGain * halvings + kDoublingGain * axis.kernel.levels};
}

Result<Proposal> propose_levels(const Problem& p, PerAxis<int> levels, int halvings) {
  const auto& gaussian = std::get<Gaussian>(p.spec.kernel);
  const FormatInfo& format = info(p.src.format);
  const double l1_budget = kCutShare * p.allowed_error / kernel_distance_error(1.0, p.src.format);
  Result<AxisPlan> x = plan_axis(on_axis(gaussian, Axis::x), levels.x, halvings, l1_budget);
  if (!x) return x.error();
  Result<AxisPlan> y = plan_axis(on_axis(gaussian, Axis::y), levels.y, halvings, l1_budget);
  if (!y) return y.error();

  const Rounding along = rounding_of(*x, Axis::x), down = rounding_of(*y, Axis::y);
  const Result<RoundingOf16BitSums> rounding = rounding_of_16_bit_sums(p, along.least + down.least, along.most + down.most);
  if (!rounding) return rounding.error();

  Proposal out;
  out.error = kernel_distance_error(x->level.l1_distance + y->level.l1_distance, p.src.format) + x->fixed.distance + y->fixed.distance +
              rounding->error;
  out.options = {kLevelsX.as(levels.x), kLevelsY.as(levels.y)};

  const int channels = format.channels;
  TileNeeds needs;
  needs.halo = {x->halo(), y->halo()};
  const std::int64_t rows = 2 * y->reach() + (cpu::kDownRows + cpu::kUpRows) * levels.y + 2 * cpu::kRowGroup;
  const std::int64_t byte_rows = 2 * y->kernel.radius + (y->reach() << levels.y) / 2;
  needs.column_bytes = channels * (2 * rows + byte_rows);
  // In multiply-adds of floats, as measured.
  constexpr double kBase = 26.5;
  constexpr double kLevel = 5.0;  // those beyond the first, each half of the one before
  constexpr double kPair = 1.0;
  constexpr double kSpreading = 1.28;  // three channels to the room of four and back
  const auto axis_cost = [&](const AxisPlan& axis) {
    const double factor = 1 << axis.kernel.levels;
    return kLevel * (1.0 - 2.0 / factor) + kPair * static_cast<double>(axis.level.radius()) / factor;
  };
  needs.pixel_operations = channels * (channels == 3 ? kSpreading : 1.0) * (kBase + axis_cost(*x) + axis_cost(*y));
  Pass pass;
  pass.kernel = kKernel;
  write_arguments(cpu::CutArguments{.fixed = {halvings, rounding->number()},
                                    .levels = {x->kernel.levels, y->kernel.levels},
                                    .undershoot = {x->kernel.undershoot, y->kernel.undershoot},
                                    .radius = {x->kernel.radius, y->kernel.radius},
                                    .height = {x->kernel.height, y->kernel.height}},
                  pass);
  pass.size = {p.dst.width, p.dst.height};
  pass.tile = cpu_tile(p.device, pass.size, needs);
  out.moved_bytes = moved_bytes(p, pass.tile, needs.halo);
  const cpu::GaussCutScratch scratch(nullptr, pass.tile.x, x->shape(), y->shape(), channels);
  out.scratch_bytes = p.device.threads * scratch.bytes;
  constexpr double kDown = 0.5;  // of the work, which is done beside the tile, too
  const double overlap = 1.0 + kDown * static_cast<double>(needs.halo.x) / pass.tile.x + static_cast<double>(needs.halo.y) / pass.tile.y;
  const double pixels = static_cast<double>(p.dst.width) * p.dst.height;
  out.seconds = arithmetic_seconds(p.device, pixels * needs.pixel_operations * overlap) + copy_seconds(p.device, out.moved_bytes);
  out.reach = reach_on_both_sides(x->reach_in_pixels(), y->reach_in_pixels());
  out.halo = {x->source_halo(), y->source_halo()};
  pass.taps = {std::move(x->level.taps), std::move(y->level.taps)};
  out.passes.push_back(std::move(pass));
  return out;
}

/// Its negative weights are never seen where results are less than half a step off: sums of 16 bits neither fall below black nor exceed
/// white by more, and rounded they are these. With more of an error they would wrap around.
Result<Proposal> propose_levels(const Problem& p, PerAxis<int> levels) {
  const double half_a_step = 0.5 / info(p.src.format).unit();
  Problem exact = p;
  exact.allowed_error = std::min(p.allowed_error, half_a_step);
  Result<Proposal> out = with_halvings(exact, [&](int halvings) { return propose_levels(exact, levels, halvings); });
  if (out && out->error >= half_a_step) {
    return refusal("with an error of " + number(out->error, 2) + ", half a step or more, its negative weights would show");
  }
  return out;
}

/// Levels that an axis may have: the one given, or all that are worth a look.
std::vector<int> candidates(const Problem& p, Axis axis) {
  if (const auto given = (axis == Axis::x ? kLevelsX : kLevelsY).given(p)) return {*given};
  const double sigma = on(std::get<Gaussian>(p.spec.kernel).sigma, axis);
  std::vector<int> out;
  for (int levels = 1; levels <= cpu::kMaxPyramidLevels; ++levels) {
    const bool is_default = sigma / (1 << levels) <= kDefaultSpan || levels == cpu::kMaxPyramidLevels;
    if (is_default && level_obstacle(sigma, levels).empty()) out.push_back(levels);
  }
  return out.empty() ? std::vector<int>{1} : out;
}

/// Of the levels that each axis may have, those that take the least time within the error.
Result<Proposal> propose_cheapest(const Problem& p) {
  std::optional<Result<Proposal>> best;
  for (const int levels_x : candidates(p, Axis::x)) {
    for (const int levels_y : candidates(p, Axis::y)) {
      Result<Proposal> other = propose_levels(p, {levels_x, levels_y});
      const auto misses = [&](const Proposal& q) { return q.error > p.allowed_error; };
      const bool is_better =
          !best || !*best ||
          (other && (misses(**best) ? other->error < (*best)->error : !misses(*other) && other->seconds < (*best)->seconds));
      if (is_better) best = std::move(other);
    }
  }
  return *std::move(best);
}

Result<Proposal> propose(const Problem& p) {
  const auto* gaussian = std::get_if<Gaussian>(&p.spec.kernel);
  if (!gaussian) return refusal("the kernel is no Gaussian");
  if (!check_16_bit_sums(p)) return propose_cut_tails(p);
  if (!p.device.has_kernel(kKernel)) return refusal_without_kernel(p, kKernel);
  if (Status s = only_options(p, {kLevelsX, kLevelsY}); !s) return s.error();
  for (const Axis axis : {Axis::x, Axis::y}) {
    const std::optional<std::int64_t> radius = on_axis(*gaussian, axis).radius;
    if (!radius) return refusal("the Gaussian is endless");
    if (*radius > kMostRadius) {
      return refusal("windows of radius " + std::to_string(*radius) + " exceed 16-bit sums, those of 128 do not");
    }
    const std::string obstacle = level_obstacle(on(gaussian->sigma, axis), candidates(p, axis).front());
    if (!obstacle.empty()) return refusal(obstacle);
  }
  return with_levels_of_whole(p, propose_cheapest, [](const Problem& problem) {
    return propose_levels(problem, {*kLevelsX.given(problem), *kLevelsY.given(problem)});
  });
}

}  // namespace

constinit const Algorithm kGaussCut = {
    {"gauss.cut", "a Gaussian cut at a radius: 8 bits by a window and halved numbers, floats as the endless one less its tails",
     "this project", kOptions},
    propose};

}  // namespace mollify
