// Kernels of CUDA on the processor.
#pragma once

#include <functional>
#include <string>

namespace mollify::test {

/// What runs the kernel of this name with these arguments, of which it has a copy; empty where there is no such kernel. `waits`: it may
/// begin before the kernels before it have ended, and ends the program if not all of its threads wait for them.
[[nodiscard]] std::function<void()> emulated_launch(const std::string& name, const void* arguments, unsigned blocks, unsigned threads,
                                                    bool waits);

}  // namespace mollify::test
