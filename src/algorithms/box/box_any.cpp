// box.any: exact box of any radius, fractional too, at nearly constant cost a pixel. Vertical sums take in the entering row and
// drop the leaving one; integers are exact, floats sum down in f64, begun anew every segment. Loses to sep.fused at the
// smallest radii. Source: running sums are folklore; blocks of prefix and suffix sums follow van Herk and Gil-Werman.
#include "algorithms/box/box_any.h"

#include <array>
#include <bit>
#include <cmath>
#include <optional>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/pass_arguments.h"
#include "base/places.h"
#include "model/tuning.h"

namespace mollify {
namespace {

constexpr std::string_view kKernel = "box_column_sums";
/// Why 32-bit integer sums cannot do it, or nothing.
std::string integer_obstacle(const Problem& p, const cpu::BoxWindow& x, const cpu::BoxWindow& y) {
  const FormatInfo& source = info(p.src.format);
  if (!source.is_unorm()) return "integer sums need an integer format";
  if (info(p.dst.format).is_wide()) return "integer sums become no " + std::string(info(p.dst.format).name);
  if (p.spec.alpha != AlphaMode::ignore || p.spec.transfer != TransferFunction::none) {
    return "integer sums cannot handle alpha or transfer functions";
  }
  if (x.before_fraction + x.after_fraction + y.before_fraction + y.after_fraction != 0.0) {
    return "integer sums need a whole radius";
  }
  if (static_cast<double>(x.size()) * static_cast<double>(y.size()) * source.unit() >= 0x1p31) {
    return "sums over " + std::to_string(x.size()) + "x" + std::to_string(y.size()) + " pixels exceed 31 bits";
  }
  return {};
}

/// Of windows whose sums begin anew with each pixel.
Halo halo_of(const BoxExtent& extent) {
  return {{.pixels = static_cast<std::int64_t>(std::ceil(extent.before))}, {.pixels = static_cast<std::int64_t>(std::ceil(extent.after))}};
}

/// Of one thread.
std::int64_t scratch_bytes(const cpu::BoxArguments& a, std::int64_t columns, const cpu::BoxWindow& x, const AxisPlaces& down,
                           int channels) {
  if (a.integer) return cpu::BoxIntegerScratch(nullptr, columns, x.size(), channels).bytes;
  const auto of = [&]<class P>(P) { return cpu::BoxFloatScratch<P>(nullptr, columns, x.size(), x.halo(), down.step, channels).bytes; };
  return a.wide_pixels ? of(double{}) : of(float{});
}

/// Tiles of floats are whole segments high, which may leave fewer of them than threads: then they are split into columns.
PerAxis<std::int32_t> tile_for(const Problem& p, const TileNeeds& needs) {
  PerAxis<std::int32_t> tile = cpu_tile(p.device, {p.dst.width, p.dst.height}, needs);
  constexpr std::int64_t kOneTask = 1 << 14;  // pixels that are not worth waking a thread for
  constexpr std::int64_t kSmall = 1 << 18;    // where columns of the halo, which are summed again, are to be few
  const std::int64_t pixels = std::int64_t{p.dst.width} * p.dst.height;
  const std::int64_t across = (std::int64_t{p.dst.width} + tile.x - 1) / tile.x;
  const std::int64_t tasks = across * ((std::int64_t{p.dst.height} + tile.y - 1) / tile.y);
  if (tasks >= p.device.threads || pixels <= kOneTask) return tile;
  constexpr std::int64_t kColumns = 64;  // whole cache lines
  constexpr std::int64_t kOfHalo = 4;
  const std::int64_t least = pixels <= kSmall ? kOfHalo * needs.halo.x : 1;
  const std::int64_t width = std::max((tile.x * tasks + p.device.threads - 1) / p.device.threads, least);
  tile.x = static_cast<std::int32_t>(std::min<std::int64_t>((width + kColumns - 1) / kColumns * kColumns, tile.x));
  return tile;
}

Result<Proposal> propose(const Problem& p) {
  if (p.device.backend == Backend::cuda) return propose_box_any_cuda(p);
  if (p.device.backend != Backend::cpu) return propose_box_any_gpu(p);
  if (Status status = only_options(p, {kBoxAccumulator}); !status) return status.error();
  if (!p.device.has_kernel(kKernel)) return refusal_without_kernel(p, kKernel);
  const Result<PerAxis<BoxExtent>> extent = box_extents(p);
  if (!extent) return extent.error();
  const PerAxis<AxisPlaces> places = places_of(p.spec);
  const cpu::BoxWindow asked_x = cpu::box_window(extent->x);
  const cpu::BoxWindow asked_y = cpu::box_window(extent->y);
  const std::string obstacle = integer_obstacle(p, asked_x, asked_y);
  const std::optional<BoxAccumulator> given = kBoxAccumulator.given(p);
  if (given == BoxAccumulator::i32 && !obstacle.empty()) return refusal(obstacle);
  // Integers slide along the whole window: not where it is much wider than the image, unless they are asked for.
  const bool is_folded = !cpu::fold_window(asked_x, p.spec.border.mode.x, 4 * std::int64_t{p.src.width}).fold.is_empty() ||
                         !cpu::fold_window(asked_y, p.spec.border.mode.y, 4 * std::int64_t{p.src.height}).fold.is_empty();
  const bool integer = obstacle.empty() && (given ? *given == BoxAccumulator::i32 : !is_folded);
  const PerAxis<BorderMode>& mode = p.spec.border.mode;
  const std::int64_t length_x = folded_length(mode.x, p.src.width, p.spec.stride.x);
  const std::int64_t length_y = folded_length(mode.y, p.src.height, p.spec.stride.y);
  const cpu::BoxWindow x = integer ? asked_x : cpu::fold_window(asked_x, mode.x, length_x).window;
  const cpu::BoxWindow y = integer ? asked_y : cpu::fold_window(asked_y, mode.y, length_y).window;

  // Pixels are held in f32 unless their decoding alone would cost too much. What is held is rounded: pixels, means of columns,
  // pairs of them, sums of pairs and windows.
  const auto error = [&](Accumulator pixels) {
    constexpr double kRoundings = 5.0;
    return colour_gain(p.spec) * kRoundings * unit_roundoff(pixels) + colour_error(p.spec, pixels);
  };
  const bool is_wide = info(p.src.format).is_wide() || info(p.dst.format).is_wide();
  const bool wide_pixels = !integer && (is_wide || error(Accumulator::f32) > p.allowed_error);
  const int channels = info(p.src.format).channels;

  Proposal out;
  out.options = {kBoxAccumulator.as(integer ? BoxAccumulator::i32 : BoxAccumulator::f64)};
  out.error = error(wide_pixels ? Accumulator::f64 : Accumulator::f32);

  // The taller the window, the longer a segment must be to pay for its first sums.
  const std::int64_t segment = std::int64_t{1} << std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(64, 4 * y.size()) - 1));
  TileNeeds needs;
  const std::int64_t across = places.x.step, down = places.y.step;
  needs.halo = {x.halo() / across, y.halo() / down};
  needs.column_bytes = channels * (integer ? 12 : 64) * across;
  const double of_pixel = channels * (integer ? 8.0 : wide_pixels ? 100.0 : 40.0);  // half of it down, for each source row
  needs.pixel_operations = of_pixel / 2.0 * static_cast<double>(across * down + across);
  needs.row_multiple = integer ? 1 : static_cast<std::int32_t>(std::clamp<std::int64_t>(segment / down, 1, 1 << 30));
  Pass pass;
  pass.kernel = kKernel;
  const cpu::BoxArguments arguments{.integer = integer, .wide_pixels = wide_pixels, .segment_rows = segment};
  write_arguments(arguments, pass);
  pass.extent = *extent;
  pass.size = {p.dst.width, p.dst.height};
  pass.tile = tile_for(p, needs);
  out.moved_bytes = moved_bytes(p, pass.tile, needs.halo);
  out.scratch_bytes = p.device.threads * scratch_bytes(arguments, places.x.length(pass.tile.x), x, places.y, channels);
  constexpr double kOfFirstSums = 0.4;  // a row of a segment's first sums, of what a row of pixels takes, as measured
  const double first_sums = kOfFirstSums * static_cast<double>(y.size()) / static_cast<double>(pass.tile.y * down) + 1.0;
  const double pixels = static_cast<double>(p.dst.width) * p.dst.height;
  out.seconds = arithmetic_seconds(p.device, pixels * needs.pixel_operations * first_sums) + copy_seconds(p.device, out.moved_bytes);
  out.passes.push_back(std::move(pass));
  if (!integer) {  // sums of columns begin with a segment
    out.halo = {halo_of(extent->x), halo_of(extent->y)};
    out.halo->y.before.block = segment;
  }
  return out;
}

}  // namespace

constinit const Algorithm kBoxAny = {.info = {"box.any", "exact box of any radius at nearly constant cost",
                                              "van Herk 1992, Gil and Werman 1993; this project", kBoxAnyOptions},
                                     .propose = propose,
                                     .takes_strides = true,
                                     .takes_wide = true};

}  // namespace mollify
