// gauss.cut in floats, on CPUs: the cut Gaussian is the endless one less its tails (math/gaussian_tail.h). Of the four products of both
// axes three matter: the endless Gaussian on both, and the tails of either axis with the endless one on the other. The first is
// gauss.decimate's. Tails keep every pixel along their axis, so that the jumps are exact; of wide Gaussians, whose jumps are low, a few
// rows at once. The other axis is decimated by a kernel that may be as far off as tails are small. It loses where the tails weigh so much
// that their kernels must be exact, below some 3 sigma.
// Source: this project.
#include "algorithms/multirate/gauss_cut_tails.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "algorithms/common/propose.h"
#include "algorithms/multirate/gauss_decimate.h"
#include "algorithms/multirate/gauss_decimate_options.h"
#include "backends/cpu/kernels/layout.h"
#include "math/gaussian_tail.h"
#include "model/tuning.h"

namespace mollify {
namespace {

constexpr std::string_view kKernel = "gauss_cut_tails";
constexpr int kSupport = 3;             // of the splines beside tails
constexpr double kDroppedShare = 0.02;  // of the error, that the outermost weights of an axis may add, twice: all others make up for them
constexpr double kFitShare = 0.04;      // the same, decimating the other axis of its tails
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

/// Taps of a pass of gauss.decimate before those of the spline.
std::int64_t coarse_taps(const Pass& pass, Axis axis) {
  const std::string suffix = axis == Axis::x ? "x" : "y";
  return static_cast<std::int64_t>(on(pass.taps, axis).weights.size()) -
         pass.constants.at("factor_" + suffix) * pass.constants.at("support_" + suffix);
}

cpu::ExpandShape shape_of(const Pass& pass, Axis axis) {
  const std::string suffix = axis == Axis::x ? "x" : "y";
  const std::vector<double>& taps = on(pass.taps, axis).weights;
  const std::vector<double> coarse(taps.begin(), taps.begin() + coarse_taps(pass, axis));
  return {pass.constants.at("factor_" + suffix), pass.constants.at("support_" + suffix), static_cast<std::int64_t>(coarse.size()), 1,
          cpu::has_gap(coarse)};
}

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

/// The decimated kernels that are added up, as they are put together.
class Parts {
 public:
  Parts(const Problem& p, const PerAxis<GaussianTail>& tails)
      : p_(p), all_tails_{tails.x.mass + tails.x.dropped, tails.y.mass + tails.y.dropped}, tails_(tails) {
    // Cut, the endless Gaussian is so many times as high.
    gain_ = 1.0 / ((1.0 - all_tails_.x) * (1.0 - all_tails_.y));
    // All together keep constants.
    whole_ = 1.0 + gain_ * (tails.x.mass + tails.y.mass);
    distance_ = std::abs(whole_ - gain_) + gain_ * (tails.x.dropped + tails.y.dropped + all_tails_.x * all_tails_.y);
    pass_.kernel = kKernel;
    pass_.taps = {{{}, 0}, {{}, 0}};
  }

  void add_whole(const Proposal& endless) {
    error_ += whole_ * endless.error;
    add(cpu::kCutParts[0], endless, whole_);
  }

  [[nodiscard]] double gain() const { return gain_; }

  /// The tails of an axis, if it has any. `endless` is the problem without the cut.
  void add_tails(const Problem& endless, Axis axis, const AxisPlan& own) {
    const double mass = gain_ * on(tails_, axis).mass;
    const std::string_view name = cpu::kCutParts[axis == Axis::x ? 1 : 2];
    if (mass == 0.0) return leave_out(name);
    const double budget = kFitShare * p_.allowed_error / error_of_distance(p_) / mass;
    const AxisPlan other = sparsest(endless, axis == Axis::x ? Axis::y : Axis::x, kSupport, budget);
    const AxisPlan& x = axis == Axis::x ? own : other;
    const AxisPlan& y = axis == Axis::x ? other : own;
    distance_ += mass * other.l1_distance + gain_ * own.l1_distance * magnitude(other.coarse.weights);
    error_ += colour_gain(p_.spec) * gain_ * rounding_of(p_, x, y);
    Proposal made;
    made.halo = {x.halo(), y.halo()};
    made.reach = reach_on_both_sides(x.reach(), y.reach());
    add(name, add_cpu_passes(endless, x, y, std::move(made)), -gain_);
  }

