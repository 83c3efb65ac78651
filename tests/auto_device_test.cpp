// Where a blur of images in host memory ends first.
#include "mollify/experimental/auto_device.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/hosts.h"
#include "model/tuning.h"
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

TEST(AutoDevice, OpeningCountsForAGpuThatIsNotOpen) {
  const GpuWork work{0.01, kGigabyte};
  EXPECT_EQ(choose_device(machine(), 0.3, work, 0.5).device, "cpu");  // 0.6 s against 0.61
  EXPECT_EQ(choose_device(machine(), 0.31, work, 0.5).device, "cuda:0");
  EXPECT_EQ(choose_device(machine(), 0.3, work, 0.5).why,
            "auto: cpu; predicted on cpu 600 ms, on cuda:0 10 ms, 100 ms of transfers and 500 ms to open it");
}

TEST(AutoDevice, CallsCountForSmallImages) {
  GpuAndCpu calls = machine();
  calls.gpu_call_seconds = 4e-5;
  calls.cpu_call_seconds = 1e-5;
  EXPECT_EQ(choose_device(calls, 1e-5, GpuWork{1e-6, 0}).device, "cpu");  // 30 us against 41
  EXPECT_EQ(choose_device(calls, 2e-5, GpuWork{1e-6, 0}).device, "cuda:0");
  EXPECT_EQ(choose_device(calls, 1e-5, GpuWork{1e-6, 0}).why,
            "auto: cpu; predicted on cpu 0.03 ms, on cuda:0 0.001 ms and 0.04 ms of transfers");
}

TEST(AutoDevice, ThreadsWithoutATileWait) {
  constexpr int kThreads = 16;
  const DeviceInfo cpu = Device::open("cpu", {.threads = kThreads})->info();
  const ImageDesc image{128, 128, PixelFormat::r8};
  BlurSpec spec;
  spec.kernel = Tent{{30.0, 30.0}};
  const Plan plan = *make_plan(spec, image, image, cpu);
  const Pass& pass = plan.passes.back();
  const double tiles = std::ceil(128.0 / pass.tile.x) * std::ceil(128.0 / pass.tile.y);
  ASSERT_LT(tiles, kThreads);
  DeviceInfo few = cpu;
  few.threads = static_cast<std::int32_t>(tiles);  // of which none waits
  EXPECT_DOUBLE_EQ(expected_seconds(plan), make_plan(spec, image, image, few)->predicted_seconds);
  EXPECT_DOUBLE_EQ(expected_seconds(plan, kThreads), plan.predicted_seconds * kThreads);  // then none waits

  // Of a copy, nothing is: three threads do as well as all.
  spec.kernel = Gaussian{{0.0, 0.0}};
  const ImageDesc large{4096, 512, PixelFormat::rgba32f};
  Plan copy = *make_plan(spec, large, large, cpu);
  copy.predicted_seconds = copy_seconds(cpu, copy.moved_bytes);
  copy.passes.back().tile = {2048, 256};
  EXPECT_DOUBLE_EQ(expected_seconds(copy), copy.predicted_seconds);
}

TEST(AutoDevice, NobodyLooksForAGpuForLittle) {
  int opened = 0;
  const auto open = [&](const std::string& name) {
    ++opened;
    return Device::open(name);
  };
  const auto on_gpu = [](const GpuAndCpu&) -> std::optional<GpuWork> { return GpuWork{}; };
  DeviceChooser chooser(open, [] { return false; }, {.seconds_to_open = 2.0});
  EXPECT_EQ(chooser.choose(1.9, on_gpu),
            (DeviceChoice{"cpu", "auto: cpu, predicted 1.9e+03 ms; no GPU has been opened, which takes longer"}));
  EXPECT_EQ(opened, 0);
}

const std::vector<HostRates> kHosts{
    {"One processor, highway AVX2", 16, std::exp2(33.25), std::exp2(-14.75), std::exp2(0.5), std::exp2(-17.25)},
    {"Another = processor", 2, std::exp2(30.0), 1e-5, 1.0, 1e-5}};

TEST(HostRates, AreReadAsTheyAreWritten) {
  const DeviceInfo gpu = test::fake_h200();
  const auto read = parse_hosts(to_text(kHosts, gpu), gpu);
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ((*read)[i].processor, kHosts[i].processor);
    EXPECT_EQ((*read)[i].threads, kHosts[i].threads);
    EXPECT_NEAR((*read)[i].bus_bytes_per_second / kHosts[i].bus_bytes_per_second, 1.0, 1e-3);
    EXPECT_NEAR((*read)[i].gpu_call_seconds / kHosts[i].gpu_call_seconds, 1.0, 1e-3);
    EXPECT_NEAR((*read)[i].seconds_for_predicted / kHosts[i].seconds_for_predicted, 1.0, 1e-3);
    EXPECT_NEAR((*read)[i].cpu_call_seconds / kHosts[i].cpu_call_seconds, 1.0, 1e-3);
  }
  EXPECT_EQ(to_text(*read, gpu), to_text(kHosts, gpu));
}

TEST(HostRates, AreThoseOfOneGpuDriverAndVersion) {
  const DeviceInfo gpu = test::fake_h200();
  DeviceInfo other = gpu;
  other.driver += " 2";
  EXPECT_FALSE(parse_hosts(to_text(kHosts, gpu), other));
  other = gpu;
  other.name = "NVIDIA H2000";
  EXPECT_FALSE(parse_hosts(to_text(kHosts, gpu), other));
  std::string text = to_text(kHosts, gpu);
  text.insert(text.find("\nthreads"), "1");
  EXPECT_FALSE(parse_hosts(text, gpu)) << text;
}

TEST(HostRates, DamageIsNoticed) {
  const DeviceInfo gpu = test::fake_h200();
  const std::string text = to_text(kHosts, gpu);
  const std::size_t first = text.find("threads=");
  const std::string rest = " gpu_call_seconds=1e-5 seconds_for_predicted=1 cpu_call_seconds=1e-5 processor=P";
  const std::string whole = "threads=2 bus_bytes_per_second=1e9" + rest;
  EXPECT_TRUE(parse_hosts(text.substr(0, first) + whole + "\n", gpu));
  const auto with = [&](std::string_view before, std::string_view after) {
    std::string line = whole;
    return line.replace(line.find(before), before.size(), after);
  };
  for (const std::string& line :
       {std::string(), std::string("threads=2"), whole.substr(0, whole.find(" processor")), with("threads=2", "threads=0"),
        with("=1e9", "=0"), with("=1e9", "=inf"), with("predicted=1", "predicted=nan"), with("predicted=1", "predicted=-1"),
        with("gpu_call_seconds=1e-5", "gpu_call_seconds=0"), with("cpu_call_seconds=1e-5", "cpu_call_seconds=nan"),
        "bus_bytes_per_second=1e9 threads=2" + rest}) {
    EXPECT_FALSE(parse_hosts(text.substr(0, first) + line + "\n", gpu)) << line;
  }
  EXPECT_FALSE(parse_hosts(text.substr(0, text.size() - 1), gpu)) << "it was cut";
  EXPECT_FALSE(parse_hosts("", gpu));
  EXPECT_TRUE(parse_hosts(text.substr(0, first), gpu)) << "no host is none";
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
  const GpuAndCpu found = find_gpu_and_cpu(open);
  EXPECT_EQ(found.gpu.empty(), found.bus_bytes_per_second == 0.0) << found.gpu;
}

}  // namespace
}  // namespace mollify
