// The rates of GPUs that no row is about, by measurements that are made up.
#include "api/probe.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "model/gpu_model.h"
#include "model/probe.h"
#include "support.h"

namespace mollify::test {
namespace {

Plan plan_of(std::size_t passes, double seconds, std::int64_t bytes) {
  Plan plan;
  plan.device = fake_gpu(false);
  plan.passes.resize(passes);
  plan.predicted_seconds = seconds;
  plan.min_bytes = bytes;
  return plan;
}

TEST(ProbeTimes, BecomeRatesInQuarterOctaves) {
  const GpuModel typical = gpu_model(fake_gpu(false));
  const Plan plan = plan_of(2, 2 * typical.launch_seconds + 1e-3, std::int64_t{1} << 30);
  // A copy of a second, and half as fast as a typical GPU besides two launches of 2^-16 seconds.
  const GpuRates exact = rates_from(plan, {1.0, 2e-3 + std::exp2(-15.0), std::exp2(-16.0)});
  EXPECT_DOUBLE_EQ(exact.bytes_per_second, std::exp2(30.0));
  EXPECT_NEAR(exact.operations_per_second / (typical.operations_per_second / 2.0), 1.0, 0.1);
  EXPECT_DOUBLE_EQ(exact.launch_seconds, std::exp2(-16.0));
  for (const double rate : {exact.bytes_per_second, exact.operations_per_second, exact.launch_seconds}) {
    EXPECT_NEAR(4.0 * std::log2(rate), std::round(4.0 * std::log2(rate)), 1e-9);
  }
  EXPECT_EQ(rates_from(plan, {1.08, 2e-3 + std::exp2(-15.0), std::exp2(-16.0)}), exact) << "less than an eighth of an octave";
  EXPECT_DOUBLE_EQ(rates_from(plan, {1.1, 2e-3, 1e-5}).bytes_per_second, std::exp2(29.75));
}

TEST(ProbeTimes, ClocksThatSeeNothingGiveRatesAllTheSame) {
  const GpuRates rates = rates_from(plan_of(2, 1e-3, 1 << 20), {0.0, 0.0, -1e-9});
  for (const double rate : {rates.bytes_per_second, rates.operations_per_second, rates.launch_seconds}) {
    EXPECT_TRUE(std::isfinite(rate) && rate > 0.0) << rate;
  }
}

TEST(GpuModel, TakesMeasuredRatesOnlyWithoutARow) {
  DeviceInfo device = fake_gpu(false);
  const GpuModel typical = gpu_model(device);
  device.gpu.measured = {1e9, typical.operations_per_second / 4.0, 1e-4};
  const GpuModel model = gpu_model(device);
  EXPECT_EQ(model.row, kMeasured);
  EXPECT_DOUBLE_EQ(model.bytes_per_second, 1e9);
  EXPECT_DOUBLE_EQ(model.loads_per_second[1], typical.loads_per_second[1] / 4.0);
  EXPECT_DOUBLE_EQ(model.launch_seconds, 1e-4);
  device.name = "NVIDIA H200";
  EXPECT_EQ(gpu_model(device).row, "H200");
  EXPECT_DOUBLE_EQ(gpu_model(device).bytes_per_second, gpu_model(fake_h200()).bytes_per_second);
}

/// Whose loads from shared memory and waits take these seconds, beside a second for the rest.
SharedTimes shared_times(double loads, double waits, double of_load, double of_wait) {
  return {1.0 + loads * of_load + waits * of_wait, 1.0, loads, waits};
}

TEST(ProbeTimes, TwoBlursTellLoadsFromWaits) {
  const double of_load = std::exp2(-28.0);
  const double of_wait = std::exp2(-20.0);
  const GpuRates before{1e9, std::exp2(30.0), 1e-5};
  const GpuRates rates = with_shared(before, shared_times(1e9, 1e4, of_load, of_wait), shared_times(1e7, 1e6, of_load, of_wait));
  EXPECT_LE(std::abs(std::log2(rates.shared_per_second * of_load)), 0.5) << "octaves";
  EXPECT_LE(std::abs(std::log2(rates.waits_per_second * of_wait)), 1.0) << "two octaves";
  const GpuRates typical = with_typical_shared(before);
  EXPECT_NEAR(std::remainder(std::log2(rates.shared_per_second / typical.shared_per_second), 1.0), 0.0, 1e-9);
  EXPECT_NEAR(std::remainder(std::log2(rates.waits_per_second / typical.waits_per_second), 2.0), 0.0, 1e-9);
  EXPECT_EQ((GpuRates{rates.bytes_per_second, rates.operations_per_second, rates.launch_seconds}), before);
}

TEST(ProbeTimes, SharedMemoryThatTakesNothingHasARateAllTheSame) {
  const GpuRates before{1e9, std::exp2(30.0), 1e-5};
  const GpuRates typical = with_typical_shared(before);
  EXPECT_GT(typical.shared_per_second, 0.0);
  EXPECT_GT(typical.waits_per_second, 0.0);
  const GpuRates fast = with_shared(before, shared_times(1e9, 1e4, -1e-9, -1e-6), shared_times(1e7, 1e6, -1e-9, -1e-6));
  EXPECT_LE(std::abs(std::log2(fast.shared_per_second / before.operations_per_second)), 0.5) << "as fast as a multiply-add";
  EXPECT_LE(std::abs(std::log2(fast.waits_per_second / before.operations_per_second)), 1.0);
  const GpuRates slow = with_shared(before, shared_times(1e9, 1e4, 1.0, 1.0), shared_times(1e7, 1e6, 1.0, 1.0));
  EXPECT_LT(slow.shared_per_second, typical.shared_per_second);
  EXPECT_GT(slow.shared_per_second, before.operations_per_second / 24.0) << "no slower than a load of a cached pixel";
  EXPECT_LE(std::abs(std::log2(slow.waits_per_second * 11.0)), 1.0) << "what is left of the seconds is waits";
  EXPECT_EQ(with_shared(before, {}, {}), typical) << "plans that have neither loads nor waits";
}

class FirstUse : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() / (std::string("mollify-") + test->name() + std::to_string(getpid()));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  GpuRates rates() {
    return rates_at_first_use(device_, {.cache_folder = folder_.string(), .probe = probe_}, [&]() -> Result<GpuRates> {
      ++probes_;
      return measured_;
    });
  }
  void store(const TuningTable& table) const {
    std::filesystem::create_directories(folder_);
    std::ofstream(tuning_path(folder_.string(), device_)) << to_text(table);
  }

