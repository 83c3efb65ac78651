// Where and with what a figure was measured.
#pragma once

#include <string>

namespace mollify::bench {

struct Environment {
  std::string cpu;             ///< "Intel(R) Xeon(R) Processor @ 2.50GHz"
  int cores = 0;               ///< hardware threads that this process may use
  std::string compiler;        ///< "GNU 12.2.0"
  std::string build_type;      ///< CMake's build type and the extra flags
  std::string commit;          ///< empty when not built from a git checkout
  std::string highway_target;  ///< "AVX3"
  std::string kernel;          ///< of the operating system
  double load_average = 0.0;   ///< of the last minute; above `cores`, distrust the figures
};

[[nodiscard]] Environment environment();
/// Of the last minute, or 0 where the system does not tell.
[[nodiscard]] double load_average();

}  // namespace mollify::bench
