// Linear least squares, for fits.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace mollify {

/// The x of least |A x - b|, by Householder reflections. `a` holds the columns of A, no fewer rows than columns, and is destroyed, as b is.
[[nodiscard]] std::vector<double> least_squares(std::vector<std::vector<double>>& a, std::vector<double>& b);

/// The same for many unknowns of which each row has but a few neighbouring ones: takes a time of rows times `band`^2. Rows come one by one
/// and leave a triangle, by Givens rotations. There may be several right sides.
class BandedLeastSquares {
 public:
  BandedLeastSquares(std::size_t unknowns, std::size_t band, std::size_t sides);

  /// `row`: `band` numbers from the one of unknown `first` on, zeros beyond the last unknown, then the right sides. No row begins before
  /// the one that came before it. Its right sides are left as rotated residuals: over all rows, those of two sides have the same product as
  /// their residuals A x - b have.
  void add(std::size_t first, std::span<double> row);

  /// The x of least |A x - b| by the rows so far, no fewer than unknowns.
  [[nodiscard]] std::vector<double> solution(std::size_t side) const;

  /// The same among those x that have no negative element.
  [[nodiscard]] std::vector<double> nonnegative_solution(std::size_t side) const;

 private:
  /// The solution where all but the chosen unknowns are zero.
  [[nodiscard]] std::vector<double> solution_of(const std::vector<bool>& chosen, std::size_t side) const;
  /// Of |A x - b|^2 / 2, downwards: by how much it falls as each unknown grows.
  [[nodiscard]] std::vector<double> descent(const std::vector<double>& x, std::size_t side) const;

  std::size_t unknowns_;
  std::size_t band_;
  std::size_t width_;             // of a row with its sides
  std::vector<double> triangle_;  // rows from the diagonal on, with their sides
};

}  // namespace mollify
