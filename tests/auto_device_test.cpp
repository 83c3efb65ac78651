// Where a blur of images in host memory ends first.
#include "mollify/experimental/auto_device.h"

#include <gtest/gtest.h>

#include "support.h"

namespace mollify {
namespace {

constexpr std::int64_t kGigabyte = 1'000'000'000;

GpuAndCpu machine() {
  return {"cuda:0", 1e10, 2.0};  // a gigabyte takes a tenth of a second
}

TEST(AutoDevice, TakesTheOneThatEndsFirstWithTransfers) {
  const GpuWork work{0.01, kGigabyte};
  EXPECT_EQ(choose_device(machine(), 0.06, work).device, "cuda:0");  // which takes this processor 0.12 s, and the GPU 0.11
  EXPECT_EQ(choose_device(machine(), 0.05, work).device, "cpu");
  EXPECT_EQ(choose_device(machine(), 0.06, GpuWork{0.03, kGigabyte}).device, "cpu");
  EXPECT_EQ(choose_device(machine(), 0.06, work).why, "auto: cuda:0; predicted on cpu 120 ms, on cuda:0 10 ms and 100 ms of transfers");
}

TEST(AutoDevice, IsTheProcessorWhereAGpuCannotOrIsNotThere) {
  EXPECT_EQ(choose_device(machine(), 100.0, std::nullopt).device, "cpu");
  EXPECT_EQ(choose_device({}, 100.0, GpuWork{}).device, "cpu");
}

TEST(AutoDevice, OpensNoGpuForLessThanThatTakes) {
  const std::optional<DeviceChoice> choice = choose_without_gpu(0.9 * kSecondsToOpenGpu);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->device, "cpu");
  EXPECT_FALSE(choose_without_gpu(1.1 * kSecondsToOpenGpu));
}

TEST(AutoDevice, DriversThatRunOnTheProcessorAreNoGpus) {
  const auto open = [](const std::string& name) {
    if (name.starts_with("vulkan")) {
      Result<Device> device = Device::open(name);
      EXPECT_FALSE(device && device->info().gpu.is_software) << name;
      return device;
    }
    return Device::open(name);
  };
  const GpuAndCpu found = measure_gpu_and_cpu(open);
  EXPECT_EQ(found.gpu.empty(), found.bus_bytes_per_second == 0.0) << found.gpu;
}

}  // namespace
}  // namespace mollify
