#include "algorithms/box/box_extents.h"

#include <utility>

#include "base/places.h"

namespace mollify {

Result<PerAxis<BoxExtent>> box_extents(const Problem& p) {
  const auto* box = std::get_if<Box>(&p.spec.kernel);
  if (!box) return refusal("the kernel is no box");
  PerAxis<BoxExtent> out = box->extent;
  const PerAxis<AxisPlaces> places = places_of(p.spec);
  for (const auto& [extent, place] : {std::pair(&out.x, places.x), std::pair(&out.y, places.y)}) {
    if (!place.between) continue;
    if (extent->before < 0.5) return refusal("a window centred between pixels reaches at least half a pixel before its centre");
    *extent = {extent->before - 0.5, extent->after + 0.5};
  }
  const auto see_one_pixel = [](std::int32_t length, BorderMode mode) { return length == 1 && mode != BorderMode::constant; };
  if (see_one_pixel(p.src.width, p.spec.border.mode.x)) out.x = {0.0, 0.0};
  if (see_one_pixel(p.src.height, p.spec.border.mode.y)) out.y = {0.0, 0.0};
  return out;
}

}  // namespace mollify
