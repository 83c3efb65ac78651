// The blur of gauss.decimate's grid of cells on GPUs, one dispatch.
#pragma once

#include "algorithms/sep_fused.h"

namespace mollify {

/// By a dispatch of its own, in either of two ways, or together with the expansion.
inline constexpr std::array<std::string_view, 3> kGridBlurs = {"tiles", "walk", "expand"};
/// Threads of a group that makes a tile: across and down it.
inline constexpr std::array<std::string_view, 3> kGridGroups = {"32x4", "64x4", "128x2"};

/// Of the kernel on an axis. A larger factor is cheaper than more.
inline constexpr std::size_t kMostGridTaps = 45;
/// That a pixel is expanded from on an axis where the expansion blurs as well: a lane keeps all of them in registers.
inline constexpr std::int64_t kMostBlurredCells = 24;

/// The refusal of options that only tiles have.
[[nodiscard]] Status check_without_tiles(const Problem& p);

/// By groups that make a tile each, or by sep.fused's that walk: what is asked for, else what is expected to be faster.
/// Cells beyond the edge of the grid are like the nearest.
[[nodiscard]] Result<FusedPass> grid_pass(const Problem& p, const FusedWork& work);

}  // namespace mollify
