// Cases that nobody thought of.
#pragma once

#include "cases/cases.h"
#include "cases/random.h"

namespace mollify::cases {

/// A valid request with the planner's choice of algorithm, cheap enough for the reference to take milliseconds.
[[nodiscard]] Case random_case(Random& random);

}  // namespace mollify::cases
