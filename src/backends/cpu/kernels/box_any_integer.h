// The kernel box_any_i32 by the width of what it sums columns in, each in a file of its own: they take long to compile.
#pragma once

#include "backends/cpu/kernels/kernels.h"

namespace mollify::cpu {

inline constexpr std::int64_t kMostRowsOfI16 = 32767 / 255;  ///< of 8-bit numbers, whose sums fit
inline constexpr std::int64_t kMostRowsOfU16 = 65535 / 255;

void box_any_16_bit_sums(const BoxAny&, const Tile&);  ///< 8-bit numbers, windows of kMostRowsOfU16 rows at most
void box_any_32_bit_sums(const BoxAny&, const Tile&);

}  // namespace mollify::cpu
