// box.nxn, box.nxn_linear, box.sep, box.sep_linear: every pixel of the window is loaded, in one pass or two, one by
// one or through a linear sampler, which gives the mean of two (or, in one pass, four) pixels for one fetch. (2r+1)^2
// loads a pixel or twice 2r+1, a quarter and half of that when linear; they win for the smallest radii and lose to
// running sums. Source: the base lines of "Reverse Engineering MPS Box Blur".
#include <array>
#include <cmath>

#include "algorithms/box/box_gpu.h"
#include "algorithms/box/box_mend_gpu.h"
#include "box_nxn_arguments.h"
#include "box_nxn_linear_arguments.h"
#include "box_sep_arguments.h"
#include "box_sep_linear_arguments.h"

namespace mollify {
namespace {

using namespace gpu;

constexpr std::int64_t kLongestNxn = 128;  // a million loads for 64 pixels: beyond it drivers lose patience
constexpr std::int64_t kLongestSep = 4096;
constexpr GroupOption kGroup({"16x16", "8x8", "32x4"});
constexpr std::array kNxnOptions = {kStorage.info(), kGroup.info()};
constexpr std::array kNxnLinearOptions = {kGroup.info()};
constexpr std::array kSepOptions = {kStorage.info(), kIntermediate.info(), kGroup.info()};
constexpr std::array kSepLinearOptions = {kIntermediate.info(), kGroup.info()};

double summing_error(const Problem& p, const PerAxis<BoxAxis>& box) {
  return colour_gain(p.spec) * (box.x.growth() + box.y.growth()) * unit_roundoff(Accumulator::f32) + colour_error(p.spec, Accumulator::f32);
}

// ---- What a linear sampler adds

/// A window that reaches beyond the image and its copy on either side would need coordinates that f32 rounds too far.
Status check_reach(const Problem& p, const PerAxis<BoxAxis>& box) {
  const auto reaches_too_far = [](const BoxAxis& axis, std::int32_t size) {
    return std::max(axis.reach_before(), axis.reach_after()) >= size;
  };
  if (reaches_too_far(box.x, p.src.width) || reaches_too_far(box.y, p.src.height)) {
    return refusal("the window reaches further than the image is long, where a sampler's coordinates are too coarse");
  }
  return {};
}

/// Of fetching `desc` halfway between pixels or on them. A sampler rounds the place on both axes to its grid, either
/// way and after f32 has rounded it, and that much of a neighbour's pixel takes the place of the pixel's own.
double fetch_error(const Problem& p, const ImageDesc& desc) {
  const double grid = std::exp2(-p.device.gpu.linear_fraction_bits);
  const double place = 2.0 * grid + (desc.width + desc.height) * 0x1p-22;
  // What comes back has about the precision of the format; neighbours of unknown sign may differ by twice full scale.
  const FormatInfo& format = info(desc.format);
  if (format.is_unorm()) return place + (format.bits == 8 ? 1.0 / 255.0 : 0x1p-14);
  return (info(p.src.format).is_unorm() ? 1.0 : 2.0) * place + (format.bits == 16 ? 0x1p-11 : 0x1p-22);
}

/// A sampler weighs a pixel's neighbour even where it weighs nothing, and nothing times a NaN is one.
constexpr Reach kNeighbour{1, 1};
/// It takes the difference of two pixels.
constexpr Assumption kFiniteDifferences{"pixels within +-1e36, whose differences are finite", 1e36};

void assume_differences(const Problem& p, Proposal& out) {
  const FormatInfo& source = info(p.src.format);
  if (!source.is_unorm() && source.bits == 32) out.assumption = kFiniteDifferences;
}

// ---- One pass

template <class Arguments>
Result<Proposal> propose_one_pass(const Problem& p, bool linear) {
  constexpr std::string_view kernel = Arguments::kKernel;
  const Result<Storage> where = storage(p, kernel, {}, linear);
  if (!where) return where.error();
  const Result<PerAxis<BoxAxis>> box = box_axes(p, {kLongestNxn, kLongestNxn});
  if (!box) return box.error();
  const Result<PerAxis<std::int32_t>> shape = kGroup.of(p);
  if (!shape) return shape.error();

  Proposal out;
  out.options = {kGroup.as(*shape)};
  out.error = summing_error(p, *box);
  if (linear) {
    if (Status s = check_reach(p, *box); !s) return s.error();
    out.error += fetch_error(p, p.src);
    leave_box_spoiled(p, *box, {kNeighbour, kNeighbour}, out);
    assume_differences(p, out);
  } else {
    out.options.insert(kStorage.as(*where));
  }
  const Rect r = region(p);
  Pass pass = make_pass(Arguments{.after = {box->x.after, box->y.after},
                                  .after_fraction = {box->x.after_fraction, box->y.after_fraction},
                                  .before = {box->x.before, box->y.before},
                                  .before_fraction = {box->x.before_fraction, box->y.before_fraction},
                                  .scale = {1.0 / box->x.length(), 1.0 / box->y.length()}},
                        {p.dst.width, p.dst.height}, *shape, *shape, *where);
  pass.origin = {r.x, r.y};
  pass.linear = linear;
  pass.extent = std::get<Box>(p.spec.kernel).extent;
  out.passes.push_back(std::move(pass));
  if (!linear) out.window_blocks = {1, 1};
  out.moved_bytes = moved_bytes(p, {});
  const double taps = static_cast<double>(box->x.taps()) * box->y.taps();
  const double fetches = linear ? (box->x.taps() + 1) / 2.0 * ((box->y.taps() + 1) / 2.0) : taps;
  out.seconds = seconds(p.device, p.src.format,
                        {.pixels = static_cast<double>(p.dst.width) * p.dst.height,
                         .loads = fetches,
                         .operations = fetches,
                         .bytes = static_cast<double>(out.moved_bytes)});
  return out;
}

// ---- Two passes

template <class Arguments>
Result<Proposal> propose_with(const Problem& p, bool linear) {
  constexpr std::string_view kernel = Arguments::kKernel;
  Result<Storage> where = storage(p, kernel, {}, linear);
  if (!where) return where.error();
  const Result<PerAxis<BoxAxis>> box = box_axes(p, {kLongestSep, kLongestSep});
  if (!box) return box.error();
  const Result<PerAxis<std::int32_t>> shape = kGroup.of(p);
  if (!shape) return shape.error();
  if (linear) {
    if (Status s = check_reach(p, *box); !s) return s.error();
  }

  Proposal out;
  out.error = summing_error(p, *box) + (linear ? fetch_error(p, p.src) : 0.0);
  const Result<Intermediate> between = choose_intermediate(p, box_taps(*box), *where, out.error);
  if (!between) return between.error();
  TwoPasses passes = two_passes(p, box->y, between->format);
  if (linear) {
    // A sampler's coordinates are fractions of the whole image: with any other they would round differently.
    const Rect r = region(p);
    passes = {{0, p.src.height}, {p.src.width, p.src.height, between->format}, {0, 0}, {r.x, r.y}};
  }
  out.intermediates = {passes.between};
  where = storage(p, kernel, out.intermediates, linear);
  if (!where) return where.error();
  out.error += between->error + (linear ? fetch_error(p, passes.between) : 0.0);
  out.options = {kIntermediate.as(between->value), kGroup.as(*shape)};
  if (linear) {
    // One neighbour of each pass, both along and across.
    constexpr Reach kBoth{2 * kNeighbour.before, 2 * kNeighbour.after};
    leave_box_spoiled(p, *box, {kBoth, kBoth}, out);
    if (out.assumption == Assumption()) assume_differences(p, out);
  } else {
    out.options.insert(kStorage.as(*where));
  }
  if (between->format != p.src.format && info(between->format).bits == 16 && !info(p.src.format).is_unorm()) {
    out.assumption = kHalfRange;
  }

  const BoxExtent nothing{0, 0};
  const PerAxis<BoxExtent>& extent = std::get<Box>(p.spec.kernel).extent;
  const auto pass_along = [&](const BoxAxis& axis, bool is_vertical, PerAxis<std::int32_t> size) {
    return make_pass(Arguments{.after = axis.after,
                               .after_fraction = axis.after_fraction,
                               .before = axis.before,
                               .before_fraction = axis.before_fraction,
                               .is_vertical = is_vertical,
                               .scale = 1.0 / axis.length()},
                     size, *shape, *shape, *where);
  };
  Pass first = pass_along(box->x, false, {passes.between.width, passes.between.height});
  first.destination = intermediate();
  first.origin = passes.first_origin;
  first.extent = {extent.x, nothing};
  Pass second = pass_along(box->y, true, {p.dst.width, p.dst.height});
  second.source = intermediate();
  second.origin = passes.second_origin;
  second.extent = {nothing, extent.y};
  first.linear = second.linear = linear;

  if (!linear) out.window_blocks = {1, 1};
  out.moved_bytes = moved_bytes(p, out.intermediates);
  const std::int64_t between_bytes = passes.between.payload_bytes();
  const auto cost = [&](const Pass& pass, const BoxAxis& axis, std::int64_t bytes) {
    const double fetches = linear ? (axis.taps() + 1) / 2.0 : axis.taps();
    return seconds(p.device, read_format(p, pass, between->format),
                   {.pixels = static_cast<double>(pass.size.x) * pass.size.y,
                    .loads = fetches,
                    .operations = fetches,
                    .bytes = static_cast<double>(bytes)});
  };
  out.seconds = cost(first, box->x, source_bytes(p) + between_bytes) + cost(second, box->y, between_bytes + p.dst.payload_bytes());
  out.passes = {std::move(first), std::move(second)};
  return out;
}

template <class Arguments>
Result<Proposal> propose_two_passes(const Problem& p, bool linear) {
  Result<Proposal> out = propose_with<Arguments>(p, linear);
  if (out || kIntermediate.is_given(p)) return out;
  // Not every device has a sampler or images for the format that would be chosen.
  for (const Between format : {Between::rgba16f, Between::rgba32f}) {
    Problem other = p;
    other.options.insert(kIntermediate.as(format));
    if (Result<Proposal> instead = propose_with<Arguments>(other, linear)) return instead;
  }
  return out;
}

}  // namespace

constinit const Algorithm kBoxNxn = {{"box.nxn", "every pixel of the window, one pass", "Reverse Engineering MPS Box Blur", kNxnOptions},
                                     [](const Problem& p) { return propose_one_pass<glsl::BoxNxn>(p, false); }};

constinit const Algorithm kBoxNxnLinear = {
    {"box.nxn_linear", "one pass, four pixels a fetch through a linear sampler", "Reverse Engineering MPS Box Blur", kNxnLinearOptions},
    [](const Problem& p) { return propose_one_pass<glsl::BoxNxnLinear>(p, true); }};

constinit const Algorithm kBoxSep = {{"box.sep", "every pixel of the window, two passes", "Reverse Engineering MPS Box Blur", kSepOptions},
                                     [](const Problem& p) { return propose_two_passes<glsl::BoxSep>(p, false); }};

constinit const Algorithm kBoxSepLinear = {
    {"box.sep_linear", "two passes, two pixels a fetch through a linear sampler", "Reverse Engineering MPS Box Blur", kSepLinearOptions},
    [](const Problem& p) { return propose_two_passes<glsl::BoxSepLinear>(p, true); }};

}  // namespace mollify
