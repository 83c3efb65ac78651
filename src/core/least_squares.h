// Linear least squares, for fits.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace mollify {

/// The x of least |A x - b|, by Householder reflections. `a` holds the columns of A, no fewer rows than columns, and is destroyed, as b is.
[[nodiscard]] std::vector<double> least_squares(std::vector<std::vector<double>>& a, std::vector<double>& b);

/// The same for many unknowns of which a row has but a few neighbouring ones, in time proportional to rows times `band`^2. Rows come one
/// by one and leave a triangle by Givens rotations. Their first unknowns must not go back: what was before is finished.
/// There may be several right sides.
class BandedLeastSquares {
 public:
  BandedLeastSquares(std::size_t unknowns, std::size_t band, std::size_t sides);

  /// `band` numbers from the one of unknown `first` on, then the right sides. Unknowns beyond the last must have zeros. Leaves in the right
  /// sides what no unknowns can make: of all rows together, these are as long as the least |A x - b| and as the same of other sides, and
  /// have the same products.
  void add(std::size_t first, std::span<double> row);

  /// The unknowns of least |A x - b| by all rows so far, of which there are no fewer than unknowns.
  [[nodiscard]] std::vector<double> solution(std::size_t side) const;

 private:
  std::size_t unknowns_;
  std::size_t band_;
  std::size_t width_;               // of a row, with the sides
  std::vector<double> triangle_;    // rows from the diagonal on, then the sides
};

}  // namespace mollify