  DeviceInfo device_ = fake_gpu(false);
  std::filesystem::path folder_;
  Result<GpuRates> measured_ = GpuRates{std::exp2(30.25), std::exp2(40.5), std::exp2(-16.75), std::exp2(35.0), std::exp2(22.25)};
  bool probe_ = true;
  int probes_ = 0;
};

TEST_F(FirstUse, MeasuresOnceAndStoresARow) {
  const GpuRates first = rates();
  EXPECT_EQ(probes_, 1);
  EXPECT_NEAR(first.bytes_per_second / std::exp2(30.25), 1.0, 1e-3);
  EXPECT_EQ(stored_table(folder_.string(), device_).value().rates, first);
  measured_ = GpuRates{1.0, 1.0, 1.0, 1.0, 1.0};
  EXPECT_EQ(rates(), first) << "the same for every process";
  EXPECT_EQ(probes_, 1);
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) EXPECT_EQ(entry.path(), tuning_path(folder_.string(), device_));
}

TEST_F(FirstUse, ARowOfTheLibraryWins) {
  device_ = fake_h200();
  EXPECT_EQ(rates(), GpuRates{});
  TuningTable table = empty_tuning(device_);
  table.rates = measured_.value();
  store(table);
  EXPECT_EQ(rates(), GpuRates{});
  EXPECT_EQ(probes_, 0);
}

TEST_F(FirstUse, NothingIsMeasuredWhereNobodyWantsIt) {
  probe_ = false;
  EXPECT_EQ(rates(), GpuRates{});
  EXPECT_FALSE(std::filesystem::exists(folder_));
  probe_ = true;
  folder_.clear();
  EXPECT_EQ(rates(), GpuRates{}) << "there is no place to keep it in";
  EXPECT_EQ(probes_, 0);
}

TEST_F(FirstUse, RowsThatWereTunedWithoutRatesStayAsTheyAre) {
  TuningTable table = empty_tuning(device_);
  table.rows.emplace_back().algorithm = "sep.fused";
  store(table);
  EXPECT_EQ(rates(), GpuRates{});
  table.rates = {1e9, 1e10, 1e-5};
  store(table);
  EXPECT_EQ(rates(), table.rates);
  EXPECT_EQ(probes_, 0);
}

TEST_F(FirstUse, RatesWithoutThoseOfSharedMemoryAreMeasuredAnew) {
  TuningTable table = empty_tuning(device_);
  table.rates = {1e9, 1e10, 1e-5};
  store(table);
  const GpuRates anew = rates();
  EXPECT_EQ(probes_, 1);
  EXPECT_GT(anew.waits_per_second, 0.0);
  EXPECT_EQ(rates(), anew);
  EXPECT_EQ(probes_, 1);
}

TEST_F(FirstUse, AFileThatCannotBeUsedStaysAsItIs) {
  TuningTable table = empty_tuning(device_);
  table.driver = "another";
  store(table);
  EXPECT_EQ(rates(), GpuRates{});
  EXPECT_EQ(probes_, 0);
}

TEST_F(FirstUse, ADeviceThatCannotBeMeasuredIsPlannedForWithout) {
  measured_ = Error{ErrorCode::unsupported, "no clock", {}};
  EXPECT_EQ(rates(), GpuRates{});
  EXPECT_EQ(probes_, 1);
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

TEST_F(FirstUse, TuneKeepsRates) {
  device_.gpu.measured = rates();
  EXPECT_EQ(empty_tuning(device_).rates, device_.gpu.measured);
}

}  // namespace
}  // namespace mollify::test
