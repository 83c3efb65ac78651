// Every algorithm, on every kind of case that a device can run: the measured error stays below the one that the plan
// promises.
//
//   mollify_conformance [--device NAME | --cpu-target NAME] [--gtest_...]
//
// Ends with 77 where the processor lacks the instruction set.
#include <gtest/gtest.h>

#include <cstdio>
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

int main_of(const std::string& name, const std::string& cpu_target) {
  constexpr int kSkipped = 77;
  const Result<Device> device = Device::open(name, {.threads = 2, .cpu_target = cpu_target});
  if (!device) {
    std::fprintf(stderr, "mollify_conformance: %s\n", device.error().message.c_str());
    return cpu_target.empty() ? 1 : kSkipped;
  }
  std::printf("%s, %s\n", device->info().name.c_str(), device->info().driver.c_str());
  const std::vector<cases::Case> cases = cases::pairwise_cases(device->info());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto make = [&device, c = cases[i]]() -> testing::Test* { return new Conformance(*device, c); };
    testing::RegisterTest("Conformance", std::to_string(i).c_str(), nullptr, cases::name(cases[i]).c_str(), __FILE__,
                          __LINE__, make);
  }
  return RUN_ALL_TESTS();
}

}  // namespace
}  // namespace mollify::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::string device = "cpu";
  std::string cpu_target;
  if (argc == 3 && argv[1] == std::string_view("--device")) {
    device = argv[2];
  } else if (argc == 3 && argv[1] == std::string_view("--cpu-target")) {
    cpu_target = argv[2];
  } else if (argc != 1) {
    std::fprintf(stderr, "usage: mollify_conformance [--device NAME | --cpu-target NAME] [--gtest_...]\n");
    return 2;
  }
  return mollify::test::main_of(device, cpu_target);
}
