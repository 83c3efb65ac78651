// What words.cu writes.
#pragma once

#include <cstdint>

namespace mollify::cuda {

/// 4096 bytes are all that the parameters of a kernel may be.
inline constexpr std::uint32_t kWordsAtOnce = 1020;
inline constexpr unsigned kWordsThreads = 256;

/// Numbers that travel as parameters of a kernel. A graph repeats them although what they were copied from is gone.
struct Words {
  std::uint64_t to = 0;  ///< address in device memory
  std::uint32_t count = 0;
  std::uint32_t word[kWordsAtOnce] = {};
};
static_assert(sizeof(Words) <= 4096);

}  // namespace mollify::cuda
