// What is measured of a GPU and its host, and kept: on a driver that computes on the processor, which counts as a GPU here.
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>

#include "mollify/experimental/auto_device.h"
#include "vulkan_support.h"

namespace mollify::test {
namespace {

namespace fs = std::filesystem;

class FindGpuAndCpu : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / (std::string("mollify-") + test->name() + std::to_string(getpid()));
  }
  void TearDown() override { fs::remove_all(folder_); }

  GpuAndCpu find(std::int32_t threads = 1) {
    opened_.clear();
    const auto open = [&](const std::string& name) {
      ++opened_[name];
      return Device::open(name, {.threads = threads});
    };
    return find_gpu_and_cpu(open, {.cache_folder = folder_.string(), .takes_software = true});
  }
  [[nodiscard]] bool has_measured() const { return opened_.contains("vulkan:0"); }
  [[nodiscard]] std::string path() const { return host_figures_path(folder_.string(), gpu().info()); }
  [[nodiscard]] std::string text() const {
    std::ifstream file(path());
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& text) const {
    fs::create_directories(folder_);
    std::ofstream(path()) << text;
  }

  fs::path folder_;
  std::map<std::string, int> opened_;
};

TEST_F(FindGpuAndCpu, MeasuresOnceAndKeepsTheFigures) {
  const GpuAndCpu first = find();
  EXPECT_EQ(first.gpu, "vulkan:0");
  EXPECT_GT(first.bus_bytes_per_second, 0.0);
  EXPECT_GT(first.seconds_for_predicted, 0.0);
  EXPECT_TRUE(has_measured());
  for (const double figure : {first.bus_bytes_per_second, first.seconds_for_predicted, first.gpu_call_seconds, first.cpu_call_seconds}) {
    EXPECT_NEAR(4.0 * std::log2(figure), std::round(4.0 * std::log2(figure)), 0.01) << "a quarter octave";
  }
  const std::string kept = text();
  const GpuAndCpu second = find();
  EXPECT_FALSE(has_measured());
  EXPECT_EQ(second.gpu, first.gpu);
  EXPECT_EQ(second.bus_bytes_per_second, first.bus_bytes_per_second);
  EXPECT_EQ(second.seconds_for_predicted, first.seconds_for_predicted);
  EXPECT_EQ(second.gpu_call_seconds, first.gpu_call_seconds);
  EXPECT_EQ(second.cpu_call_seconds, first.cpu_call_seconds);
  EXPECT_EQ(second.info.name, first.info.name);
  EXPECT_EQ(text(), kept);
  for (const auto& entry : fs::directory_iterator(folder_)) EXPECT_EQ(entry.path(), path());
}

TEST_F(FindGpuAndCpu, OtherThreadsHaveFiguresOfTheirOwnBesideTheFirst) {
  static_cast<void>(find(1));
  const std::string one = text();
  static_cast<void>(find(2));
  EXPECT_TRUE(has_measured());
  EXPECT_TRUE(text().starts_with(one)) << text();
  EXPECT_NE(text(), one);
  static_cast<void>(find(1));
  EXPECT_FALSE(has_measured());
}

TEST_F(FindGpuAndCpu, WhatIsKeptDecides) {
  static_cast<void>(find());
  write(std::regex_replace(text(), std::regex("bus_bytes_per_second=\\S+"), "bus_bytes_per_second=1234"));
  EXPECT_EQ(find().bus_bytes_per_second, 1234.0);
}

TEST_F(FindGpuAndCpu, AFileThatCannotBeUsedIsWrittenAnew) {
  write("nonsense\n");
  static_cast<void>(find());
  EXPECT_TRUE(has_measured());
  const std::string fresh = text();
  EXPECT_TRUE(fresh.starts_with("mollify hosts 3\ndevice " + gpu().info().name + "\n")) << fresh;
  write(std::regex_replace(fresh, std::regex("\ndriver [^\n]*"), "\ndriver of last year"));
  static_cast<void>(find());
  EXPECT_TRUE(has_measured());
  EXPECT_EQ(text().find("of last year"), std::string::npos);
}

TEST_F(FindGpuAndCpu, EachProcessMeasuresWhereNothingCanBeKept) {
  std::ofstream(folder_) << "no folder";
  for (int i = 0; i < 2; ++i) {
    const GpuAndCpu found = find();
    EXPECT_EQ(found.gpu, "vulkan:0");
    EXPECT_GT(found.bus_bytes_per_second, 0.0);
    EXPECT_TRUE(has_measured());
  }
  fs::remove(folder_);
  folder_.clear();
  EXPECT_EQ(find().gpu, "vulkan:0");
}

TEST_F(FindGpuAndCpu, AnOpenGpuIsAskedForLittleToo) {
  const auto open = [](const std::string& name) { return Device::open(name, {.threads = 1}); };
  bool is_open = false;
  DeviceChooser chooser(open, [&] { return is_open; }, {.cache_folder = folder_.string(), .seconds_to_open = 10.0, .takes_software = true});
  const auto on_gpu = [](const GpuAndCpu&) -> std::optional<GpuWork> { return GpuWork{1e-9, 0}; };
  EXPECT_EQ(chooser.choose(5.0, on_gpu).device, "cpu");
  is_open = true;
  EXPECT_EQ(chooser.choose(5.0, on_gpu).device, "vulkan:0");
  EXPECT_EQ(chooser.choose(5.0, [](const GpuAndCpu&) { return std::optional<GpuWork>(); }).why, "auto: cpu, vulkan:0 cannot do it");
}

}  // namespace
}  // namespace mollify::test
