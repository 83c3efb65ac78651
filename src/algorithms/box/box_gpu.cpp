#include "algorithms/box/box_gpu.h"

#include <cmath>

#include "algorithms/box/box_any.h"

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

}  // namespace mollify
