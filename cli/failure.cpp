#include "failure.h"

#include <algorithm>

namespace mollify::cli {

std::string one_line(const Error& error) {
  std::string line = error.message;
  for (std::size_t i = 0; i < error.reasons.size(); ++i) line += (i == 0 ? ": " : "; ") + error.reasons[i];
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

}  // namespace mollify::cli
