#include "math/decimation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <tuple>
#include <utility>

#include "math/least_squares.h"
#include "math/remembered.h"
#include "math/splines.h"

namespace mollify {
namespace {

constexpr std::int64_t kFittedPhases = 4;     // of a grid spacing, evenly chosen: more do not move the fit
constexpr std::int64_t kFittedSamples = 4;    // of the kernel, in a grid spacing: the same
constexpr std::int64_t kJumpPhases = 8;       // instead where the kernel jumps, whose place in its grid spacing matters
constexpr std::int64_t kJumpSamples = 32;     // the same
constexpr std::int64_t kCheckedSamples = 32;  // in a grid spacing, and phases, where the distance is taken; all of them up to here
constexpr std::int64_t kCheckedOfMany = 8;    // the same where the kernel spans so many
constexpr double kManySamples = 300.0;
constexpr std::int64_t kCheckedJump = 128;  // the same where the kernel jumps
constexpr double kCutShare = 0.02;          // of the distance, that cutting the coarse kernel may add
constexpr double kCutLeast = 1e-8;
constexpr double kMostSplineSpan = 9.0;  // grid spacings a sigma, for which splines are fitted: of wider kernels next to nothing aliases

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return floor_div(a + b - 1, b);
}

/// A kernel or a part of one at every `step`-th pixel from -reach * step to +reach * step. The step divides the factor.
struct Samples {
  std::int64_t step;
  std::int64_t reach;

  Samples(std::int64_t factor, std::int64_t per_spacing, double pixels) : step(std::max<std::int64_t>(1, factor / per_spacing)) {
    while (factor % step != 0) --step;
    reach = static_cast<std::int64_t>(std::ceil(pixels / static_cast<double>(step)));
  }

  template <class Of>
  [[nodiscard]] std::vector<double> of(const Of& at, std::int64_t beyond = 0) const {
    std::vector<double> values;
    values.reserve(static_cast<std::size_t>(2 * (reach + beyond) + 1));
    for (std::int64_t i = -reach - beyond; i <= reach + beyond; ++i) values.push_back(at(i * step));
    return values;
  }
};

/// The three steps as one kernel on the fine grid, at samples of it: what that costs does not depend on the factor.
class Steps {
 public:
  Steps(int factor, const std::vector<double>& spline)
      : factor_(factor), spline_(spline), taps_(static_cast<std::int64_t>(spline.size())), centre_(spline_centre(spline.size())) {}

  /// What an output at `phase`, a multiple of the samples' step, sees where `decimated` tells the weight that a coarse sample has
  /// of the pixel at an offset from its own.
  template <class Decimated>
  [[nodiscard]] std::vector<std::vector<double>> kernels(const std::vector<std::int64_t>& phases, const Samples& samples,
                                                         const Decimated& decimated) const {
    const std::int64_t beyond = (taps_ + factor_) / samples.step + 1;
    const std::vector<double> table = samples.of(decimated, beyond);
    std::vector<std::vector<double>> kernels;
    for (const std::int64_t phase : phases) {
      std::vector<double> kernel(static_cast<std::size_t>(2 * samples.reach + 1), 0.0);
      for (std::int64_t i = (phase + centre_) % factor_; i < taps_; i += factor_) {  // taps of the coarse samples that reach it
        const double w = static_cast<double>(factor_) * spline_[static_cast<std::size_t>(i)];
        const double* shifted = table.data() + beyond + (i - centre_) / samples.step;
        for (std::size_t s = 0; s < kernel.size(); ++s) kernel[s] += w * shifted[s];
      }
      kernels.push_back(std::move(kernel));
    }
    return kernels;
  }

  [[nodiscard]] std::int64_t taps() const { return taps_; }

  /// Tap of the spline that lies `offset` pixels from the pixel of its coarse sample.
  [[nodiscard]] double tap(std::int64_t offset) const {
    const std::int64_t i = offset + centre_;
    return i >= 0 && i < taps_ ? spline_[static_cast<std::size_t>(i)] : 0.0;
  }

  /// The same after the coarse kernel, of which `half` is the part from its middle on.
  [[nodiscard]] double blurred_tap(const std::vector<double>& half, std::int64_t offset) const {
    const auto last = static_cast<std::int64_t>(half.size()) - 1;
    const std::int64_t i = offset + centre_;
    const std::int64_t from = std::max(ceil_div(i - taps_ + 1, factor_), -last);  // coarse samples whose spline covers the offset
    const std::int64_t to = std::min(floor_div(i, factor_), last);
    double sum = 0.0;
    for (std::int64_t j = from; j <= to; ++j) {
      sum += half[static_cast<std::size_t>(std::abs(j))] * spline_[static_cast<std::size_t>(i - j * factor_)];
    }
    return sum;
  }

