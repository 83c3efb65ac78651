// gauss.cut in floats, on CPUs: the cut Gaussian is the endless one less its tails (math/gaussian_tail.h). Of the four products of both
// axes three matter: the endless Gaussian on both, and the tails of either axis with the endless one on the other. The first is
// gauss.decimate's. Tails keep every pixel along their axis, so that the jumps are exact; of wide Gaussians, whose jumps are low, a few
// rows at once. The other axis is decimated by a kernel that may be as far off as tails are small: down columns on the coarse rows of the
// first part, of which it takes few taps. It loses where the tails weigh so much that their kernels must be exact, below some 3 sigma.
// Source: this project.
#include "algorithms/multirate/gauss_cut_tails.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "algorithms/common/propose.h"
#include "algorithms/multirate/gauss_decimate.h"
#include "algorithms/multirate/gauss_decimate_options.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/pass_arguments.h"
#include "math/gaussian_tail.h"
#include "model/tuning.h"

namespace mollify {
namespace {

constexpr std::string_view kKernel = "gauss_cut_tails";
constexpr double kDroppedShare = 0.02;  // of the error, that the outermost weights of an axis may add, twice: all others make up for them
constexpr double kFitShare = 0.04;      // the same, decimating the other axis of its tails
constexpr double kLeftShare = 0.6;      // of what all else leaves of the error, instead of that for tails down
constexpr double kCoarseShare = 0.5;    // the most, that tails down add where they are made for several rows at once
constexpr double kWholeShare = 0.8;     // what is left of it
constexpr std::array<std::int64_t, 5> kTailFactors = {8, 6, 4, 3, 2};

double error_of_distance(const Problem& p) {
  return colour_gain(p.spec) * kernel_distance_error(1.0, p.src.format);
}

/// The reach and the source's blocks of all parts of an axis. A block may lie within a distance in part only.
void include(Halo& all, const Halo& part) {
  const auto include_edge = [](HaloEdge& edge, const HaloEdge& other) {
    edge.pixels = std::max(edge.pixels, other.pixels + other.block - 1);
  };
  include_edge(all.before, part.before);
  include_edge(all.after, part.after);
}
void include(Reach& all, const Reach& part) {
  all = {std::max(all.before, part.before), std::max(all.after, part.after)};
}

/// A pass of gauss.decimate, of which a part is made.
struct DecimatePass {
  const PerAxis<AxisTaps>& taps;
  cpu::DecimationArguments arguments;

  explicit DecimatePass(const Pass& pass) : taps(pass.taps), arguments(*read_arguments<cpu::DecimationArguments>(pass)) {}

