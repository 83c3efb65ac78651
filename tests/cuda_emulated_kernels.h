// Kernels of CUDA on the processor.
#pragma once

#include <functional>
#include <string>

namespace mollify::test {

/// What runs the kernel of this name with these arguments, of which it has a copy; empty where there is no such kernel.
[[nodiscard]] std::function<void()> emulated_launch(const std::string& name, const void* arguments, unsigned blocks, unsigned threads);

}  // namespace mollify::test
