// gauss.boxes: a Gaussian as 3 to 5 extended boxes one after another on each axis, each a running sum: 3 loads a pixel
// and box whatever sigma. The weights of the outermost taps are fractions, so that the variance is right for any sigma;
// what is left is the distance between the boxes' spline and a Gaussian, which falls with their number and hardly with
// sigma. Loses to gauss.decimate wherever that runs, in time as in error: twice as many passes as boxes, each through
// memory. Source: Gwosdek, Grewenig, Bruhn and Weickert 2011, "Theoretical Foundations of Gaussian Convolution by
// Extended Box Filtering".
#include <algorithm>
#include <array>
#include <vector>

#include "algorithms/common/gpu.h"
#include "base/text.h"
#include "gauss_boxes_arguments.h"
#include "math/decimation.h"
#include "math/extended_box.h"
#include "math/weights.h"

namespace mollify {
namespace {

using namespace gpu;

constexpr std::string_view kKernel = glsl::GaussBoxes::kKernel;
constexpr std::int32_t kSegment = 64;
constexpr std::int64_t kMostRadius = 8192;
constexpr ListedNumberOption kBoxes("boxes", {"3", "4", "5"}, "the fewest within the error, else 5", "boxes on each axis",
                                    {.tuned = Tuned::never});
constexpr std::array kOptions = {kBoxes.info(), kStorage.info(), float_intermediate_info("between passes; channels as the source has")};

/// A number of boxes on both axes.
struct Boxes {
  int count = 5;
  PerAxis<ExtendedBox> box;
  double l1_distance = 0.0;

