// How many images a workspace of a GPU backend holds: what the plan promises and what the backend allocates.
#pragma once

#include <cstdint>

namespace mollify {

/// In a batch, the host copies one image while another is on the device. Large images are not worth two slots.
[[nodiscard]] constexpr std::int64_t images_in_flight(std::int64_t min_bytes) {
  constexpr std::int64_t kLarge = 256 << 20;
  return min_bytes < kLarge ? 2 : 1;
}

}  // namespace mollify
