// What one block of threads of nxn_direct.cu does.
#pragma once

#include <cstdint>

namespace mollify::cuda {

inline constexpr std::int32_t kNxnColumns = 32;
inline constexpr std::int32_t kNxnRows = 4;

}  // namespace mollify::cuda
