// Streams give the bits of the whole, whatever the strips, and keep nothing of the caller's memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <stdexcept>
#include <string>

#include "support.h"
#include "windows_support.h"

namespace mollify::test {
namespace {

using cases::Case;
using cases::Random;

Stream stream_of(const Executable& executable) {
  Result<Stream> stream = Stream::create(executable);
  if (!stream) throw std::runtime_error(stream.error().message);
  return std::move(*stream);
}

class EveryAlgorithmOnAStream : public testing::TestWithParam<std::string> {};

TEST_P(EveryAlgorithmOnAStream, HasTheBitsOfTheWhole) {
  expect_same_bits_in_strips(GetParam(), {cpu(1), cpu(3)}, 60);
}

INSTANTIATE_TEST_SUITE_P(Streams, EveryAlgorithmOnAStream,
                         testing::Values("sep.fused", "box.any", "nxn.direct", "gauss.decimate", "gauss.pyramid", "gauss.cut"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

/// Floats are few among the cases at random, and cut Gaussians of floats are made in another way than those of bytes.
TEST(Streams, OfCutGaussiansOfFloatsHaveTheBitsOfTheWhole) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  int cases = 12;
  for (int tried = 0; cases > 0 && !HasFailure() && tried < 200; ++tried) {
    if (expect_same_bits_in_strips(cut_floats(random), {"gauss.cut", {}}, cpu(random.one_in(2) ? 1 : 3), random)) --cases;
  }
  EXPECT_LE(cases, 0) << "too few images were large enough";
}

/// Several tiles across.
TEST(Streams, OfWideImagesHaveTheBitsOfTheWhole) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  const ImageDesc desc{5000, 300, PixelFormat::rgba8};
  for (const char* way : {"sep.fused", "gauss.decimate:passes=1", "gauss.decimate:passes=2", "gauss.pyramid", "box.any"}) {
    const KernelSpec kernel = std::string(way) == "box.any" ? KernelSpec(Box::of_radius(9, 9)) : KernelSpec(Gaussian{{10, 10}, {}, {}});
    const Case c{.algorithm = {}, .spec = spec_of(kernel, BorderMode::mirror), .src = desc, .dst = desc};
    EXPECT_TRUE(expect_same_bits_in_strips(c, parse_algorithm(way).value(), cpu(random.one_in(2) ? 1 : 3), random)) << way;
  }
}

/// A Gaussian of 7x5 taps on 100x80 pixels of 8 bits.
Executable small_blur(BorderMode mode, std::optional<Rect> region = {}) {
  BlurSpec spec = spec_of(Gaussian{{1.0, 1.0}, {{3, 2}}, {}}, mode);
  spec.roi = region;
  return prepared(spec, {100, 80, PixelFormat::r8}, {PixelFormat::r8, {"sep.fused", {}}, 2});
}

TEST(Streams, SayHowManyRowsAreReady) {
  Stream stream = stream_of(small_blur(BorderMode::clamp));
  EXPECT_EQ(stream.next_source_row(), 0);
  EXPECT_EQ(stream.ready_rows(0), 0);
  EXPECT_EQ(stream.ready_rows(2), 0);
  EXPECT_EQ(stream.ready_rows(10), 8);
  EXPECT_EQ(stream.ready_rows(80), 80);
  EXPECT_EQ(stream.needed_source_rows(0), 0);
  EXPECT_EQ(stream.needed_source_rows(8), 10);
  EXPECT_EQ(stream.needed_source_rows(100), 80);
}

TEST(Streams, BeginWhereTheRegionDoes) {
  const Rect region{20, 30, 40, 10};
  Stream stream = stream_of(small_blur(BorderMode::wrap, region));
  EXPECT_EQ(stream.next_source_row(), 28);
  EXPECT_EQ(stream.needed_source_rows(10), 14);
}

TEST(Streams, RefuseBordersThatWrapDownTheImage) {
  const Result<Stream> stream = Stream::create(small_blur(BorderMode::wrap));
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().code, ErrorCode::unsupported);
  EXPECT_EQ(stream.error().message,
            "the border wraps down the image, so that the first rows need the last ones of the source, which a stream gets too late: run "
            "windows instead, see Plan::source_region()");
}

TEST(Streams, RefuseStripsThatDoNotFit) {
  const Pixels src = Pixels::random({100, 80, PixelFormat::r8});
  Pixels made({100, 80, PixelFormat::r8});
  Stream stream = stream_of(small_blur(BorderMode::clamp));
  const auto rows = [](const auto& view, std::int32_t count) { return crop(view, {0, 0, view.desc.width, count}); };
  const auto refused = [&](const ConstImageView& source, const ImageView& destination) {
    const Status status = stream.advance(source, destination);
    EXPECT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::invalid_argument);
    return status.error().message;
  };
  EXPECT_EQ(refused(rows(src.view(), 10), rows(made.view(), 9)),
            "9 rows of the destination need the source up to its row 10, but only the rows before row 10 are given: see "
            "Stream::ready_rows()");
  EXPECT_EQ(refused(rows(made.view(), 10), rows(made.view(), 8)),
            "a strip of the source overlaps that of the destination, but the stream still needs rows of it");
  refused(crop(src.view(), {0, 0, 99, 10}), rows(made.view(), 8));
  refused(rows(src.view(), 10), crop(made.view(), {0, 0, 99, 8}));
  ASSERT_TRUE(stream.advance(rows(src.view(), 60), {})) << "nothing has happened to the stream";
  EXPECT_EQ(refused(rows(src.view(), 21), {}), "a strip of the source has 21 rows, but only 20 rows are left");
  ASSERT_TRUE(stream.advance({}, rows(made.view(), 58)));
  EXPECT_EQ(refused({}, rows(made.view(), 23)), "a strip of the destination has 23 rows, but only 22 rows are left");
}

TEST(Streams, EndWithARunThatIsStopped) {
  const Pixels src = Pixels::random({100, 80, PixelFormat::r8});
  Pixels made({100, 80, PixelFormat::r8});
  Stream stream = stream_of(small_blur(BorderMode::clamp));
  std::atomic<bool> stop = false;
  std::atomic<std::int64_t> finished = 0;
  const RunControl control{&stop, &finished};
  ASSERT_TRUE(stream.advance(crop(src.view(), {0, 0, 100, 10}), crop(made.view(), {0, 0, 100, 8}), control));
  EXPECT_EQ(finished, 800);
  stop = true;
  const auto next = [&] { return stream.advance(crop(src.view(), {0, 10, 100, 10}), crop(made.view(), {0, 8, 100, 10}), control); };
  EXPECT_EQ(next().error().code, ErrorCode::stopped);
  stop = false;
  EXPECT_EQ(next().error().code, ErrorCode::stopped) << "its rows are unfinished";
}

}  // namespace
}  // namespace mollify::test
