// How gauss_matrix.cu divides an image, and where a lane's numbers of matrices of splines lie.
#pragma once

#include "backends/cuda/kernels/fours.h"
#include "backends/cuda/kernels/sep_matrix_shape.h"

namespace mollify::cuda {

inline constexpr int kCoarseAcross = 16;   ///< coarse samples of a row that a block makes
inline constexpr int kCoarseRows = 8;      ///< rows of these that one product adds to
inline constexpr int kGroupRows = 16;      ///< source rows that a product along y reads
inline constexpr int kMostGroupWarps = 8;  ///< of a block
/// What weights are multiplied by, so that neither half of one is too small for a half: along x bytes are 2^-24 of their value.
inline constexpr float kSplineGainX = 4096.0F, kSplineGainY = 1024.0F;

/// A block makes kCoarseAcross times `tiles` * kCoarseRows coarse samples. Its warps share the source rows; each sums up some groups of
/// them. All of this follows from the spline alone, so that the same samples are summed in the same order in any part of an image.
struct GaussMatrixShape {
  std::int32_t lead;            ///< pixels that are read before the first weight, so that four are loaded together
  std::int32_t products;        ///< along x, an even number
  std::int32_t tiles;           ///< of rows of coarse samples
  std::int32_t groups_of_warp;  ///< of source rows, that each warp sums up; the last may lie beyond all weights
  std::int32_t warps;

  /// `centre_x`: pixels before the place of a coarse sample that its spline begins with.
  MOLLIFY_HOST_DEVICE constexpr GaussMatrixShape(std::int32_t factor_x, std::int32_t support_x, std::int32_t centre_x,
                                                 std::int32_t factor_y, std::int32_t support_y)
      : lead((kMatrixAligned - centre_x % kMatrixAligned) % kMatrixAligned),
        products((lead + (kCoarseAcross - 1 + support_x) * factor_x + 2 * kMatrixSide - 1) / (2 * kMatrixSide) * 2),
        tiles(tiles_of(factor_y)),
        groups_of_warp((needed_groups(factor_y, support_y) + kMostGroupWarps - 1) / kMostGroupWarps),
        warps((needed_groups(factor_y, support_y) + groups_of_warp - 1) / groups_of_warp) {}

  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t columns() const { return products * kMatrixSide; }
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t rows() const { return groups() * kGroupRows; }
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t groups() const { return warps * groups_of_warp; }
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t threads() const { return 32 * warps; }
  /// The matrices of x, or later the sums of all warps.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t matrix_bytes(int channels) const {
    const std::int32_t matrices = 2 * products * 32 * kMatrixWordsX * 4;
    const std::int32_t sums = warps * tiles * 4 * 32 * channels * 4;
    return matrices > sums ? matrices : sums;
  }
  /// These, and which columns and rows are read.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t shared_bytes(int channels) const {
    return matrix_bytes(channels) + (columns() + rows()) * 4;
  }

  [[nodiscard]] static MOLLIFY_HOST_DEVICE constexpr std::int32_t needed_groups(std::int32_t factor_y, std::int32_t support_y) {
    return ((tiles_of(factor_y) * kCoarseRows - 1 + support_y) * factor_y + kGroupRows - 1) / kGroupRows;
  }
  /// Small factors leave many blocks, whose neighbours read the same rows.
  [[nodiscard]] static MOLLIFY_HOST_DEVICE constexpr std::int32_t tiles_of(std::int32_t factor_y) {
    constexpr std::int32_t kMostForTwo = 12;
    return factor_y <= kMostForTwo ? 2 : 1;
  }
};

/// Which weight of x the number at `half` of word `word` is, in lane `lane` of product `product`: pixels are read four by four, and two
/// neighbours are made by one lane.
[[nodiscard]] constexpr std::int32_t spline_tap_x(int product, int lane, int word, int half, std::int32_t lead, std::int32_t factor) {
  const int q = lane % 4, g = lane / 4;
  const int read = product * kMatrixSide + 4 * q + word / 2 * 2 + half;
  const int made = 2 * g + word % 2;
  return read - made * factor - lead;
}
/// The same of y, of one of `groups` for each tile.
[[nodiscard]] constexpr std::int32_t spline_tap_y(int product, int lane, int word, int half, std::int32_t groups, std::int32_t factor) {
  const int q = lane % 4, g = lane / 4;
  const int read = product % groups * kGroupRows + word * (kGroupRows / 2) + 2 * q + half;
  const int made = product / groups * kCoarseRows + g;
  return read - made * factor;
}

}  // namespace mollify::cuda
