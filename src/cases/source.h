// Random images, and single numbers into any format.
#pragma once

#include <cstdint>
#include <vector>

#include "cases/cases.h"
#include "mollify/mollify.h"

namespace mollify::cases {

/// Writes channel `channel` of the pixel at (x, y); full scale is 1, rounded and clamped to what the format holds.
void store(const ImageView& image, std::int32_t x, std::int32_t y, int channel, double value);

/// Integers: every one alike; with every third seed, where there is no alpha, areas of the least and the largest. Float: about [-1, 2], and
/// a few values around 1000 with every fourth seed; with an sRGB curve mostly [0, 1]. An alpha that is premultiplied by lies in [0, 1] with
/// many exact zeros and ones.
void fill_random(const ImageView& image, const BlurSpec& spec, std::uint64_t seed);

/// Overwrites one to three pixels of floats by what `content` names, and says which. Outliers leave an alpha that is premultiplied
/// by as it is.
std::vector<PerAxis<std::int32_t>> plant(const ImageView& image, const BlurSpec& spec, Content content, std::uint64_t seed);

}  // namespace mollify::cases
