// How sep_matrix.cu divides an image, and where a lane's numbers of matrices of taps lie.
#pragma once

#include <cstdint>

namespace mollify::cuda {

inline constexpr int kMatrixSide = 16;      ///< pixels of a row that one product makes, and that one reads
inline constexpr int kMatrixRows = 8;       ///< rows that one product makes
inline constexpr int kMatrixThreads = 128;  ///< of a block; each warp makes a strip of its own
inline constexpr int kMatrixAligned = 4;    ///< pixels that a lane loads together: strips are read from a multiple of these on

/// Sums of bytes are 1024 more than codes: from there to 2048 halves are the whole numbers, so that the low byte is the rounded code.
inline constexpr float kCodeZero = 1024.0F, kCodeMost = 1279.0F;

/// What a kernel is compiled for: products along x for 16 pixels of a row, and rows of 8 rows that 8 rows of the result depend on.
struct MatrixSize {
  int across;
  int down;
};
inline constexpr MatrixSize kMatrixSizes[] = {{2, 2}, {2, 3}, {3, 4}, {3, 5}, {4, 6}, {4, 7}, {5, 8}};

/// Whether there is a kernel of this size. `splits`: for halves. Those of one channel have few taps by sep_warps.cu.
[[nodiscard]] constexpr bool has_matrix_kernel(MatrixSize size, int channels, bool splits) {
  return channels == 4 || !splits || size.down >= 5;
}

/// `lead`: pixels that are read before the first tap of a strip's first pixel.
[[nodiscard]] constexpr MatrixSize needed_matrices(std::int32_t taps_x, std::int32_t lead, std::int32_t taps_y) {
  return {(kMatrixSide - 1 + lead + taps_x + kMatrixSide - 1) / kMatrixSide, (kMatrixRows - 1 + taps_y + kMatrixRows - 1) / kMatrixRows};
}

/// Neighbouring products of a strip. `splits`: rows between the axes are sums of two halves.
[[nodiscard]] constexpr int matrix_blocks(MatrixSize size, bool splits, int channels) {
  if (channels == 1) return 4;
  return !splits && size.down <= 3 ? 2 : 1;
}

/// Blocks of a multiprocessor.
[[nodiscard]] constexpr int matrix_at_once(MatrixSize size, bool splits, int channels) {
  if (channels == 1 && size.down <= 3) return 4;
  if (splits) return size.down <= 2 ? 4 : size.down <= 4 ? 3 : 2;
  if (size.down >= 8) return 2;
  return size.down == 2 || size.down == 4 ? 4 : 3;
}

/// Products along y, of two of a kernel's rows of rows each.
[[nodiscard]] constexpr int matrix_pairs(MatrixSize size) {
  return (size.down + 1) / 2;
}

/// Shared memory of a block whose chunks have so many rows: which columns and rows each warp reads.
[[nodiscard]] constexpr std::int32_t matrix_shared_bytes(MatrixSize size, bool splits, int channels, std::int32_t rows) {
  const std::int32_t columns = (matrix_blocks(size, splits, channels) + size.across - 1) * kMatrixSide;
  return kMatrixThreads / 32 * (columns + rows + size.down * kMatrixRows) * static_cast<std::int32_t>(sizeof(std::int32_t));
}

/// A lane's numbers of one matrix of taps are so many words of two halves, along x and along y.
inline constexpr int kMatrixWordsX = 4;
inline constexpr int kMatrixWordsY = 2;

/// Which tap of x the number at `half` of word `word` is, in lane `lane` of product `product`: pixels are read four by four, and two
/// neighbours are made by one lane.
[[nodiscard]] constexpr std::int32_t matrix_tap_x(int product, int lane, int word, int half, std::int32_t lead) {
  const int q = lane % 4, g = lane / 4;
  const int read = product * kMatrixSide + 4 * q + word / 2 * 2 + half;
  const int made = 2 * g + word % 2;
  return read - made - lead;
}
/// The same of y.
[[nodiscard]] constexpr std::int32_t matrix_tap_y(int pair, int lane, int word, int half) {
  const int q = lane % 4, g = lane / 4;
  const int read = (2 * pair + word) * kMatrixRows + 2 * q + half;
  return read - g;
}

}  // namespace mollify::cuda
