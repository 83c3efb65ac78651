// How the tests of signs look at results: none below the least pixel, nor above the largest.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "mollify/mollify.h"

namespace mollify::test {

/// Stars and random images with outliers, in f16 and f32, blurred by Gaussians of such sigmas as the planner chooses, or by an
/// algorithm. The Gaussians are cut at so many sigma, or not at all. Returns the number of blurs that were judged.
int expect_signs_hold(const Device& device, std::span<const double> sigmas, std::string_view algorithm = {},
                      std::optional<double> truncate = {});

/// The same of 8-bit images and Gaussians that are cut, also where much error is allowed.
int expect_bytes_hold(const Device& device, std::span<const double> sigmas, std::string_view algorithm = {});

}  // namespace mollify::test
