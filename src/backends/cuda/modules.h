// The kernels as the build embeds them: for each source of kernels/, machine code for some GPUs and code that a driver compiles for others.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace mollify::cuda {

struct ModuleImage {
  std::string_view id;  ///< the stem of the source
  const void* bytes;    ///< a fat binary, which knows its own length
};

/// What the kernels are compiled for. Compute capabilities are ten times the major number and the minor one.
struct ModuleTargets {
  std::span<const std::int32_t> machine;  ///< those with machine code, which runs on their own and on later minor numbers
  std::span<const std::int32_t> driver;   ///< those with code that a driver compiles for them and for all later ones
};
[[nodiscard]] ModuleTargets module_targets();

/// All of them, sorted by id. The build writes the table, see cmake/cuda.cmake.
[[nodiscard]] std::span<const ModuleImage> module_images();

}  // namespace mollify::cuda
