// Kernels of CUDA on the processor.
#pragma once

#include <functional>
#include <string>

namespace mollify::test {

/// What runs the kernel of this name with a copy of `arguments`, which are of the kernel's type. Empty if there is none of this name.
[[nodiscard]] std::function<void()> launch_of(const std::string& name, const void* arguments, unsigned blocks, unsigned threads);

}  // namespace mollify::test
