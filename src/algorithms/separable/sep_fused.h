// sep.fused has forms for CPUs and for GPUs: rows in shared memory, lanes, and matrices.
#pragma once

#include "algorithms/common/separable_gpu.h"
#include "algorithms/separable/sep_fused_options.h"

namespace mollify {

/// The form that is expected to be fastest of those below.
[[nodiscard]] Result<Proposal> propose_sep_fused_gpu(const Problem& p);
/// On CUDA: both axes in one pass, or in two where there are too many taps, a stride, or sums of f64.
[[nodiscard]] Result<Proposal> propose_sep_fused_cuda(const Problem& p);
/// On CUDA: whether there are kernels with sums in registers whose images each have weights of their own: of floats that are only blurred.
[[nodiscard]] bool has_sums_of_each(const Problem& p);
/// On CUDA: taps that a kernel with sums in registers has for these, the same number on either axis; 0 if there is none.
[[nodiscard]] std::int32_t taps_of_sums(const Problem& p, const SeparableTaps& s);
/// On CUDA: taps of the kernel by which single warps make images of this format, of those that have so many at least; 0: there is none.
[[nodiscard]] std::int32_t taps_of_warps(const FormatInfo& format, std::int32_t needed);
/// On CUDA: the pass whose sums are in registers, with so many taps on either axis, but for its weights.
[[nodiscard]] Pass sums_pass(const Problem& p, std::int32_t taps);
/// On CUDA: adds that pass, with its weights, and what it costs.
void add_sums(const Problem& p, SeparableTaps s, std::int32_t taps, Proposal& out);
/// On CUDA: both axes in one pass on tensor cores.
[[nodiscard]] Result<Proposal> propose_sep_fused_cuda_matrix(const Problem& p);
/// Whether sums are of f64: as it is asked for, else where the error asks for it or the result would show what sums of f32 lose.
[[nodiscard]] bool fused_is_wide(const Problem& p, const SeparableTaps& taps);
/// In f32, rows in shared memory.
[[nodiscard]] Result<Proposal> propose_sep_fused_shared(const Problem& p);
/// Rows in registers, which lanes of a subgroup lend each other; sums of f32 or, of 8-bit and f16 pixels, of f16 (half).
[[nodiscard]] Result<Proposal> propose_sep_fused_subgroup(const Problem& p, FusedMath math);
/// Whether the device and the request allow products of cooperative matrices, by this kernel.
[[nodiscard]] Status check_fused_matrix(const Problem& p, std::string_view kernel);
/// Whether sums of an image of 8-bit integers, which err by `error`, can leave the range of its codes by so much that they round to others.
[[nodiscard]] bool leave_range(const PerAxis<AxisTaps>& taps, const FormatInfo& format, double error);
/// What cooperative matrices multiply by: taps as halves, or sums of two, and what that moves the result by. "x" is the axis that is
/// filtered first, whose taps add up to one at most.
struct HalfTaps {
  PerAxis<AxisTaps> taps;
  PerAxis<double> sum;                ///< of each axis's taps
  PerAxis<std::int32_t> split{1, 1};  ///< f16 numbers that a tap is the sum of
  PerAxis<double> gain{1.0, 1.0};     ///< what sums of an axis are multiplied by to be those of its weights
  double error = 0.0;                 ///< full-scale units
};
/// One half each, and one for what lies between the axes.
[[nodiscard]] HalfTaps half_taps(const PerAxis<AxisTaps>& taps, const FormatInfo& source);
/// Two halves for what lies between the axes and for each tap; but taps of an axis on which one is near enough are one, times a gain by
/// which they come nearest.
[[nodiscard]] HalfTaps split_taps(const PerAxis<AxisTaps>& taps, const FormatInfo& source, double allowed_error);
/// Of codes of 8 bits, which are read as the halves whose bits they are, 2^-24 of them: taps make up for it, those of the first axis as
/// far as halves reach. A refusal where those of the other become too large.
[[nodiscard]] Status scale_for_codes(PerAxis<AxisTaps>& taps);
/// What sums of the first axis and then those of the other begin with, `half.sum` being of taps before they were scaled: rows are kept less
/// half the range of codes, and results written as 1024 more, from where on halves are whole numbers.
[[nodiscard]] PerAxis<double> starts_of_codes(const HalfTaps& half);
/// Reach of products of matrices: a block of `made` outputs is made of all that matrices read for it, from `before` its first output on.
[[nodiscard]] inline Reach reach_of_block(std::int32_t before, std::int32_t made, std::int32_t read) {
  return {before + made - 1, read - 1 - before};
}

/// On cooperative matrices.
[[nodiscard]] Result<Proposal> propose_sep_fused_coopmat(const Problem& p);
/// On cooperative matrices along y and then x, of what their lanes fetch.
[[nodiscard]] Result<Proposal> propose_sep_fused_coopmat_direct(const Problem& p);

/// What one dispatch filters, but those of matrices.
struct FusedWork {
  PerAxis<AxisTaps> taps;
  PixelFormat source = PixelFormat::rgba32f;
  PerAxis<std::int32_t> size;  ///< of what it writes
  gpu::Storage storage = gpu::Storage::buffer;
  FusedMath math = FusedMath::f32;
};

/// A pass without bindings and origin, and what it costs.
struct FusedPass {
  Pass pass;
  Options options;       ///< as they were resolved
  double reads = 1.0;    ///< how often a source pixel is read
  double seconds = 0.0;  ///< rough
  double error = 0.0;    ///< of sums of less than f32
};

/// What lanes multiply by that lend each other pixels.
struct LaneTaps {
  PerAxis<AxisTaps> taps;
  std::int32_t x_that_is_one = -1;  ///< the tap of x, if any
  bool first_of_y_is_one = false;
  double scale = 1.0;        ///< sums of codes times this are codes, less 128 where sums are of f16
  bool leave_range = false;  ///< results of an image of integers must be cut to its range
  double error = 0.0;        ///< of taps and sums in f16
};
[[nodiscard]] Result<LaneTaps> lane_taps(const DeviceInfo& device, const FusedWork& work);

/// What a pass is as the whole of an algorithm.
[[nodiscard]] Proposal proposal_of(const Problem& p, const gpu::Separable& s, FusedMath math, FusedPass fused);

}  // namespace mollify
