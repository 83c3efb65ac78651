// gauss.linear and gauss.lerp_taps: a Gaussian by fewer taps than pixels, because a tap between two pixels reads both
// at once. gauss.linear lets the sampler mix: half as many fetches as taps on each axis, at the precision of the
// sampler; where the pixels' format is narrow or the image long, that is too coarse for more than pictures to look at.
// gauss.lerp_taps mixes in shared memory: 17 taps a pixel and axis for any sigma, which are exact to a sigma of about 2
// and leave gaps from about 4 on. Source: the pairs are folklore of games (Rakos 2010); the stretched table is from "A
// Tale Of Too Many Blurs"' companions on shared memory and interpolation, its weights are fitted here.
#include <algorithm>
#include <array>
#include <cmath>

#include "algorithms/common/gpu.h"
#include "base/text.h"
#include "gauss_lerp_taps_arguments.h"
#include "gauss_linear_arguments.h"
#include "math/interpolated.h"
#include "math/weights.h"

namespace mollify {
namespace {

using namespace gpu;

constexpr std::string_view kLinearKernel = glsl::GaussLinear::kKernel;
constexpr std::string_view kLerpKernel = glsl::GaussLerpTaps::kKernel;
constexpr GroupOption kLinearGroup({"16x16", "64x1", "8x8"});
constexpr std::array kLinearOptions = {kStorage.info_as("image", "where pixels lie on the device: samplers read images only", 1),
                                       kIntermediate.info(), kLinearGroup.info()};
constexpr std::array kLerpOptions = {kStorage.info(), kIntermediate.info()};

constexpr double kRoundoff = 0x1p-24;

/// How far a linear sampler may read from where it was asked to.
struct Sampling {
  double nudge = 0.0;  ///< pixels that every position is moved by
  double along = 0.0;  ///< pixels, at most
  double across = 0.0;
};

/// Positions are multiples of the sampler's step, but arrive with the rounding of f32 coordinates. Moved by more than
/// that rounding, a sampler that cuts off and one that rounds both come back to the multiple; one that distinguishes
/// more keeps the nudge.
Sampling sampling(const Problem& p, BorderMode border, std::int64_t reach) {
  constexpr double kRoundings = 8.0;  // of a coordinate, on its way from a whole number to the sampler's
  const double length = static_cast<double>(std::max(p.src.width, p.src.height)) + static_cast<double>(reach);
  const double coordinate = kRoundings * kRoundoff * length;
  const double step = std::ldexp(1.0, -p.device.gpu.linear_fraction_bits);
  Sampling out{2.0 * coordinate, 6.0 * coordinate, 6.0 * coordinate};
  if (3.0 * coordinate >= 0.5 * step) out.along = out.across = step + 6.0 * coordinate;
  // A mirrored coordinate is nudged the other way.
  if (border == BorderMode::reflect) out.along = step + 6.0 * coordinate;
  return out;
}

/// What a sampler's arithmetic makes of pixels of this format: software mixes 8-bit pixels in 8 bits; hardware rounds
/// at the precision of what it reads or better.
double filter_error(const Problem& p, PixelFormat read) {
  const FormatInfo& format = info(read);
  if (format.is_unorm()) return 1.0 / format.unit();
  if (format.bits == 16) return 2.0 * rounding_step(Cache::f16, p.src.format);
  return 4.0 * kRoundoff;
}

Result<Proposal> propose_linear(const Problem& p) {
  if (!std::holds_alternative<Gaussian>(p.spec.kernel)) return refusal("the kernel is no Gaussian");
  if (Result<Storage> s = storage(p, kLinearKernel, {}, true); !s) return s.error();
  const Result<PerAxis<std::int32_t>> shape = kLinearGroup.of(p);
  if (!shape) return shape.error();
  // A large error is allowed for the sampler's sake, not to be spent on short kernels.
  Problem strict = p;
  strict.allowed_error = std::min(p.allowed_error, default_max_error(p.dst.format));
  const SeparableTaps taps = *separable_taps(strict);
  if (Status s = check_taps(taps.taps); !s) return s.error();

  const int bits = p.device.gpu.linear_fraction_bits;
  const PairedTaps x = paired(taps.taps.x, bits);
  const PairedTaps y = paired(taps.taps.y, bits);
  const auto reach = static_cast<std::int64_t>(std::max(taps.taps.x.weights.size(), taps.taps.y.weights.size()));
  const Sampling at_x = sampling(p, p.spec.border.mode.x, reach);
  const Sampling at_y = sampling(p, p.spec.border.mode.y, reach);
  const double moved = x.l1_distance + y.l1_distance + 2.0 * (at_x.along + at_x.across + at_y.along + at_y.across);
  const double gain = colour_gain(p.spec);
  Proposal out;
  out.error = taps.cut_error + rounding_error(p, taps, Accumulator::f32) +
              gain * (kernel_distance_error(moved, p.src.format) + filter_error(p, p.src.format));
  const Result<Intermediate> between = choose_intermediate(p, taps, Storage::image, out.error);
  if (!between) return between.error();
  out.error += between->error + gain * filter_error(p, between->format);
  out.assumption = {"a sampler that rounds no coarser than the pixels that it reads"};

  // A sampler also reads the texel after the one that it is asked for, on both axes, in each of the passes.
  constexpr std::int32_t kPasses = 2;
  const auto reach_of_samples = [](const AxisTaps& axis) {
    const Reach own = reach_of_taps(axis);
    return Reach{own.before, own.after + kPasses};
  };
  out.reach = PerAxis<Reach>{reach_of_samples(taps.taps.x), reach_of_samples(taps.taps.y)};

  // The whole image, so that coordinates, and with them their rounding, are the same for every region.
  out.intermediates = {{p.src.width, p.src.height, between->format}};
  if (Result<Storage> s = storage(p, kLinearKernel, out.intermediates, true); !s) return s.error();
  const Rect r = region(p);
  // A nudged sampler may also touch the texel after the one that it is asked for.
  const Span columns = needed_span(p.src.width, r.x, r.width, 0, 1);
  const Span rows = needed_span(p.src.height, r.y, r.height, taps.taps.y.anchor,
                                static_cast<std::int64_t>(taps.taps.y.weights.size()) - taps.taps.y.anchor);
  const auto pass = [&](bool vertical, const PairedTaps& pairs, const Sampling& at) {
    const Rect part = vertical ? r : Rect{columns.first, rows.first, columns.length, rows.length};
    const PerAxis<std::int32_t> size{part.width, part.height};
    Pass made = make_pass(glsl::GaussLinear{.inverse_size = {1.0 / p.src.width, 1.0 / p.src.height},
                                            .nudge = {0.5 + at.nudge, 0.5 + at.nudge},
                                            .target = {vertical ? 0 : part.x, vertical ? 0 : part.y},
                                            .vertical = vertical},
                          size, *shape, *shape, Storage::image);
    made.linear = true;
    made.taps = {{pairs.weights, 0}, {pairs.positions, 0}};
    made.origin = {part.x, part.y};
    return made;
  };
  out.passes = {pass(false, x, at_x), pass(true, y, at_y)};
  out.passes[0].destination = out.passes[1].source = intermediate();
  out.options = {kStorage.as(Storage::image), kIntermediate.as(between->value), kLinearGroup.as(*shape)};

  const double middle = static_cast<double>(columns.length) * rows.length;
  const double pixels = static_cast<double>(r.width) * r.height;
  const auto middle_bytes = static_cast<std::int64_t>(middle) * info(between->format).pixel_bytes();
  const auto cost = [&](const Pass& made, double count, std::size_t samples, std::int64_t bytes) {
    const auto n = static_cast<double>(samples);
    return seconds(p.device, read_format(p, made, between->format),
                   {.pixels = count, .loads = n, .operations = n, .bytes = static_cast<double>(bytes)});
  };
  out.seconds = cost(out.passes[0], middle, x.weights.size(), source_bytes(p) + middle_bytes) +
                cost(out.passes[1], pixels, y.weights.size(), p.dst.payload_bytes() + middle_bytes);
  out.moved_bytes = source_bytes(p) + 2 * middle_bytes + p.dst.payload_bytes();
  return out;
}

Result<Proposal> propose_lerp(const Problem& p) {
  if (!std::holds_alternative<Gaussian>(p.spec.kernel)) return refusal("the kernel is no Gaussian");
  Result<Storage> where = storage(p, kLerpKernel);
  if (!where) return where.error();
  constexpr std::int32_t kGroup = 64;
  constexpr std::int64_t kSharedBytes = (kGroup + 2 * kLerpReach) * 16;
  if (Status s = check_shared(p, kSharedBytes); !s) return s.error();

  if (p.device.gpu.max_group.x < kGroup || p.device.gpu.max_group.y < kGroup) {
    return refusal("the device has no work groups of 1x64 threads");
  }

  // Against the kernel with all its tail, so that there is no error of cutting.
  const auto fitted = [&](Axis axis) { return fit_lerp_taps(axis_weights(p.spec.kernel, axis, 0.0)->taps); };
  const std::shared_ptr<const LerpTaps> x = fitted(Axis::x);
  const std::shared_ptr<const LerpTaps> y = fitted(Axis::y);
  for (const auto& fit : {x, y}) {
    if (Status s = check_division(p, fit->weights); !s) return s.error();
  }
  SeparableTaps taps;
  taps.taps = {{x->weights, kLerpTaps / 2}, {y->weights, kLerpTaps / 2}};
  constexpr double kMixing = 3.0;  // roundings of an interpolation
  const double reach = magnitude(x->weights) * magnitude(y->weights);
  taps.magnitude = info(p.src.format).is_unorm() ? reach : 1.0;
  taps.growth = {reach * (summation_growth(x->weights) + kMixing), reach * (summation_growth(y->weights) + kMixing)};
  Proposal out;
  out.error = colour_gain(p.spec) * kernel_distance_error(x->l1_distance * magnitude(y->weights) + y->l1_distance, p.src.format) +
              rounding_error(p, taps, Accumulator::f32);
  const Result<Intermediate> between = choose_intermediate(p, taps, *where, out.error);
  if (!between) return between.error();
  out.error += between->error * reach;

  // A tap reads the pixels before and after it, also where it lies on one.
  const auto reach_of_stretched = [](const LerpTaps& fit) {
    constexpr int kOnEachSide = kLerpTaps / 2;
    const double outermost = fit.spacing * kOnEachSide;
    return Reach{static_cast<std::int32_t>(std::ceil(outermost)), static_cast<std::int32_t>(std::floor(outermost)) + 1};
  };
  out.reach = PerAxis<Reach>{reach_of_stretched(*x), reach_of_stretched(*y)};

  const Rect r = region(p);
  const Span rows = needed_span(p.src.height, r.y, r.height, kLerpReach, kLerpReach);
  out.intermediates = {{r.width, rows.length, between->format}};
  where = storage(p, kLerpKernel, out.intermediates);
  if (!where) return where.error();
  const double scale = scale_between_steps(p.src.format);
  const auto pass = [&](bool vertical, const LerpTaps& fit, PerAxis<std::int32_t> size) {
    const PerAxis<std::int32_t> shape = vertical ? PerAxis<std::int32_t>{1, kGroup} : PerAxis<std::int32_t>{kGroup, 1};
    Pass made = make_pass(glsl::GaussLerpTaps{.spacing = fit.spacing, .vertical = vertical}, size, shape, shape, *where);
    made.taps.x = {fit.weights, kLerpTaps / 2};
    for (double& w : made.taps.x.weights) w *= vertical ? 1.0 / scale : scale;
    if (vertical) made.outside_gain = scale;
    return made;
  };
  out.passes = {pass(false, *x, {r.width, rows.length}), pass(true, *y, {r.width, r.height})};
  out.passes[0].destination = out.passes[1].source = intermediate();
  out.passes[0].origin = {r.x, rows.first};
  out.passes[1].origin = {0, r.y - rows.first};
  out.options = {kStorage.as(*where), kIntermediate.as(between->value)};

  const std::int64_t middle_bytes = out.intermediates[0].payload_bytes();
  const auto cost = [&](const Pass& made, std::int64_t bytes) {
    return seconds(p.device, read_format(p, made, between->format),
                   {.pixels = static_cast<double>(made.size.x) * made.size.y,
                    .loads = 1.0 + 2.0 * kLerpReach / kGroup,
                    .shared_loads = 2.0 * kLerpTaps,
                    .operations = 2.0 * kLerpTaps,
                    .barriers = 1.0,
                    .bytes = static_cast<double>(bytes)});
  };
  out.seconds = cost(out.passes[0], source_bytes(p) + middle_bytes) + cost(out.passes[1], p.dst.payload_bytes() + middle_bytes);
  out.window_blocks = {1, 1};
  out.moved_bytes = moved_bytes(p, out.intermediates);
  return out;
}

}  // namespace

constinit const Algorithm kGaussLinear = {
    {"gauss.linear", "taps in pairs through the linear sampler", "folklore; Rakos 2010", kLinearOptions}, propose_linear};

constinit const Algorithm kGaussLerpTaps = {{"gauss.lerp_taps", "17 taps stretched to sigma, between pixels in shared memory",
                                             "a published table for shared memory; weights by this project", kLerpOptions},
                                            propose_lerp};

}  // namespace mollify
