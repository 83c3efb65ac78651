#include "bench/environment.h"

#include <stdlib.h>
#include <sys/utsname.h>

#include <fstream>
#include <string_view>
#include <thread>

#include "bench/copy.h"
#include "mollify_commit.h"

namespace mollify::bench {
namespace {

std::string cpu_name() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t value = line.find_first_not_of(" \t", line.find(':') + 1);
    return value == std::string::npos ? "" : line.substr(value);
  }
  return "";
}

std::string kernel_name() {
  utsname names{};
  if (uname(&names) != 0) return "";
  return std::string(names.sysname) + " " + names.release + " " + names.machine;
}

}  // namespace

double load_average() {
  double minute = 0.0;
  return getloadavg(&minute, 1) == 1 ? minute : 0.0;
}

Environment environment() {
  return {.cpu = cpu_name(),
          .cores = static_cast<int>(std::thread::hardware_concurrency()),
          .compiler = MOLLIFY_COMPILER,
          .build_type = MOLLIFY_BUILD_TYPE,
          .commit = MOLLIFY_COMMIT,
          .highway_target = std::string(simd_target()),
          .kernel = kernel_name(),
          .load_average = load_average()};
}

}  // namespace mollify::bench
