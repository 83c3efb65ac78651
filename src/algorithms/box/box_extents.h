// What boxes for CPUs and for GPUs share: the window around a pixel's place.
#pragma once

#include "algorithms/common/propose.h"

namespace mollify {

/// What the kernel's box holds before and after a pixel's place: where it is centred between that and the next pixel, half a pixel less and
/// half a pixel more. Where all pixels that a window sees are one, that pixel. A refusal of every other kernel, and of windows that do not
/// hold the whole pixel at the place.
[[nodiscard]] Result<PerAxis<BoxExtent>> box_extents(const Problem& p);

}  // namespace mollify
