// Kernels of one's own: a text file with one row of the kernel on each line.
#pragma once

#include <string>
#include <vector>

namespace mollify::cli {

struct KernelTable {
  int width = 0;
  int height = 0;
  std::vector<double> weights;  ///< row-major
};

/// Numbers are separated by blanks, commas or semicolons; `#` starts a comment; empty lines are skipped.
/// Throws Failure with the file and the line of the mistake.
[[nodiscard]] KernelTable read_kernel_file(const std::string& path);

}  // namespace mollify::cli
