// What dispatches are predicted to take, on GPUs that are described.
#include <gtest/gtest.h>

#include "algorithms/common/gpu.h"
#include "support.h"

namespace mollify::test {
namespace {

TEST(GpuCost, BarriersCountByThreadsWhereTheyWereMeasured) {
  DeviceInfo device = fake_gpu(true);
  const auto seconds_of = [&](double waiters) {
    return gpu::seconds(device, PixelFormat::rgba8, {.pixels = 1e6, .barriers = 2.0, .waiters = waiters});
  };
  EXPECT_DOUBLE_EQ(seconds_of(8.0), seconds_of(1.0)) << "nothing is known of its barriers";
  device.gpu.measured = {1e9, 1e9, 1e-5, 1e9, 1e6};
  EXPECT_NEAR(seconds_of(8.0) - seconds_of(1.0), 14.0, 1e-6);
  device.name = "NVIDIA H200";
  EXPECT_DOUBLE_EQ(seconds_of(8.0), seconds_of(1.0)) << "a row of the library wins";
}

TEST(GpuCost, IdleThreadsAndBanksCountWhereTheyWereMeasured) {
  DeviceInfo device = fake_gpu(true);
  const auto seconds_of = [&](double covered) {
    return gpu::seconds(device, PixelFormat::rgba8, {.pixels = 1e6, .operations = 1e3, .covered = covered});
  };
  EXPECT_DOUBLE_EQ(seconds_of(2.0), seconds_of(1.0));
  EXPECT_DOUBLE_EQ(gpu::slowness_of_strides(device, gpu::Cache::f16), 2.5);
  device.gpu.measured = {1e9, 1e9, 1e-5, 1e9, 1e6};
  EXPECT_NEAR(seconds_of(2.0) - seconds_of(1.0), 1.0, 1e-6);
  EXPECT_DOUBLE_EQ(gpu::slowness_of_strides(device, gpu::Cache::f16), 1.0);
  device.gpu.is_software = false;
  EXPECT_DOUBLE_EQ(gpu::slowness_of_strides(device, gpu::Cache::f16), 2.5) << "its shared memory may have banks";
  Pass pass;
  pass.size = {128, 5};
  pass.tile = {256, 4};
  EXPECT_DOUBLE_EQ(gpu::covered(pass), 2.0 * 8.0 / 5.0);
}

}  // namespace
}  // namespace mollify::test
