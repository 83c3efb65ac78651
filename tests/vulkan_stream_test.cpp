// Streams on a GPU give the bits of the whole, whatever the strips.
#include <algorithm>
#include <atomic>
#include <random>
#include <string>
#include <string_view>

#include "vulkan_engine_support.h"
#include "vulkan_spy.h"
#include "vulkan_support.h"
#include "windows_support.h"

namespace mollify::test {
namespace {

struct OnAStream {
  std::string_view algorithm;
  int cases = 3;
};

class EveryGpuAlgorithmOnAStream : public testing::TestWithParam<OnAStream> {};

TEST_P(EveryGpuAlgorithmOnAStream, HasTheBitsOfTheWhole) {
  expect_same_bits_in_strips(GetParam().algorithm, {gpu()}, GetParam().cases);
}

/// Drivers that run on the processor take a minute for a large matrix.
INSTANTIATE_TEST_SUITE_P(VulkanStreams, EveryGpuAlgorithmOnAStream,
                         testing::Values(OnAStream{"sep.fused"}, OnAStream{"box.any"}, OnAStream{"nxn.direct", 1},
                                         OnAStream{"gauss.decimate"}),
                         [](const auto& tested) {
                           std::string name(tested.param.algorithm);
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

/// Many windows with halos of some height, in buffers and in images, and with borders of each kind.
class StreamsOfManyWindows : public testing::TestWithParam<std::string_view> {};

TEST_P(StreamsOfManyWindows, HaveTheBitsOfTheWhole) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  cases::Random random(seed);
  cases::Case c = must(cases::parse_case(std::string(GetParam())));
  c.seed = seed;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(expect_same_bits_in_strips(c, c.algorithm, gpu(), random)) << cases::name(c);
}

INSTANTIATE_TEST_SUITE_P(VulkanStreams, StreamsOfManyWindows,
                         testing::Values("sep.fused:storage=buffer/301x997/rgba8/gaussian:sigma=2/mirror",
                                         "sep.fused:storage=image/301x997/rgba8/gaussian:sigma=2/clamp",
                                         "gauss.decimate/203x2011/rgba8/gaussian:sigma=9/reflect",
                                         "gauss.decimate/203x2011/r16f/gaussian:sigma=9/wrap+clamp/roi=30x1800+170+101",
                                         "box.any/501x1397/r32f/box:radius=20x9/wrap+mirror",
                                         "box.any/501x1397/rgb8/box:radius=20x9/constant/stride=3@1x2@3"));

/// 64 x 4000 pixels, in some twenty windows.
struct Tall {
  ImageDesc desc{64, 4000, PixelFormat::rgba8};
  Pixels src = Pixels::random(desc);
  Pixels made{desc};
  Executable executable = prepared_on(gpu(), "sep.fused", kSpec, desc);
  Stream stream = must(Stream::create(executable));

  [[nodiscard]] Status advance(std::int32_t source_rows, std::int32_t rows, const RunControl& control = {}) {
    const Rect from{0, stream.next_source_row(), desc.width, source_rows}, to{0, stream.next_row(), desc.width, rows};
    return stream.advance(crop(ConstImageView(src.view()), from), crop(made.view(), to), control);
  }
};

TEST(VulkanStreams, RowsAreReadyWhenTheWindowBelowIsUnderWay) {
  Tall tall;
  const std::int32_t first = tall.stream.needed_source_rows(1);
  EXPECT_GT(first, 100);
  EXPECT_LT(first, 1000);
  EXPECT_EQ(tall.stream.ready_rows(first - 1), 0);
  const std::int32_t ready = tall.stream.ready_rows(first);
  EXPECT_GT(ready, first / 3);
  EXPECT_LT(ready, first);
  ASSERT_TRUE(tall.advance(first, ready));
  EXPECT_EQ(tall.stream.ready_rows(0), 0);
  EXPECT_EQ(tall.stream.needed_source_rows(4000), 4000 - first);
}

/// What the stream has no room for on the device, it keeps on the host.
TEST(VulkanStreams, KeepRowsThatAreGivenTooEarly) {
  Tall tall;
  const std::int64_t before = tall.stream.memory_bytes(1);
  ASSERT_TRUE(tall.advance(4000, 3));
  EXPECT_GT(tall.stream.memory_bytes(1), before);
  ASSERT_TRUE(tall.advance(0, 997));
  ASSERT_TRUE(tall.advance(0, 3000));
  EXPECT_EQ(tall.made, run(tall.executable, tall.src));
}

TEST(VulkanStreams, EndWithARunThatIsStopped) {
  Tall tall;
  std::atomic<bool> stop = false;
  std::atomic<std::int64_t> finished = 0;
  const RunControl control{&stop, &finished};
  ASSERT_TRUE(tall.advance(2000, 1000, control));
  EXPECT_EQ(finished, 64 * 1000);
  stop = true;
  EXPECT_EQ(tall.advance(1000, 1000, control).error().code, ErrorCode::stopped);
  stop = false;
  EXPECT_EQ(tall.advance(1000, 1000, control).error().code, ErrorCode::stopped);
}

/// Their windows fit where the image does not.
TEST(VulkanStreams, OfImagesLargerThanABindingHaveTheBitsOfTheWhole) {
  if (!gpu().info().gpu.small_storage) GTEST_SKIP() << "no bytes in buffers";
  Engine engine;
  const Spy spy(engine);
  Spy::limits.maxStorageBufferRange = 1 << 20;
  const Device limited = must(vulkan::adopt(engine.lent));
  cases::Random random(1);
  const cases::Case c = must(cases::parse_case("sep.fused:storage=buffer/1001x997/rgba8/gaussian:sigma=2/mirror"));
  EXPECT_TRUE(expect_same_bits_in_strips(c, c.algorithm, limited, random));
}

TEST(VulkanStreams, RefuseStripsThatABindingCannotSee) {
  if (!gpu().info().gpu.small_storage) GTEST_SKIP() << "no bytes in buffers";
  Engine engine;
  const Spy spy(engine);
  Spy::limits.maxStorageBufferRange = 100'000;
  const Device limited = must(vulkan::adopt(engine.lent));
  const Executable executable =
      prepared_on(limited, "sep.fused:storage=buffer", spec_of(Gaussian{{7.0, 7.0}, {}, {}}), {1001, 997, PixelFormat::rgba8});
  const Result<Stream> stream = Stream::create(executable);
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().code, ErrorCode::unsupported);
  EXPECT_NE(stream.error().message.find("which the kernel needs, is larger than the 100000 bytes"), std::string::npos)
      << stream.error().message;
}

}  // namespace
}  // namespace mollify::test
