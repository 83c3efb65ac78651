#include "math/lowrank.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "math/remembered.h"

namespace mollify {
namespace {

using Columns = std::vector<std::vector<double>>;

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

void rotate(std::vector<double>& a, std::vector<double>& b, double c, double s) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double ai = a[i];
    a[i] = c * ai - s * b[i];
    b[i] = s * ai + c * b[i];
  }
}

/// One-sided Jacobi: rotates pairs of columns until all are orthogonal, and the columns of `turns` along with them.
/// What the columns were is then sum_k columns[k] * turns[k]^T.
void orthogonalise(Columns& columns, Columns& turns) {
  constexpr int kMostSweeps = 60;  // a dozen do; the bound is against what rounding might keep going
  constexpr double kOrthogonal = 1e-15;
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    bool turned = false;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      for (std::size_t j = i + 1; j < columns.size(); ++j) {
        const double alpha = dot(columns[i], columns[i]);
        const double beta = dot(columns[j], columns[j]);
        const double gamma = dot(columns[i], columns[j]);
        if (std::abs(gamma) <= kOrthogonal * std::sqrt(alpha * beta)) continue;
        turned = true;
        const double zeta = (beta - alpha) / (2.0 * gamma);
        const double t = std::copysign(1.0, zeta) / (std::abs(zeta) + std::sqrt(1.0 + zeta * zeta));
        const double c = 1.0 / std::sqrt(1.0 + t * t);
        rotate(columns[i], columns[j], c, c * t);
        rotate(turns[i], turns[j], c, c * t);
      }
    }
    if (!turned) return;
  }
}

std::vector<OuterProduct> decompose(const Matrix& matrix) {
  const auto width = static_cast<std::size_t>(matrix.width);
  const auto height = static_cast<std::size_t>(matrix.height);
  const bool tall = height >= width;  // fewer columns are fewer pairs
  const std::size_t count = std::min(width, height);
  Columns columns(count);
  Columns turns(count, std::vector<double>(count, 0.0));
  for (std::size_t k = 0; k < count; ++k) {
    turns[k][k] = 1.0;
    for (std::size_t i = 0; i < std::max(width, height); ++i) {
      columns[k].push_back(matrix.weights[tall ? i * width + k : k * width + i]);
    }
  }
  orthogonalise(columns, turns);
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t k) { return dot(columns[k], columns[k]); });

  std::vector<OuterProduct> out;
  for (const std::size_t k : order) {
    // Both factors get the root of the singular value, so that neither is tiny.
    const double root = std::pow(dot(columns[k], columns[k]), 0.25);
    for (double& v : turns[k]) v *= root;
    if (root > 0.0) {
      for (double& v : columns[k]) v /= root;
    }
    if (tall) {
      out.push_back({std::move(turns[k]), std::move(columns[k])});
    } else {
      out.push_back({std::move(columns[k]), std::move(turns[k])});
    }
  }
  return out;
}

}  // namespace

std::shared_ptr<const std::vector<OuterProduct>> singular_products(const Matrix& matrix) {
  using Products = std::vector<OuterProduct>;
  static auto& known = *new Remembered<std::pair<std::int32_t, std::vector<double>>, std::shared_ptr<const Products>>(64);
  return known.get({matrix.width, matrix.weights}, [&] { return std::make_shared<const Products>(decompose(matrix)); });
}

}  // namespace mollify
