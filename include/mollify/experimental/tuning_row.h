// What was measured of one algorithm on one device. Experimental: it changes with the algorithms and devices, in any version.
#pragma once

#include <cstdint>
#include <string>

#include "mollify/algorithm.h"

namespace mollify {

/// Who measured a TuningRow.
enum class TuningOrigin : std::uint8_t {
  user,     ///< It was measured by `mollify tune` on this machine.
  shipped,  ///< It is part of the library and was measured on a device of that name.
};

/// What was measured of one algorithm on one device, for requests of one kind. See mollify/tuning.h.
struct TuningRow {
  std::string algorithm;         ///< The algorithm's id.
  std::int32_t pixel_bytes = 4;  ///< The source's pixels: 4 for up to 4 bytes, 8 for 5 to 8 bytes, 16 for more.
  std::int32_t min_taps = 1;     ///< The fewest taps, on the kernel's longer axis, that the row holds for.
  std::int32_t max_taps = 1;     ///< The most taps, on the kernel's longer axis, that the row holds for.
  std::int64_t min_pixels = 1;   ///< The fewest pixels of the source that the row holds for.
  Options options;               ///< Options that are faster than what the algorithm chooses by itself. Empty where nothing is faster.
  double gain = 1.0;             ///< Time with the algorithm's own choice, divided by time with these options.
  double cost = 1.0;             ///< Time with the algorithm's own choice, divided by the time that its cost model predicts.
  TuningOrigin origin = TuningOrigin::user;  ///< Who measured it.
  bool operator==(const TuningRow&) const = default;
};

}  // namespace mollify
