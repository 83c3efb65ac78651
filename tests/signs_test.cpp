// A kernel without negative weights gives nothing below the least value that it reads, nor above the largest: on CPUs.
#include <gtest/gtest.h>

#include <array>

#include "signs_support.h"
#include "support.h"

namespace mollify::test {
namespace {

constexpr std::array kSigmas = {0.5, 1.0, 2.0, 3.0, 4.5, 6.0, 10.0, 25.0, 60.0, 300.0};

TEST(Signs, OfWhatThePlannerChooses) {
  EXPECT_GT(expect_signs_hold(cpu(), kSigmas), 0);
}

TEST(Signs, OfDecimatedGaussians) {
  EXPECT_GT(expect_signs_hold(cpu(), kSigmas, "gauss.decimate"), 0);
}

TEST(Signs, OfTaps) {
  EXPECT_GT(expect_signs_hold(cpu(), kSigmas, "sep.fused"), 0);
}

TEST(Signs, OfCutGaussiansOfFloats) {
  for (const double truncate : {3.0, 4.0}) {
    EXPECT_GT(expect_signs_hold(cpu(), std::array{1.0, 3.0, 8.0, 10.0, 25.0, 60.0}, {}, truncate), 0);
    EXPECT_GT(expect_signs_hold(cpu(), std::array{12.0, 20.0, 40.0}, "gauss.cut", truncate), 0);
  }
}

constexpr std::array kCutSigmas = {4.0, 7.4, 8.7, 10.7, 16.0, 21.3};

TEST(Signs, OfCutGaussiansThatThePlannerChooses) {
  EXPECT_GT(expect_bytes_hold(cpu(), kCutSigmas), 0);
}

TEST(Signs, OfCutGaussians) {
  EXPECT_GT(expect_bytes_hold(cpu(), kCutSigmas, "gauss.cut"), 0);
}

}  // namespace
}  // namespace mollify::test
