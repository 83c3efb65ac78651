// What passes tell the CUDA backend.
#include <gtest/gtest.h>

#include "pass_arguments_support.h"

namespace mollify::test {
namespace {

constexpr ImageDesc kBytes{4096, 4096, PixelFormat::rgba8};
constexpr ImageDesc kFloats{4096, 4096, PixelFormat::rgba32f};

const std::vector<PassCase>& pass_cases() {
  static const std::vector<PassCase> cases{
      {"sep.fused:math=f32", Gaussian{{0.5, 0.5}}, kFloats},
      {"sep.fused:math=f32", Gaussian{{3.0, 3.0}}, kBytes},
      {"sep.fused:math=f32", Gaussian{{2.0, 2.0}}, kFloats},
      {"sep.fused:math=f32", Gaussian{{200.0, 200.0}}, kBytes},
      {"sep.fused:math=coopmat", Gaussian{{2.0, 2.0}}, kBytes},
      {"gauss.decimate:math=f32", Gaussian{{20.0, 20.0}}, kFloats},
      {"gauss.decimate:math=coopmat", Gaussian{{20.0, 20.0}}, {4096, 4096, PixelFormat::r8}},
      {"gauss.decimate", Gaussian{{20.0, 20.0}}, {4096, 4096, PixelFormat::rgba16}},
      {"gauss.decimate", Gaussian{{20.0, 20.0}}, {4096, 4096, PixelFormat::rgb8}},
      {"gauss.decimate", Gaussian{{8.0, 8.0}}, {8192, 8192, PixelFormat::rgb32f}},
      {"nxn.direct", Gaussian{{1.0, 1.0}}, kBytes},
      {"box.any", Box::of_radius(16.0, 16.0), {4096, 4096, PixelFormat::rgb8}},
      {"box.any", Box::of_radius(16.0, 16.0), kBytes},
      {"box.any", Box::of_radius(64.0, 64.0), kBytes},
      {"box.any", Box::of_radius(400.0, 9.0), kBytes},
      {"box.any", Box::of_radius(3000.0, 3000.0), kBytes},
  };
  return cases;
}

TEST(CudaPassArguments, OfEveryKernelAreExactlyWhatItTakes) {
  const Device device = Device::open("cuda").value();
  std::set<std::string> kernels;
  for (const PassCase& c : pass_cases()) kernels.merge(expect_exact_arguments(device, c.plan(device)));
  EXPECT_EQ(kernels, std::set<std::string>(device.info().kernels.begin(), device.info().kernels.end()));
}

/// They are of 32 bits or fewer.
TEST(CudaPassArguments, AreRefusedWhereTheyDoNotFit) {
  const Device device = Device::open("cuda").value();
  for (const PassCase& c : pass_cases()) {
    const Plan plan = c.plan(device);
    for (std::size_t i = 0; i < plan.passes.size(); ++i) {
      for (const auto& [name, value] : plan.passes[i].constants) {
        if (name == "storage") continue;
        expect_refused(device, plan, i, name, [&](Pass& pass) { pass.constants.at(name) += std::int64_t{1} << 32; });
      }
    }
  }
}

}  // namespace
}  // namespace mollify::test
