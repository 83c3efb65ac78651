// Cases that nobody thought of.
#pragma once

#include "cases/cases.h"
#include "cases/random.h"

namespace mollify::cases {

/// A valid request with the planner's choice of algorithm, cheap enough for the reference to take milliseconds.
[[nodiscard]] Case random_case(Random& random);

/// One that suits the kernel: half of them centre pixels on blocks.
[[nodiscard]] PerAxis<Stride> random_stride(Random& random, const KernelSpec& kernel);

}  // namespace mollify::cases
