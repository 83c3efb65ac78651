// gauss.decimate: a Gaussian of any sigma, or on CPUs a tent, at nearly constant cost. The image is decimated by the splines that alias
// least, blurred on the coarse grid by a fitted kernel and expanded by the same splines; the fit's distance to the true kernel is the
// declared error. About twice `support` multiply-adds a component whatever sigma. Kernels wider than the image are folded first, see
// math/axis_target.h. Loses to sep.fused below a sigma of about 4. Source: this project; multiresolution filtering by B-splines is known
// since Unser, Aldroubi and Eden 1993.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <string>
#include <utility>

#include "algorithms/common/gpu.h"
#include "algorithms/multirate/gauss_decimate_gpu.h"
#include "algorithms/multirate/gauss_decimate_options.h"
#include "algorithms/multirate/gauss_grid.h"
#include "algorithms/separable/sep_direct.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cuda/kernels/gauss_decimate_shape.h"
#include "base/components.h"
#include "base/places.h"
#include "base/text.h"
#include "math/decimation.h"
#include "math/weights.h"
#include "model/decimation_costs.h"

namespace mollify {
namespace {

constexpr std::string_view kDecimateKernel = "gauss_decimate";

constexpr std::array kFactors = {2,  3,  4,   5,   6,   8,   10,  12,  16,  20,  24,  28,  32,  40,  48,  56,  64,
                                 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 896, 1024};
constexpr std::array kSupports = {2, 3, 4, 5, 6, 7, 8};
static_assert(kFactors.back() == kMaxDecimation);
constexpr std::int64_t kMostReach = 7000;  // coarse samples of the grid, of which a fit takes about a second

/// What the search for the cheapest axes asks of a backend: what it costs, and what its kernels can do.
struct Terms {
  static constexpr std::int64_t kAnyLength = std::numeric_limits<std::int64_t>::max();
  PerAxis<DecimationCosts> costs;
  PerAxis<double> halving{};               ///< distance that it costs to make a pixel of two, where kernels are centred between pixels
  std::int64_t most_support = kAnyLength;  ///< coarse samples that a pixel is expanded from
  std::int64_t most_taps = kAnyLength;     ///< of the grid's kernel
  PerAxis<std::int64_t> most_spline{kAnyLength, kAnyLength};  ///< pixels of a spline, all of which a group spans on x
};

/// Whether kernels are centred between pixels.
bool is_between(const Problem& p, Axis direction) {
  return places_on_axis(0, on(p.spec.stride, direction)).between;
}

/// Whether CUDA may make all steps by products of matrices.
bool has_products(const Problem& p) {
  return p.device.backend == Backend::cuda && check_products(p) && kDecimateMath.given(p) != DecimateMath::f32;
}

Terms terms_of(const Problem& p) {
  const DecimationKernels kernels = has_products(p) ? DecimationKernels::products
                                    : has_spans(p)  ? DecimationKernels::spans
                                                    : DecimationKernels::sums;
  Terms out{.costs = decimation_costs(p.device, p.src.format, kernels)};
  if (kernels == DecimationKernels::spans) {
    out.costs.x.most_support = out.costs.y.most_support = cuda::most_span_support(component_of<cuda::Component>(info(p.src.format)));
    out.costs.y.least_support = cuda::kLeastCompiledSupport;
  }
  if (const auto* gaussian = std::get_if<Gaussian>(&p.spec.kernel)) {
    if (is_between(p, Axis::x)) out.halving.x = halved_distance(gaussian->sigma.x);
    if (is_between(p, Axis::y)) out.halving.y = halved_distance(gaussian->sigma.y);
  }
  if (p.device.backend == Backend::cpu) {
    out.most_support = cpu::kMaxSupport;
  } else {
    const bool in_passes = p.device.backend == Backend::vulkan && kGridBlur.given(p) == GridBlur::passes;
    out.most_taps = in_passes ? kMostGridTapsOfPasses : kMostGridTaps;
    out.most_spline = {p.device.gpu.max_group_invocations, p.device.gpu.max_group_invocations};
  }
  return out;
}

double cost_of(const Terms& terms, Axis direction, const AxisPlan& axis) {
  return cost_of(on(terms.costs, direction), axis.factor, static_cast<double>(axis.support()),
                 static_cast<double>(axis.coarse.weights.size()));
}

/// Leaves the grid's kernel no more taps than it needs, where `allowed` may be added to the distance. Taps that are not decimated by are
/// those that were asked for.
AxisPlan shortened(AxisPlan axis, double allowed) {
  if (axis.factor == 1) return axis;
  Decimation fit = shortened(Decimation{axis.factor, std::move(axis.spline), std::move(axis.coarse), 0.0, axis.l1_distance}, allowed);
  axis.spline = std::move(fit.spline);
  axis.coarse = std::move(fit.coarse);
  axis.l1_distance = fit.l1_distance;
  return axis;
}

/// Of rounding errors when pixels are summed up to coarse samples, see summation_growth(): CPUs sum blocks of pixels, but rows one
/// after the other where the factor is small; GPUs the rows that they fetch at once, and along rows what lies in the same
/// place of its coarse sample.
double decimating_growth(const Problem& p, const AxisPlan& axis, Axis direction) {
  if (p.device.backend == Backend::cpu) {
    const bool in_blocks = direction == Axis::x || axis.factor > cpu::kSlideFactor;
    return in_blocks ? blocked_summation_growth(axis.spline, cpu::kDecimateRows) : summation_growth(axis.spline);
  }
  if (direction == Axis::y) {
    // Where errors of f32 hardly count, rows are summed one after the other.
    const FormatInfo& source = info(p.src.format);
    if (source.bits == 8 || (source.bits == 16 && !source.is_unorm())) return summation_growth(axis.spline);
    return blocked_summation_growth(axis.spline, static_cast<std::size_t>(rows_ahead(most_rows_ahead(p.device), axis.factor)));
  }
  std::vector<double> by_place;
  for (std::int64_t place = 0; place < axis.factor; ++place) {
    for (std::int64_t sample = 0; sample < axis.support(); ++sample) {
      by_place.push_back(axis.spline[static_cast<std::size_t>(place + sample * axis.factor)]);
    }
  }
  return blocked_summation_growth(by_place, static_cast<std::size_t>(axis.support()));
}

/// How many products of the grid's taps are summed up by themselves, or nothing where it is all of them.
std::optional<std::size_t> block_of_grid(const Problem& p, const AxisPlan& axis, bool in_passes) {
  if (in_passes) return kSepDirectBlock;
  const bool in_blocks = p.device.backend == Backend::cpu && axis.coarse.weights.size() > cpu::kCoarseBlock;
  return in_blocks ? std::optional<std::size_t>(cpu::kCoarseBlock) : std::nullopt;
}

double growth(const Problem& p, const AxisPlan& axis, Axis direction, bool in_passes) {
  constexpr double kExpanding = 2.0;  // weights and products of the expansion
  const std::vector<double>& taps = axis.coarse.weights;
  const std::optional<std::size_t> block = block_of_grid(p, axis, in_passes);
  const double of_grid = block ? blocked_summation_growth(taps, *block) : summation_growth(taps);
  const auto support = static_cast<double>(axis.expanding_support());
  // Strips make halves of differences of rows, which are up to twice as large as numbers.
  const FormatInfo& format = info(p.src.format);
  const bool by_differences =
      p.device.backend == Backend::cuda && direction == Axis::y && has_spans(p) && format.is_floating() && format.bits == 16;
  const double expanding = support + kExpanding + (by_differences ? support : 0.0);
  return decimating_growth(p, axis, direction) + magnitude(axis.coarse.weights) * (of_grid + expanding);
}

double error_of(const Problem& p, const AxisPlan& x, const AxisPlan& y) {
  const double distance = kernel_distance_error(x.l1_distance * magnitude(y.coarse.weights) + y.l1_distance, p.src.format);
  const double rounding = rounding_of(p, x, y);
  const double gain = rounding_gain(p.spec, p.src.format, {x.coarse, y.coarse});
  // As much is kept of numbers as two halves hold, and one product of what these lack is left out.
  constexpr double kErrorOfProducts = 4.0 * 0x1p-22;
  const double products = has_products(p) ? kErrorOfProducts : 0.0;
  // Strips make codes of numbers with a fraction of eight bits, which each coarse sample that a pixel is made of rounds to.
  const bool are_cut = p.device.backend == Backend::cuda && has_spans(p) && may_cut_numbers(p);
  const double cut = are_cut ? 0x1p-9 * cuda::most_span_support(cuda::Component::u8) / info(p.src.format).unit() : 0.0;
  return colour_gain(p.spec) * distance + gain * rounding + products + cut + colour_error(p.spec, Accumulator::f32);
}

/// Of the whole image: kernels that are folded into a part of it would be others.
std::int64_t length_of(const Problem& p, Axis direction) {
  const ImageDesc& image = p.whole != nullptr ? p.whole->src : p.src;
  return direction == Axis::x ? image.width : image.height;
}

std::int64_t folded_length_of(const Problem& p, Axis direction) {
  return folded_length(on(p.spec.border.mode, direction), length_of(p, direction), on(p.spec.stride, direction));
}

/// Whether all pixels that a kernel sees are one.
bool is_one_pixel(const Problem& p, Axis direction) {
  return length_of(p, direction) == 1 && on(p.spec.border.mode, direction) != BorderMode::constant;
}

AxisPlan undecimated(const Problem& p, const Terms& terms, Axis direction, double l1_budget) {
  AxisPlan axis;
  if (is_one_pixel(p, direction)) {
    axis.cost = cost_of(terms, direction, axis);
    return axis;
  }
  AxisWeights weights = *axis_weights(p.spec.kernel, direction, l1_budget, is_between(p, direction));
  // The grid's kernel reaches as far on either side.
  if (is_between(p, direction)) {
    weights.taps.weights.insert(weights.taps.weights.begin(), 0.0);
    ++weights.taps.anchor;
  }
  axis.coarse = fold(weights.taps, on(p.spec.border.mode, direction), folded_length_of(p, direction));
  axis.l1_distance = weights.cut_error;
  axis.cost = cost_of(terms, direction, axis);
  return axis;
}

/// Of an image that is short beside its kernel, what lies around it is most of what is decimated.
double growth_by_margins(const Problem& p, Axis direction, double reach) {
  const auto length = static_cast<double>(length_of(p, direction));
  return reach > length ? 1.0 + 2.0 * reach / length : 1.0;
}

AxisPlan decimated(const Problem& p, const Terms& terms, const AxisKernel& kernel, Axis direction, int factor, int support) {
  const AxisKernel folded = folded_where_shorter(kernel, factor);
  const std::shared_ptr<const Decimation> fit = fit_kernel(folded, factor, LeastAliasingSpline{support});
  AxisPlan axis{factor, fit->spline, fit->coarse, fit->l1_distance, 0.0, is_between(p, direction)};
  axis.l1_distance += on(terms.halving, direction);
  axis.cost = cost_of(terms, direction, axis);
  axis.cost *= growth_by_margins(p, direction, static_cast<double>(axis.reach()));
  return axis;
}

bool has_kernel_for(const Terms& terms, Axis direction, const AxisPlan& axis) {
  return axis.expanding_support() <= terms.most_support && std::ssize(axis.coarse.weights) <= terms.most_taps &&
         axis.support() * axis.factor <= on(terms.most_spline, direction);
}

/// Coarse samples that a sigma spans at least where a fit is to be within the budget: by what the Gaussian passes at the grid's highest
/// frequency every fit misses, however long its spline.
double least_span_within(double l1_budget) {
  return std::sqrt(2.0 * std::log(1.0 / std::min(l1_budget, 0.5))) / std::numbers::pi;
}

/// Whether a fit by so many coarse samples of this factor may be worth its while.
class WorthFitting {
 public:
  WorthFitting(const AxisKernel& kernel, int support, double l1_budget) : kernel_(kernel), support_(support), l1_budget_(l1_budget) {
    if (is_tent()) {
      // What fits miss at least falls with the square of the coarse samples to a tent's end, as far as was seen.
      constexpr double kBestSeen = 0.4;
      least_span_ = std::sqrt(kBestSeen / l1_budget) / std::sqrt(6.0);
    } else {
      least_span_ = least_span_within(l1_budget);
      of_factor_ = least_distance_of_factor(std::get<AxisGaussian>(kernel.shape));
    }
  }