  /// Taps before those of the spline.
  [[nodiscard]] std::int64_t coarse_taps(Axis axis) const {
    return std::ssize(on(taps, axis).weights) - on(arguments.factor, axis) * on(arguments.support, axis);
  }
  [[nodiscard]] cpu::ExpandShape shape(Axis axis) const {
    return expand_shape(on(arguments.factor, axis), on(arguments.support, axis), plan(axis).coarse.weights, 1);
  }
  /// But for its distance.
  [[nodiscard]] AxisPlan plan(Axis axis) const {
    const std::vector<double>& weights = on(taps, axis).weights;
    const auto spline = weights.begin() + coarse_taps(axis);
    AxisPlan out;
    out.factor = static_cast<int>(on(arguments.factor, axis));
    out.coarse = {{weights.begin(), spline}, on(taps, axis).anchor};
    out.spline.assign(spline, weights.end());
    return out;
  }
};

/// The tails of an axis pixel by pixel.
AxisPlan exact_tails(const GaussianTail& tails) {
  AxisPlan out;
  out.coarse = tails.taps;
  return out;
}

/// The same for as many pixels at once as keep the distance within the budget.
AxisPlan coarse_tails(const GaussianTail& tails, double l1_budget) {
  if (tails.mass == 0.0) return exact_tails(tails);
  for (const std::int64_t factor : kTailFactors) {
    CoarseTail coarse = coarse_tail(tails.taps, factor);
    if (coarse.l1_distance > l1_budget) continue;
    AxisPlan out;
    out.factor = static_cast<int>(factor);
    out.spline.assign(static_cast<std::size_t>(factor), 1.0 / static_cast<double>(factor));
    out.coarse = std::move(coarse.taps);
    out.l1_distance = coarse.l1_distance;
    return out;
  }
  return exact_tails(tails);
}

/// An axis without its outermost coarse taps, which go to those beside them, as far as the distance stays within the budget.
AxisPlan shortened(AxisPlan axis, double l1_budget) {
  std::vector<double>& taps = axis.coarse.weights;
  while (axis.coarse.anchor > 0 && std::ssize(taps) - 1 > axis.coarse.anchor) {
    const double moved = 2.0 * (std::abs(taps.front()) + std::abs(taps.back()));
    if (axis.l1_distance + moved > l1_budget) break;
    axis.l1_distance += moved;
    taps[1] += taps.front();
    taps[taps.size() - 2] += taps.back();
    taps.erase(taps.begin());
    taps.pop_back();
    --axis.coarse.anchor;
  }
  return axis;
}

/// Tails that end within `reach`.
GaussianTail ended(GaussianTail tails, std::int64_t reach) {
  while (tails.taps.anchor > reach) {
    const double pair = 2.0 * tails.taps.weights.front();
    tails.dropped += pair;
    tails.mass -= pair;
    tails.taps.weights.erase(tails.taps.weights.begin());
    tails.taps.weights.pop_back();
    --tails.taps.anchor;
  }
  return tails;
}

bool any_factor(int /*factor*/) {
  return true;
}
/// Of one channel. Rows are decimated faster by such factors.
bool fills_vectors(int factor) {
  return factor == 8 || factor % 16 == 0;
}

/// The decimated kernels that are added up, as they are put together.
class Parts {
 public:
  /// `endless` is the problem without the cut, `whole` how it is done.
  Parts(const Problem& p, const PerAxis<GaussianTail>& tails, const Problem& endless, const Proposal& whole)
      : p_(p), endless_(endless), all_tails_{tails.x.mass + tails.x.dropped, tails.y.mass + tails.y.dropped}, tails_(tails) {
    // Cut, the endless Gaussian is so many times as high.
    gain_ = 1.0 / ((1.0 - all_tails_.x) * (1.0 - all_tails_.y));
    // All together keep constants.
    whole_ = 1.0 + gain_ * (tails.x.mass + tails.y.mass);
    distance_ = std::abs(whole_ - gain_) + gain_ * (tails.x.dropped + tails.y.dropped + all_tails_.x * all_tails_.y);
    pass_.kernel = kKernel;
    pass_.taps = {{{}, 0}, {{}, 0}};
    error_ += whole_ * whole.error;
    shape_.whole = add(whole, whole_, arguments_.whole);
    seconds_ += whole.seconds;
    shape_.cells = {cells_within_reach(Axis::x, shape_.whole.x), cells_within_reach(Axis::y, shape_.whole.y)};
    arguments_.cells = shape_.cells;
  }

  /// The tails along rows, if there are any, of coarse rows of the whole.
  void add_across(const DecimatePass& whole) {
    const double mass = gain_ * tails_.x.mass;
    if (mass == 0.0) return;
    const AxisPlan x = exact_tails(tails_.x);
    const AxisPlan all = whole.plan(Axis::y);
    const AxisPlan y = shortened(all, budget_beside(mass));
    add_error(mass, x, y, Axis::x);
    Proposal made;
    made.halo = {x.halo(), y.halo()};
    made.reach = reach_on_both_sides(x.reach(), y.reach());
    include(made);
    add_taps({x.coarse, y.coarse}, -gain_, std::ssize(x.coarse.weights), arguments_.across);
    const std::int64_t first_y = all.coarse.anchor - y.coarse.anchor;
    shape_.across = {std::ssize(x.coarse.weights), std::ssize(y.coarse.weights), first_y};
    constexpr double kRow = 6.0;  // multiply-adds a component that take as long as what else there is to do
    const double taps = static_cast<double>(std::ssize(y.coarse.weights)) +
                        static_cast<double>(std::ranges::count_if(x.coarse.weights, [](double w) { return w != 0.0; }));
    const auto pixels = static_cast<double>(p_.dst.width) * p_.dst.height;
    seconds_ += arithmetic_seconds(p_.device, pixels * info(p_.src.format).channels * (kRow + taps) / all.factor);
  }

  /// The tails down columns, if there are any.
  void add_down(const AxisPlan& y) {
    const double mass = gain_ * tails_.y.mass;
    if (mass == 0.0) return;
    const AxisPlan x = cheapest_across(mass, gain_ * y.l1_distance);
    add_error(mass, x, y, Axis::y);
    Proposal made;
    made.halo = {x.halo(), y.halo()};
    made.reach = reach_on_both_sides(x.reach(), y.reach());
    made = add_cpu_passes(endless_, x, y, std::move(made));
    shape_.down = add(made, -gain_, arguments_.down);
    // It reads what lies in the cache by then.
    seconds_ += made.seconds - copy_seconds(p_.device, made.moved_bytes);
  }

