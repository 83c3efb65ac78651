// What the two algorithms that take a whole matrix share.
#pragma once

#include "algorithms/common/gpu.h"

namespace mollify {

enum class NxnAccumulator : std::uint8_t { f32, f64 };
inline constexpr EnumOption<NxnAccumulator> kNxnAccumulator("accumulator", {"f32", "f64"}, "f32 where its error fits, else f64",
                                                            "CPU, CUDA: precision of weights and sums", {.tuned = Tuned::where_exact});
/// Of kernels of a sample list.
inline constexpr gpu::GroupOption kNxnGroup({"16x16", "8x8", "32x4"});

/// A matrix as given, or a separable kernel of at most 128x128 taps multiplied out.
struct NxnMatrix {
  Matrix matrix;
  double cut_error = 0.0;  ///< full-scale units, colour handling included
  /// With rounding in this arithmetic.
  [[nodiscard]] double error(const Problem& p, Accumulator accumulator) const;
  /// Sums are of f64: as it is asked for, else where the error asks for it.
  [[nodiscard]] bool is_wide(const Problem& p) const;
};
[[nodiscard]] Result<NxnMatrix> nxn_matrix(const Problem& p);

[[nodiscard]] Result<Proposal> propose_nxn_direct_gpu(const Problem& p);
[[nodiscard]] Result<Proposal> propose_nxn_direct_cuda(const Problem& p);

}  // namespace mollify
