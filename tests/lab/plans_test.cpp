#include "lab/plans.h"

#include <gtest/gtest.h>

#include <set>

namespace mollify::lab {
namespace {

Device one_thread() {
  return Device::open("cpu", {.threads = 1}).value();
}

cases::Case request_of(const KernelSpec& kernel) {
  cases::Case request;
  request.spec.kernel = kernel;
  request.src = request.dst = {96, 64, PixelFormat::rgba8};
  return request;
}

TEST(Plans, RequestsHaveNoAlgorithmAndAreThereOnce) {
  const DeviceInfo device = one_thread().info();
  const Suite& quick = *find_suite("quick");
  const std::vector<cases::Case> own = requests_of(quick, device, {}, 0);
  EXPECT_EQ(own.size(), quick.groups(device).size());
  std::set<std::string> names;
  for (const cases::Case& request : own) {
    EXPECT_TRUE(request.algorithm.id.empty() && !request.spec.accuracy.max_error) << cases::name(request);
    EXPECT_TRUE(names.insert(cases::name(request)).second) << cases::name(request);
  }
  const std::vector formats{PixelFormat::r8, PixelFormat::rgba16f, PixelFormat::rgba32f};
  const std::vector<cases::Case> three = requests_of(quick, device, formats, 0);
  EXPECT_EQ(three.size(), 27U) << "nine kernels and sizes in three formats";
  const std::vector<cases::Case> small = requests_of(quick, device, formats, 64);
  EXPECT_EQ(small.size(), 21U) << "one kernel had three sizes";
  for (const cases::Case& request : small) EXPECT_EQ(std::max(request.src.width, request.dst.height), 64) << cases::name(request);
}

TEST(Plans, TheGapIsThatToTheFastest) {
  bench::Contest contest(one_thread());
  const Result<PlanGap> gap = gap_of_plan(contest, request_of(Box::of_radius(2, 2)), {.seconds = 0.0, .tuning_seconds = 0.0});
  ASSERT_TRUE(gap.ok()) << gap.error().message;
  EXPECT_GT(gap->timed, 1);
  EXPECT_GE(gap->ratio(), 1.0) << "the planned one takes part";
  EXPECT_GE(gap->untuned, 1);
  EXPECT_FALSE(gap->planned.choice.id.empty());
  EXPECT_EQ(gap->ratio() == 1.0, gap->best.choice == gap->planned.choice);
}

TEST(Plans, ABadChoiceIsFound) {
  bench::Contest contest(one_thread());
  const cases::Case request = request_of(Gaussian{{3, 3}, {{9, 9}}, {}});
  PlanGapOptions options{.seconds = 0.0, .tuning_seconds = 0.0};
  options.planned = AlgorithmChoice{"nxn.direct", {}};
  const Result<PlanGap> gap = gap_of_plan(contest, request, options);
  ASSERT_TRUE(gap.ok()) << gap.error().message;
  EXPECT_EQ(gap->planned.choice.id, "nxn.direct");
  EXPECT_NE(gap->best.choice.id, "nxn.direct");
  EXPECT_GT(gap->ratio(), 2.0) << "19 times 19 taps beside 19 and 19";
}

TEST(Plans, StopsWhenAsked) {
  bench::Contest contest(one_thread());
  const Result<PlanGap> gap = gap_of_plan(contest, request_of(Box::of_radius(2, 2)), {.stop = [] { return true; }});
  ASSERT_FALSE(gap.ok());
  EXPECT_EQ(gap.error().message, "stopped");
}

}  // namespace
}  // namespace mollify::lab
