// sep.fused on CUDA with few taps in registers, whose kernels cuda_emulation.h runs on the processor.
#include <gtest/gtest.h>

#include <string>

#include "cases/cases.h"
#include "mollify/mollify.h"

namespace mollify {
namespace {

using cases::Case;
using cases::CaseResult;
using cases::Outcome;

void expect_in_registers(const Device& device, const std::string& text) {
  const Result<Case> c = cases::parse_case("sep.fused:math=f32/" + text);
  ASSERT_TRUE(c) << text << ": " << c.error().message;
  const CaseResult result = cases::run_case(device, *c);
  EXPECT_EQ(result.outcome, Outcome::pass) << text << ": " << result.message;
  ASSERT_TRUE(result.plan) << text;
  EXPECT_EQ(result.plan->passes.front().kernel, "sep_registers") << text;
}

// Each kernel, in both forms: strips of one and several, odd sizes, regions, borders, and rows at any distance.
TEST(CudaRegisters, AgreeWithTheReference) {
  const Device device = Device::open("cuda").value();
  const auto expect_all = [&](const std::string& image, std::int32_t radius) {
    for (const std::string rest : {"/clamp", "/mirror/roi=61x23+16+9", "/wrap/layout=padded", "/constant+reflect:value=0.25_0.8_0.1_0.6"}) {
      expect_in_registers(device, image + "gaussian:sigma=" + std::to_string(radius) + ",radius=" + std::to_string(radius) + rest);
    }
  };
  for (const std::int32_t radius : {1, 2, 3, 4}) expect_all("530x53/r32f/", radius);
  for (const std::int32_t radius : {1, 2, 3}) expect_all("297x51/rgba32f/", radius);
  for (const std::string image : {"530x53/r8/", "297x51/rgba8/", "530x53/r16f/", "297x51/rgba16f/"}) expect_all(image, 1);
}

}  // namespace
}  // namespace mollify