  [[nodiscard]] double error(const Problem& p, Cache between) const {
    // A window's sum is built up and slid along; its partial sums are at most two windows.
    const auto growth = [](const ExtendedBox& b) { return 2.0 * (2.0 * static_cast<double>(b.radius) + 1.0 + 2.0 * kSegment + 6.0); };
    const double rounding = count * (growth(box.x) + growth(box.y)) * unit_roundoff(Accumulator::f32) +
                            (2.0 * count - 1.0) * rounding_step(between, p.src.format);
    return colour_gain(p.spec) * (kernel_distance_error(l1_distance, p.src.format) + rounding) + colour_error(p.spec, Accumulator::f32);
  }
};

Boxes boxes(const Problem& p, const Gaussian& g, int count) {
  Boxes out{count, {extended_box(g.sigma.x, count), extended_box(g.sigma.y, count)}, 0.0};
  out.l1_distance = boxes_distance(out.box.x, count, axis_weights(p.spec.kernel, Axis::x, 0.0)->taps) +
                    boxes_distance(out.box.y, count, axis_weights(p.spec.kernel, Axis::y, 0.0)->taps);
  return out;
}

struct Range {
  std::int64_t first;
  std::int64_t length;
};

/// What each of `count` passes has to make of one axis, the last of them the given range.
std::vector<Range> ranges(std::int64_t first, std::int64_t length, int count, std::int64_t reach) {
  std::vector<Range> out;
  std::int64_t end = first + length;
  for (int i = 0; i < count; ++i) {
    const std::int64_t start = floor_div(first, kSegment) * kSegment;
    out.insert(out.begin(), Range{start, end - start});
    first = start - reach;
    end += reach;
  }
  return out;
}

Result<Proposal> propose(const Problem& p) {
  const auto* gaussian = std::get_if<Gaussian>(&p.spec.kernel);
  if (!gaussian) return refusal("the kernel is no Gaussian");
  if (Result<Storage> s = storage(p, kKernel); !s) return s.error();
  if (extended_box(std::max(gaussian->sigma.x, gaussian->sigma.y), 3).radius > kMostRadius) {
    return refusal("sigma needs boxes of a radius beyond " + std::to_string(kMostRadius));
  }
  Boxes chosen;
  if (const std::optional<std::int32_t> given = kBoxes.given(p)) {
    chosen = boxes(p, *gaussian, *given);
  } else {
    for (const int count : {3, 4, 5}) {
      chosen = boxes(p, *gaussian, count);
      if (chosen.error(p, Cache::f32) <= p.allowed_error) break;
    }
  }
  Proposal out;
  const PixelFormat format = choose_float_intermediate(
      p, [&](Cache between) { return chosen.error(p, between); }, out, kFinite);

  // A running sum takes with it all that it has seen since its segment began.
  const auto reach = [&](const ExtendedBox& box) {
    const std::int64_t before = std::max<std::int64_t>(box.radius + kSegment - 1, box.radius + 1);
    return Reach{static_cast<std::int32_t>(chosen.count * before), static_cast<std::int32_t>(chosen.count * (box.radius + 1))};
  };
  out.reach = PerAxis<Reach>{reach(chosen.box.x), reach(chosen.box.y)};

  // Each pass of an axis leaves what the later ones reach for, so that the border is applied to the source only; rows
  // of the source are mapped when the first vertical pass reads them, which comes to the same. All start on whole
  // segments, where their running sums do.
  const Rect r = region(p);
  const int n = chosen.count;
  const std::vector<Range> columns = ranges(r.x, r.width, n, chosen.box.x.radius + 1);
  const std::vector<Range> lines = ranges(r.y, r.height, n, chosen.box.y.radius + 1);
  const std::int64_t reach_y = chosen.box.y.radius + 1;
  const Span rows =
      needed_span(p.src.height, static_cast<std::int32_t>(lines[0].first), static_cast<std::int32_t>(lines[0].length), reach_y, reach_y);
  const std::int64_t highest = std::max<std::int64_t>(rows.length, lines[0].length);
  const ImageDesc any{static_cast<std::int32_t>(columns[0].length), static_cast<std::int32_t>(highest), format};
  out.intermediates = {any, any};
  const Result<Storage> where = storage(p, kKernel, out.intermediates);
  if (!where) return where.error();

  PerAxis<Range> read = {{0, p.src.width}, {0, p.src.height}};  // what the pass before has left, in pixels of the source
  const auto add = [&](bool vertical, PerAxis<Range> made) {
    const auto index = static_cast<int>(out.passes.size());
    const bool is_last = index == 2 * n - 1;
    // Only the last pass may not write the pixels of its first segment that lie before the region.
    const std::int64_t lead = is_last ? r.y - made.y.first : 0;
    const PerAxis<std::int32_t> lanes = vertical ? PerAxis<std::int32_t>{64, 1} : PerAxis<std::int32_t>{4, 16};
    const PerAxis<std::int32_t> tile =
        vertical ? PerAxis<std::int32_t>{lanes.x, lanes.y * kSegment} : PerAxis<std::int32_t>{lanes.x * kSegment, lanes.y};
    const PerAxis<std::int32_t> covered = {static_cast<std::int32_t>(made.x.length), static_cast<std::int32_t>(made.y.length)};
    const ExtendedBox& box = vertical ? chosen.box.y : chosen.box.x;
    Pass pass = make_pass(glsl::GaussBoxes{.inner = box.inner,
                                           .lead = lead,
                                           .outer = box.outer,
                                           .radius = box.radius,
                                           .segment = kSegment,
                                           .size = {made.x.length, made.y.length - lead},
                                           .source_size = {read.x.length, read.y.length},
                                           .vertical = vertical},
                          covered, tile, lanes, *where);
    pass.origin = {static_cast<std::int32_t>(made.x.first - read.x.first), static_cast<std::int32_t>(made.y.first + lead - read.y.first)};
    if (index > 0) pass.source = intermediate((index - 1) % 2);
    pass.destination = is_last ? kDestination : intermediate(index % 2);
    const std::int64_t pixel_bytes = info(format).pixel_bytes();
    const std::int64_t bytes = (index == 0 ? source_bytes(p) : read.x.length * read.y.length * pixel_bytes) +
                               (is_last ? p.dst.payload_bytes() : made.x.length * made.y.length * pixel_bytes);
    const double loads = 3.0 + (2.0 * static_cast<double>(box.radius) + 1.0) / kSegment;
    out.seconds += seconds(p.device, read_format(p, pass, format),
                           {.pixels = static_cast<double>(made.x.length) * static_cast<double>(made.y.length),
                            .loads = loads,
                            .operations = loads,
                            .bytes = static_cast<double>(bytes)});
    out.moved_bytes += bytes;
    out.passes.push_back(std::move(pass));
    read = made;
  };
  for (const Range& range : columns) add(false, {range, {rows.first, rows.length}});
  for (const Range& range : lines) add(true, {{r.x, r.width}, range});
  out.options.insert({kBoxes.as(n), kStorage.as(*where)});
  out.window_blocks = {kSegment, kSegment};
  return out;
}

}  // namespace

constinit const Algorithm kGaussBoxes = {{"gauss.boxes", "3 to 5 fractional boxes on each axis", "Gwosdek et al. 2011", kOptions}, propose};

}  // namespace mollify
