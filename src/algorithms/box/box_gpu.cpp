#include "algorithms/box/box_gpu.h"

#include <cmath>

namespace mollify {
namespace {

BoxAxis box_axis(const BoxExtent& extent) {
  const double before = std::floor(extent.before);
  const double after = std::floor(extent.after);
  return {static_cast<std::int32_t>(before), static_cast<std::int32_t>(after), extent.before - before, extent.after - after};
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

}  // namespace mollify
