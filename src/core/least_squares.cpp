#include "core/least_squares.h"

#include <cmath>
#include <cstddef>

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

}  // namespace mollify
