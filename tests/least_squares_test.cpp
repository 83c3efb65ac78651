// Least squares: against the normal equations that define them.
#include "math/least_squares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "cases/random.h"

namespace mollify {
namespace {

constexpr std::size_t kUnknowns = 12;
constexpr std::size_t kBand = 4;
constexpr std::size_t kSides = 2;
constexpr std::size_t kRowsOfEach = 5;  // that begin with an unknown

struct System {
  std::vector<std::vector<double>> columns = std::vector<std::vector<double>>(kUnknowns);
  std::vector<std::size_t> firsts;  // of a row
  std::vector<std::vector<double>> sides = std::vector<std::vector<double>>(kSides);
};

/// Rows with a few neighbouring unknowns each, and some at the end with none.
System random_system() {
  cases::Random random(11);
  const auto number = [&] { return random.uniform(-1.0, 1.0); };
  System s;
  for (std::size_t row = 0; row < (kUnknowns + 1) * kRowsOfEach; ++row) {
    const std::size_t first = row / kRowsOfEach;
    s.firsts.push_back(first);
    for (std::size_t k = 0; k < kUnknowns; ++k) s.columns[k].push_back(k >= first && k < first + kBand ? number() : 0.0);
    for (std::vector<double>& side : s.sides) side.push_back(number());
  }
  return s;
}

double product(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

std::vector<double> left_by(const System& s, const std::vector<double>& x, std::size_t side) {
  std::vector<double> left = s.sides[side];
  for (std::size_t k = 0; k < kUnknowns; ++k) {
    for (std::size_t i = 0; i < left.size(); ++i) left[i] -= s.columns[k][i] * x[k];
  }
  return left;
}

TEST(LeastSquares, WhatIsLeftIsNormalToAllColumns) {
  const System s = random_system();
  for (std::size_t side = 0; side < kSides; ++side) {
    System used = s;
    const std::vector<double> left = left_by(s, least_squares(used.columns, used.sides[side]), side);
    for (const std::vector<double>& column : s.columns) EXPECT_NEAR(product(column, left), 0.0, 1e-12);
  }
}

TEST(LeastSquares, RowByRowTheSame) {
  const System s = random_system();
  BandedLeastSquares banded(kUnknowns, kBand, kSides);
  double products[kSides][kSides] = {};
  for (std::size_t i = 0; i < s.firsts.size(); ++i) {
    std::vector<double> row(kBand);
    for (std::size_t j = 0; j < kBand && s.firsts[i] + j < kUnknowns; ++j) row[j] = s.columns[s.firsts[i] + j][i];
    for (const std::vector<double>& side : s.sides) row.push_back(side[i]);
    banded.add(s.firsts[i], row);
    for (std::size_t a = 0; a < kSides; ++a) {
      for (std::size_t b = 0; b < kSides; ++b) products[a][b] += row[kBand + a] * row[kBand + b];
    }
  }
  std::vector<double> left[kSides];
  for (std::size_t side = 0; side < kSides; ++side) {
    left[side] = left_by(s, banded.solution(side), side);
    for (const std::vector<double>& column : s.columns) EXPECT_NEAR(product(column, left[side]), 0.0, 1e-12);
  }
  for (std::size_t a = 0; a < kSides; ++a) {
    for (std::size_t b = 0; b < kSides; ++b) EXPECT_NEAR(products[a][b], product(left[a], left[b]), 1e-12);
  }
}

// Of the best x without negative elements, those that are zero would not do better by growing, and the others by no change.
TEST(LeastSquares, NoElementIsNegative) {
  const System s = random_system();
  BandedLeastSquares banded(kUnknowns, kBand, kSides);
  for (std::size_t row = 0; row < s.firsts.size(); ++row) {
    std::vector<double> numbers(kBand + kSides);
    for (std::size_t i = 0; i < kBand; ++i) {
      if (s.firsts[row] + i < kUnknowns) numbers[i] = s.columns[s.firsts[row] + i][row];
    }
    for (std::size_t side = 0; side < kSides; ++side) numbers[kBand + side] = s.sides[side][row];
    if (s.firsts[row] < kUnknowns) banded.add(s.firsts[row], numbers);
  }
  for (std::size_t side = 0; side < kSides; ++side) {
    ASSERT_LT(std::ranges::min(banded.solution(side)), 0.0) << "nothing to be seen";
    const std::vector<double> x = banded.nonnegative_solution(side);
    const std::vector<double> left = left_by(s, x, side);
    for (std::size_t k = 0; k < kUnknowns; ++k) {
      EXPECT_GE(x[k], 0.0);
      const double slope = product(s.columns[k], left);
      EXPECT_LE(slope, 1e-12) << k;
      EXPECT_NEAR(x[k] * slope, 0.0, 1e-12) << k;
    }
  }
}

}  // namespace
}  // namespace mollify