 private:
  std::int64_t factor_;
  const std::vector<double>& spline_;
  std::int64_t taps_;
  std::int64_t centre_;
};

/// About `wanted` phases, evenly chosen among those that the samples allow.
std::vector<std::int64_t> some_phases(std::int64_t factor, const Samples& samples, std::int64_t wanted) {
  const std::int64_t all = factor / samples.step;
  std::vector<std::int64_t> phases;
  for (std::int64_t p = 0; p < std::min(all, wanted); ++p) phases.push_back(p * all / std::min(all, wanted) * samples.step);
  return phases;
}

/// Makes the kernel sum to `whole`.
void keep_constants(std::vector<double>& half_kernel, double whole) {
  const double sum = 2.0 * std::accumulate(half_kernel.begin() + 1, half_kernel.end(), half_kernel[0] / 2.0);
  for (double& g : half_kernel) g *= whole / sum;
}

/// The coarse kernel from its middle on, by least squares at evenly chosen phases and samples. Where a window makes the
/// jump, its weight is fitted with it, and taken from the target.
std::vector<double> fitted(const Steps& steps, AxisTarget& target, int factor, std::int64_t radius, double reach, Jump jump) {
  const Samples samples(factor, target.is_cut() ? kJumpSamples : kFittedSamples, reach);
  const std::vector<std::int64_t> phases = some_phases(factor, samples, target.is_cut() ? kJumpPhases : kFittedPhases);
  // What an output sees of one coarse sample. All coarse samples look alike, and those on either side of its own weigh the same.
  const Samples of_sample(factor, target.is_cut() ? kJumpSamples : kFittedSamples, static_cast<double>(steps.taps()));
  const std::vector<std::vector<double>> sample = steps.kernels(phases, of_sample, [&](std::int64_t x) { return steps.tap(x); });
  const std::int64_t ends = of_sample.reach * of_sample.step;

  const auto band = static_cast<std::size_t>(2 * ends / factor + 1);
  BandedLeastSquares unknowns(static_cast<std::size_t>(radius) + 1, band, 2);
  std::vector<double> row(band + 2);
  double window_window = 0.0;  // products of what coarse samples cannot make of the window and of the target
  double window_target = 0.0;
  const auto add = [&](std::size_t phase, std::int64_t x) {
    const std::int64_t from = ceil_div(x - ends, factor);
    const std::int64_t to = floor_div(x + ends, factor);
    const std::int64_t first = from > 0 ? from : std::max<std::int64_t>(-to, 0);
    std::ranges::fill(row, 0.0);
    for (std::int64_t j = std::max(from, -radius); j <= std::min(to, radius); ++j) {
      row[static_cast<std::size_t>(std::abs(j) - first)] +=
          sample[phase][static_cast<std::size_t>((x - j * factor) / of_sample.step + of_sample.reach)];
    }
    row[band] = target(x);
    row[band + 1] = std::abs(x) <= target.radius() ? 1.0 : 0.0;
    unknowns.add(static_cast<std::size_t>(first), row);
    window_window += row[band + 1] * row[band + 1];
    window_target += row[band + 1] * row[band];
  };
  for (std::int64_t s = 0; s <= samples.reach; ++s) {
    for (std::size_t phase = 0; phase < phases.size(); ++phase) {
      add(phase, s * samples.step);
      if (s > 0) add(phase, -s * samples.step);
    }
  }

  std::vector<double> half = jump == Jump::window ? unknowns.solution(0) : unknowns.nonnegative_solution(0);
  if (jump == Jump::window) {
    const double weight = window_target / window_window;
    const std::vector<double> instead = unknowns.solution(1);
    for (std::size_t j = 0; j < half.size(); ++j) half[j] -= weight * instead[j];
    target.add_beside(weight);
  }
  keep_constants(half, target.left_to_grid());
  return half;
}

/// An upper bound on the L1 distance between the kernel that the steps make and the true one, at the worst phase. Small
/// factors are looked at pixel by pixel. For large ones, what lies between two samples of the difference is within an
/// eighth of the curvature of their chord, and so is what lies between two phases. Where the kernel jumps in between,
/// it is within half the jump, and distances may bend anywhere between two phases.
double l1_distance(const Steps& steps, const AxisTarget& target, int factor, const std::vector<double>& half, double reach) {
  // Of many grid spacings, few samples each bound as well what lies between them.
  const bool has_many_samples = reach > kManySamples * factor;
  const Samples samples(factor, target.is_cut() ? kCheckedJump : has_many_samples ? kCheckedOfMany : kCheckedSamples, reach);
  const std::vector<std::int64_t> phases = some_phases(factor, samples, factor);
  // Twice an eighth, as the curvature itself is read off second differences of samples.
  const double curved = samples.step == 1 ? 0.0 : 0.25;
  const double bent = target.is_cut() ? 2.0 * curved : curved;
  const double jumps = samples.step == 1 ? 0.0 : target.jump();  // both
  const std::vector<double> exact = samples.of(target);
  std::vector<double> distances;
  for (const std::vector<double>& kernel : steps.kernels(phases, samples, [&](std::int64_t x) { return steps.blurred_tap(half, x); })) {
    double l1 = 0.0;
    double before = 0.0;
    double difference = 0.0;
    for (std::size_t s = 0; s < kernel.size(); ++s) {
      const double next = kernel[s] - exact[s];
      l1 += std::abs(next) + curved * std::abs(next - 2.0 * difference + before);
      before = std::exchange(difference, next);
    }
    distances.push_back(static_cast<double>(samples.step) * (l1 + jumps));
  }
  double bend = 0.0;  // of the distance from phase to phase, which is periodic
  for (std::size_t p = 0; p < distances.size(); ++p) {
    const double next = distances[(p + 1) % distances.size()];
    bend = std::max(bend, std::abs(distances[(p + 2) % distances.size()] - 2.0 * next + distances[p]));
  }
  return *std::ranges::max_element(distances) + bent * bend;
}

std::vector<double> taps_of(Spline spline, double sigma, int factor) {
  if (const auto* boxes = std::get_if<BoxSpline>(&spline)) return box_spline(factor, boxes->order);
  return least_aliasing_spline(sigma, factor, std::get<LeastAliasingSpline>(spline).support);
}

/// The square of its spread, pixels.
double variance_of(const std::vector<double>& spline) {
  const double middle = (static_cast<double>(spline.size()) - 1.0) / 2.0;
  double sum = 0.0;
  for (std::size_t i = 0; i < spline.size(); ++i) sum += spline[i] * std::pow(static_cast<double>(i) - middle, 2);
  return sum;
}

/// Coarse samples from the middle of the grid's kernel to the last that matters.
double outermost_sample(const AxisKernel& kernel, const AxisTarget& target, int factor, double variance_of_spline) {
  const double all = static_cast<double>(target.radius()) / factor;
  if (kernel.fold != Fold{} || std::holds_alternative<AxisTent>(kernel.shape)) return all;
  const double per_spacing = kernel.sigma() / factor;
  const double variance = std::max(per_spacing * per_spacing - 2.0 * variance_of_spline / std::pow(factor, 2), 0.02);
  return std::min(6.0 * std::max(std::sqrt(variance), 0.8 * per_spacing), all);
}

Decimation fit(const AxisKernel& kernel, int factor, Spline spline, Jump jump) {
  Decimation out;
  out.factor = factor;
  out.spline = taps_of(spline, std::min(kernel.sigma(), kMostSplineSpan * factor), factor);
  AxisTarget target(kernel, factor);
  const Steps steps(factor, out.spline);
  const auto taps = static_cast<std::int64_t>(out.spline.size());
  const std::int64_t left_to_coarse = most_reach(kernel, factor) - (taps - 1);
  if (left_to_coarse < 0) {
    out.coarse = {{1.0}, 0};
    out.l1_distance = std::numeric_limits<double>::infinity();
    return out;
  }

  const double outermost = outermost_sample(kernel, target, factor, variance_of(out.spline));
  // Beside a window hardly anything is left to coarse samples beyond the cut.
  const auto wanted = static_cast<std::int64_t>(jump == Jump::window ? std::round(outermost) : std::ceil(outermost) + 2.0);
  const std::int64_t radius = std::min(wanted, left_to_coarse / factor);
  const auto reach = static_cast<double>(std::max(target.radius(), (radius + 2) * factor + 2 * taps));
  std::vector<double> g = fitted(steps, target, factor, radius, reach, jump);
  out.window = target.beside();

  const double allowed_cut = std::max(kCutLeast, kCutShare * l1_distance(steps, target, factor, g, reach));
  double tail = 0.0;
  while (g.size() > 1 && tail + 2.0 * std::abs(g.back()) <= allowed_cut) {
    tail += 2.0 * std::abs(g.back());
    g.pop_back();
  }
  keep_constants(g, target.left_to_grid());
  out.l1_distance = l1_distance(steps, target, factor, g, reach);

  out.coarse.anchor = static_cast<std::int32_t>(g.size()) - 1;
  out.coarse.weights.assign(g.rbegin(), g.rend());
  out.coarse.weights.insert(out.coarse.weights.end(), g.begin() + 1, g.end());
  return out;
}

}  // namespace

