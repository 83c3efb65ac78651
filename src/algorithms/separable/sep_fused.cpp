// sep.fused: any separable taps in one pass. On CPUs each source row is filtered horizontally into a ring of rows, and
// output rows vertically out of that; no intermediate image is written. 2R + 1 multiply-adds a component and axis, so it
// loses to box.any and to decimated Gaussians when R is large. Symmetric kernels on 8-bit images, up to some 120 taps, are
// summed in 16-bit integers on CPUs; with a stride also those of an even number of taps, with alpha, and to 16 bits.
// Source: this project.
#include "algorithms/separable/sep_fused.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <variant>

#include "algorithms/common/separable.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/pass_arguments.h"
#include "base/places.h"
#include "math/weights.h"
#include "model/tuning.h"

namespace mollify {
namespace {

constexpr std::string_view kKernel = "sep_fused";
constexpr std::string_view kIntegerKernel = "sep_fused_u8";
// Multiply-adds of the float kernel, with decoding and the like, that one of 16-bit integers takes as long as.
constexpr double kIntegerCost = 0.63;

constexpr std::int64_t kMostRowBytes = 16384;  // of a tile: a decoded row and a filtered one share the first cache

constexpr int kMostHalvings = 8;  // of sums of 16 bits; more make hardly a difference

Proposal finish(const Problem& p, Pass pass, TileNeeds needs, double row_cost, const auto& scratch_bytes) {
  Proposal out;
  const int channels = info(p.src.format).channels;
  pass.size = {p.dst.width, p.dst.height};
  pass.tile = cpu_tile(p.device, pass.size, needs);
  out.moved_bytes = moved_bytes(p, pass.tile, needs.halo);
  out.scratch_bytes = p.device.threads * scratch_bytes(pass.tile.x);
  // Rows of the halo are filtered horizontally with the tile's own.
  const double overlap = needs.pixel_operations / 2.0 * static_cast<double>(needs.halo.y) / pass.tile.y;
  const double pixels = static_cast<double>(p.dst.width) * p.dst.height;
  out.seconds = arithmetic_seconds(p.device, pixels * (needs.pixel_operations + overlap + row_cost * channels)) +
                copy_seconds(p.device, out.moved_bytes);
  out.passes.push_back(std::move(pass));
  return out;
}

/// With a stride: they come from one to another number of bits, and alpha is a product of bytes that 16 bits hold.
Status check_16_bit_sums_apart(const Problem& p) {
  const FormatInfo &source = info(p.src.format), &destination = info(p.dst.format);
  if (!source.is_unorm() || source.bits != 8 || !destination.is_unorm()) {
    return refusal("16-bit sums need an 8-bit image, and one of 8 or 16 bits as the destination");
  }
  if (p.spec.transfer != TransferFunction::none) return refusal("16-bit sums cannot handle transfer functions");
  return {};
}

/// What the integer kernel of images with a stride needs, which filters down first.
TileNeeds needs_apart(const Problem& p, PerAxis<std::int64_t> taps) {
  const std::int64_t across = p.spec.stride.x.step, down = p.spec.stride.y.step;
  const std::int64_t pixel_bytes = info(p.src.format).channels * std::int64_t{sizeof(std::uint16_t)};
  TileNeeds needs;
  needs.halo = {(taps.x - 1) / across, (taps.y - 1) / down};
  needs.column_bytes = (taps.y + 2) * across * pixel_bytes;  // the ring, and a filtered row twice
  needs.most_columns = std::max<std::int64_t>(kMostRowBytes / (pixel_bytes * across), 1);
  needs.pixel_operations = static_cast<double>((taps.x + taps.y * across) * info(p.src.format).channels) * kIntegerCost;
  return needs;
}

/// In 16-bit integers, where the image is one of 8 bits that is only blurred. Cutting an endless kernel may take the
/// share `cut_share` of the error.
Result<Proposal> propose_integer(const Problem& p, double cut_share, int halvings) {
  const FormatInfo& source = info(p.src.format);
  const bool apart = has_stride(p.spec);
  const bool has_alpha = p.spec.alpha == AlphaMode::premultiply;
  if (!p.device.has_kernel(kIntegerKernel)) return refusal_without_kernel(p, kIntegerKernel);
  if (Status s = apart ? check_16_bit_sums_apart(p) : check_16_bit_sums(p); !s) return s.error();
  std::optional<SeparableTaps> s = separable_taps(p, cut_share);
  if (!s) return refusal("the matrix is no product of a column and a row");
  const std::optional<FixedWeights> x = rounded_to_fixed(s->taps.x, halvings);
  const std::optional<FixedWeights> y = rounded_to_fixed(s->taps.y, halvings);
  if (!x || !y || (!apart && (x->is_even || y->is_even))) {
    return refusal("16-bit sums need symmetric taps, none negative, that sum to one");
  }
  const auto nx = static_cast<std::int64_t>(x->taps.size());
  const auto ny = static_cast<std::int64_t>(y->taps.size());
  const int channels = source.channels;

  // Means of two sums are rounded up; those of two source pixels are exact, but not of products with alpha.
  const double pairs = has_alpha ? 1.0 : 0.5;
  const Result<RoundingOf16BitSums> rounding = rounding_of_16_bit_sums(p, -x->lost - y->lost, x->gained + y->gained + pairs);
  if (!rounding) return rounding.error();
  double error = x->distance + y->distance + rounding->error;
  if (has_alpha) {
    constexpr double kCoarser = static_cast<double>(cpu::kFixedOne) / cpu::kPremultipliedOne;  // steps of such numbers
    error = colour_gain(p.spec) * (x->distance + y->distance + rounding->error * kCoarser);
    if (rounding->given_back < 0.0) return refusal("16-bit sums with alpha need more taps");
  }
  if (has_alpha || p.dst.format != p.src.format) error += colour_error(p.spec, Accumulator::f32);  // they become floats at last

  const PerAxis<std::int64_t> taps{static_cast<std::int64_t>(s->taps.x.weights.size()),
                                   static_cast<std::int64_t>(s->taps.y.weights.size())};
  const PerAxis<std::int64_t> step{p.spec.stride.x.step, p.spec.stride.y.step};
  TileNeeds needs;
  needs.halo = {2 * (nx - 1), 2 * (ny - 1)};
  const std::int64_t pixel_bytes = channels * std::int64_t{sizeof(std::uint16_t)};
  needs.column_bytes = (2 * ny + cpu::kRowGroup) * pixel_bytes;  // the ring, and the row that is filtered next
  needs.most_columns = kMostRowBytes / pixel_bytes;
  needs.pixel_operations = static_cast<double>(2 * (nx + ny) * channels) * kIntegerCost;
  Pass pass;
  pass.kernel = kIntegerKernel;
  write_arguments(cpu::FixedArguments{halvings, rounding->number()}, pass);
  pass.taps = std::move(s->taps);
  constexpr double kRowCost = 3.0;
  Proposal out;
  if (apart) {
    const double source_rows = static_cast<double>(step.x * std::min(step.y, taps.y));
    out = finish(p, std::move(pass), needs_apart(p, taps), kRowCost / 2.0 * (1.0 + source_rows), [&](std::int32_t columns) {
      return cpu::SepFusedU8ApartScratch(nullptr, columns, {taps.x, step.x}, {taps.y, step.y}, channels).bytes;
    });
  } else {
    out = finish(p, std::move(pass), needs, kRowCost,
                 [&](std::int32_t columns) { return cpu::SepFusedU8Scratch(nullptr, columns, nx - 1, ny - 1, channels).bytes; });
  }
  out.error = s->cut_error + error;
  out.options = {kFusedAccumulator.as(FusedAccumulator::u16)};
  return out;
}

Result<Proposal> propose(const Problem& p) {
  if (kFusedAccumulator.given(p) == FusedAccumulator::f32 && has_wide_format(p)) return refusal_of_f32_sums(p);
  if (p.device.backend == Backend::cuda) return propose_sep_fused_cuda(p);
  if (p.device.backend == Backend::vulkan) return propose_sep_fused_gpu(p);
  if (!p.device.has_kernel(kKernel)) return refusal_without_kernel(p, kKernel);
  if (Status status = only_options(p, {kFusedAccumulator}); !status) return status.error();
  const std::optional<FusedAccumulator> given = kFusedAccumulator.given(p);
  const bool asked = given == FusedAccumulator::u16;
  if (asked || (!given && !std::holds_alternative<Box>(p.spec.kernel))) {
    Result<Proposal> rough = propose_integer(p, 0.5, 0);
    for (int halvings = 0; rough && rough->error > p.allowed_error && halvings <= kMostHalvings; ++halvings) {
      rough = propose_integer(p, 0.1, halvings);
    }
    if (asked || (rough && rough->error <= p.allowed_error)) return rough;
  }
  std::optional<SeparableTaps> s = separable_taps(p);
  if (!s) return refusal("the matrix is no product of a column and a row");

  const bool wide = fused_is_wide(p, *s);
  const int channels = info(p.src.format).channels;
  const auto nx = static_cast<std::int64_t>(s->taps.x.weights.size());
  const auto ny = static_cast<std::int64_t>(s->taps.y.weights.size());
  const double error = s->cut_error + rounding_error(p, *s, wide ? Accumulator::f64 : Accumulator::f32);

  const std::int64_t across = p.spec.stride.x.step;
  const std::int64_t down = p.spec.stride.y.step;
  TileNeeds needs;
  needs.halo = {(nx - 1) / across, (ny - 1) / down};
  needs.column_bytes = (ny + 2 * cpu::kRowGroup * down) * channels * (wide ? 8 : 4);
  needs.most_columns = std::max<std::int64_t>(kMostRowBytes / (channels * std::int64_t{sizeof(float)} * across), 1);
  needs.pixel_operations = static_cast<double>((nx * std::min(down, ny) + ny) * channels) * (wide ? 2.0 : 1.0);
  Pass pass;
  pass.kernel = kKernel;
  write_arguments(cpu::FloatArguments{wide}, pass);
  pass.taps = std::move(s->taps);
  // Decoding, storing and encoding a component, in multiply-adds; all but half of it for each source pixel.
  constexpr double kRowCost = 6.0;
  const double row_cost = kRowCost / 2.0 * (1.0 + static_cast<double>(across * std::min(down, ny)));
  Proposal out = finish(p, std::move(pass), needs, row_cost, [&](std::int32_t columns) {
    const cpu::TapsShape x{nx, across}, y{ny, down};
    return wide ? cpu::SepFusedScratch<double>(nullptr, columns, x, y, channels).bytes
                : cpu::SepFusedScratch<float>(nullptr, columns, x, y, channels).bytes;
  });
  out.options = {kFusedAccumulator.as(wide ? FusedAccumulator::f64 : FusedAccumulator::f32)};
  out.error = error;
  return out;
}

}  // namespace

namespace {

/// Whether the result shows what sums of f32 lose, whatever error is allowed: means of more than a few equal numbers as 32-bit floats.
bool shows_rounding(const Problem& p, const SeparableTaps& taps) {
  constexpr std::size_t kFew = 3;
  const FormatInfo& destination = info(p.dst.format);
  return std::holds_alternative<Box>(p.spec.kernel) && !destination.is_unorm() && destination.bits == 32 &&
         std::max(taps.taps.x.weights.size(), taps.taps.y.weights.size()) > kFew;
}

}  // namespace

bool fused_is_wide(const Problem& p, const SeparableTaps& taps) {
  if (const auto given = kFusedAccumulator.given(p)) return *given == FusedAccumulator::f64;
  return has_wide_format(p) || taps.cut_error + rounding_error(p, taps, Accumulator::f32) > p.allowed_error || shows_rounding(p, taps);
}

constinit const Algorithm kSepFused = {
    .info = {"sep.fused", "separable taps, vertical and horizontal in one pass", "this project", kFusedOptions},
    .propose = propose,
    .takes_strides = true,
    .takes_wide = true};

}  // namespace mollify
