// What the process has allocated, as the address sanitizer sees it.
#pragma once

#include <cstdint>

namespace mollify::fuzz {

/// Begins a new measurement: the peak is what is allocated now.
void start_heap_meter();

/// The most bytes allocated at one time since the start of the measurement, beyond what was allocated then. 0 where the program is built
/// without the address sanitizer.
[[nodiscard]] std::int64_t heap_peak();

/// Whether the leak checker finds memory that nothing refers to. False without the address sanitizer.
[[nodiscard]] bool has_leaks();

}  // namespace mollify::fuzz
