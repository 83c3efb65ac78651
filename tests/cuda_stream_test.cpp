// Streams on CUDA give the bits of the whole, whatever the strips. Kernels run on the processor, see cuda_emulation.h.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>

#include "cases/cases.h"
#include "windows_support.h"

namespace mollify::test {
namespace {

class CudaStreams : public testing::TestWithParam<std::string_view> {};

TEST_P(CudaStreams, HaveTheBitsOfTheWhole) {
  const Device device = Device::open("cuda").value();
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  cases::Random random(seed);
  cases::Case c = cases::parse_case(std::string(GetParam())).value();
  c.seed = seed;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(expect_same_bits_in_strips(c, c.algorithm, device, random)) << cases::name(c);
}

INSTANTIATE_TEST_SUITE_P(Forms, CudaStreams,
                         testing::Values("sep.fused:math=f32/61x397/rgba8/gaussian:sigma=2/mirror",
                                         "gauss.decimate/103x511/rgba8/gaussian:sigma=9/reflect",
                                         "gauss.decimate/103x511/rgba16f/gaussian:sigma=9/wrap+clamp/roi=30x400+70+101",
                                         "box.any/201x597/r32f/box:radius=20x9/wrap+mirror",
                                         "box.any/201x597/rgb8/box:radius=20x9/constant/stride=3@1x2@3",
                                         "box.any/201x397/rgba8/box:radius=20x9/wrap+mirror",
                                         "box.any/201x597/rgba8/box:radius=20x60/constant/roi=150x500+13+17"));

TEST(CudaStreamsAtRandom, OfBoxesAtRandomHaveTheBitsOfTheWhole) {
  expect_same_bits_in_strips("box.any", {Device::open("cuda").value()}, 8);
}

}  // namespace
}  // namespace mollify::test
