// What this process may use of the machine: processors, memory, threads.
#pragma once

#include <cstdint>
#include <string_view>

namespace mollify::cli {

/// Of those that this process may run on.
[[nodiscard]] int processors();

/// Bytes of memory that nobody uses, within the limits of the control groups that this process is in.
[[nodiscard]] std::int64_t free_memory();

/// How many of `wanted` threads can be started now: less where the number of processes is limited.
[[nodiscard]] int startable_threads(int wanted);

/// "512M", "2G", "1.5G", "1048576": powers of 1024. Wrong usage where it cannot be read.
[[nodiscard]] std::int64_t parse_bytes(std::string_view text, std::string_view option);
/// "100M", "2G", "250000": powers of 1000.
[[nodiscard]] std::int64_t parse_count(std::string_view text, std::string_view option);

}  // namespace mollify::cli
