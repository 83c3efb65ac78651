// The block of threads of numbers.cu, and how arrays lie that it gathers.
#pragma once

#include <cstdint>

namespace mollify::cuda {

inline constexpr int kNumbersThreads = 256;
inline constexpr int kMostAxes = 8;

/// NumberType, by the same numbers.
enum Number : std::int32_t { kF32, kBoolean, kI8, kI16, kBf16 };

/// An array, its last axis first. Distances are in bytes.
struct Strided {
  std::int64_t extents[kMostAxes] = {};
  std::int64_t strides[kMostAxes] = {};
  std::int32_t axes = 0;
  std::int32_t type = 0;  ///< NumberType, by its number
};

}  // namespace mollify::cuda
