// The block of threads of copy.cu.
#pragma once

namespace mollify::cuda {

inline constexpr unsigned kCopyThreads = 256;

}  // namespace mollify::cuda
