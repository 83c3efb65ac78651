// The blur of gauss.decimate's grid of coarse samples on GPUs, one dispatch.
#pragma once

#include "algorithms/multirate/gauss_decimate_gpu.h"

namespace mollify {

/// Of the kernel on an axis. A larger factor is cheaper than more.
inline constexpr std::size_t kMostGridTaps = 65;
/// The same where rows and columns take a dispatch each: kernels of clamped and constant borders are folded to twice the image.
inline constexpr std::size_t kMostGridTapsOfPasses = gpu::kMostWeights;
/// Whether they do: where that is asked for, or where there are more taps than the others have room for.
[[nodiscard]] bool is_blurred_in_passes(const Problem& p, const AxisPlan& x, const AxisPlan& y);

/// Of numbers that are not negative.
[[nodiscard]] constexpr std::int32_t ceil_div(std::int64_t a, std::int64_t b) {
  return static_cast<std::int32_t>((a + b - 1) / b);
}

/// What a lane sums at once: whole coarse samples of four channels, or one number of others.
struct GridUnits {
  std::int32_t count = 1;   ///< of a coarse sample
  std::int32_t bytes = 16;  ///< each
};
[[nodiscard]] GridUnits grid_units(PixelFormat format, gpu::Storage storage);

/// Coarse samples that a group blurs in shared memory, as grid_tile.glsl lays them out.
struct GridTile {
  std::int32_t span = 4;    ///< coarse samples that a lane makes in either direction
  std::int32_t spans = 1;   ///< side by side
  std::int32_t height = 4;  ///< rows of coarse samples
  std::int32_t taps = 1;    ///< across
  GridUnits units;

  [[nodiscard]] std::int32_t width() const { return spans * span; }
  [[nodiscard]] std::int64_t shared_bytes() const;
  /// Without what the taps reach beside it.
  [[nodiscard]] std::int64_t bytes_without_margins() const;
};

/// As the option says, or as many as leave registers for rows on their way; 1 on drivers that run on the processor, which take
/// seconds to compile what spans unroll to.
[[nodiscard]] std::int32_t samples_per_thread(const Problem& p, GridUnits units);
/// The refusal of a tile that is too large.
[[nodiscard]] Status check_grid_tile(const Problem& p, const GridTile& tile);
/// What grid_tile.glsl asks for beside the numbers of taps.
template <class Arguments>
void set_grid_tile(Arguments& to, const GridTile& tile) {
  constexpr std::int32_t kRowsAhead = 8;  // of 16 bytes: they leave registers for others
  to.unit = tile.units.bytes == 16 ? 0 : 1;
  to.samples_per_thread = tile.span;
  to.rows_in_flight = kRowsAhead;
}

/// What a dispatch blurs that does nothing else.
struct GridWork {
  PerAxis<AxisTaps> taps;
  PixelFormat format = PixelFormat::rgba32f;
  PerAxis<std::int32_t> size;  ///< of what it writes
  gpu::Storage storage = gpu::Storage::buffer;
};
/// By groups that make a tile each. Coarse samples beyond the edge of the grid are like the nearest.
[[nodiscard]] Result<DecimateStep> grid_step(const Problem& p, const GridWork& work);
/// The same along rows of a grid of so many, and then down columns. Both passes have their origins, but not what they read and write.
[[nodiscard]] Result<std::array<DecimateStep, 2>> grid_passes(const Problem& p, const GridWork& work, std::int32_t rows,
                                                              PerAxis<std::int32_t> origin);

}  // namespace mollify
