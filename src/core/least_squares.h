// Linear least squares of a few unknowns, for fits.
#pragma once

#include <vector>

namespace mollify {

/// The x of least |A x - b|, by Householder reflections. `a` holds the columns of A, no fewer rows than columns, and is destroyed, as b is.
[[nodiscard]] std::vector<double> least_squares(std::vector<std::vector<double>>& a, std::vector<double>& b);

}  // namespace mollify
