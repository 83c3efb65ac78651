// What one block of threads of gauss_strips.cu does.
#pragma once

#include "backends/cuda/kernels/arguments.h"
#include "backends/cuda/kernels/fours.h"
#include "backends/cuda/kernels/gauss_decimate_shape.h"

namespace mollify::cuda {

inline constexpr std::int32_t kStripThreads = 128;  ///< of a block, side by side
inline constexpr std::int32_t kStripSums = 4;       ///< coarse samples next to one another that a thread sums up at once

/// Blocks that registers of a multiprocessor have room for.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t strips_at_once(Component component) {
  return component == Component::u8 ? 3 : 4;
}

/// Rows of blurred samples that are made at once.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t strip_step_rows(Component component) {
  return component == Component::f32 ? 16 : 8;
}

/// Coarse samples beyond those of a pixel that are read with a weight of zero: two less than two fours by the blur, and one by a thread's
/// other pixels.
inline constexpr std::int32_t kStripMargin = 2 * (kStripSums - 1) + 1;

/// Kernels are compiled for so many coarse samples on either axis. Where a pixel is made of fewer, others have weights of zero.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t strips_support(std::int32_t support_x, std::int32_t support_y) {
  const std::int32_t support = support_x > support_y ? support_x : support_y;
  return support > kLeastCompiledSupport ? support : kLeastCompiledSupport;
}
/// The least factor across, so that a thread's pixels are made of one coarse sample more than a pixel is.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t least_strip_factor(Component component) {
  return pixels_of_span(component) - 1;
}

/// Floats of taps with zeros behind them.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t padded_taps(std::int32_t taps) {
  return whole_fours(taps + kStripSums - 1);
}

/// What a strip needs of the grid, and how that lies in shared memory. One place is left free after those of a thread, so that no bank is
/// met twice.
struct StripShape {
  std::int32_t spans;    ///< of kStripSums blurred samples side by side that pixels of the strip are made of
  std::int32_t columns;  ///< of the grid that these are made of
  std::int32_t pitch;    ///< places from a row of sums down columns to the next
  std::int32_t blurred;  ///< the same of blurred samples

  MOLLIFY_HOST_DEVICE constexpr StripShape(std::int32_t pixels, std::int32_t factor_x, std::int32_t support_x, std::int32_t taps_x)
      : spans(((kStripThreads * pixels + factor_x - 2) / factor_x + support_x + kStripSums - 1) / kStripSums),
        columns(kStripSums * (spans - 1) + padded_taps(taps_x)),
        pitch(place(columns) + 1),
        blurred(place(kStripSums * spans)) {}

  [[nodiscard]] static MOLLIFY_HOST_DEVICE constexpr std::int32_t place(std::int32_t sample) { return sample + sample / kStripSums; }
  /// Of sums down columns and blurred samples of `rows` rows, the taps, and the weights of rows of pixels.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int64_t shared_bytes(std::int32_t rows, std::int32_t taps_x, std::int32_t taps_y,
                                                                        std::int32_t factor_y, std::int32_t support_y) const {
    return std::int64_t{16} * rows * (pitch + blurred) +
           std::int64_t{4} * (padded_taps(taps_x) + padded_taps(taps_y) + floats_of_weights(factor_y, support_y));
  }
};

}  // namespace mollify::cuda
