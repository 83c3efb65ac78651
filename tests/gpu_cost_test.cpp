// What dispatches are predicted to take, on GPUs that are described.
#include <gtest/gtest.h>

#include "algorithms/common/gpu.h"
#include "vulkan_support.h"

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

/// A driver that runs on the processor, whose rates are about those that a probe measures of llvmpipe.
DeviceInfo measured_processor() {
  DeviceInfo device = fake_gpu(true);
  device.gpu.measured = {1.7e10, 6e9, 9e-6, 5e8, 1.4e8};
  return device;
}

Plan plan_on_processor(const KernelSpec& kernel, const ImageDesc& image, std::string_view algorithm = "",
                       const DeviceInfo& device = measured_processor()) {
  return must(make_plan(spec_of(kernel), image, image, device, with(algorithm)));
}

KernelSpec gaussian_of(std::int32_t radius) {
  return Gaussian{{radius / 3.0, radius / 3.0}, {{radius, radius}}, {}};
}

TEST(GpuCost, AProcessorMovesPixelsOfQuadsInItsRegisters) {
  DeviceInfo device = fake_gpu(false);
  const auto seconds_of = [&](const gpu::Work& work) { return gpu::seconds(device, PixelFormat::rgba8, work); };
  EXPECT_DOUBLE_EQ(seconds_of({.pixels = 1e6, .swaps = 5.0}), seconds_of({.pixels = 1e6, .shared_loads = 5.0}));
  device = measured_processor();
  EXPECT_DOUBLE_EQ(seconds_of({.pixels = 1e6, .swaps = 5.0}), seconds_of({.pixels = 1e6, .operations = 5.0}));
  EXPECT_EQ(plan_on_processor(gaussian_of(1), {128, 128, PixelFormat::rgba32f}).algorithm.id, "quad.3x3");
  EXPECT_LT(1.5 * plan_on_processor(gaussian_of(1), {128, 128, PixelFormat::rgba8}, "quad.3x3").predicted_seconds,
            plan_on_processor(gaussian_of(1), {128, 128, PixelFormat::rgba8}, "nxn.direct").predicted_seconds);
}

/// As measured on llvmpipe and SwiftShader.
TEST(GpuCost, AProcessorSlidesAlongBoxesByOneThreadARow) {
  for (const PixelFormat format : {PixelFormat::r8, PixelFormat::rgba8, PixelFormat::rgba32f}) {
    for (const std::int32_t size : {128, 512}) {
      const auto seconds_of = [&](std::string_view way) {
        return plan_on_processor(Box::of_radius(9, 9), {size, size, format}, way).predicted_seconds;
      };
      for (const char* form : {"box.any:form=four_corner", "box.any:form=row_segments", "box.any:form=column_sums"}) {
        EXPECT_GT(seconds_of(form), 1.5 * seconds_of("box.running")) << form << " " << size;
      }
    }
  }
  const auto corners = [](std::int32_t width) {
    return plan_on_processor(Box::of_radius(9, 9), {width, 512, PixelFormat::rgba8}, "box.any:form=four_corner").predicted_seconds;
  };
  EXPECT_LT(corners(512), 1.5 * corners(128)) << "threads beyond the image work as the others do";
}

/// As measured on llvmpipe, whose subgroups hold the taps of radius 4.
TEST(GpuCost, AProcessorShufflesWhereTapsFitIntoASubgroup) {
  for (const std::int32_t radius : {2, 3, 4}) {
    const Plan plan = plan_on_processor(gaussian_of(radius), {256, 256, PixelFormat::rgba8});
    ASSERT_EQ(plan.algorithm.id, "sep.fused") << radius;
    EXPECT_EQ(plan.algorithm.options.at("exchange"), "shuffle");
    EXPECT_LE(std::stoi(plan.algorithm.options.at("chunks")), 4) << "each begins with rows that another has read";
  }
  EXPECT_NE(plan_on_processor(gaussian_of(9), {256, 256, PixelFormat::rgba8}).algorithm.id, "sep.fused");
  const Plan unmeasured = plan_on_processor(gaussian_of(3), {256, 256, PixelFormat::rgba8}, "sep.fused", fake_gpu(true));
  EXPECT_EQ(unmeasured.algorithm.options.at("exchange"), "shared");
}

/// Short rows and squares are preferred on a processor, and take more shared memory than what is usual.
TEST(GpuCost, WhatIsPreferredGivesWayWhereItDoesNotFit) {
  const ImageDesc image{2048, 1152, PixelFormat::rgba8};
  const auto group_of = [&](std::string_view way, double sigma) {
    return plan_on_processor(Gaussian{{sigma, sigma}, {}, {}}, image, way).algorithm.options.at("group");
  };
  EXPECT_EQ(group_of("sep.inline_sliding", 3.0), "64x1");
  EXPECT_EQ(group_of("sep.inline_sliding", 10.0), "16x16");
  EXPECT_EQ(group_of("sep.inline", 3.0), "16x16");
  EXPECT_EQ(group_of("sep.inline", 40.0), "2x128");
}

}  // namespace
}  // namespace mollify::test
