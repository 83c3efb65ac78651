// Runs on windows give the bits of the whole, whatever the windows, and read nothing but what Plan::source_region() names.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <deque>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "support.h"
#include "windows_support.h"

namespace mollify::test {
namespace {

using cases::Case;
using cases::Random;

class EveryAlgorithm : public testing::TestWithParam<std::string> {};

TEST_P(EveryAlgorithm, HasTheBitsOfTheWholeOnWindows) {
  expect_same_bits_on_windows(GetParam(), {cpu(1), cpu(3)}, 60);
}

INSTANTIATE_TEST_SUITE_P(Windows, EveryAlgorithm,
                         testing::Values("sep.fused", "box.any", "nxn.direct", "gauss.decimate", "gauss.pyramid", "gauss.cut"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

/// Floats are few among the cases at random, and cut Gaussians of floats are made in another way than those of bytes.
TEST(Windows, OfCutGaussiansOfFloatsHaveTheBitsOfTheWhole) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  int cases = 12;
  for (int tried = 0; cases > 0 && !HasFailure() && tried < 200; ++tried) {
    if (expect_same_bits(cut_floats(random), {"gauss.cut", {}}, cpu(random.one_in(2) ? 1 : 3), random)) --cases;
  }
  EXPECT_LE(cases, 0) << "too few images were large enough";
}

// What large numbers leave in a sum of f64 when they have left its window shows in f32 now and then, where some of the others are so small
// that sums are rounded.
TEST(Windows, SumsOfFloatsBeginWhereThoseOfTheWholeDo) {
  constexpr std::int32_t kRows = 7;
  const ImageDesc desc{1500, 900, PixelFormat::r32f};
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Pixels src(desc);
  Random random(seed);
  for (std::int32_t y = 0; y < desc.height; ++y) {
    for (std::int32_t x = 0; x < desc.width; ++x) {
      src.set(x, y, 0, random.uniform(0.5, 1.0) * (random.one_in(20) ? 60'000.0 : random.one_in(2) ? 0x1p-25 : 1.0));
    }
  }
  const Executable executable = prepared(spec_of(Box::of_radius(1, 5)), desc, {desc.format, {"box.any", {}}, 3});
  Pixels whole(desc);
  Workspace workspace = *executable.make_workspace();
  ASSERT_TRUE(executable.run(src.view(), whole.view(), workspace));
  Pixels pieces(desc);
  for (std::int32_t y = 0; y < desc.height; y += kRows) {
    const Rect strip{0, y, desc.width, std::min(kRows, desc.height - y)};
    SourceWindows source(src.view());
    for (const Rect& needed : region_of(executable.plan(), strip)) source.add(needed, GuardedPixels::Side::end);
    ASSERT_TRUE(executable.run(source.windows(), {crop(pieces.view(), strip), 0, y}, workspace));
  }
  EXPECT_EQ(pieces, whole);
}

/// A Gaussian of 7x5 taps on 100x80 pixels of 8 bits.
Executable small_blur(BorderMode mode) {
  Gaussian gaussian{{1.0, 1.0}, {{3, 2}}, {}};
  return prepared(spec_of(gaussian, mode), {100, 80, PixelFormat::r8}, {PixelFormat::r8, {"sep.fused", {}}, 2});
}

TEST(SourceRegion, IsTheRectangleWithItsHalo) {
  const Plan plan = small_blur(BorderMode::clamp).plan();
  EXPECT_EQ(region_of(plan, {50, 40, 10, 20}), (std::vector<Rect>{{47, 38, 16, 24}}));
  EXPECT_EQ(region_of(plan, {0, 40, 100, 40}), (std::vector<Rect>{{0, 38, 100, 42}}));
}

TEST(SourceRegion, HasTheOppositeEdgeWhereTheBorderWraps) {
  const Plan plan = small_blur(BorderMode::wrap).plan();
  EXPECT_EQ(region_of(plan, {0, 79, 1, 1}), (std::vector<Rect>{{0, 0, 4, 2}, {97, 0, 3, 2}, {0, 77, 4, 3}, {97, 77, 3, 3}}));
  EXPECT_EQ(region_of(plan, {0, 40, 94, 1}), (std::vector<Rect>{{0, 38, 100, 5}})) << "spans that meet are one";
}

TEST(SourceRegion, HasWhatIsMirrored) {
  EXPECT_EQ(region_of(small_blur(BorderMode::mirror).plan(), {99, 0, 1, 1}), (std::vector<Rect>{{96, 0, 4, 3}}));
  Taps taps{{{1, 2, 3, 4}, 3}, {}, Normalization::unit_sum};  // before the pixel only
  const Plan plan = prepared(spec_of(taps, BorderMode::mirror), {100, 80, PixelFormat::r8}, {PixelFormat::r8, {"sep.fused", {}}, 2}).plan();
  EXPECT_EQ(region_of(plan, {0, 7, 1, 1}), (std::vector<Rect>{{0, 7, 4, 1}}));
  EXPECT_EQ(region_of(plan, {2, 7, 1, 1}), (std::vector<Rect>{{0, 7, 3, 1}}));
}

TEST(SourceRegion, RefusesWhatIsNotInTheDestination) {
  const Plan plan = small_blur(BorderMode::clamp).plan();
  for (const Rect& wrong : {Rect{0, 0, 0, 1}, Rect{-1, 0, 5, 5}, Rect{96, 0, 5, 5}, Rect{0, 2147483647, 1, 2147483647}}) {
    const Result<std::vector<Rect>> region = plan.source_region(wrong);
    ASSERT_FALSE(region);
    EXPECT_EQ(region.error().code, ErrorCode::invalid_argument);
  }
  EXPECT_EQ(plan.source_region({96, 0, 5, 5}).error().message, "the window 5x5+96+0 does not lie in the destination, which is 100x80");
}

#ifdef MOLLIFY_VULKAN
TEST(SourceRegion, BeginsOnGpusWhereSumsOfFloatsDo) {
  const ImageDesc desc{1000, 800, PixelFormat::r32f};
  const AlgorithmChoice choice{"box.any", {{"form", "four_corner"}, {"chunks", "16"}}};
  const Result<Plan> plan = make_plan(spec_of(Box::of_radius(9, 50)), desc, desc, fake_gpu(false), {choice});
  ASSERT_TRUE(plan) << plan.error().message;
  // Bands of 50 rows. The row before a window is read, too.
  const std::vector<Rect> region = region_of(*plan, {0, 599, 1000, 1});
  ASSERT_EQ(region.size(), 1U);
  EXPECT_EQ(region[0].y, 450);
  EXPECT_EQ(region_of(*plan, {0, 600, 1000, 1})[0].y, 500);
}

TEST(SourceRegion, PlansOfGpusHaveNoneThatReadThroughALinearSampler) {
  const ImageDesc desc{100, 80, PixelFormat::rgba8};
  BlurSpec spec = spec_of(Box::of_radius(9, 9));
  spec.accuracy.max_error = 0.1;
  const Result<Plan> plan = make_plan(spec, desc, desc, fake_gpu(false), {AlgorithmChoice{"box.sep_linear", {}}});
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->source_region({0, 0, 1, 1}).error().code, ErrorCode::unsupported);
}
#endif

/// A destination window of `small_blur()` with what it takes to make it.
class SmallRun {
 public:
  SmallRun() : executable(small_blur(BorderMode::clamp)), source(src.view()), workspace(*executable.make_workspace(PerAxis{10, 20})) {}
  Status run(const RunControl& control = {}) { return executable.run(source.windows(), {made.view(), 50, 40}, workspace, control); }

  Executable executable;
  Pixels src = Pixels::random({100, 80, PixelFormat::r8});
  SourceWindows source;
  Pixels made = Pixels::constant({10, 20, PixelFormat::r8}, 0.0);
  Workspace workspace;
};

TEST(WindowErrors, SayWhatTheSourceLacks) {
  SmallRun blur;
  EXPECT_FALSE(blur.run());
  blur.source.add({47, 38, 16, 12}, GuardedPixels::Side::end);
  blur.source.add({48, 38, 52, 42}, GuardedPixels::Side::end);
  const Status status = blur.run();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message,
            "no window of the source has row 50 with its columns 47 to 62; rows up to 61 are needed: see Plan::source_region()");
  EXPECT_EQ(blur.made, Pixels::constant({10, 20, PixelFormat::r8}, 0.0)) << "nothing is written";
  blur.source.add({40, 45, 60, 35}, GuardedPixels::Side::end);
  EXPECT_TRUE(blur.run());
}

TEST(WindowErrors, RefuseViewsThatAreNoParts) {
  SmallRun blur;
  blur.source.add({47, 38, 16, 24}, GuardedPixels::Side::end);
  ASSERT_TRUE(blur.run());
  const ConstWindow good = blur.source.windows()[0];
  const auto runs_with = [&](const ConstWindow& window) {
    const ConstWindow windows[] = {good, window};
    return blur.executable.run(windows, {blur.made.view(), 50, 40}, blur.workspace).ok();
  };
  ConstWindow wrong = good;
  EXPECT_TRUE(runs_with(wrong));
  wrong.x = 90;
  EXPECT_FALSE(runs_with(wrong)) << "beyond the source";
  wrong = good, wrong.pixels.desc.format = PixelFormat::rg8;
  EXPECT_FALSE(runs_with(wrong)) << "of another format";
  wrong = good, wrong.pixels.data = nullptr;
  EXPECT_FALSE(runs_with(wrong)) << "without pixels";
  EXPECT_FALSE(runs_with({blur.made.view(), 0, 0})) << "over the destination";
  Workspace other = *small_blur(BorderMode::clamp).make_workspace();
  EXPECT_FALSE(blur.executable.run(blur.source.windows(), {blur.made.view(), 50, 40}, other).ok()) << "of another executable";
}

TEST(WindowErrors, RefuseWorkspacesOfSmallerWindows) {
  const ImageDesc desc{400, 300, PixelFormat::r32f};
  const BlurSpec spec = spec_of(Gaussian{{9, 9}, {}, {}});
  const Executable executable = prepared(spec, desc, {desc.format, {"gauss.decimate", {{"passes", "2"}}}, 2});
  const Pixels src = Pixels::random(desc);
  Pixels made(desc);
  const ConstWindow whole{src.view(), 0, 0};
  Workspace small = *executable.make_workspace(PerAxis{400, 20});
  EXPECT_FALSE(executable.run(std::span(&whole, 1), {made.view(), 0, 0}, small));
  EXPECT_FALSE(executable.run(src.view(), made.view(), small)) << "nor is it for the whole";
  Workspace large = *executable.make_workspace();
  EXPECT_TRUE(executable.run(std::span(&whole, 1), {made.view(), 0, 0}, large));
  EXPECT_EQ(made, blurred(spec, src.view(), {desc.format, {"gauss.decimate", {{"passes", "2"}}}, 1}));
}

TEST(RunControl, CountsPixelsAndStops) {
  SmallRun blur;
  blur.source.add({40, 30, 60, 50}, GuardedPixels::Side::end);
  std::atomic<bool> stop = false;
  std::atomic<std::int64_t> finished = 0;
  ASSERT_TRUE(blur.run({&stop, &finished}));
  EXPECT_EQ(finished, 200);
  const Pixels before = std::exchange(blur.made, Pixels::constant({10, 20, PixelFormat::r8}, 0.0));
  EXPECT_NE(before, blur.made);
  stop = true;
  const Status status = blur.run({&stop, &finished});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::stopped);
  EXPECT_EQ(finished, 200);
  EXPECT_EQ(blur.made, Pixels::constant({10, 20, PixelFormat::r8}, 0.0));
}

TEST(RunControl, StopsInTheMiddle) {
  const ImageDesc desc{4000, 3000, PixelFormat::r8};
  const Executable executable = prepared(spec_of(Box::of_radius(9, 9)), desc, {desc.format, {"nxn.direct", {}}, 2});
  const Pixels src = Pixels::random(desc);
  Pixels made(desc);
  const ConstWindow whole{src.view(), 0, 0};
  Workspace workspace = *executable.make_workspace();
  std::atomic<bool> stop = false;
  std::atomic<std::int64_t> finished = 0;
  std::thread watch([&] {
    while (finished == 0) std::this_thread::yield();
    stop = true;
  });
  const Status status = executable.run(std::span(&whole, 1), {made.view(), 0, 0}, workspace, {&stop, &finished});
  watch.join();
  ASSERT_FALSE(status);
  EXPECT_LT(finished, std::int64_t{desc.width} * desc.height);
}

/// Whether windows cover an image, each pixel once.
bool cover(const std::vector<Rect>& windows, const ImageDesc& desc) {
  std::vector<int> times(static_cast<std::size_t>(desc.width) * desc.height);
  for (const Rect& w : windows) {
    for (std::int32_t y = w.y; y < w.y + w.height; ++y) {
      for (std::int32_t x = w.x; x < w.x + w.width; ++x) ++times.at(static_cast<std::size_t>(y) * desc.width + x);
    }
  }
  return std::ranges::all_of(times, [](int n) { return n == 1; });
}

TEST(ProposedWindows, CoverTheDestinationWithinTheBytes) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  int made = 0;
  for (int round = 0; round < 200; ++round) {
    const Case c = windowed_case(random);
    const Result<Plan> plan = make_plan(c.spec, c.src, c.dst, cpu(2).info());
    ASSERT_TRUE(plan);
    const Executable executable = *cpu(2).prepare(*plan);
    const std::int64_t bytes = static_cast<std::int64_t>(std::exp2(random.uniform(10.0, 26.0)));
    const Result<std::vector<Rect>> proposed = windows(*plan, bytes);
    if (!proposed) continue;
    ++made;
    EXPECT_TRUE(cover(*proposed, c.dst)) << cases::name(c);
    for (const Rect& window : *proposed) {
      const auto bytes_of = [](const Rect& rect, PixelFormat format) { return ImageDesc{rect.width, rect.height, format}.payload_bytes(); };
      std::int64_t taken = plan->scratch_bytes - plan->intermediate_bytes + bytes_of(window, c.dst.format);
      for (const Rect& needed : region_of(*plan, window)) taken += bytes_of(needed, c.src.format);
      EXPECT_LE(taken, bytes) << cases::name(c);
    }
  }
  EXPECT_GT(made, 50);
}

TEST(ProposedWindows, AreStripsThatBeginWhereBlocksDo) {
  const ImageDesc desc{1000, 10'000, PixelFormat::r8};
  const Result<Plan> plan = make_plan(spec_of(Gaussian{{20, 20}, {}, {}}), desc, desc, cpu(1).info());
  ASSERT_TRUE(plan);
  const Result<std::vector<Rect>> strips = windows(*plan, plan->scratch_bytes + 4'000'000);
  ASSERT_TRUE(strips);
  ASSERT_GT(strips->size(), 2U);
  const HaloEdge& edge = plan->halo->y.before;
  for (std::size_t i = 0; i < strips->size(); ++i) {
    EXPECT_EQ((*strips)[i].width, 1000);
    if (i > 0) {
      EXPECT_EQ(((*strips)[i].y - edge.offset) % edge.block, 0);
    }
  }
}

TEST(ProposedWindows, AreTilesWhereStripsWouldBeLowerThanTheirHalo) {
  const ImageDesc desc{200'000, 2'000, PixelFormat::r32f};
  const Result<Plan> plan = make_plan(spec_of(Gaussian{{50, 50}, {}, {}}), desc, desc, cpu(1).info());
  ASSERT_TRUE(plan);
  const Result<std::vector<Rect>> tiles = windows(*plan, 64 << 20);
  ASSERT_TRUE(tiles) << tiles.error().message;
  EXPECT_LT(tiles->front().width, desc.width);
  EXPECT_GT(tiles->front().height, 100);
}

TEST(ProposedWindows, NeedRoomForOnePixel) {
  const Plan plan = small_blur(BorderMode::clamp).plan();
  const Result<std::vector<Rect>> none = windows(plan, plan.scratch_bytes);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::out_of_memory);
}

}  // namespace
}  // namespace mollify::test
