// Plans of windows, for backends whose kernels know only images.
#pragma once

#include <cstdint>
#include <vector>

#include "base/source_needs.h"
#include "mollify/plan.h"

namespace mollify {

/// The plan of a window of `whole` as a blur by `spec` of an image `src`, which is a part of the whole source. It has the algorithm and the
/// options of the whole, and what these leave to the size of an image is as in the whole.
[[nodiscard]] Result<Plan> make_window_plan(const Plan& whole, const BlurSpec& spec, const ImageDesc& src);

/// Rows of the destination that strips of about so many have, from top to bottom. They begin where blocks of the source do, so that all but
/// those at the edges read parts of the same shape.
[[nodiscard]] std::vector<Span> full_width_strips(const Plan& whole, std::int64_t rows);

}  // namespace mollify