std::shared_ptr<const Decimation> fit_kernel(const AxisKernel& kernel, int factor, Spline spline, Jump jump) {
  static auto& fits = *new Remembered<std::tuple<AxisKernel, int, Spline, Jump>, std::shared_ptr<const Decimation>>(2048);
  return fits.get({kernel, factor, spline, jump}, [&] { return std::make_shared<const Decimation>(fit(kernel, factor, spline, jump)); });
}

std::shared_ptr<const Decimation> fit_decimation(const AxisGaussian& gaussian, int factor, Spline spline, Jump jump) {
  return fit_kernel({gaussian}, factor, spline, jump);
}

Decimation shortened(Decimation fit, double allowed) {
  // What leaves a coarse sample for its neighbour is missed by as much as splines of the two differ, times what a pixel is mixed of.
  const std::vector<double>& spline = fit.spline;
  const auto factor = static_cast<std::size_t>(fit.factor);
  double difference = 0.0;
  for (std::size_t i = 0; i < spline.size() + factor; ++i) {
    difference += std::abs((i < spline.size() ? spline[i] : 0.0) - (i >= factor ? spline[i - factor] : 0.0));
  }
  double mixed = 0.0;
  for (std::size_t phase = 0; phase < factor; ++phase) {
    double sum = 0.0;
    for (std::size_t i = phase; i < spline.size(); i += factor) sum += std::abs(spline[i]);
    mixed = std::max(mixed, fit.factor * sum);
  }
  std::vector<double>& taps = fit.coarse.weights;
  while (taps.size() >= 3) {
    const double first = taps.front(), last = taps.back();
    const double added = difference * mixed * (std::abs(first) + std::abs(last));
    if (added > allowed) break;
    allowed -= added;
    fit.l1_distance += added;
    taps.pop_back();
    taps.erase(taps.begin());
    taps.front() += first;
    taps.back() += last;
    --fit.coarse.anchor;
  }
  return fit;
}

