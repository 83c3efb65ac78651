// Every algorithm, on every kind of case that a device can run: the measured error stays below the one that the plan
// promises.
//
//   mollify_conformance [--device NAME] [--gtest_...]
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

int main_of(const std::string& name) {
  const Result<Device> device = Device::open(name, {2});
  if (!device) {
    std::fprintf(stderr, "mollify_conformance: %s\n", device.error().message.c_str());
    return 1;
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
  if (argc == 3 && argv[1] == std::string_view("--device")) {
    device = argv[2];
  } else if (argc != 1) {
    std::fprintf(stderr, "usage: mollify_conformance [--device NAME] [--gtest_...]\n");
    return 2;
  }
  return mollify::test::main_of(device);
}
