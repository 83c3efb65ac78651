#include "math/least_squares.h"

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

std::vector<double> BandedLeastSquares::solution_of(const std::vector<bool>& chosen, std::size_t side) const {
  std::vector<std::size_t> place(unknowns_ + 1);  // of an unknown among the chosen ones
  for (std::size_t k = 0; k < unknowns_; ++k) place[k + 1] = place[k] + (chosen[k] ? 1 : 0);
  BandedLeastSquares fewer(place.back(), band_, 1);
  std::vector<double> row(band_ + 1);
  for (std::size_t k = 0; k < unknowns_ && place[k] < place.back(); ++k) {
    const double* const kept = triangle_.data() + k * width_;
    std::ranges::fill(row, 0.0);
    for (std::size_t i = 0; i < std::min(band_, unknowns_ - k); ++i) {
      if (chosen[k + i]) row[place[k + i] - place[k]] = kept[i];
    }
    row[band_] = kept[band_ + side];
    fewer.add(place[k], row);
  }
  const std::vector<double> of_chosen = fewer.solution(0);
  std::vector<double> x(unknowns_);
  for (std::size_t k = 0; k < unknowns_; ++k) x[k] = chosen[k] ? of_chosen[place[k]] : 0.0;
  return x;
}

std::vector<double> BandedLeastSquares::descent(const std::vector<double>& x, std::size_t side) const {
  std::vector<double> slope(unknowns_);
  for (std::size_t k = 0; k < unknowns_; ++k) {
    const double* const kept = triangle_.data() + k * width_;
    const std::size_t end = std::min(band_, unknowns_ - k);
    double left = kept[band_ + side];
    for (std::size_t i = 0; i < end; ++i) left -= kept[i] * x[k + i];
    for (std::size_t i = 0; i < end; ++i) slope[k + i] += kept[i] * left;
  }
  return slope;
}

/// Block principal pivoting (Portugal, Judice and Vicente 1994): all unknowns that are on the wrong side change it together, and one at a
/// time where that does not make them fewer.
std::vector<double> BandedLeastSquares::nonnegative_solution(std::size_t side) const {
  constexpr double kFlat = 1e-12;  // of the steepest slope: rounding
  constexpr int kPatience = 3;     // changes of all together that may not help
  const std::size_t most_changes = 20 * unknowns_;
  const std::vector<double> steepest = descent(std::vector<double>(unknowns_), side);
  double flat = 0.0;
  for (const double slope : steepest) flat = std::max(flat, kFlat * std::abs(slope));

  std::vector<bool> chosen(unknowns_, true);
  std::vector<double> x = solution(side);
  std::size_t fewest = unknowns_ + 1;
  int patience = kPatience;
  for (std::size_t change = 0; change < most_changes; ++change) {
    const std::vector<double> slope = descent(x, side);
    std::vector<std::size_t> wrong;
    for (std::size_t k = 0; k < unknowns_; ++k) {
      if (chosen[k] ? x[k] < 0.0 : slope[k] > flat) wrong.push_back(k);
    }
    if (wrong.empty()) break;
    if (wrong.size() < fewest) {
      fewest = wrong.size();
      patience = kPatience;
    } else if (patience > 0) {
      --patience;
    } else {
      wrong = {wrong.back()};
    }
    for (const std::size_t k : wrong) chosen[k] = !chosen[k];
    x = solution_of(chosen, side);
  }
  for (double& element : x) element = std::max(element, 0.0);
  return x;
}

}  // namespace mollify
