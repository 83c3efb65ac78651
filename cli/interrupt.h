// Long measurements end early without losing what is done.
#pragma once

#include <atomic>
#include <csignal>

namespace mollify::cli {

inline constexpr int kExitInterrupted = 128 + SIGINT;  ///< as shells have it

/// From here on the first Ctrl-C, or request to terminate, only sets what this returns; the second ends the program.
[[nodiscard]] const std::atomic<bool>& stop_on_interrupt();

}  // namespace mollify::cli
