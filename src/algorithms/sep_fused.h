// sep.fused has one form for CPUs and one for GPUs, whose pass other algorithms use, too.
#pragma once

#include "algorithms/gpu.h"

namespace mollify {

inline constexpr std::array<std::string_view, 3> kFusedSpans = {"1", "2", "4"};

inline constexpr std::array<std::string_view, 2> kFusedMath = {"f32", "matrix"};

[[nodiscard]] Result<Proposal> propose_sep_fused_gpu(const Problem& p);
/// On cooperative matrices.
[[nodiscard]] Result<Proposal> propose_sep_fused_matrix(const Problem& p);

/// On an axis: sums of more rows do not fit into registers.
inline constexpr std::size_t kMostFusedTaps = 45;

/// What one dispatch of the kernel "sep_fused" filters.
struct FusedWork {
  PerAxis<AxisTaps> taps;
  PixelFormat source = PixelFormat::rgba32f;
  PerAxis<std::int32_t> size;  ///< of what it writes
  gpu::Storage storage = gpu::Storage::buffer;
};

/// A pass without bindings and origin, and what it costs.
struct FusedPass {
  Pass pass;
  Options options;          ///< as they were resolved
  double reads = 1.0;       ///< how often a source pixel is read
  double seconds = 0.0;     ///< rough
};
/// Refuses more taps than sums fit into registers, and whatever the options of `p` ask for in vain.
[[nodiscard]] Result<FusedPass> fused_pass(const Problem& p, const FusedWork& work);

}  // namespace mollify
