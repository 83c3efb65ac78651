#include "failure.h"

#include <algorithm>

namespace mollify::cli {

std::string one_line(const Error& error) {
  constexpr std::size_t kMostReasons = 3;  // of dozens of algorithms each has its own
  std::string line = error.message;
  const std::size_t shown = error.reasons.size() <= kMostReasons ? error.reasons.size() : kMostReasons - 1;
  for (std::size_t i = 0; i < shown; ++i) line += (i == 0 ? ": " : "; ") + error.reasons[i];
  if (shown < error.reasons.size()) line += "; and " + std::to_string(error.reasons.size() - shown) + " more reasons";
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

}  // namespace mollify::cli
