// How CPUs share an image out among threads.
#include <gtest/gtest.h>

#include <algorithm>

#include "model/tuning.h"
#include "mollify/mollify.h"

namespace mollify {
namespace {

DeviceInfo processor(std::int32_t threads) {
  DeviceInfo device = Device::open("cpu")->info();
  device.threads = threads;
  return device;
}

std::int32_t tasks(std::int32_t size, const PerAxis<std::int32_t>& tile) {
  const auto along = [&](std::int32_t length) { return (size + length - 1) / length; };
  return along(tile.x) * along(tile.y);
}

/// Of some taps on each axis, so many multiply-adds a pixel.
TileNeeds needs_of(std::int64_t taps, std::int32_t channels) {
  return {.halo = {taps - 1, taps - 1}, .column_bytes = 4 * taps * channels, .pixel_operations = static_cast<double>(2 * taps * channels)};
}

TEST(CpuTile, SmallImagesHaveATaskForEachThread) {
  for (const std::int32_t threads : {2, 4, 8, 16}) {
    for (const std::int32_t size : {224, 512}) {
      const PerAxis<std::int32_t> tile = cpu_tile(processor(threads), 1, {size, size}, needs_of(11, 4));
      EXPECT_GE(tasks(size, tile), threads) << size;
      EXPECT_GE(tile.y, 10) << "a strip is not lower than what it reads beside itself";
    }
  }
}

TEST(CpuTile, WhatIsDoneBeforeAThreadWakesIsOneTask) {
  EXPECT_EQ(tasks(32, cpu_tile(processor(16), 1, {32, 32}, needs_of(3, 4))), 1);
  EXPECT_EQ(tasks(512, cpu_tile(processor(1), 1, {512, 512}, needs_of(3, 1))), 1);
}

TEST(CpuTile, ImagesOfABatchAreTasksThemselves) {
  const TileNeeds needs = needs_of(9, 2);
  EXPECT_EQ(tasks(224, cpu_tile(processor(8), 64, {224, 224}, needs)), 1);
  EXPECT_EQ(tasks(224, cpu_tile(processor(8), 4, {224, 224}, needs)), 2);
  EXPECT_EQ(tasks(224, cpu_tile(processor(8), 1, {224, 224}, needs)), 8);
}

TEST(CpuTile, HalosAreNoHigherThanStrips) {
  const TileNeeds needs = needs_of(41, 1);
  const PerAxis<std::int32_t> tile = cpu_tile(processor(64), 1, {224, 224}, needs);
  EXPECT_GE(tile.y, 40);
  EXPECT_LE(tasks(224, tile), 5);
}

TEST(CpuTile, BoxesOfFloatsAreSharedOutByColumns) {
  BlurSpec spec;
  spec.kernel = Box::of_radius(20, 20);
  const ImageDesc desc{512, 512, PixelFormat::rgba32f};
  const auto tasks_of = [&](std::int32_t batch) {
    return tasks(512, make_plan(spec, desc, desc, processor(16), {.batch = batch})->passes.front().tile);
  };
  EXPECT_GE(tasks_of(1), 8);
  EXPECT_LE(tasks_of(16), 2);
}

}  // namespace
}  // namespace mollify
