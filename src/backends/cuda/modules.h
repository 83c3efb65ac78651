// The kernels as the build embeds them: for each source of kernels/, machine code for some GPUs and code that a driver compiles for others.
#pragma once

#include <span>
#include <string_view>

namespace mollify::cuda {

struct ModuleImage {
  std::string_view id;  ///< the stem of the source
  const void* bytes;    ///< a fat binary, which knows its own length
};

/// All of them, sorted by id. The build writes the table, see cmake/cuda.cmake.
[[nodiscard]] std::span<const ModuleImage> module_images();

}  // namespace mollify::cuda
