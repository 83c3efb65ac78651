// A matrix as a sum of products of 1-D kernels: its singular value decomposition.
#pragma once

#include <memory>
#include <vector>

#include "mollify/spec.h"

namespace mollify {

/// The part y[i] * x[j] of a matrix.
struct OuterProduct {
  std::vector<double> x;  ///< as many as the matrix is wide
  std::vector<double> y;  ///< as many as it is high
};

/// min(width, height) products that sum to the matrix, the largest first: the first few are the nearest to it, in the
/// sense of least squares, that so few can be. The normalisation must be none.
[[nodiscard]] std::shared_ptr<const std::vector<OuterProduct>> singular_products(const Matrix& matrix);

}  // namespace mollify