  [[nodiscard]] bool operator()(int factor) const {
    const double span = kernel_.sigma() / factor;
    if (span < least_span_ || span > most_span(factor) || of_factor_ * factor > l1_budget_) return false;
    const std::int64_t reach = most_reach(folded_where_shorter(kernel_, factor), factor);
    return reach <= kMostReach * factor && std::int64_t{support_} * factor - 1 <= reach;
  }

  /// The distance falls with the coarse samples that a sigma spans, at most as fast as the square of their `support`-th power, of tents
  /// with the square: a fit that misses tells which factors must miss, too.
  void learn_from(const AxisPlan& missed) {
    const AxisKernel kernel = folded_where_shorter(kernel_, missed.factor);
    if (kernel.fold != Fold{} || missed.reach() + missed.factor > most_reach(kernel, missed.factor)) return;
    const double power = is_tent() ? 2.0 : 2.0 * support_;
    least_span_ = kernel.sigma() / missed.factor * std::pow(missed.l1_distance / l1_budget_, 1.0 / power);
  }

 private:
  [[nodiscard]] bool is_tent() const { return std::holds_alternative<AxisTent>(kernel_.shape); }
  [[nodiscard]] double most_span(int factor) const {
    constexpr double kDefaultSpan = 9.0;  // beyond it another spline is cheaper, unless there is no larger factor
    constexpr double kCutSpan = 16.0;     // a jump asks for small factors, whatever the spline
    const bool is_folded = folded_where_shorter(kernel_, factor).fold != Fold{};
    if (factor == kMaxDecimation || is_tent() || is_folded) return std::numeric_limits<double>::infinity();
    return kernel_.is_cut() ? kCutSpan : kDefaultSpan;
  }

