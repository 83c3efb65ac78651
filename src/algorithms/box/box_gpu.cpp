#include "algorithms/box/box_gpu.h"

#include <algorithm>
#include <cmath>

#include "algorithms/box/box_any.h"

namespace mollify {
namespace {

BoxAxis box_axis(const BoxExtent& extent) {
  const double before = std::floor(extent.before);
  const double after = std::floor(extent.after);
  return {static_cast<std::int32_t>(before), static_cast<std::int32_t>(after), extent.before - before, extent.after - after};
}

/// Of windows that are followed by pixels up to the end of a block. Before a window one more pixel is read, which has left it, and beyond
/// either end one that may be weighed by nothing.
Halo halo_of(const BoxAxis& axis, std::int64_t block) {
  return {{.pixels = axis.reach_before() + 1, .block = block}, {.pixels = axis.reach_after() + block, .block = block}};
}

/// Means up to here are summed as they come. Halves are never larger than the limit of floats. Those from 32768 on, which is kOutlier of
/// outliers.glsl and kBoxOutlier of CUDA, count as infinite as they enter a sum; in large windows a smaller one leaves an error of 32 times
/// the roundoff at most.
double largest_mean(const Problem& p, const PerAxis<BoxAxis>& box) {
  constexpr double kOfFloats = 0x1p17;  // more than codes of 16 bits, heights in metres and light in candelas come to
  constexpr double kOfHalves = 0x1p6;
  constexpr double kSmallWindow = 1024.0;
  if (info(p.src.format).bits == 32) return kOfFloats;
  return box.x.length() * box.y.length() < kSmallWindow ? kOfHalves : kOfFloats;
}

}  // namespace

Result<PerAxis<BoxAxis>> box_axes(const Problem& p, PerAxis<std::int64_t> most) {
  const Result<PerAxis<BoxExtent>> extent = box_extents(p);
  if (!extent) return extent.error();
  const PerAxis<BoxAxis> axes{box_axis(extent->x), box_axis(extent->y)};
  if (axes.x.taps() > most.x || axes.y.taps() > most.y) {
    const std::string limit = most.x == most.y ? std::to_string(most.x) : std::to_string(most.x) + "x" + std::to_string(most.y);
    return refusal("the window of " + std::to_string(axes.x.taps()) + "x" + std::to_string(axes.y.taps()) + " pixels is longer than " +
                   limit);
  }
  return axes;
}

PerAxis<std::int64_t> longest_windows(const ImageDesc& image) {
  constexpr std::int64_t kImages = 4;
  constexpr std::int64_t kAlways = 4096;
  return {kImages * image.width + kAlways, kImages * image.height + kAlways};
}

std::string box_any_obstacle(const Problem& p, const PerAxis<BoxAxis>& box, BoxAnySums sums) {
  if (!is_integer(sums)) return {};
  const FormatInfo& source = info(p.src.format);
  if (!source.is_unorm()) return "integer sums need an integer format";
  if (p.spec.alpha != AlphaMode::ignore || p.spec.transfer != TransferFunction::none) {
    return "integer sums cannot handle alpha or transfer functions";
  }
  if (!box.x.is_whole() || !box.y.is_whole()) return "integer sums need a whole radius";
  if (sums == BoxAnySums::u16x2 && source.bits != 8) return "pixels of 16 bits leave no room for sums in 16";
  if (sums == BoxAnySums::u16x2 && source.channels == 1) return "one channel needs no second half of a word";
  if (static_cast<double>(box.y.whole()) * box.x.whole() * source.unit() >= 0x1p32) {
    return "sums over " + std::to_string(box.x.whole()) + "x" + std::to_string(box.y.whole()) + " pixels exceed 32 bits";
  }
  return {};
}

Result<PerAxis<BoxAxis>> box_any_axes(const Problem& p) {
  return box_axes(p, longest_windows(p.src));
}

SeparableTaps box_taps(const PerAxis<BoxAxis>& box) {
  SeparableTaps out;
  out.growth = {box.x.growth(), box.y.growth()};
  return out;
}

TwoPasses two_passes(const Problem& p, const BoxAxis& vertical, PixelFormat intermediate) {
  const Rect r = gpu::region(p);
  TwoPasses out;
  out.rows = gpu::needed_span(p.src.height, r.y, r.height, vertical.reach_before(), vertical.reach_after());
  out.between = {r.width, out.rows.length, intermediate};
  out.first_origin = {r.x, out.rows.first};
  out.second_origin = {0, r.y - out.rows.first};
  return out;
}

std::optional<PerAxis<std::int32_t>> tile_of_whole(const Problem& p, BoxAnySums sums) {
  if (p.whole == nullptr || is_integer(sums)) return std::nullopt;
  const auto is_last = [](const Pass& pass) { return pass.destination.kind == Binding::Kind::destination; };
  return std::ranges::find_if(p.whole->passes, is_last)->tile;
}

void set_box_blocks(const PerAxis<BoxAxis>& box, BoxAnySums sums, PerAxis<std::int32_t> blocks, Proposal& out) {
  if (is_integer(sums)) {
    out.window_blocks = {1, 1};
  } else {
    out.halo = {halo_of(box.x, blocks.x), halo_of(box.y, blocks.y)};
  }
}

bool box_can_spoil(const Problem& p) {
  return !info(p.src.format).is_unorm();
}

double box_lift(const Problem& p, const PerAxis<BoxAxis>& box, double widest) {
  if (!box_can_spoil(p)) return 1.0;
  constexpr double kLargestExponent = 128.0;
  return std::exp2(std::floor(kLargestExponent - std::log2(largest_mean(p, box) * std::max(widest, 1.0))));
}

}  // namespace mollify
