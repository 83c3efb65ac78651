// The measured error of a result: max(0, |out - exact| - half an output step) over full scale, as mollify::Accuracy
// says.
#pragma once

#include <string>

#include "mollify/mollify.h"

namespace mollify::cases {

struct Comparison {
  double max_error = 0.0;  ///< infinite where a result is no number
  std::string worst;       ///< where it is, what came out and what should have
};

/// Compares the whole destination up to a megapixel, above it the corners, pieces of the edges and 2,000 random pixels.
[[nodiscard]] Result<Comparison> compare_with_reference(const BlurSpec& spec, const ConstImageView& src,
                                                        const ConstImageView& dst);

}  // namespace mollify::cases