  /// The proposal but for its options.
  [[nodiscard]] Proposal proposal() && {
    constexpr double kAdding = 3.0;  // of three parts
    error_ += error_of_distance(p_) * distance_ + colour_gain(p_.spec) * kAdding * (2.0 * whole_ - 1.0) * unit_roundoff(Accumulator::f32);
    const int channels = info(p_.src.format).channels;
    TileNeeds needs;
    needs.halo = {halo_.x.before.pixels + halo_.x.after.pixels, halo_.y.before.pixels + halo_.y.after.pixels};
    needs.column_bytes = 4 * channels * (shape_.across ? shape_.whole.y.coarse_taps : 1);
    needs.pixel_operations = channels * kPixelOperations * 3.0;
    // What all parts read again stays in the second cache.
    constexpr std::int64_t kMostComponents = 2816;
    needs.most_columns = std::max(kMostComponents / channels, 4 * needs.halo.x);
    write_arguments(arguments_, pass_);
    pass_.size = {p_.dst.width, p_.dst.height};
    // What a tile's first rows take is paid for each part.
    TileNeeds tall = needs;
    tall.halo.y *= 2;
    pass_.tile = cpu_tile(p_.device, pass_.size, tall);

    Proposal out;
    out.error = error_;
    out.reach = reach_;
    out.halo = halo_;
    out.moved_bytes = moved_bytes(p_, pass_.tile, needs.halo);
    out.scratch_bytes = p_.device.threads * cpu::GaussCutTailsScratch(nullptr, pass_.tile.x, shape_, channels).bytes;
    // What tiles make beside their own pixels. There is less beyond an image than beside a tile.
    const auto overlap = [&](Axis axis) {
      const std::int32_t tile = on(pass_.tile, axis);
      return tile < on(pass_.size, axis) ? 1.0 + static_cast<double>(on(needs.halo, axis)) / tile : 1.0;
    };
    constexpr double kMeasured = 1.35;  // of what the parts alone would take
    out.seconds = kMeasured * seconds_ * overlap(Axis::x) * overlap(Axis::y);
    out.passes.push_back(std::move(pass_));
    return out;
  }

 private:
  static constexpr double kPixelOperations = 20.0;  // of each part, about

  /// On either side of a pixel's own cell: those that its window lies in, as far as the endless Gaussian reads them.
  [[nodiscard]] std::int64_t cells_within_reach(Axis axis, const cpu::ExpandShape& whole) const {
    const std::int64_t read = whole.coarse_taps / 2 + whole.support - 1;
    const std::optional<std::int64_t> radius = on_axis(std::get<Gaussian>(p_.spec.kernel), axis).radius;
    return radius ? std::min((*radius + whole.factor - 1) / whole.factor, read) : read;
  }

  /// Of the distance of the other axis of tails of this mass.
  [[nodiscard]] double budget_beside(double mass) const { return kFitShare * p_.allowed_error / error_of_distance(p_) / mass; }

  /// How rows are decimated and expanded beside tails of this mass down columns, which miss a distance. All other parts have been added:
  /// what they leave of the error is for this.
  [[nodiscard]] AxisPlan cheapest_across(double mass, double missed) const {
    const double left = kLeftShare * (p_.allowed_error - error_ - error_of_distance(p_) * (distance_ + missed));
    const double budget = std::max(left, kFitShare * p_.allowed_error) / error_of_distance(p_) / mass;
    // Multiply-adds a component that take as long: of every pixel, and of every coarse sample.
    constexpr double kStep = 3.0, kSample = 12.0;
    std::optional<AxisPlan> best;
    double least = 0.0;
    for (const int support : {2, 3, 4}) {
      AxisPlan x = sparsest(endless_, Axis::x, support, budget, info(p_.src.format).channels == 1 ? fills_vectors : any_factor);
      const double taps = static_cast<double>(std::ssize(x.coarse.weights));
      const double cost = kStep * static_cast<double>(x.support()) + (kSample + taps) / x.factor;
      if (!best || cost < least) best = std::move(x), least = cost;
    }
    return *best;
  }

  /// Of the tails of an axis.
  void add_error(double mass, const AxisPlan& x, const AxisPlan& y, Axis axis) {
    const AxisPlan& own = axis == Axis::x ? x : y;
    const AxisPlan& other = axis == Axis::x ? y : x;
    distance_ += mass * other.l1_distance + gain_ * own.l1_distance * magnitude(other.coarse.weights);
    error_ += colour_gain(p_.spec) * gain_ * rounding_of(p_, x, y);
  }

