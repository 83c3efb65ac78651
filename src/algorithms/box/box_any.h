// box.any has one form for CPUs, three for Vulkan and several for CUDA.
#pragma once

#include <optional>

#include "algorithms/box/box_any_options.h"
#include "algorithms/box/box_gpu.h"

namespace mollify {

[[nodiscard]] constexpr bool is_integer(BoxAnySums sums) {
  return sums == BoxAnySums::u16x2 || sums == BoxAnySums::u32;
}

/// What a group makes in the plan of the whole image, where the source is a part of it: sums of floats round by where groups begin.
[[nodiscard]] std::optional<PerAxis<std::int32_t>> tile_of_whole(const Problem& p, BoxAnySums sums);
/// Tells a proposal which parts of the source have the bits of the whole: those that begin where blocks do in which sums are made anew.
/// Sums of integers are exact, wherever they begin.
void set_box_blocks(const PerAxis<BoxAxis>& box, BoxAnySums sums, PerAxis<std::int32_t> blocks, Proposal& out);

/// Whether sums of the source's pixels can hold what is not finite.
[[nodiscard]] bool box_can_spoil(const Problem& p);

/// The power of two that pixels are summed times: means of the largest numbers that are no outliers do not overflow, where sums on the way
/// are at most `widest` times as large as those of a window. 1 of integers.
[[nodiscard]] double box_lift(const Problem& p, const PerAxis<BoxAxis>& box, double widest);

/// Why these sums cannot hold windows, or nothing.
[[nodiscard]] std::string box_any_obstacle(const Problem& p, const PerAxis<BoxAxis>& box, BoxAnySums sums);

/// The box of the kernel, unless it is longer than longest_windows().
[[nodiscard]] Result<PerAxis<BoxAxis>> box_any_axes(const Problem& p);

/// How GPUs make means of windows' integer sums. Short ones, below 2^23, are floats by their bits, 2^23 more than what they stand for.
struct BoxMeans {
  bool sums_are_short = false;
  double error = 0.0;  ///< full-scale units
};
/// Of windows of so many pixels: short wherever that keeps to the error.
[[nodiscard]] BoxMeans box_means(const Problem& p, double window);

[[nodiscard]] Result<Proposal> propose_box_columns(const Problem& p);
[[nodiscard]] Result<Proposal> propose_box_four_corner(const Problem& p);
[[nodiscard]] Result<Proposal> propose_box_row_segments(const Problem& p);

[[nodiscard]] Result<Proposal> propose_box_any_cuda(const Problem& p);
/// The form of it that has windows of any length.
[[nodiscard]] Result<Proposal> propose_box_passes_cuda(const Problem& p);

/// By the form that is asked for, else by the cheaper one within the error.
[[nodiscard]] Result<Proposal> propose_box_any_gpu(const Problem& p);

}  // namespace mollify
