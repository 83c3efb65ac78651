// Timing by events of CUDA, on a stand-in for its driver: ../cuda_stand_in.cpp, where time is counted.
#include <gtest/gtest.h>

#include "bench/contest.h"
#include "bench/time_group.h"

namespace mollify::bench {
namespace {

cases::Case case_of(std::int32_t radius) {
  cases::Case c;
  c.spec.kernel = Box::of_radius(radius, radius);
  c.src = c.dst = {70, 50, PixelFormat::rgba8};
  c.algorithm = *parse_algorithm("sep.fused:passes=1");
  return c;
}

TEST(CudaTiming, RecordsAreThoseOfAnyGpu) {
  const Result<Device> device = Device::open("cuda");
  ASSERT_TRUE(device.ok()) << device.error().message;
  for (const int batch : {1, 3}) {
    const cases::Case c = case_of(2);
    const Result<GroupTiming> timing = time_group(*device, {&c, 1}, {.seconds = 0.0, .batch = batch});
    ASSERT_TRUE(timing.ok()) << timing.error().message;
    ASSERT_TRUE(timing->cases.front().record.ok()) << timing->cases.front().record.error().message;
    const Record& record = *timing->cases.front().record;
    EXPECT_EQ(record.backend, "cuda");
    EXPECT_EQ(record.batch, batch);
    EXPECT_GE(record.time_ns.count, 9);
    const double image = 70 * 50 * 4;
    EXPECT_NEAR(record.time_ns.median, 2000 + batch * image * 2 / 1e3, 1.0) << "what the stand-in counts";
    EXPECT_NEAR(record.copy_ns, 2000 + batch * image / 1e3, 1.0);
    EXPECT_NEAR(*record.dispatch_ns, 2000, 1.0);
    EXPECT_NEAR(*record.nothing_ns, 0.0, 1.0);
    EXPECT_GT(*record.submit_ns, 0.0);
    EXPECT_GT(*record.end_to_end_ns, 0.0);
    EXPECT_FALSE(record.unstable);
  }
}

TEST(CudaTiming, ContestsTakeTurns) {
  const Result<Device> device = Device::open("cuda");
  ASSERT_TRUE(device.ok()) << device.error().message;
  std::vector<Executable> executables;
  for (const std::int32_t radius : {2, 5}) {
    const cases::Case c = case_of(radius);
    const Result<Plan> plan = make_plan(c.spec, c.src, c.dst, device->info(), {.algorithm = c.algorithm});
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    executables.push_back(*device->prepare(*plan));
  }
  Contest contest(*device);
  const Result<std::vector<Statistics>> times = contest.time(executables, {.seconds = 0.0});
  ASSERT_TRUE(times.ok()) << times.error().message;
  ASSERT_EQ(times->size(), 2U);
  for (const Statistics& time : *times) EXPECT_NEAR(time.median, 2000 + 70 * 50 * 4 * 2 / 1e3, 1.0);
}

}  // namespace
}  // namespace mollify::bench
