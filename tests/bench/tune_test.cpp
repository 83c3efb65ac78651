#include "bench/tune.h"

#include <gtest/gtest.h>

#include <map>

namespace mollify::bench {
namespace {

Device one_thread() {
  return Device::open("cpu", {.threads = 1}).value();
}

Executable prepared(const Device& device, std::string_view algorithm, PerAxis<std::int32_t> size) {
  BlurSpec spec;
  spec.kernel = Gaussian{{3, 3}, {{9, 9}}, {}};
  const ImageDesc desc{size.x, size.y, PixelFormat::rgba8};
  const PlanOptions options{.algorithm = AlgorithmChoice{std::string(algorithm), {}}};
  return device.prepare(make_plan(spec, desc, desc, device.info(), options).value()).value();
}

TEST(Contest, TimesComeInTheOrderOfTheExecutables) {
  Contest contest(one_thread());
  const Executable fast = prepared(contest.device(), "sep.fused", {64, 64});
  const Executable slow = prepared(contest.device(), "nxn.direct", {64, 64});
  const std::vector<Statistics> times = contest.time(std::vector{slow, fast}, {.seconds = 0.0, .min_runs = 7}).value();
  ASSERT_EQ(times.size(), 2U);
  EXPECT_GT(times[0].p10, times[1].p10);  // of which a busy machine delays fewer
  EXPECT_EQ(times[0].count, 7);
  // Another shape needs other images.
  EXPECT_EQ(contest.time(std::vector{prepared(contest.device(), "sep.fused", {300, 200})}, {}).value().size(), 1U);
  EXPECT_TRUE(contest.time({}, {}).value().empty());
}

TEST(Tune, BeatingIsMoreThanNoise) {
  const auto times = [](double low, double median, double high) { return Statistics{.median = median, .p25 = low, .p75 = high}; };
  EXPECT_TRUE(beats(times(8, 9, 9.5), times(9.6, 10, 11)));
  EXPECT_FALSE(beats(times(8, 9, 9.7), times(9.6, 10, 11)));
  EXPECT_FALSE(beats(times(9.78, 9.8, 9.85), times(9.9, 10, 11)));
}

TEST(Tune, RangesOfTapsMeetWithoutGapOrOverlap) {
  const std::vector<TuneTask> tasks = tune_tasks(one_thread().info(), {1000, 500});
  std::map<std::pair<std::string, int>, std::map<int, int>> ranges;
  for (const TuneTask& task : tasks) {
    const TuningRow& row = task.row;
    const bool is_new = ranges[{row.algorithm, row.pixel_bytes}].emplace(row.min_taps, row.max_taps).second;
    EXPECT_TRUE(is_new) << row.algorithm;
    const std::int64_t taps = tuning_taps(task.request.spec.kernel);
    EXPECT_TRUE(row.min_taps <= taps && taps <= row.max_taps) << row.algorithm << " " << taps;
    EXPECT_EQ(row.min_pixels, 50000);
    EXPECT_EQ(tuning_pixel_bytes(task.request.src.format), row.pixel_bytes);
  }
  EXPECT_TRUE(ranges.contains({"sep.fused", 16}));
  EXPECT_FALSE(ranges.contains({"sep.inline", 4}));  // not on the CPU
  for (const auto& [kind, of_one] : ranges) {
    if (of_one.size() != 4) continue;
    int next = 1;
    for (const auto& [first, last] : of_one) {
      EXPECT_EQ(first, next) << kind.first;
      next = last + 1;
    }
  }
}

TEST(Tune, OnlySpeedIsTuned) {
  const DeviceInfo device = one_thread().info();
  TuneTask task;
  for (const AlgorithmInfo& algorithm : algorithms()) {
    for (const OptionInfo& option : algorithm.options) {
      const bool is_speed = !tune_values(option, task, device).empty();
      task.is_approximate = true;
      const bool is_still = !tune_values(option, task, device).empty();
      task.is_approximate = false;
      const std::pair both{is_speed, is_still};
      if (option.name == "storage" || option.name == "factor" || option.name == "rank") {
        EXPECT_EQ(both, std::pair(false, false)) << option.name;
      } else if (option.name == "group") {
        EXPECT_EQ(both, std::pair(true, true));
      } else if (option.name == "cache") {
        EXPECT_EQ(both, std::pair(true, false));
      }
    }
  }
}

TEST(Tune, MeasuresTheOwnChoiceBesideTheBest) {
  Contest contest(one_thread());
  for (const TuneTask& task : tune_tasks(contest.device().info(), {64, 48})) {
    if (task.row.algorithm != "sep.fused" || task.row.pixel_bytes != 4) continue;
    const Result<TuneResult> result = tune(contest, task, {.seconds = 0.0});
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(result->tried, 2);  // the accumulators that are not its own choice
    EXPECT_GE(result->before.count, 15);
    EXPECT_GT(result->row.cost, 0.0);
    EXPECT_TRUE(result->wrong.empty());
    EXPECT_EQ(result->row.options.empty(), result->row.gain == 1.0);
    EXPECT_EQ(tune(contest, task, {.seconds = 0.0, .stop = [] { return true; }}).value().tried, 0);
    return;
  }
  FAIL() << "nothing to tune";
}

TEST(Tune, WhatCannotRunIsAnError) {
  Contest contest(one_thread());
  TuneTask task;
  task.request.algorithm.id = "box.any";
  task.request.spec.kernel = Gaussian{};
  task.request.src = task.request.dst = {64, 48, PixelFormat::rgba8};
  const Result<TuneResult> result = tune(contest, task, {.seconds = 0.0});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace mollify::bench
