// gauss.half_res: a Gaussian on an image of half, a quarter or an eighth the size: a tent filter reduces it, a small
// blur runs along both axes, linear interpolation brings it back. The small blur is fitted so that the three together
// are as near the Gaussian as linear interpolation allows, at every phase of a pixel between two coarse samples; that distance
// is the declared error. 4 loads a pixel to reduce, 4 to expand, and a share of 1 / factor^2 of a small Gaussian: cheap
// for large sigma, but coarse below a sigma of about three times the factor, and on images small against sigma, whose
// margins are blurred too. Source: folklore of games; B-spline grids since Unser, Aldroubi and Eden 1993.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "algorithms/common/gpu.h"
#include "base/text.h"
#include "gauss_half_res_arguments.h"
#include "math/decimation.h"
#include "math/weights.h"

namespace mollify {
namespace {

using namespace gpu;

constexpr std::string_view kKernel = glsl::GaussHalfRes::kKernel;
constexpr BoxSpline kTent{2};        // a tent is two boxes
constexpr double kLargestSpan = 16;  // coarse samples in a sigma; the fit takes time with the cube of it
constexpr PerAxis<std::int32_t> kGroup = {16, 16};
constexpr ListedNumberOption kFactor("factor", {"2", "4", "8"}, "the largest within the error, else the best",
                                     "pixels from one coarse sample to the next", {.tuned = Tuned::never});
constexpr std::array kOptions = {kFactor.info(), kStorage.info(), float_intermediate_info("coarse samples; channels as the source has")};

enum class Step : std::uint8_t { reduce, blur, expand };

PerAxis<std::shared_ptr<const Decimation>> fits(const Gaussian& g, int factor) {
  return {fit_decimation(on_axis(g, Axis::x), factor, kTent), fit_decimation(on_axis(g, Axis::y), factor, kTent)};
}

double error_of(const Problem& p, const PerAxis<std::shared_ptr<const Decimation>>& fit, Cache coarse) {
  const double gain = colour_gain(p.spec);
  const double grown = magnitude(fit.y->coarse.weights);
  const double reach = magnitude(fit.x->coarse.weights) * grown;
  const double spline = blocked_summation_growth(fit.x->spline, fit.x->spline.size());
  constexpr double kMixing = 8.0;  // roundings of an interpolation, of a tent's weights and of scaling
  const double growth = 2.0 * spline + summation_growth(fit.x->coarse.weights) + summation_growth(fit.y->coarse.weights) + 2.0 * kMixing;
  // Coarse samples are stored three times; the blur can enlarge what the earlier times have rounded.
  const double rounding = reach * growth * unit_roundoff(Accumulator::f32) + rounding_step(coarse, PixelFormat::rgba16f) * reach * 3.0;
  return gain * (kernel_distance_error(fit.x->l1_distance * grown + fit.y->l1_distance, p.src.format) + rounding) +
         colour_error(p.spec, Accumulator::f32);
}

struct CoarseRange {
  std::int64_t first;
  std::int64_t length;
};

/// The coarse samples that pixels from `first` on are interpolated from.
CoarseRange coarse_of(std::int32_t first, std::int32_t length, std::int64_t factor) {
  const std::int64_t begin = floor_div(first, factor);
  return {begin, floor_div(std::int64_t{first} + length - 1, factor) + 2 - begin};
}

Result<Proposal> propose(const Problem& p) {
  const auto* gaussian = std::get_if<Gaussian>(&p.spec.kernel);
  if (!gaussian) return refusal("the kernel is no Gaussian");
  if (gaussian->radius || gaussian->truncate) return refusal("a Gaussian cut at a given radius is not smooth enough to reduce");
  const PerAxis<double>& sigma = gaussian->sigma;
  if (sigma.x == 0.0 || sigma.y == 0.0) return refusal("an axis that is left as it is cannot be reduced");
  const Result<Storage> where = storage(p, kKernel);
  if (!where) return where.error();
  if (Status fits = check_group(p, kGroup); !fits) return fits.error();

  // The largest factor that is good enough; where none is, the best there is, for the caller to allow.
  int factor = 0;
  const auto too_wide = [&](int f) { return std::max(sigma.x, sigma.y) / f > kLargestSpan; };
  if (const std::optional<std::int32_t> given = kFactor.given(p)) {
    factor = *given;
    if (too_wide(factor)) {
      return refusal("sigma " + number(std::max(sigma.x, sigma.y)) + " is more than 16 coarse samples, where the fit takes too long");
    }
  } else {
    double least = 0.0;
    for (const int f : {8, 4, 2}) {
      if (too_wide(f)) continue;
      const double error = error_of(p, fits(*gaussian, f), Cache::f32);
      if (factor != 0 && error >= least) continue;
      factor = f;
      least = error;
      if (error <= p.allowed_error) break;
    }
    if (factor == 0) return refusal("sigma " + number(std::max(sigma.x, sigma.y)) + " is beyond 128, where the fit takes too long");
  }
  const PerAxis<std::shared_ptr<const Decimation>> fit = fits(*gaussian, factor);
  for (const auto& axis : {fit.x, fit.y}) {
    if (!std::isfinite(axis->l1_distance))
      return refusal("coarse samples of " + std::to_string(factor) + " pixels reach further than 7 sigma");
    if (axis->coarse.weights.size() > 2048) return refusal("the blur of the coarse grid has too many taps");
    if (Status s = check_division(p, axis->coarse.weights); !s) return s.error();
  }

  Proposal out;
  const PixelFormat format = choose_float_intermediate(
      p, [&](Cache coarse) { return error_of(p, fit, coarse); }, out, finite_sums(p));

  out.reach = reach_on_both_sides(fit.x->reach(), fit.y->reach());
  const Rect r = region(p);
  const CoarseRange x = coarse_of(r.x, r.width, factor);
  const CoarseRange y = coarse_of(r.y, r.height, factor);
  const std::int64_t reach_x = fit.x->coarse.anchor;
  const std::int64_t reach_y = fit.y->coarse.anchor;
  const auto size = [](std::int64_t width, std::int64_t height) {
    return PerAxis<std::int32_t>{static_cast<std::int32_t>(width), static_cast<std::int32_t>(height)};
  };
  const PerAxis<std::int32_t> reduced = size(x.length + 2 * reach_x, y.length + 2 * reach_y);
  const PerAxis<std::int32_t> rows = size(x.length, reduced.y);
  const PerAxis<std::int32_t> blurred = size(x.length, y.length);
  for (const PerAxis<std::int32_t>& s : {reduced, rows, blurred}) out.intermediates.push_back({s.x, s.y, format});
  const Result<Storage> on = storage(p, kKernel, out.intermediates);
  if (!on) return on.error();

  const auto pass = [&](Step step, PerAxis<std::int32_t> written, PerAxis<std::int64_t> first, bool vertical = false) {
    return make_pass(glsl::GaussHalfRes{.factor = factor, .first = first, .step = step, .vertical = vertical}, written, kGroup, kGroup,
                     *on);
  };
  out.passes = {pass(Step::reduce, reduced, {x.first - reach_x, y.first - reach_y}), pass(Step::blur, rows, {}),
                pass(Step::blur, blurred, {}, true), pass(Step::expand, {r.width, r.height}, {x.first, y.first})};
  out.passes[0].destination = out.passes[1].source = intermediate(0);
  out.passes[1].destination = out.passes[2].source = intermediate(1);
  out.passes[2].destination = out.passes[3].source = intermediate(2);
  out.passes[1].taps.x = fit.x->coarse;
  out.passes[2].taps.x = fit.y->coarse;
  out.passes[3].origin = {r.x, r.y};
  out.options.insert({kFactor.as(factor), kStorage.as(*on)});

  const std::array<std::int64_t, 3> bytes = {out.intermediates[0].payload_bytes(), out.intermediates[1].payload_bytes(),
                                             out.intermediates[2].payload_bytes()};
  const auto cost = [&](const Pass& made, double loads, std::int64_t moved) {
    return seconds(p.device, read_format(p, made, format),
                   {.pixels = static_cast<double>(made.size.x) * made.size.y,
                    .loads = loads,
                    .operations = loads,
                    .bytes = static_cast<double>(moved)});
  };
  const double tent = 2.0 * factor - 1.0;
  out.seconds = cost(out.passes[0], tent * tent, source_bytes(p) + bytes[0]) +
                cost(out.passes[1], static_cast<double>(fit.x->coarse.weights.size()), bytes[0] + bytes[1]) +
                cost(out.passes[2], static_cast<double>(fit.y->coarse.weights.size()), bytes[1] + bytes[2]) +
                cost(out.passes[3], 4.0, bytes[2] + p.dst.payload_bytes());
  out.window_blocks = {factor, factor};
  out.moved_bytes = moved_bytes(p, out.intermediates);
  return out;
}

}  // namespace

constinit const Algorithm kGaussHalfRes = {
    {"gauss.half_res", "reduce, blur, interpolate back", "folklore; after Unser et al. 1993", kOptions}, propose};

}  // namespace mollify
