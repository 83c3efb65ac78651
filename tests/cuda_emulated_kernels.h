// The kernels of box.any on the processor.
#pragma once

#include <string>

#include "backends/cuda/kernels/arguments.h"

namespace mollify::test {

[[nodiscard]] bool has_box(const std::string& name);
/// Runs the kernel of this name, which there is.
void launch_box(const std::string& name, const cuda::BoxAny& arguments, unsigned blocks, unsigned threads);

[[nodiscard]] bool has_matrix(const std::string& name);
void launch_matrix(const std::string& name, const cuda::SepMatrix& arguments, unsigned blocks, unsigned threads);

}  // namespace mollify::test
