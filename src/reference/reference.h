// The definition of every blur in float64, direct and slow. Shares no code with the rest of the library,
// so that a mistake there cannot hide here.
#pragma once

#include <array>
#include <vector>

#include "mollify/image.h"
#include "mollify/result.h"
#include "mollify/spec.h"

namespace mollify {

/// The exact result: channels interleaved, full scale 1 for unorm sources, before rounding and clamping to an output
/// format. width * height * channels numbers, the size of the destination.
[[nodiscard]] Result<std::vector<double>> reference_blur(const BlurSpec& spec, const ConstImageView& src);

/// One pixel of the same, at (x, y) of the destination. For images too large for the whole.
[[nodiscard]] Result<std::array<double, 4>> reference_at(const BlurSpec& spec, const ConstImageView& src, std::int32_t x, std::int32_t y);

}  // namespace mollify
