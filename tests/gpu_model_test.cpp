#include "model/gpu_model.h"

#include <gtest/gtest.h>

#include "support.h"

namespace mollify {
namespace {

using test::fake_gpu;
using test::fake_h200;

TEST(GpuModel, NoFieldIsUnknown) {
  DeviceInfo nothing;
  nothing.backend = Backend::cuda;
  for (const DeviceInfo& device : {fake_gpu(false), fake_gpu(true), fake_h200(), nothing}) {
    const GpuModel model = gpu_model(device);
    const Multiprocessors& of = model.multiprocessors;
    EXPECT_GT(of.count, 0) << device.name;
    EXPECT_GT(of.schedulers, 0) << device.name;
    EXPECT_GT(of.subgroup_size, 0) << device.name;
    EXPECT_GT(of.max_threads, 0) << device.name;
    EXPECT_GT(of.registers, 0) << device.name;
    EXPECT_GT(of.shared_bytes, 0) << device.name;
    for (const double rate : {model.bytes_per_second, model.stores_per_second, model.shared_loads_per_second, model.operations_per_second,
                              model.barriers_per_second, model.launch_seconds, model.step_seconds}) {
      EXPECT_GT(rate, 0.0) << device.name;
    }
    for (const double rate : model.loads_per_second) EXPECT_GT(rate, 0.0) << device.name;
  }
}

TEST(GpuModel, ADeviceWithARowHasIts) {
  DeviceInfo device = fake_h200();
  EXPECT_EQ(gpu_model(device).row, "H200");
  EXPECT_EQ(gpu_model(device).multiprocessors.count, 132);
  device.name = "Imaginary GPU";
  EXPECT_EQ(gpu_model(device).row, kTypical);
  EXPECT_FALSE(has_gpu_row(device));
}

TEST(GpuModel, WhatTheDriverSaysComesBeforeTheRow) {
  DeviceInfo device = fake_h200();
  device.gpu.multiprocessors = {.count = 78, .max_threads = 1536};
  const Multiprocessors of = gpu_model(device).multiprocessors;
  EXPECT_EQ(of.count, 78);
  EXPECT_EQ(of.max_threads, 1536);
  EXPECT_EQ(of.registers, 65536) << "the driver says nothing of them";
  EXPECT_EQ(threads_to_fill(gpu_model(device)), 78 * 1536);
  device.gpu.multiprocessors.shared_bytes = 200 << 10;
  EXPECT_EQ(gpu_model(device).multiprocessors.shared_bytes, 200 << 10);
}

TEST(GpuModel, RegistersAndSharedMemoryLimitWhatRunsAtOnce) {
  GpuModel model = gpu_model(fake_h200());
  EXPECT_EQ(groups_at_once(model, {.threads = 128, .registers = 64}), 8);
  EXPECT_EQ(groups_at_once(model, {.threads = 128, .registers = 65}), 7);
  EXPECT_EQ(groups_at_once(model, {.threads = 1024, .registers = 255}), 1) << "one at least";
  EXPECT_EQ(groups_at_once(model, {.threads = 128, .registers = 16}), 16) << "no more threads than it holds";
  EXPECT_EQ(threads_at_once(model, 168), 384);
  model.multiprocessors.shared_bytes = 100 << 10;
  EXPECT_EQ(groups_at_once(model, {.threads = 128, .registers = 64, .shared_bytes = 30 << 10}), 3);
  model.multiprocessors.registers /= 2;
  EXPECT_EQ(groups_at_once(model, {.threads = 128, .registers = 64}), 4);
}

TEST(GpuModel, SchedulersHandOutRegistersToWholeSubgroups) {
  const GpuModel model = gpu_model(fake_h200());
  // 104 registers of 32 threads are 3328, of which 16384 are four and a rest: as if each thread took 128.
  EXPECT_EQ(allocated_registers(model, 97), 128.0);
  EXPECT_EQ(groups_at_once(model, {96, allocated_registers(model, 97)}), 5);
}

}  // namespace
}  // namespace mollify
