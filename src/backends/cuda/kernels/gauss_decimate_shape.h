// How gauss_downsample.cu and gauss_upsample.cu divide their work and lay out shared memory: the planner, the host and the kernels reckon
// with the same numbers.
#pragma once

#include "backends/cuda/kernels/arguments.h"
#include "backends/cuda/kernels/fours.h"

namespace mollify::cuda {

inline constexpr int kDecimateRows = 8;       ///< that a thread loads before it sums them up, at most
inline constexpr int kDecimateThreads = 512;  ///< of a block that decimates, at most; registers of a multiprocessor have room for as many
inline constexpr int kUpsampleThreads = 128;  ///< of a block; each makes four components of a row
inline constexpr int kUpsampleAtOnce = 5;     ///< blocks that registers of a multiprocessor have room for
inline constexpr int kMostSupport = 8;        ///< coarse samples on an axis that a pixel belongs to

/// Kernels of common formats are compiled for these; any other takes one for up to kMostSupport.
inline constexpr int kLeastCompiledSupport = 3;
inline constexpr int kMostCompiledSupport = 6;

/// Images of four channels: the most coarse samples on either axis that kernels of spans and strips are compiled for, from
/// kLeastCompiledSupport on.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr int most_span_support(Component component) {
  return component == Component::u8 ? 4 : component == Component::f16 ? 5 : kMostCompiledSupport;
}

/// Floats of the weights of an axis in shared memory: for each pixel of a coarse sample those of all that it belongs to, in whole fours.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t floats_of_weights(std::int32_t factor, std::int32_t support) {
  return factor * whole_fours(support);
}

/// What a block of threads reads and makes of a row when it decimates.
struct DecimateShape {
  std::int32_t columns;     ///< that it reads
  std::int32_t samples;     ///< coarse samples that it makes; none where a spline is wider than the columns
  std::int32_t pitch;       ///< pixels in shared memory from a coarse sample's first to the next one's: odd, so that no bank is met twice
  std::int32_t row_floats;  ///< of its columns in shared memory

  /// A thread reads so many components of a row, which are whole pixels where there are four channels.
  MOLLIFY_HOST_DEVICE constexpr DecimateShape(int channels, std::int32_t threads, std::int32_t components, std::int32_t factor,
                                              std::int32_t support)
      : columns(threads * components / channels),
        samples((columns - (components / 4 * pixels_of_fours(channels) - 1) - (support - 1) * factor) / factor),
        pitch(factor | 1),
        row_floats(whole_fours((columns / factor + 1) * pitch * channels)) {}
};

/// Of images of four channels, whose threads load or store 16 bytes: the pixels of these, and the threads of a block that loads. Its strips
/// are as wide.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr int pixels_of_span(Component component) {
  return component == Component::u8 ? 4 : component == Component::f16 ? 2 : 1;
}
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr int span_threads(Component component) {
  return kDecimateThreads / pixels_of_span(component);
}

/// Rows that such a thread loads before it sums them up, at most. Registers have no room for more of bytes.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t span_rows_ahead(Component component, std::int32_t support_y) {
  return component == Component::u8 && support_y > kLeastCompiledSupport ? kDecimateRows / 2 : kDecimateRows;
}

/// Source rows of a chunk of `rows` rows of coarse samples, and those that are loaded ahead.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t span_rows(std::int32_t rows, std::int32_t factor_y, std::int32_t support_y) {
  return (rows + support_y - 1) * factor_y + kDecimateRows;
}

/// Shared memory of such a block: weights of both axes; two rows of finished columns; how far each source row
/// lies from the one before, and whether it is left out, for `rows` rows of coarse samples; and what coarse samples of a strip and of the
/// chunk lack of a constant border.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int64_t span_shared_bytes(const DecimateShape& shape, std::int32_t factor_x,
                                                                           std::int32_t support_x, std::int32_t factor_y,
                                                                           std::int32_t support_y, std::int32_t rows) {
  const std::int32_t floats =
      floats_of_weights(factor_x, support_x) + floats_of_weights(factor_y, support_y) + 2 * shape.row_floats + shape.samples + rows;
  return std::int64_t{4} * floats + std::int64_t{12} * span_rows(rows, factor_y, support_y);
}
inline constexpr std::int32_t kMostSpanRows = 1024;  ///< source rows of a chunk, if it has more than one row of coarse samples

/// Floats in shared memory of another block that decimates: weights of both axes, four columns of each thread, and two rows,
/// of which one is filled while the other is read.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t decimate_floats(const DecimateShape& shape, std::int32_t threads,
                                                                         std::int32_t factor_x, std::int32_t support_x,
                                                                         std::int32_t factor_y, std::int32_t compiled) {
  return floats_of_weights(factor_x, support_x) + floats_of_weights(factor_y, compiled) + 4 * threads + 2 * shape.row_floats;
}

}  // namespace mollify::cuda
