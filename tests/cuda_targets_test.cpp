// Which GPUs the kernels of CUDA are for, on a stand-in for the driver: cuda_stand_in.cpp.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "backends/cuda/modules.h"
#include "mollify/mollify.h"

namespace mollify {
namespace {

class CudaTargets : public testing::Test {
 protected:
  void TearDown() override { unsetenv("MOLLIFY_STAND_IN_CAPABILITY"); }

  /// Opens a GPU of a compute capability, ten times the major number and the minor one.
  Result<Device> open(std::int32_t capability) {
    setenv("MOLLIFY_STAND_IN_CAPABILITY", std::to_string(capability).c_str(), 1);
    waits.clear();
    const int before = loads();
    Result<Device> device = Device::open("cuda", {.on_wait = [this](const std::string& why) { waits.push_back(why); }});
    loaded = loads() - before;
    return device;
  }

  /// Modules that were loaded so far.
  static int loads() {
    [[maybe_unused]] const auto devices = list_devices();  // so that the driver is loaded
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    const int count = *static_cast<int*>(dlsym(driver, "mollify_stand_in_loads"));
    dlclose(driver);
    return count;
  }

  static bool is_compiled_by_drivers(std::int32_t capability) {
    return std::ranges::any_of(cuda::module_targets().driver, [&](std::int32_t target) { return target <= capability; });
  }

  std::vector<std::string> waits;
  int loaded = 0;
};

TEST_F(CudaTargets, MachineCodeIsForLaterMinorNumbers) {
  ASSERT_FALSE(cuda::module_targets().machine.empty());
  for (const std::int32_t target : cuda::module_targets().machine) {
    for (const std::int32_t capability : {target, target / 10 * 10 + 9}) {
      const Result<Device> device = open(capability);
      ASSERT_TRUE(device.ok()) << capability << ": " << device.error().message;
      EXPECT_FALSE(device->info().kernels.empty());
      EXPECT_TRUE(waits.empty()) << waits.front();
      EXPECT_EQ(loaded, 0) << "kernels are loaded when they are needed";
    }
  }
}

TEST_F(CudaTargets, DriversCompileForLaterGpusWhenTheseAreOpened) {
  constexpr std::int32_t kLater = 990;
  const Result<Device> device = open(kLater);
  if (!is_compiled_by_drivers(kLater)) {
    EXPECT_FALSE(device.ok());
    return;
  }
  ASSERT_TRUE(device.ok()) << device.error().message;
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_NE(waits.front().find("compute capability 99.0"), std::string::npos) << waits.front();
  EXPECT_EQ(loaded, static_cast<int>(cuda::module_images().size()));
}

TEST_F(CudaTargets, EarlierGpusAreRefusedAndNotPlannedFor) {
  const Result<Device> device = open(70);
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.error().code, ErrorCode::unsupported);
  EXPECT_NE(device.error().message.find("compute capability 7.0"), std::string::npos) << device.error().message;
  if (is_compiled_by_drivers(75)) {
    EXPECT_TRUE(device.error().message.ends_with("for 7.5 and later")) << device.error().message;
  }
  for (const DeviceEntry& entry : list_devices()) {
    EXPECT_TRUE(entry.info.backend != Backend::cuda || entry.info.kernels.empty());
  }
}

}  // namespace
}  // namespace mollify
