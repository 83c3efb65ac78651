// Plan::reach on CPUs: a NaN or an infinity changes no pixel beyond.
#include <gtest/gtest.h>

#include "reach_support.h"

namespace mollify::test {
namespace {

TEST(Reach, HoldsForEveryAlgorithm) {
  int algorithms_that_ran = 0;
  for (const std::string& algorithm : ways_to_blur({"gauss.decimate:passes=2", "gauss.decimate:factor=2,support=3"})) {
    SCOPED_TRACE(algorithm);
    algorithms_that_ran += expect_reach_holds(cpu(), algorithm, Borders::all) > 0 ? 1 : 0;
  }
  EXPECT_GE(algorithms_that_ran, 8);
}

// What the header promises of Gaussians.
TEST(Reach, OfGaussiansIsNoMoreThanSevenSigma) {
  for (const double sigma : {1.0, 3.0, 5.0, 10.0, 40.0, 100.0}) {
    for (const PixelFormat format :
         {PixelFormat::r16f, PixelFormat::rgba16f, PixelFormat::r32f, PixelFormat::rgba32f, PixelFormat::rgba8}) {
      const ImageDesc desc{4096, 4096, format};
      const Result<Plan> plan = make_plan(spec_of(Gaussian{{sigma, sigma}, {}, {}}), desc, desc, cpu().info(), {});
      ASSERT_TRUE(plan.ok());
      for (const mollify::Reach& reach : {plan->reach.x, plan->reach.y}) {
        EXPECT_LE(reach.before, 7.0 * sigma) << plan->algorithm.id << " " << sigma;
        EXPECT_LE(reach.after, 7.0 * sigma) << plan->algorithm.id << " " << sigma;
        EXPECT_GE(reach.before, 2.5 * sigma) << plan->algorithm.id << " " << sigma;
      }
    }
  }
}

}  // namespace
}  // namespace mollify::test
