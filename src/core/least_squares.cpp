#include "core/least_squares.h"

#include <algorithm>
#include <cmath>

namespace mollify {

std::vector<double> least_squares(std::vector<std::vector<double>>& a, std::vector<double>& b) {
  const std::size_t n = a.size();
  std::vector<double> diagonal(n);
  for (std::size_t k = 0; k < n; ++k) {
    std::vector<double>& v = a[k];
    double norm = 0.0;
    for (std::size_t i = k; i < v.size(); ++i) norm += v[i] * v[i];
    norm = std::copysign(std::sqrt(norm), -v[k]);
    diagonal[k] = norm;
    v[k] -= norm;
    double length = 0.0;
    for (std::size_t i = k; i < v.size(); ++i) length += v[i] * v[i];
    if (length == 0.0) continue;
    const auto reflect = [&](std::vector<double>& w) {
      double dot = 0.0;
      for (std::size_t i = k; i < v.size(); ++i) dot += v[i] * w[i];
      dot *= 2.0 / length;
      for (std::size_t i = k; i < v.size(); ++i) w[i] -= dot * v[i];
    };
    for (std::size_t j = k + 1; j < n; ++j) reflect(a[j]);
    reflect(b);
  }
  std::vector<double> x(n);
  for (std::size_t k = n; k-- > 0;) {
    double rest = b[k];
    for (std::size_t j = k + 1; j < n; ++j) rest -= a[j][k] * x[j];
    x[k] = rest / diagonal[k];
  }
  return x;
}

BandedLeastSquares::BandedLeastSquares(std::size_t unknowns, std::size_t band, std::size_t sides)
    : unknowns_(unknowns), band_(band), width_(band + sides), triangle_(unknowns * width_) {}

void BandedLeastSquares::add(std::size_t first, std::span<double> row) {
  for (std::size_t k = first; k < std::min(first + band_, unknowns_); ++k) {
    double* const kept = triangle_.data() + k * width_;
    const double a = kept[0];
    const double b = row[0];
    if (b != 0.0) {
      const double length = std::sqrt(a * a + b * b);
      const double cosine = a / length;
      const double sine = b / length;
      for (std::size_t i = 0; i < width_; ++i) {
        const double of_kept = kept[i];
        kept[i] = cosine * of_kept + sine * row[i];
        row[i] = cosine * row[i] - sine * of_kept;
      }
    }
    if (a == 0.0 && b != 0.0) return;  // nothing was kept there yet, and nothing is left of the row
    std::copy(row.begin() + 1, row.begin() + static_cast<std::ptrdiff_t>(band_), row.begin());
    row[band_ - 1] = 0.0;
  }
}

std::vector<double> BandedLeastSquares::solution(std::size_t side) const {
  std::vector<double> x(unknowns_);
  for (std::size_t k = unknowns_; k-- > 0;) {
    const double* const kept = triangle_.data() + k * width_;
    double rest = kept[band_ + side];
    for (std::size_t i = 1; i < std::min(band_, unknowns_ - k); ++i) rest -= kept[i] * x[k + i];
    x[k] = rest / kept[0];
  }
  return x;
}

}  // namespace mollify
