// gauss.recursive: Deriche's Gaussian of order 4, two complex recursions forwards and two backwards on each axis, in
// segments that warm up before their first pixel and so need nothing of each other. Some 2 + 2 * warm_up / 32 loads a
// pixel and axis, the warm-up being about 4 sigma: what is saved by recursion is spent on being parallel, so it loses
// to gauss.decimate at any sigma, and to taps below a sigma of about 5. Its shape is fixed, a few thousandths of a
// Gaussian away whatever sigma; rounding in f32 grows with sigma. Source: Deriche 1993, "Recursively implementing the
// Gaussian and its derivatives"; the form of two first-order complex recursions keeps rounding small.
#include <algorithm>
#include <array>

#include "algorithms/common/gpu.h"
#include "base/text.h"
#include "gauss_recursive_arguments.h"
#include "math/decimation.h"
#include "math/deriche.h"
#include "math/weights.h"

namespace mollify {
namespace {

using namespace gpu;

constexpr std::string_view kKernel = glsl::GaussRecursive::kKernel;
constexpr std::int32_t kSegment = 32;
constexpr std::int32_t kLanes = 32;
constexpr double kLeastSigma = 0.8;  // below it the recursions oscillate between pixels
constexpr double kLargestSigma = 1000.0;
constexpr std::array kOptions = {kStorage.info(), float_intermediate_info("between passes; channels as the source has")};

Result<Proposal> propose(const Problem& p) {
  const auto* gaussian = std::get_if<Gaussian>(&p.spec.kernel);
  if (!gaussian) return refusal("the kernel is no Gaussian");
  if (gaussian->radius || gaussian->truncate) return refusal("recursion cannot cut a Gaussian at a given radius");
  if (std::min(gaussian->sigma.x, gaussian->sigma.y) < kLeastSigma) return refusal("a sigma below 0.8 is too sharp to recur");
  if (std::max(gaussian->sigma.x, gaussian->sigma.y) > kLargestSigma) {
    return refusal("f32 does not hold the recursions of a sigma beyond 1000");
  }
  if (Result<Storage> s = storage(p, kKernel); !s) return s.error();
  constexpr std::array kOscillates = {-1.0};
  if (Status s = check_division(p, kOscillates); !s) return s.error();
  if (Status s = check_shared(p, std::int64_t{kSegment} * kLanes * 16); !s) return s.error();
  if (p.device.gpu.max_group.x < kLanes || p.device.gpu.max_group.y < kLanes) return refusal("the device has no groups of 1x32");
  const auto fitted = [&](Axis axis) { return fit_deriche(on(gaussian->sigma, axis), axis_weights(p.spec.kernel, axis, 0.0)->taps); };
  const std::shared_ptr<const Deriche> x = fitted(Axis::x);
  const std::shared_ptr<const Deriche> y = fitted(Axis::y);

  const double grown = 1.0 + y->l1_distance;  // what the second pass makes of the first one's errors
  const auto error = [&](Cache between) {
    const double rounding =
        (x->growth * grown + y->growth) * unit_roundoff(Accumulator::f32) + rounding_step(between, PixelFormat::rgba16f) * grown;
    const double moved = x->l1_distance * grown + y->l1_distance;
    return colour_gain(p.spec) * (kernel_distance_error(moved, p.src.format) + rounding) + colour_error(p.spec, Accumulator::f32);
  };
  Proposal out;
  const PixelFormat format = choose_float_intermediate(p, error, out, kFinite);

  // A recursion has seen all pixels since its warm-up began.
  out.reach = reach_on_both_sides(x->warm_up + kSegment - 1, y->warm_up + kSegment - 1);

  // Segments are whole, so rows are needed from the start of the first segment's warm-up to the end of the last one's.
  const Rect r = region(p);
  const auto start = [](std::int64_t first) { return floor_div(first, kSegment) * kSegment; };
  const std::int64_t first_y = start(r.y);
  const std::int64_t end_y = start(std::int64_t{r.y} + r.height - 1) + kSegment;
  const Span rows =
      needed_span(p.src.height, static_cast<std::int32_t>(first_y), static_cast<std::int32_t>(end_y - first_y), y->warm_up, y->warm_up);
  out.intermediates = {{r.width, rows.length, format}};
  const Result<Storage> where = storage(p, kKernel, out.intermediates);
  if (!where) return where.error();
  const auto pass = [&](bool vertical, const Deriche& d, PerAxis<std::int32_t> size) {
    const auto lead = static_cast<std::int32_t>(vertical ? r.y - first_y : r.x - start(r.x));
    const PerAxis<std::int32_t> covered = {size.x + (vertical ? 0 : lead), size.y + (vertical ? lead : 0)};
    const PerAxis<std::int32_t> lanes = vertical ? PerAxis<std::int32_t>{kLanes, 1} : PerAxis<std::int32_t>{1, kLanes};
    const PerAxis<std::int32_t> tile = vertical ? PerAxis<std::int32_t>{kLanes, kSegment} : PerAxis<std::int32_t>{kSegment, kLanes};
    const auto numbers = [](const std::array<Deriche::Complex, 2>& v) {
      return std::array<glsl::Real, 4>{v[0].re, v[0].im, v[1].re, v[1].im};
    };
    return make_pass(glsl::GaussRecursive{.amplitudes = numbers(d.amplitude),
                                          .lead = lead,
                                          .poles = numbers(d.pole),
                                          .size = size,
                                          .vertical = vertical,
                                          .warm_up = d.warm_up},
                     covered, tile, lanes, *where);
  };
  out.passes = {pass(false, *x, {r.width, rows.length}), pass(true, *y, {r.width, r.height})};
  out.passes[0].destination = out.passes[1].source = intermediate();
  out.passes[0].origin = {r.x, rows.first};
  out.passes[1].origin = {0, r.y - rows.first};
  out.options.insert(kStorage.as(*where));

  const std::int64_t middle_bytes = out.intermediates[0].payload_bytes();
  const auto cost = [&](const Pass& made, const Deriche& d, std::int64_t bytes) {
    const double loads = 2.0 * (1.0 + static_cast<double>(d.warm_up) / kSegment);
    return seconds(p.device, read_format(p, made, format),
                   {.pixels = static_cast<double>(made.size.x) * made.size.y,
                    .loads = loads,
                    .shared_loads = 2.0,
                    .operations = 8.0 * loads,
                    .bytes = static_cast<double>(bytes)});
  };
  out.seconds = cost(out.passes[0], *x, source_bytes(p) + middle_bytes) + cost(out.passes[1], *y, p.dst.payload_bytes() + middle_bytes);
  out.window_blocks = {kSegment, kSegment};
  out.moved_bytes = moved_bytes(p, out.intermediates);
  return out;
}

}  // namespace

constinit const Algorithm kGaussRecursive = {
    {"gauss.recursive", "Deriche's recursion of order 4 in parallel segments; it rings", "Deriche 1993", kOptions}, propose};

}  // namespace mollify
