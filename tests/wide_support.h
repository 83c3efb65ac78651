// Random kernels that are wider than the image, for CPUs and for GPUs.
#pragma once

#include "support.h"

namespace mollify::test {

/// In so many random cases, with windows of 1.2 to 50 lengths of the image at every border, a device takes the blur and keeps to the
/// reference.
void expect_wide_kernels_right(const Device& device, int cases);

}  // namespace mollify::test
