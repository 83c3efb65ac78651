#include "lab/contest.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace mollify::lab {
namespace {

std::vector<PairOfTimes> noisy_pairs(double factor, double noise, int count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> log_noise(0.0, noise);
  std::vector<PairOfTimes> pairs;
  for (int i = 0; i < count; ++i) {
    const double first = 1000.0 * std::exp(log_noise(random));
    pairs.push_back({first, 1000.0 * factor * std::exp(log_noise(random))});
  }
  return pairs;
}

TEST(Contest, TheRatioIsAMeanOfLogarithms) {
  const std::vector<PairOfTimes> pairs{{100, 200}, {100, 50}};
  const Result<Ratio> ratio = ratio_of(pairs);
  ASSERT_TRUE(ratio);
  EXPECT_NEAR(ratio->mean, 1.0, 1e-12);
  // The logarithms are +-ln 2: their deviation is sqrt(2) ln 2, that of the mean ln 2, and 12.706 belongs to one degree of freedom.
  EXPECT_NEAR(std::log(ratio->most), 12.706 * std::log(2.0), 1e-9);
  EXPECT_NEAR(ratio->least * ratio->most, 1.0, 1e-9);
}

TEST(Contest, OnePairDecidesNothing) {
  EXPECT_FALSE(ratio_of({}).ok());
  const PairOfTimes one{100, 200};
  EXPECT_FALSE(ratio_of(std::span(&one, 1)).ok());
}

TEST(Contest, AlikeProgramsAreRarelyFoundToDiffer) {
  int found = 0;
  constexpr int kContests = 1000;
  for (unsigned seed = 0; seed < kContests; ++seed) {
    const Verdict verdict = verdict_of(*ratio_of(noisy_pairs(1.0, 0.1, 15, seed)), 0.0);
    found += verdict == Verdict::slower || verdict == Verdict::faster ? 1 : 0;
  }
  EXPECT_NEAR(found, 0.05 * kContests, 4 * std::sqrt(0.05 * 0.95 * kContests));
}

TEST(Contest, DifferencesAreFound) {
  EXPECT_EQ(verdict_of(*ratio_of(noisy_pairs(1.1, 0.02, 15, 1)), 0.02), Verdict::slower);
  EXPECT_EQ(verdict_of(*ratio_of(noisy_pairs(0.9, 0.02, 15, 2)), 0.02), Verdict::faster);
  EXPECT_EQ(verdict_of(*ratio_of(noisy_pairs(1.0, 0.005, 15, 3)), 0.02), Verdict::same);
  EXPECT_EQ(verdict_of(*ratio_of(noisy_pairs(1.0, 0.3, 5, 4)), 0.02), Verdict::undecided);
}

}  // namespace
}  // namespace mollify::lab
