// Kernels of one's own: a text file with one row of the kernel on each line.
#pragma once

#include <string>
#include <vector>

#include "mollify/spec.h"

namespace mollify::cli {

struct KernelTable {
  int width = 0;
  int height = 0;
  std::vector<double> weights;  ///< row-major
};

/// Numbers are separated by blanks, commas or semicolons; `#` starts a comment; empty lines are skipped.
/// Throws Failure with the file and the line of the mistake.
[[nodiscard]] KernelTable read_kernel_file(const std::string& path);

/// A kernel of a file in a form that read_kernel_file() takes.
[[nodiscard]] std::string kernel_text(const KernelSpec& kernel);
/// That the weights of a kernel do not sum to one, where that is so and nothing divides them by their sum.
[[nodiscard]] std::string note_on_kernel(const KernelSpec& kernel);

}  // namespace mollify::cli