  const AxisKernel& kernel_;
  int support_;
  double l1_budget_;
  double least_span_ = 0.0;
  double of_factor_ = 0.0;
};

/// From the middle of a kernel to its end where it is folded, about.
double half_of(const Fold& fold) {
  return std::max(static_cast<double>(fold.period) / 2.0, static_cast<double>(fold.length));
}

/// Whether a fit may have no more taps than there is room for. What is folded hardly gets shorter.
bool may_have_kernel_for(const Terms& terms, const AxisKernel& kernel, int factor) {
  const Fold fold = folded_where_shorter(kernel, factor).fold;
  return half_of(fold) / factor <= static_cast<double>(terms.most_taps);
}

/// The least that a fit may cost.
double least_cost(const Problem& p, const Terms& terms, const AxisKernel& kernel, Axis direction, int factor, int support) {
  constexpr double kLeastTaps = 6.0;  // for each coarse sample that a sigma spans
  const auto of_taps = [&](double taps) { return cost_of(on(terms.costs, direction), factor, support, taps); };
  if (const Fold fold = folded_where_shorter(kernel, factor).fold; fold != Fold{}) {
    const double half = half_of(fold);
    return of_taps(2.0 * half / factor) * growth_by_margins(p, direction, half);
  }
  if (const auto* tent = std::get_if<AxisTent>(&kernel.shape)) return of_taps(tent->end / factor);
  const auto& gaussian = std::get<AxisGaussian>(kernel.shape);
  const double usual = kLeastTaps * gaussian.sigma / factor;
  return of_taps(gaussian.radius ? std::min(usual, static_cast<double>(*gaussian.radius) / factor) : usual);
}

/// The cheapest factor for splines of so many coarse samples within the budget that costs less than `below`. Those that may be cheapest
/// come first, so that few are fitted.
std::optional<AxisPlan> cheapest_by(const Problem& p, const Terms& terms, const AxisKernel& kernel, Axis direction, int support,
                                    double l1_budget, double below) {
  WorthFitting is_worth_fitting(kernel, support, l1_budget);
  std::vector<std::pair<double, int>> by_cost;  // at least
  for (const int factor : kFactors) {
    if (!may_have_kernel_for(terms, kernel, factor)) continue;
    if (is_worth_fitting(factor)) by_cost.emplace_back(least_cost(p, terms, kernel, direction, factor, support), factor);
  }
  std::ranges::sort(by_cost);
  std::optional<AxisPlan> best;
  for (const auto& [least, factor] : by_cost) {
    if (least >= below) break;
    if (!is_worth_fitting(factor)) continue;
    AxisPlan found = decimated(p, terms, kernel, direction, factor, support);
    if (!std::isfinite(found.l1_distance)) continue;  // thousands of coarse samples may be more than a fit can solve
    if (found.l1_distance > l1_budget) {
      is_worth_fitting.learn_from(found);
      continue;
    }
    if (found.cost >= below) continue;
    if (!has_kernel_for(terms, direction, found)) {
      const double left = l1_budget - found.l1_distance;
      found = shortened(std::move(found), left);
    }
    if (has_kernel_for(terms, direction, found)) {
      below = found.cost;
      best = std::move(found);
    }
  }
  return best;
}

/// The cheapest way for one axis, which may be not to decimate. Of the widest kernels the weights are so many that they are only made where
/// nothing else is exact enough.
AxisPlan cheapest(const Problem& p, const Terms& terms, const AxisKernel& kernel, Axis direction, double l1_budget) {
  constexpr double kWide = 1000.0;     // sigma
  constexpr std::int64_t kShort = 64;  // an image, on which few weights are left of any kernel
  if (is_one_pixel(p, direction)) return undecimated(p, terms, direction, l1_budget);
  std::optional<AxisPlan> best;
  double below = std::numeric_limits<double>::infinity();
  if (kernel.sigma() < kWide || length_of(p, direction) < kShort) {
    best = undecimated(p, terms, direction, l1_budget);
    if (has_kernel_for(terms, direction, *best)) below = best->cost;
  }
  for (const int support : kSupports) {
    std::optional<AxisPlan> other = cheapest_by(p, terms, kernel, direction, support, l1_budget, below);
    if (!other) continue;
    below = other->cost;
    best = std::move(other);
  }
  return best ? *best : undecimated(p, terms, direction, l1_budget);
}

/// What is to be made of an axis, of a kernel that can be decimated.
std::optional<AxisKernel> kernel_of(const Problem& p, Axis direction) {
  const Fold fold = fold_of(on(p.spec.border.mode, direction), folded_length_of(p, direction));
  if (const auto* gaussian = std::get_if<Gaussian>(&p.spec.kernel)) {
    AxisGaussian on_this_axis = on_axis(*gaussian, direction);
    if (is_between(p, direction)) on_this_axis.sigma = halved_sigma(on_this_axis.sigma);
    return AxisKernel{on_this_axis, fold};
  }
  if (const auto* tent = std::get_if<Tent>(&p.spec.kernel)) return AxisKernel{AxisTent{on(tent->radius, direction) + 1.0}, fold};
  return std::nullopt;
}

/// Whether an axis is not blurred.
bool is_a_point(const AxisKernel& kernel) {
  const auto* tent = std::get_if<AxisTent>(&kernel.shape);
  return tent != nullptr ? tent->end <= 1.0 : kernel.sigma() == 0.0;
}

/// What the options say of one axis.
struct Wish {
  std::optional<int> factor;
  std::optional<int> support;
};

AxisPlan plan_axis(const Problem& p, const Terms& terms, const AxisKernel& kernel, Axis direction, const Wish& wish, double l1_budget) {
  const auto& [factor, support] = wish;
  constexpr int kDefaultSupport = 4;
  if (is_a_point(kernel) || factor == 1) return undecimated(p, terms, direction, l1_budget);
  if (factor) return decimated(p, terms, kernel, direction, *factor, support.value_or(kDefaultSupport));
  if (support) {
    constexpr double kAnyCost = std::numeric_limits<double>::infinity();
    const std::optional<AxisPlan> found = cheapest_by(p, terms, kernel, direction, *support, l1_budget, kAnyCost);
    return found ? *found : undecimated(p, terms, direction, l1_budget);
  }
  return cheapest(p, terms, kernel, direction, l1_budget);
}

/// Both axes, and what they make together.
struct Axes {
  AxisPlan x, y;
  double error = 0.0;
  double cost = 0.0;
};

/// What is left of the error is for shorter kernels of the grid. `gain` is the error of a distance.
Axes shortened(const Problem& p, Axes axes, double gain) {
  const double left = (p.allowed_error - error_of(p, axes.x, axes.y)) / gain;
  axes.x = shortened(std::move(axes.x), left / 2.0 / magnitude(axes.y.coarse.weights));
  axes.y = shortened(std::move(axes.y), (p.allowed_error - error_of(p, axes.x, axes.y)) / gain);
  axes.error = error_of(p, axes.x, axes.y);
  axes.cost = axes.x.cost + axes.y.cost;
  return axes;
}

/// The cheapest axes within the error.
Axes best_axes(const Problem& p, const Terms& terms, const PerAxis<AxisKernel>& kernel, const PerAxis<Wish>& wish) {
  const double gain = colour_gain(p.spec) * kernel_distance_error(1.0, p.src.format);  // of a distance
  Axes best;
  for (const double rounding_share : {0.03, 0.15, 0.4, 0.6, 0.8}) {  // of the error; the rest is for both axes
    const double budget = p.allowed_error * (1.0 - rounding_share) / gain;
    best = {};
    for (const double share : {0.5, 0.2, 0.8}) {  // of x; what it does not need is left to y
      Axes axes;
      axes.x = plan_axis(p, terms, kernel.x, Axis::x, wish.x, share * budget);
      axes.y = plan_axis(p, terms, kernel.y, Axis::y, wish.y, budget - axes.x.l1_distance);
      axes = shortened(p, std::move(axes), gain);
      if (best.cost == 0.0 || axes.cost < best.cost) best = std::move(axes);
    }
    if (best.error <= p.allowed_error) break;
  }
  return best;
}

/// Whether an axis is decimated as that of the whole image is, whose factor and support are asked for.
bool is_as_in_whole(const AxisPlan& axis, const Wish& wish, const Halo& whole) {
  // Matrices make blocks of more coarse samples, and read as many pixels more.
  const auto reach = [](const Halo& halo) { return halo.after.pixels - halo.after.block; };
  return axis.factor == wish.factor && axis.support() == wish.support && reach(axis.halo()) == reach(whole);
}

/// Of a part of an image, as the plan of the whole has them. That names the factor and the support that came out, not what its search was
/// asked for, by which fits differ in their last taps.
Result<Axes> axes_of_whole(const Problem& p, const Terms& terms, const PerAxis<AxisKernel>& kernel, const PerAxis<Wish>& found) {
  const PerAxis<Wish> only_support{{{}, found.x.support}, {{}, found.y.support}};
  for (const PerAxis<Wish>& asked : {found, PerAxis<Wish>{}, only_support}) {
    Axes axes = best_axes(p, terms, kernel, asked);
    if (is_as_in_whole(axes.x, found.x, p.whole->halo->x) && is_as_in_whole(axes.y, found.y, p.whole->halo->y)) return axes;
  }
  return refusal("it would blur a window of this size otherwise than the whole: make another");
}

/// Whether these axes keep to the error, and are decimated at all.
bool is_usable(const Problem& p, const Terms& terms, const Axes& axes) {
  const bool is_decimated = axes.x.factor > 1 || axes.y.factor > 1;
  return axes.error <= p.allowed_error && is_decimated && has_kernel_for(terms, Axis::x, axes.x) && has_kernel_for(terms, Axis::y, axes.y);
}

/// Whether finding coarse grids for images of this size takes longer than blurring many of them: a kernel that reaches further than an
/// image is fitted for it alone.
bool is_small(const Problem& p) {
  constexpr std::int64_t kFewPixels = 128;
  return p.src.width <= kFewPixels && std::int64_t{p.src.height} * p.batch <= kFewPixels;
}

Result<Proposal> propose(const Problem& p) {
  const bool is_cpu = p.device.backend == Backend::cpu;
  if (!p.device.has_kernel(kDecimateKernel)) return refusal_without_kernel(p, kDecimateKernel);
  const Status known = is_cpu                              ? only_options(p, {kFactor, kSupport, kDecimatePasses})
                       : p.device.backend == Backend::cuda ? only_options(p, {kFactor, kSupport, kDecimateMath})
                                                           : not_options(p, {kDecimatePasses});
  if (!known) return known.error();
  if (p.device.backend == Backend::cuda && !p.is_asked_for && is_small(p)) {
    return refusal("an image of so few pixels takes less time with all taps than several kernels to start");
  }
  const std::optional<AxisKernel> of_x = kernel_of(p, Axis::x), of_y = kernel_of(p, Axis::y);
  if (!of_x || !of_y) return refusal("the kernel is neither a Gaussian nor a tent");
  for (const Axis axis : {Axis::x, Axis::y}) {
    const AxisKernel& kernel = axis == Axis::x ? *of_x : *of_y;
    const bool is_endless = std::holds_alternative<AxisGaussian>(kernel.shape) && !kernel.is_cut();
    if (is_between(p, axis) && !is_endless) return refusal("between pixels only endless Gaussians are decimated");
  }
  if (!is_cpu && std::holds_alternative<Tent>(p.spec.kernel)) return refusal("tents are decimated on CPUs only");

  const auto factor = kFactor.given(p);
  if (!factor) return factor.error();
  const auto support = kSupport.given(p);
  if (!support) return support.error();
  const PerAxis<int> coarsest = factor->value_or(PerAxis<int>{kMaxDecimation, kMaxDecimation});
  for (const Axis axis : {Axis::x, Axis::y}) {
    const int d = on(coarsest, axis);
    const std::int64_t reach = most_reach(folded_where_shorter(axis == Axis::x ? *of_x : *of_y, d), d);
    if (d > 1 && reach > kMostReach * d) {
      return refusal("the kernel reaches " + std::to_string(reach) + " pixels, more than " + std::to_string(kMostReach) +
                     " coarse samples of " + std::to_string(d));
    }
  }
  const auto wish = [&](Axis axis) {
    return Wish{*factor ? std::optional(on(**factor, axis)) : std::nullopt, *support ? std::optional(on(**support, axis)) : std::nullopt};
  };
  Terms terms = terms_of(p);
  const PerAxis<AxisKernel> kernels{*of_x, *of_y};
  const PerAxis<Wish> wishes{wish(Axis::x), wish(Axis::y)};
  const auto find = [&] { return p.whole != nullptr ? axes_of_whole(p, terms, kernels, wishes) : best_axes(p, terms, kernels, wishes); };
  Result<Axes> best = find();
  // The grid's kernel costs more where rows and columns take a dispatch each, and the longest splines leave few groups, so that others are
  // tried first.
  if (p.device.backend == Backend::vulkan && !kGridBlur.is_given(p) && !(best && is_usable(p, terms, *best))) {
    terms.most_taps = kMostGridTapsOfPasses;
    // The weights of both splines are those of a pass.
    terms.most_spline.y = gpu::kMostWeights - (is_one_pixel(p, Axis::x) ? 1 : terms.most_spline.x);
    if (Result<Axes> with_more = find(); with_more && is_usable(p, terms, *with_more)) best = std::move(with_more);
  }
  if (!best) return best.error();
  const AxisPlan& x = best->x;
  const AxisPlan& y = best->y;
  if (is_cpu && std::max(x.expanding_support(), y.expanding_support()) > cpu::kMaxSupport) {
    return refusal("between pixels a pixel is made of one coarse sample more, so " + std::to_string(cpu::kMaxSupport - 1) +
                   " are the most");
  }
  if (!std::isfinite(best->error)) return refusal("so many coarse samples of so many pixels reach further than 7 sigma");
  if (x.factor == 1 && y.factor == 1) {
    const std::string sigma_x = number(of_x->sigma()), sigma_y = number(of_y->sigma());
    return refusal("sigma " + (sigma_x == sigma_y ? sigma_x : sigma_x + "x" + sigma_y) + " cannot be decimated within the error");
  }
  Proposal out;
  out.error = best->error;
  out.reach = reach_on_both_sides(x.reach(), y.reach());
  out.options = {kFactor.as({x.factor, y.factor}),
                 kSupport.as({static_cast<std::int32_t>(x.support()), static_cast<std::int32_t>(y.support())})};
  if (p.device.backend == Backend::cuda) return add_gauss_decimate_cuda_passes(p, x, y, std::move(out));
  if (!is_cpu) return add_gauss_decimate_gpu_passes(p, x, y, std::move(out));
  out.halo = {x.halo(), y.halo()};
  return add_cpu_passes(p, x, y, std::move(out));
}

}  // namespace

AxisPlan sparsest(const Problem& p, Axis direction, int support, double l1_budget, bool (*may_be)(int factor)) {
  const AxisKernel kernel = *kernel_of(p, direction);
  const Terms terms = terms_of(p);
  if (is_a_point(kernel) || is_one_pixel(p, direction)) return undecimated(p, terms, direction, l1_budget);
  const WorthFitting is_worth_fitting(kernel, support, l1_budget);
  for (auto factor = kFactors.rbegin(); factor != kFactors.rend(); ++factor) {
    if (!may_be(*factor) || !is_worth_fitting(*factor)) continue;
    AxisPlan found = decimated(p, terms, kernel, direction, *factor, support);
    if (found.l1_distance <= l1_budget) return found;
  }
  return undecimated(p, terms, direction, l1_budget);
}

bool is_blurred_in_passes(const Problem& p, const AxisPlan& x, const AxisPlan& y) {
  if (p.device.backend != Backend::vulkan) return false;
  if (kGridBlur.is_given(p)) return kGridBlur.of(p, GridBlur::tiles) == GridBlur::passes;
  return std::max(x.coarse.weights.size(), y.coarse.weights.size()) > kMostGridTaps;
}

bool has_spans(const Problem& p) {
  const FormatInfo& format = info(p.src.format);
  const bool is_known = format.bits == 8 ? format.is_unorm() : format.is_floating() && format.bits <= 32;
  return p.device.backend == Backend::cuda && is_only_blurred(p) && is_known && format.channels == 4;
}

Status check_products(const Problem& p) {
  const FormatInfo& source = info(p.src.format);
  const bool are_bytes = source.is_unorm() && source.bits == 8;
  const bool are_floats = source.is_floating() && source.bits <= 32;
  if (source.channels != 1 || !(are_bytes || are_floats) || p.dst.format != p.src.format) {
    return refusal("tensor cores take bytes, halves and floats of one channel, and leave the same");
  }
  if (p.spec.alpha != AlphaMode::ignore || p.spec.transfer != TransferFunction::none) {
    return refusal("tensor cores multiply pixels as they are stored");
  }
  return {};
}

bool may_cut_numbers(const Problem& p) {
  constexpr double kLeastError = 1e-4;  // of which these make a third
  const FormatInfo& format = info(p.src.format);
  return format.is_unorm() && format.bits == 8 && p.allowed_error >= kLeastError;
}

double rounding_of(const Problem& p, const AxisPlan& x, const AxisPlan& y) {
  const double reach = magnitude(x.coarse.weights) * magnitude(y.coarse.weights);
  const bool in_passes = is_blurred_in_passes(p, x, y);
  return reach * (growth(p, x, Axis::x, in_passes) + growth(p, y, Axis::y, in_passes)) * unit_roundoff(Accumulator::f32);
}

CoarseRange coarse_range(const AxisPlan& axis, BorderMode mode, std::int64_t source_length, std::int64_t first, std::int64_t length) {
  const std::int64_t d = axis.factor;
  const auto taps = static_cast<std::int64_t>(axis.spline.size());
  const std::int64_t centre = spline_centre(axis.spline.size());
  const std::int64_t reach = axis.coarse.anchor;
  const std::int64_t behind = centre + (axis.is_mean ? 1 : 0);
  std::int64_t begin = floor_div(first + behind, d) - (axis.expanding_support() - 1) - reach;
  std::int64_t end = floor_div(first + length - 1 + behind, d) + reach + 1;
  if (mode == BorderMode::clamp || mode == BorderMode::constant) {
    // Coarse samples wholly outside the image are all alike: the kernel repeats the nearest.
    begin = std::max(begin, floor_div(centre - taps, d));
    end = std::min(end, floor_div(source_length + centre + d - 1, d) + 1);
    begin = std::min(begin, end - 1);  // the places of a stride may lie behind the last pixel
  }
  return {begin, end - begin};
}

constinit const Algorithm kGaussDecimate = {
    .info = {"gauss.decimate", "any sigma at nearly constant cost, wide tents on CPUs: decimate, blur, expand",
             "this project, after Unser et al. 1993", kDecimateOptions},
    .propose = propose,
    .takes_strides = true};

}  // namespace mollify
