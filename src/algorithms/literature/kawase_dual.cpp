// kawase.dual: a Gaussian as games make it for glow: down a pyramid with 5 taps a level, up again with 8, both between
// coarse samples and a fitted offset away. About 20 loads a pixel down, 32 up, whatever sigma, four a tap, which a linear
// sampler would do in one; but the shape is a Gaussian's only roughly, tens of 8-bit steps away in the worst case, and
// depends on where a pixel lies in its coarse sample. Loses to gauss.decimate in all but habit. Source: Bjorge 2015,
// "Bandwidth-Efficient Rendering", after Kawase 2003.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "algorithms/common/gpu.h"
#include "base/text.h"
#include "kawase_dual_arguments.h"
#include "math/decimation.h"
#include "math/dual_filter.h"

namespace mollify {
namespace {

using namespace gpu;

constexpr std::string_view kKernel = glsl::KawaseDual::kKernel;
constexpr PerAxis<std::int32_t> kGroup = {16, 16};
constexpr ListedNumberOption kLevels("levels", {"1", "2", "3", "4", "5"}, "those whose taps lie about a sample apart",
                                     "halvings of the image", {.tuned = Tuned::never});
constexpr std::array kOptions = {kLevels.info(), kStorage.info(),
                                 float_intermediate_info("levels of the pyramid; channels as the source has")};

double error_of(const Problem& p, const DualFilter& filter, double l1_distance, Cache coarse) {
  constexpr double kRoundings = 24.0;  // of a level: positions, interpolations, eight taps
  const double steps = 2.0 * filter.levels;
  const double rounding = steps * kRoundings * unit_roundoff(Accumulator::f32) + (steps - 1.0) * rounding_step(coarse, p.src.format);
  return colour_gain(p.spec) * (kernel_distance_error(l1_distance, p.src.format) + rounding) + colour_error(p.spec, Accumulator::f32);
}

/// Coarse samples of a level, or pixels.
struct Range {
  std::int64_t first;
  std::int64_t last;
  [[nodiscard]] std::int32_t length() const { return static_cast<std::int32_t>(last - first + 1); }
};

Range read_by_up(const Range& made, std::int64_t margin) {
  return {floor_div(made.first, 2) - 1 - margin, floor_div(made.last, 2) + 1 + margin};
}

Range read_by_down(const Range& made, std::int64_t margin) {
  return {2 * made.first - margin, 2 * made.last + 1 + margin};
}

/// What has to be made of one axis on the way down, level 1 first, and on the way up, level 0 first.
struct Levels {
  std::vector<Range> down;
  std::vector<Range> up;
};

Levels levels_of(std::int64_t first, std::int64_t length, const DualFilter& filter) {
  const auto margin = static_cast<std::int64_t>(std::ceil(filter.offset));
  Levels out;
  out.up.push_back({first, first + length - 1});
  for (int level = 1; level < filter.levels; ++level) out.up.push_back(read_by_up(out.up.back(), margin));
  out.down.push_back(read_by_up(out.up.back(), margin));
  for (int level = 1; level < filter.levels; ++level) {
    out.down.insert(out.down.begin(), read_by_down(out.down.front(), margin));
  }
  return out;
}

/// What a pixel is made of, wherever it lies in its coarse sample of the last level.
Reach reach_of(const DualFilter& filter) {
  const auto margin = static_cast<std::int64_t>(std::ceil(filter.offset));
  std::int64_t before = 0, after = 0;
  for (std::int64_t pixel = 0; pixel < std::int64_t{1} << filter.levels; ++pixel) {
    const Range read = read_by_down(levels_of(pixel, 1, filter).down.front(), margin);
    before = std::max(before, pixel - read.first);
    after = std::max(after, read.last - pixel);
  }
  return {static_cast<std::int32_t>(before), static_cast<std::int32_t>(after)};
}

Result<Proposal> propose(const Problem& p) {
  const auto* gaussian = std::get_if<Gaussian>(&p.spec.kernel);
  if (!gaussian) return refusal("the kernel is no Gaussian");
  if (gaussian->radius || gaussian->truncate) return refusal("a Gaussian cut at a given radius is not what the pyramid makes");
  if (gaussian->sigma.x != gaussian->sigma.y) return refusal("the pyramid blurs both axes alike");
  if (Result<Storage> s = storage(p, kKernel); !s) return s.error();
  const std::int32_t wanted = kLevels.of(p, 0);
  const std::optional<DualFilter> filter = fit_dual_filter(gaussian->sigma.x, wanted);
  if (!filter) {
    return refusal("no taps 0.25 to 2 samples apart make sigma " + number(gaussian->sigma.x) +
                   (wanted == 0 ? " on 1 to 5 levels" : " on " + std::to_string(wanted) + " levels"));
  }

  const double enough = p.allowed_error / (colour_gain(p.spec) * kernel_distance_error(1.0, p.src.format));
  const double l1_distance = dual_filter_distance(*filter, gaussian->sigma.x, enough);
  Proposal out;
  const auto error = [&](Cache coarse) { return error_of(p, *filter, l1_distance, coarse); };
  const PixelFormat format = choose_float_intermediate(p, error, out, finite_sums(p));

  out.reach = PerAxis<Reach>{reach_of(*filter), reach_of(*filter)};

  // Levels are as large as the later ones reach, so that the border is applied to the source only.
  const Rect r = region(p);
  const Levels x = levels_of(r.x, r.width, *filter);
  const Levels y = levels_of(r.y, r.height, *filter);
  for (std::size_t i = 0; i < x.down.size(); ++i) out.intermediates.push_back({x.down[i].length(), y.down[i].length(), format});
  for (std::size_t i = x.up.size(); i-- > 1;) out.intermediates.push_back({x.up[i].length(), y.up[i].length(), format});
  const Result<Storage> where = storage(p, kKernel, out.intermediates);
  if (!where) return where.error();
  if (Status fits = check_group(p, kGroup); !fits) return fits.error();

  PerAxis<std::int64_t> read_first = {0, 0};
  const auto add = [&](bool up, const Range& columns, const Range& rows) {
    Pass pass = make_pass(glsl::KawaseDual{.first = {columns.first, rows.first}, .offset = static_cast<double>(filter->offset), .step = up},
                          {columns.length(), rows.length()}, kGroup, kGroup, *where);
    const auto index = static_cast<std::int32_t>(out.passes.size());
    const bool is_last = index == 2 * filter->levels - 1;
    if (index > 0) pass.source = intermediate(index - 1);
    pass.destination = is_last ? kDestination : intermediate(index);
    pass.origin = {static_cast<std::int32_t>(-read_first.x), static_cast<std::int32_t>(-read_first.y)};
    const std::int64_t bytes = (index == 0 ? source_bytes(p) : out.intermediates[static_cast<std::size_t>(index - 1)].payload_bytes()) +
                               (is_last ? p.dst.payload_bytes() : out.intermediates[static_cast<std::size_t>(index)].payload_bytes());
    const double loads = up ? 32.0 : 20.0;
    out.seconds += seconds(p.device, read_format(p, pass, format),
                           {.pixels = static_cast<double>(pass.size.x) * pass.size.y,
                            .loads = loads,
                            .operations = loads,
                            .bytes = static_cast<double>(bytes)});
    out.passes.push_back(std::move(pass));
    read_first = {columns.first, rows.first};
  };
  for (std::size_t i = 0; i < x.down.size(); ++i) add(false, x.down[i], y.down[i]);
  for (std::size_t i = x.up.size(); i-- > 0;) add(true, x.up[i], y.up[i]);
  out.options.insert({kLevels.as(filter->levels), kStorage.as(*where)});
  out.window_blocks = {1 << filter->levels, 1 << filter->levels};
  out.moved_bytes = moved_bytes(p, out.intermediates);
  return out;
}

}  // namespace

constinit const Algorithm kKawaseDual = {
    {"kawase.dual", "dual-filter pyramid, as games use it", "Bjorge 2015, after Kawase 2003", kOptions}, propose};

}  // namespace mollify
