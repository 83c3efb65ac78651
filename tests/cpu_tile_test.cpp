// How CPUs share an image out among threads.
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/cpu/tiling.h"
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
      const PerAxis<std::int32_t> tile = cpu_tile(processor(threads), {size, size}, needs_of(11, 4));
      EXPECT_GE(tasks(size, tile), threads) << size;
      EXPECT_GE(tile.y, 10) << "a strip is not lower than what it reads beside itself";
    }
  }
}

TEST(CpuTile, WhatIsDoneBeforeAThreadWakesIsOneTask) {
  EXPECT_EQ(tasks(32, cpu_tile(processor(16), {32, 32}, needs_of(3, 4))), 1);
  EXPECT_EQ(tasks(512, cpu_tile(processor(1), {512, 512}, needs_of(3, 1))), 1);
}

TEST(CpuTile, StripsOfABatchArePutTogether) {
  const cpu::Tiling planned{{0, 0, 224, 224}, {224, 16}};
  const auto tasks_of = [&](std::int32_t threads, std::int64_t images) { return cpu::of_batch(threads, images, planned).count(); };
  EXPECT_EQ(tasks_of(16, 0), 14);
  EXPECT_EQ(tasks_of(16, 1), 14);
  EXPECT_EQ(tasks_of(16, 4), 14);
  EXPECT_EQ(tasks_of(16, 16), 4);
  EXPECT_EQ(tasks_of(16, 64), 1);
  EXPECT_EQ(tasks_of(2, 1000), 1);
  const cpu::Tiling together = cpu::of_batch(16, 30, planned);
  EXPECT_EQ(together.tile.y % planned.tile.y, 0) << "strips begin where they did";
  EXPECT_EQ(together.at(together.count() - 1).y + together.at(together.count() - 1).height, 224);
}

TEST(CpuTile, SmallImagesHaveNoStripsLowerThanTheirHalos) {
  const TileNeeds needs = needs_of(41, 1);
  const PerAxis<std::int32_t> tile = cpu_tile(processor(64), {224, 224}, needs);
  EXPECT_GE(tile.y, 40);
  EXPECT_LE(tasks(224, tile), 5);
}

TEST(CpuTile, BoxesOfFloatsAreSharedOutByColumns) {
  const auto tasks_of = [](std::int32_t size, std::int32_t radius, std::int32_t threads) {
    BlurSpec spec;
    spec.kernel = Box::of_radius(radius, radius);
    const ImageDesc desc{size, size, PixelFormat::rgba32f};
    return tasks(size, make_plan(spec, desc, desc, processor(threads))->passes.front().tile);
  };
  EXPECT_GE(tasks_of(512, 9, 16), 12);
  EXPECT_LE(tasks_of(512, 40, 16), 6) << "columns that neighbours sum as well are to be few in small images";
  EXPECT_GE(tasks_of(1024, 128, 8), 8) << "large ones have all threads";
  EXPECT_GE(tasks_of(4096, 3000, 8), 8);
}

}  // namespace
}  // namespace mollify