double halved_sigma(double sigma) {
  constexpr double kSpread = 0.25;  // the variance of two pixels
  return sigma * sigma <= kSpread ? 0.0 : std::sqrt(sigma * sigma - kSpread);
}

double halved_distance(double sigma) {
  constexpr double kWide = 64.0;      // sigma, beyond which the bound is as good as the distance
  constexpr double kOfFourth = 0.02;  // the distance falls with the fourth power of sigma; at most this much, as was seen
  const double narrow = halved_sigma(sigma);
  if (narrow == 0.0) return 0.0;
  if (sigma > kWide) return kOfFourth / std::pow(sigma, 4);
  const auto reach = static_cast<std::int64_t>(std::ceil(9.0 * sigma));
  const auto bell = [](double x, double s) { return std::exp(-0.5 * (x / s) * (x / s)); };
  double exact_sum = 0.0, narrow_sum = 0.0;
  for (std::int64_t i = -reach; i <= reach; ++i) {
    exact_sum += bell(static_cast<double>(i) + 0.5, sigma);
    narrow_sum += bell(static_cast<double>(i), narrow);
  }
  double distance = 0.0;
  for (std::int64_t i = -reach; i <= reach; ++i) {
    const auto x = static_cast<double>(i);
    const double mean = 0.5 * (bell(x, narrow) + bell(x + 1.0, narrow)) / narrow_sum;
    distance += std::abs(mean - bell(x + 0.5, sigma) / exact_sum);
  }
  return distance;
}

double least_distance_of_factor(const AxisGaussian& gaussian) {
  // Of fits by two to eight coarse samples and jumps at 1.5 to 5 sigma: 0.49 times the jump and the factor where a sigma spans 1.25 grid
  // spacings, 0.9 at 12.
  constexpr double kBestSeen = 0.45;
  return gaussian.radius ? kBestSeen * AxisTarget({gaussian}, 1).jump() : 0.0;
}

}  // namespace mollify
