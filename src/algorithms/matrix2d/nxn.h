// What the two algorithms that take a whole matrix share.
#pragma once

#include "algorithms/common/gpu.h"

namespace mollify {

/// A matrix as given, or a separable kernel of at most 128x128 taps multiplied out.
struct NxnMatrix {
  Matrix matrix;
  double cut_error = 0.0;  ///< full-scale units, colour handling included
  /// With rounding in this arithmetic.
  [[nodiscard]] double error(const Problem& p, Accumulator accumulator) const;
};
[[nodiscard]] Result<NxnMatrix> nxn_matrix(const Problem& p);

[[nodiscard]] Result<Proposal> propose_nxn_direct_gpu(const Problem& p);
[[nodiscard]] Result<Proposal> propose_nxn_direct_cuda(const Problem& p);

}  // namespace mollify
