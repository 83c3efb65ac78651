// Kernels for the smaller levels of a mip map.
#pragma once

#include <string>

#include "mollify/spec.h"

namespace mollify::cli {

/// The kernel that does to a level `scale` times the size what `kernel` does to the full image.
/// Throws Failure for kernels that are only defined in pixels.
[[nodiscard]] KernelSpec scaled_kernel(const KernelSpec& kernel, PerAxis<double> scale, const std::string& path);

}  // namespace mollify::cli
