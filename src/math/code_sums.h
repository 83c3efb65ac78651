// Sums of 8-bit codes in f16, which holds eleven bits: three more than a code has.
#pragma once

#include <optional>
#include <vector>

#include "mollify/spec.h"

namespace mollify {

/// Taps for codes less 128. Of an axis the outermost two pixels, or rows, are added and weighed, then the next two, and the
/// middle one last: what comes first is small, and so is what its rounding loses.
struct CodeSums {
  PerAxis<std::vector<double>> taps;  ///< halves
  double gain = 1.0;                  ///< a half; sums times it are those of the weights
  double error = 0.0;                 ///< in codes, at most
};

/// By the scale, of those that were tried, with which the error is least. `fuses`: a multiply-add rounds once, not its product, too.
/// Nothing where taps of an axis are not symmetric.
[[nodiscard]] std::optional<CodeSums> code_sums(const PerAxis<std::vector<double>>& weights, bool fuses);

}  // namespace mollify
