// Every algorithm, on every kind of case that a device can run: the measured error stays below the one that the plan
// promises.
//
//   mollify_conformance [--device NAME] [--cpu-target NAME] [--only TEXT] [--gtest_...]
//
// --only: cases that have this in their names.
//
// Of an algorithm whose pipelines take a driver that runs on the processor seconds to make, that driver runs every fourth case; all where
// MOLLIFY_EVERY_CASE is set.
//
// Ends with 77 where the processor lacks the instruction set, also where another device is asked for: drivers that run on
// the processor may need it.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "support.h"

namespace mollify::test {
namespace {

class Conformance : public testing::Test {
 public:
  Conformance(Device device, cases::Case c) : device_(std::move(device)), case_(std::move(c)) {}
  void TestBody() override { expect_pass(case_, device_); }

 private:
  Device device_;
  cases::Case case_;
};

/// Their kernels decode dozens of pixels in straight lines.
bool compiles_slowly(const cases::Case& c, const DeviceInfo& device) {
  return device.gpu.is_software && c.algorithm.id == "kawase.dual";
}

int main_of(const std::string& name, const std::string& cpu_target, const std::string& only) {
  constexpr int kFailed = 1;
  constexpr int kSkipped = 77;
  const auto end = [](const Error& error, int code) {
    std::fprintf(stderr, "mollify_conformance: %s\n", error.message.c_str());
    return code;
  };
  if (const Result<Device> cpu = Device::open("cpu", {.threads = 2, .cpu_target = cpu_target}); !cpu) {
    return end(cpu.error(), kSkipped);
  }
  const Result<Device> device = Device::open(name, {.threads = 2, .cpu_target = cpu_target});
  if (!device) return end(device.error(), kFailed);
  std::printf("%s, %s\n", device->info().name.c_str(), device->info().driver.c_str());
  const std::vector<cases::Case> cases = cases::pairwise_cases(device->info());
  const bool every_case = std::getenv("MOLLIFY_EVERY_CASE") != nullptr;
  int slow_ones = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (cases::name(cases[i]).find(only) == std::string::npos) continue;
    if (!every_case && compiles_slowly(cases[i], device->info()) && slow_ones++ % 4 != 0) continue;
    const auto make = [&device, c = cases[i]]() -> testing::Test* { return new Conformance(*device, c); };
    testing::RegisterTest("Conformance", std::to_string(i).c_str(), nullptr, cases::name(cases[i]).c_str(), __FILE__, __LINE__, make);
  }
  return RUN_ALL_TESTS();
}

}  // namespace
}  // namespace mollify::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::string device = "cpu";
  std::string cpu_target;
  std::string only;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view option = argv[i];
    std::string* value = option == "--device" ? &device : option == "--cpu-target" ? &cpu_target : option == "--only" ? &only : nullptr;
    if (i + 1 == argc || value == nullptr) {
      std::fprintf(stderr, "usage: mollify_conformance [--device NAME] [--cpu-target NAME] [--only TEXT] [--gtest_...]\n");
      return 2;
    }
    *value = argv[i + 1];
  }
  return mollify::test::main_of(device, cpu_target, only);
}