  void include(const Proposal& made) {
    mollify::include(halo_.x, made.halo->x), mollify::include(halo_.y, made.halo->y);
    mollify::include(reach_.x, made.reach->x), mollify::include(reach_.y, made.reach->y);
  }

  /// Taps of a part, the first `scaled` of those along rows times `gain`.
  void add_taps(const PerAxis<AxisTaps>& taps, double gain, std::int64_t scaled, cpu::PartArguments& part) {
    part = {.taps = {std::ssize(taps.x.weights), std::ssize(taps.y.weights)}, .anchor = {taps.x.anchor, taps.y.anchor}};
    std::vector<double>&x = pass_.taps.x.weights, &y = pass_.taps.y.weights;
    for (std::int64_t i = 0; i < part.taps.x; ++i) {
      x.push_back(taps.x.weights[static_cast<std::size_t>(i)] * (i < scaled ? gain * cpu::kCutPartScale : 1.0));
    }
    y.insert(y.end(), taps.y.weights.begin(), taps.y.weights.end());
  }

  /// A decimated part, but for the time that it takes.
  cpu::CutTailsShape::Part add(const Proposal& made, double gain, cpu::DecimatedPartArguments& part) {
    const DecimatePass pass(made.passes.front());
    add_taps(pass.taps, gain, pass.coarse_taps(Axis::x), part.part);
    part.decimation = pass.arguments;
    include(made);
    return {pass.shape(Axis::x), pass.shape(Axis::y)};
  }

  const Problem& p_;
  const Problem& endless_;
  PerAxis<double> all_tails_;
  const PerAxis<GaussianTail>& tails_;
  double gain_ = 1.0, whole_ = 1.0;
  double distance_ = 0.0, error_ = 0.0, seconds_ = 0.0;
  PerAxis<Halo> halo_;
  PerAxis<Reach> reach_;
  cpu::CutTailsShape shape_;
  cpu::CutTailsArguments arguments_{};
  Pass pass_;
};

}  // namespace

Result<Proposal> propose_cut_tails(const Problem& p) {
  if (!p.device.has_kernel(kKernel)) return refusal_without_kernel(p, kKernel);
  if (Status s = only_options(p, {}, "sums of floats"); !s) return s.error();
  const auto& gaussian = std::get<Gaussian>(p.spec.kernel);
  const double dropped = kDroppedShare * p.allowed_error / error_of_distance(p);
  const PerAxis<GaussianTail> tails{gaussian_tail(on_axis(gaussian, Axis::x), dropped), gaussian_tail(on_axis(gaussian, Axis::y), dropped)};
  if (tails.x.mass + tails.y.mass == 0.0) return refusal("nothing is left beyond the radius");

  BlurSpec spec = p.spec;
  spec.kernel = Gaussian{.sigma = gaussian.sigma};
  const double error_of_tails =  // of their distance
      error_of_distance(p) / ((1.0 - tails.x.mass - tails.x.dropped) * (1.0 - tails.y.mass - tails.y.dropped));
  // Every row of tails is decimated and expanded across, which is dear, so rows are made together where that leaves enough of the error.
  AxisPlan down = coarse_tails(tails.y, kCoarseShare * p.allowed_error / error_of_tails);
  for (;;) {
    const double left = kWholeShare * p.allowed_error - error_of_tails * down.l1_distance;
    const Problem endless{spec, p.src, p.dst, p.device, {kDecimatePasses.as(1)}, left};
    const Result<Proposal> whole = kGaussDecimate.propose(endless);
    if (!whole) return refusal("without the cut, " + whole.error().message);
    if (whole->error > left && down.factor > 1) {
      down = exact_tails(tails.y);
      continue;
    }
    // Tails along rows are made of what the endless Gaussian sums. Where rows repeat soon, that is less on one side.
    const DecimatePass pass(whole->passes.front());
    const std::int64_t taps = std::min<std::int64_t>(pass.taps.x.anchor, pass.coarse_taps(Axis::x) - 1 - pass.taps.x.anchor);
    const std::int64_t summed = (taps + pass.arguments.support.x - 1) * pass.arguments.factor.x;
    const PerAxis<GaussianTail> reached{ended(tails.x, summed), tails.y};
    Parts parts(p, reached, endless, *whole);
    parts.add_across(pass);
    parts.add_down(down);
    return std::move(parts).proposal();
  }
}

}  // namespace mollify