  /// The proposal but for its options.
  [[nodiscard]] Proposal proposal() && {
    constexpr double kAdding = 3.0;  // of three parts
    error_ += error_of_distance(p_) * distance_ + colour_gain(p_.spec) * kAdding * (2.0 * whole_ - 1.0) * unit_roundoff(Accumulator::f32);
    const int channels = info(p_.src.format).channels;
    TileNeeds needs;
    needs.halo = {halo_.x.before.pixels + halo_.x.after.pixels, halo_.y.before.pixels + halo_.y.after.pixels};
    needs.column_bytes = 4 * channels * static_cast<std::int64_t>(shape_.count) * cpu::kCutStripRows;
    needs.pixel_operations = channels * kPixelOperations * static_cast<double>(shape_.count);
    // What all parts read again stays in the second cache.
    constexpr std::int64_t kMostComponents = 2816;
    needs.most_columns = std::max(kMostComponents / channels, 4 * needs.halo.x);
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
    out.seconds = seconds_ * overlap(Axis::x) * overlap(Axis::y);
    out.passes.push_back(std::move(pass_));
    return out;
  }

 private:
  static constexpr double kPixelOperations = 20.0;  // of each part, about

  void set(std::string_view part, const std::string& name, std::int64_t value) { pass_.constants[std::string(part) + name] = value; }

  /// The kernel has all constants of all parts.
  void leave_out(std::string_view name) {
    for (const std::string_view constant : cpu::kCutPartConstants) set(name, std::string(constant), 0);
  }

  void add(std::string_view name, const Proposal& made, double gain) {
    const Pass& part = made.passes.front();
    for (const auto& [constant, value] : part.constants) set(name, constant, value);
    for (const Axis axis : {Axis::x, Axis::y}) {
      const std::string suffix = axis == Axis::x ? "_x" : "_y";
      const AxisTaps& taps = on(part.taps, axis);
      set(name, "taps" + suffix, static_cast<std::int64_t>(taps.weights.size()));
      set(name, "anchor" + suffix, taps.anchor);
      std::vector<double>& all = axis == Axis::x ? pass_.taps.x.weights : pass_.taps.y.weights;
      const std::int64_t scaled = axis == Axis::x ? coarse_taps(part, axis) : 0;
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(taps.weights.size()); ++i) {
        all.push_back(taps.weights[static_cast<std::size_t>(i)] * (i < scaled ? gain * cpu::kCutPartScale : 1.0));
      }
    }
    shape_.parts[shape_.count++] = {shape_of(part, Axis::x), shape_of(part, Axis::y)};
    include(halo_.x, made.halo->x), include(halo_.y, made.halo->y);
    include(reach_.x, made.reach->x), include(reach_.y, made.reach->y);
    // Later parts read what lies in the cache by then, and write to it.
    seconds_ += made.seconds - (shape_.count > 1 ? copy_seconds(p_.device, made.moved_bytes) : 0.0);
  }

  const Problem& p_;
  PerAxis<double> all_tails_;
  const PerAxis<GaussianTail>& tails_;
  double gain_ = 1.0, whole_ = 1.0;
  double distance_ = 0.0, error_ = 0.0, seconds_ = 0.0;
  PerAxis<Halo> halo_;
  PerAxis<Reach> reach_;
  cpu::CutTailsShape shape_;
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
  Parts parts(p, tails);
  const double error_of_tails = error_of_distance(p) * parts.gain();  // of their distance
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
    parts.add_whole(*whole);
    parts.add_tails(endless, Axis::x, exact_tails(tails.x));
    parts.add_tails(endless, Axis::y, down);
    return std::move(parts).proposal();
  }
}

}  // namespace mollify
