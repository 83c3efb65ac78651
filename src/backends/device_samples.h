// What the clock of a GPU measured of one executable, whatever its backend.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mollify {

/// Nanoseconds of each run. They took turns, so that a disturbance hits all alike.
struct DeviceSamples {
  std::vector<double> blur;
  std::vector<double> driver_copy;  ///< the driver's copy of half of the plan's min_bytes, of each image
  std::vector<double> kernel_copy;  ///< the same bytes by a kernel
  std::vector<double> dispatch;     ///< a kernel of one group of threads that copies 16 bytes: what any launch costs
  std::vector<double> nothing;      ///< between two marks of the clock
};
inline constexpr std::size_t kKindsOfSamples = 5;

/// Adds times of the kinds in turn, in their order.
inline void sort_into(DeviceSamples& samples, const std::vector<double>& times) {
  std::vector<double>* const kinds[kKindsOfSamples] = {&samples.blur, &samples.driver_copy, &samples.kernel_copy, &samples.dispatch,
                                                       &samples.nothing};
  for (std::size_t i = 0; i < times.size(); ++i) kinds[i % kKindsOfSamples]->push_back(times[i]);
}

/// Enough sets of so many bytes that together they are several times larger than any cache, within reason.
inline std::size_t set_count(std::int64_t bytes, bool is_software) {
  constexpr std::int64_t kTotal = 512 << 20;
  const std::int64_t wanted = (is_software ? kTotal / 8 : kTotal) / std::max<std::int64_t>(bytes, 1) + 1;
  return static_cast<std::size_t>(std::clamp<std::int64_t>(wanted, 2, 16));
}

}  // namespace mollify
