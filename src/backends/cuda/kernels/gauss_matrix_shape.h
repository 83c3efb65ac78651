// How gauss_matrix.cu divides an image, and what products it makes.
#pragma once

#include "backends/cuda/kernels/fours.h"
#include "backends/cuda/kernels/sep_matrix_shape.h"

namespace mollify::cuda {

inline constexpr int kCoarseSide = 8;      ///< coarse samples along one axis that a product makes
inline constexpr int kCoarseAcross = 16;   ///< coarse samples of a row that a block makes: those of two products
inline constexpr int kCoarseRows = 8;      ///< rows of these that one product adds to
inline constexpr int kGroupRows = 16;      ///< source rows that a warp takes at once
inline constexpr int kMostGroupWarps = 8;  ///< of a block

/// Products whose pixels, of `bytes` each, are loaded together: as many as registers have room for.
[[nodiscard]] MOLLIFY_HOST_DEVICE constexpr int products_at_once(int bytes) {
  return bytes >= 8 ? 1 : 2;
}

/// A block makes kCoarseAcross times `tiles` * kCoarseRows coarse samples. Its warps share the source rows; each sums up some groups of
/// them. All of this follows from the spline alone, so that the same samples are summed in the same order in any part of an image.
struct GaussMatrixShape {
  std::int32_t lead;            ///< pixels that are read before the first weight, so that four are loaded together
  std::int32_t end_of_left;     ///< of kMatrixSide pixels of a row: those behind all weights of the left coarse samples,
  std::int32_t begin_of_right;  ///< the first with weights of the right ones,
  std::int32_t products;        ///< and all, an even number
  std::int32_t tiles;           ///< of rows of coarse samples
  std::int32_t groups_of_warp;  ///< of source rows, that each warp sums up; the last may lie beyond all weights
  std::int32_t warps;

  /// `centre_x`: pixels before the place of a coarse sample that its spline begins with.
  MOLLIFY_HOST_DEVICE constexpr GaussMatrixShape(std::int32_t factor_x, std::int32_t support_x, std::int32_t centre_x,
                                                 std::int32_t factor_y, std::int32_t support_y)
      : lead((kMatrixAligned - centre_x % kMatrixAligned) % kMatrixAligned),
        end_of_left((lead + (kCoarseSide - 1 + support_x) * factor_x + kMatrixSide - 1) / kMatrixSide),
        begin_of_right((lead + kCoarseSide * factor_x) / kMatrixSide),
        products((lead + (kCoarseAcross - 1 + support_x) * factor_x + 2 * kMatrixSide - 1) / (2 * kMatrixSide) * 2),
        tiles(tiles_of(factor_y)),
        groups_of_warp((needed_groups(factor_y, support_y) + kMostGroupWarps - 1) / kMostGroupWarps),
        warps((needed_groups(factor_y, support_y) + groups_of_warp - 1) / groups_of_warp) {}

  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t columns() const { return products * kMatrixSide; }
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t rows() const { return groups() * kGroupRows; }
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t groups() const { return warps * groups_of_warp; }
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t threads() const { return 32 * warps; }
  /// Matrices of weights of x: of the left coarse samples, and then of the right ones.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t matrices() const { return end_of_left + products - begin_of_right; }
  /// Rows before those of a block on which weights of y count from, for the last of its rows of coarse samples.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t rows_before(std::int32_t factor_y) const {
    return (tiles * kCoarseRows - 1) * factor_y;
  }
  /// These, of which a lane has `pair_bytes` of each, the sums of all warps, which columns are read, and the weights of y.
  [[nodiscard]] MOLLIFY_HOST_DEVICE constexpr std::int32_t shared_bytes(int channels, int pair_bytes, std::int32_t factor_y) const {
    const std::int32_t sums = warps * tiles * 4 * channels;
    return 32 * (matrices() * pair_bytes + sums * 4) + (columns() + rows() + rows_before(factor_y)) * 4;
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

/// Bytes of a lane's numbers of one matrix of weights of x: as halves, or of tf32.
[[nodiscard]] constexpr int gauss_matrix_pair_bytes(bool is_float) {
  return is_float ? 32 : 16;
}

}  // namespace mollify::cuda
