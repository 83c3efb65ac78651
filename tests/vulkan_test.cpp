// What the Vulkan backend promises beside right pixels: batches, threads, bits that do not change.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/half.h"
#include "vulkan_support.h"

namespace mollify::test {
namespace {

/// A workspace has two images in flight, or one.
class VulkanBatches : public testing::TestWithParam<Batches> {};

TEST_P(VulkanBatches, GiveEachImageItsOwnResult) {
  for (const std::string_view algorithm : kStorages) {
    const Executable executable = prepared_on(gpu(), algorithm);
    Workspace workspace = must(executable.make_workspace(GetParam()));
    for (const std::size_t count : {1, 2, 3, 7}) {
      std::vector<Pixels> sources;
      std::vector<Pixels> results(count, Pixels(kDesc));
      for (std::size_t i = 0; i < count; ++i) sources.push_back(Pixels::random(kDesc, 10 * count + i));
      std::vector<ConstImageView> from;
      std::vector<ImageView> to;
      for (const Pixels& p : sources) from.push_back(p.view());
      for (Pixels& p : results) to.push_back(p.view());
      const Status status = executable.run(from, to, workspace);
      ASSERT_TRUE(status.ok()) << message_of(status);
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(results[i], run(executable, sources[i])) << algorithm << ", image " << i << " of " << count;
      }
    }
    const Status nothing = executable.run(std::span<const ConstImageView>(), std::span<const ImageView>(), workspace);
    EXPECT_TRUE(nothing.ok()) << message_of(nothing);
  }
}

INSTANTIATE_TEST_SUITE_P(InFlight, VulkanBatches, testing::Values(Batches::yes, Batches::no));

TEST(Vulkan, InPlace) {
  for (const std::string_view algorithm : kStorages) {
    const Pixels src = Pixels::random(kDesc);
    const Executable executable = prepared_on(gpu(), algorithm, kSpec, kDesc, Overlap::in_place);
    Workspace workspace = must(executable.make_workspace());
    Pixels image = src;
    const Status status = executable.run(image.view(), image.view(), workspace);
    ASSERT_TRUE(status.ok()) << message_of(status);
    EXPECT_EQ(image, run(prepared_on(gpu(), algorithm), src));
    EXPECT_NE(image, src);
  }
}

TEST(Vulkan, RunsAgainWithTheSameBits) {
  const Pixels src = Pixels::random(kDesc);
  for (const std::string_view algorithm : kStorages) {
    const Executable executable = prepared_on(gpu(), algorithm);
    Workspace workspace = must(executable.make_workspace());
    const Pixels first = run(executable, src);
    for (int round = 0; round < 10; ++round) {
      Pixels result = Pixels::random(kDesc, 99);
      ASSERT_TRUE(executable.run(src.view(), result.view(), workspace).ok());
      EXPECT_EQ(result, first);
    }
  }
}

TEST(Vulkan, OneExecutableRunsFromManyThreads) {
  for (const std::string_view algorithm : kStorages) {
    const Executable executable = prepared_on(gpu(), algorithm);
    std::atomic<int> wrong = 0;
    std::vector<std::jthread> threads;
    for (std::uint64_t i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        const Pixels src = Pixels::random(kDesc, i + 1);
        const Pixels expected = run(executable, src);
        Workspace workspace = must(executable.make_workspace());
        for (int round = 0; round < 10; ++round) {
          Pixels result(kDesc);
          wrong += executable.run(src.view(), result.view(), workspace).ok() && result == expected ? 0 : 1;
        }
      });
    }
    threads.clear();
    EXPECT_EQ(wrong, 0);
  }
}

TEST(Vulkan, ThreadsPrepareAndDropExecutables) {
  const Pixels src = Pixels::random(kDesc);
  std::vector<Pixels> expected;
  for (int sigma = 1; sigma < 4; ++sigma) {
    expected.push_back(run(prepared_on(gpu(), kStorages[1], spec_of(Gaussian{{0.4 * sigma, 1}, {}, {}})), src));
  }
  const Device device = must(Device::open("vulkan"));  // with no pipelines yet: threads race to make the same ones
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 6; ++round) {
        const int sigma = (i + round) % 3 + 1;
        const Executable executable = prepared_on(device, kStorages[1], spec_of(Gaussian{{0.4 * sigma, 1}, {}, {}}));
        wrong += run(executable, src) == expected[static_cast<std::size_t>(sigma - 1)] ? 0 : 1;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
}

TEST(Vulkan, ExecutablesOfOneDeviceDoNotDisturbEachOther) {
  const Pixels src = Pixels::random(kDesc);
  const Executable one = prepared_on(gpu(), kStorages[0]);
  const Executable other = prepared_on(gpu(), kStorages[0], spec_of(Box::of_radius(2, 1), BorderMode::wrap));
  const Pixels one_result = run(one, src);
  const Pixels other_result = run(other, src);
  EXPECT_NE(one_result, other_result);
  Workspace one_space = must(one.make_workspace());
  Workspace other_space = must(other.make_workspace());
  for (int round = 0; round < 4; ++round) {
    Pixels a(kDesc);
    Pixels b(kDesc);
    ASSERT_TRUE(one.run(src.view(), a.view(), one_space).ok());
    ASSERT_TRUE(other.run(src.view(), b.view(), other_space).ok());
    EXPECT_EQ(a, one_result);
    EXPECT_EQ(b, other_result);
  }
}

TEST(Vulkan, WorkspacesOfOthersAreRefused) {
  const Executable one = prepared_on(gpu(), kStorages[0]);
  const Executable other = prepared_on(gpu(), kStorages[0], kSpec, {7, 5, PixelFormat::r8});
  const Executable on_cpu = prepared(kSpec, kDesc, {kDesc.format, {}, 2});
  const Pixels src = Pixels::random(kDesc);
  Pixels result(kDesc);
  for (const Executable* owner : {&other, &on_cpu}) {
    Workspace foreign = must(owner->make_workspace());
    EXPECT_EQ(message_of(one.run(src.view(), result.view(), foreign)), "the workspace was made for another executable");
  }
}

TEST(Vulkan, WhatADeviceMadeOutlivesItsHandle) {
  std::optional<Device> device = must(Device::open("vulkan"));
  const Executable executable = prepared_on(*device, kStorages[0]);
  device.reset();
  EXPECT_EQ(run(executable, Pixels::random(kDesc)), run(prepared_on(gpu(), kStorages[0]), Pixels::random(kDesc)));
}

struct ImageAndRegion {
  ImageDesc desc;
  Rect region;
};

class Regions : public testing::TestWithParam<ImageAndRegion> {};

TEST_P(Regions, HaveTheBitsOfTheWhole) {
  const ImageDesc& desc = GetParam().desc;
  const Rect& region = GetParam().region;
  int compared = 0;
  for (const AlgorithmInfo& algorithm : algorithms()) {
    for (const KernelSpec& kernel : sample_kernels()) {
      BlurSpec spec = spec_of(kernel, BorderMode::mirror);
      spec.accuracy.max_error = 0.5;
      const auto plan = [&] { return make_plan(spec, desc, destination_desc(spec, desc, desc.format), gpu().info(), with(algorithm.id)); };
      const Result<Plan> whole = plan();
      spec.roi = region;
      const Result<Plan> part = plan();
      ASSERT_EQ(whole.ok(), part.ok()) << algorithm.id << ": " << message_of(whole) << ", " << message_of(part);
      if (!whole) continue;
      ++compared;
      const Pixels src = Pixels::random(desc);
      const Pixels expected = cropped(run(must(gpu().prepare(*whole)), src), region);
      EXPECT_EQ(run(must(gpu().prepare(*part)), src), expected) << to_string(whole->algorithm) << "\n" << explain(*part);
    }
  }
  EXPECT_GT(compared, 0);
}

INSTANTIATE_TEST_SUITE_P(Vulkan, Regions,
                         testing::Values(ImageAndRegion{kDesc, {13, 7, 31, 26}},
                                         // Far enough from every edge that passes need none of the border.
                                         ImageAndRegion{{60, 300, PixelFormat::rgba32f}, {5, 128, 40, 64}}));

/// Of halves, one in a hundred stays near the largest there is, and the others become ten million times as small: where one of the former
/// is added to sums of the latter, these lose most of their bits.
Pixels with_few_large(Pixels pixels) {
  const ImageDesc& desc = pixels.desc();
  const int numbers = desc.width * info(desc.format).channels;
  for (std::int32_t y = 0; y < desc.height; ++y) {
    auto* row = reinterpret_cast<std::uint16_t*>(pixels.view().row(y));
    for (int i = 0; i < numbers; ++i) {
      const bool is_large = row[i] % 101 == 0;
      row[i] = double_to_half(half_to_float(row[i]) * (is_large ? 6e4 : 6e-3));
    }
  }
  return pixels;
}

/// Products of matrices add up many pixels at once, and in f32 it shows which. Those that lie beside what a region needs have no tap, and
/// must leave no trace however large they are.
TEST(Vulkan, RegionsOfMatricesHaveTheBitsOfTheWhole) {
  struct Kernel {
    std::string_view math;
    PixelFormat format;
    std::int32_t radius = 6;
  };
  int compared = 0;
  using enum PixelFormat;
  // Radius 1 and 4 leave much of what matrices multiply without a tap.
  for (const auto& [math, format, radius] : {Kernel{"coopmat", rgba16f},
                                             {"coopmat", rgba16f, 1},
                                             {"coopmat", rgba16f, 4},
                                             {"coopmat", rgb16f},
                                             {"coopmat_direct", rgba16f},
                                             {"coopmat_direct", rgba16f, 1},
                                             {"coopmat_direct", rgba16f, 4},
                                             {"coopmat_direct", rgba8}}) {
    const ImageDesc desc{640, 420, format};
    std::vector<Pixels> sources = {Pixels::random(desc)};
    if (!info(format).is_unorm()) sources.push_back(with_few_large(sources.front()));
    BlurSpec spec = spec_of(Gaussian{{2.0, 1.5}, PerAxis<std::int32_t>{radius, 5}, {}}, BorderMode::mirror);
    const PlanOptions choice = with("sep.fused:math=" + std::string(math));
    const auto plan = [&] { return make_plan(spec, desc, destination_desc(spec, desc, desc.format), gpu().info(), choice); };
    const Result<Plan> whole = plan();
    if (!whole) continue;
    ++compared;
    std::vector<Pixels> expected;
    for (const Pixels& src : sources) expected.push_back(run(must(gpu().prepare(*whole)), src));
    // Blocks begin before them by odd numbers, none, and numbers by which pixels could be stored together.
    for (const Rect& region : {Rect{1, 1, 638, 418}, Rect{8, 16, 400, 300}, Rect{37, 23, 599, 61}, Rect{20, 23, 400, 61},
                               Rect{10, 18, 400, 100}, Rect{639, 419, 1, 1}}) {
      spec.roi = region;
      const Executable part = must(gpu().prepare(must(plan())));
      for (std::size_t i = 0; i < sources.size(); ++i) {
        EXPECT_EQ(run(part, sources[i]), cropped(expected[i], region))
            << math << " " << info(format).name << " " << radius << " " << i << " +" << region.x << "+" << region.y;
      }
    }
  }
  if (compared == 0) GTEST_SKIP() << "the device has no cooperative matrices";
}

/// Sums that lie between two codes become even ones, wherever in a word they are stored.
TEST(Vulkan, GreyStaysGrey) {
  const ImageDesc desc{64, 40, PixelFormat::rgba8};
  Pixels src = Pixels::random(desc);
  const auto bytes = [](Pixels& pixels, std::int32_t y) { return pixels.view().row(y); };
  for (std::int32_t y = 0; y < desc.height; ++y) {
    for (std::int32_t i = 0; i < 4 * desc.width; ++i) bytes(src, y)[i] = bytes(src, y)[i / 4 * 4];
  }
  Pixels result = run(prepared_on(gpu(), "sep.fused:exchange=shuffle,math=f32", spec_of(Tent{{1.0, 0.0}}), desc), src);
  for (std::int32_t y = 0; y < desc.height; ++y) {
    for (std::int32_t i = 0; i < 4 * desc.width; ++i) ASSERT_EQ(bytes(result, y)[i], bytes(result, y)[i / 4 * 4]) << i << ", " << y;
  }
}

TEST(Vulkan, AMatrixOfZerosMakesZeros) {
  for (const char* algorithm : {"nxn.direct", "nxn.direct:samples=storage", "nxn.direct:packing=packed", "nxn.shared"}) {
    cases::Case c;
    c.algorithm = must(parse_algorithm(algorithm));
    c.spec = spec_of(Matrix{2, 2, {0, 0, 0, 0}, {0, 0}, Normalization::none});
    c.src = c.dst = kDesc;
    expect_pass(c, gpu());
  }
}

/// Negative weights, float destinations and a large error allowed seldom meet in one of the cases.
TEST(Vulkan, ReducedPrecisionKeepsItsPromise) {
  for (const char* text :
       {"sep.direct/900x900/rgba16-rgba16f/taps:x=0.25_0.5_0.25@1,y=-0.45_1.9_-0.45@1/clamp/premultiply",
        "nxn.direct:packing=packed/61x47/rgba32f/"
        "matrix:size=3x3,anchor=1x1,weights=1e-05_3e-05_2e-05_4e-05_7e-05_1e-05_3e-05_2e-05_5e-05/clamp/max_error=0.001"}) {
    expect_case_passes(text);
  }
}

/// The cases leave out the steps that a software driver compiles slowly.
TEST(Vulkan, ManyUnrolledSteps) {
  cases::Case c;
  c.src = c.dst = {75, 61, PixelFormat::rgba8};
  c.spec = spec_of(Box::of_radius(3, 2), BorderMode::mirror);
  for (const char* algorithm :
       {"box.running:storage=buffer,unroll=12", "box.running:storage=buffer,unroll=16", "box.running:storage=buffer,unroll=24",
        "box.running:storage=buffer,unroll=32", "sep.fused:pixels_per_thread=4,rows_in_flight=3"}) {
    c.algorithm = must(parse_algorithm(algorithm));
    expect_pass(c, gpu());
  }
}

/// On a software driver lanes lend each other pixels only when asked to, and cases have few wide images.
TEST(Vulkan, LanesLendEachOtherPixels) {
  if (!gpu().info().gpu.small_storage) GTEST_SKIP() << "lanes need pixels in buffers, and the device has few that fit";
  for (const char* text : {"sep.fused:exchange=shuffle,rows_in_flight=1/203x61/rgba8/gaussian:sigma=0.6,radius=2/mirror",
                           "sep.fused:exchange=shuffle,rows_in_flight=3/208x61/rgba8/taps:x=0.2_0.5_0.4_-0.1@1,y=0.7_0.3@1/wrap",
                           "sep.fused:exchange=shuffle,rows_in_flight=4,threads=32/400x67/r8/gaussian:sigma=1.3,radius=4/clamp",
                           "sep.fused:exchange=shuffle,pixels_per_thread=16/640x40/r8/box:radius=1x2/constant:value=0.3_0.3_0.3_0.3",
                           "sep.fused:exchange=shuffle/200x50/rgb16/gaussian:sigma=0.8,radius=2/reflect",
                           "sep.fused:exchange=shuffle/64x64/rgba32f/gaussian:sigma=1,radius=3/constant:value=2_1_0.5_0.25",
                           "sep.fused:math=half/160x70/rgba16f/gaussian:sigma=1,radius=3/constant:value=0.5_1_0.25_0/max_error=0.05",
                           "sep.fused:math=half/160x70/rg16f/gaussian:sigma=0.7,radius=2x1/mirror/max_error=0.05",
                           "sep.fused:math=half,pixels_per_thread=4/150x70/rg16f/taps:x=0.2_0.5_0.4_-0.1@1,y=0.7_0.3@1/wrap/max_error=0.05",
                           "sep.fused:math=half/203x61/rgba8/gaussian:sigma=0.333,radius=1/mirror/max_error=0.01",
                           "sep.fused:math=half/160x70/rgba8/gaussian:sigma=0.666,radius=2/constant:value=0.5_1_0.25_0/max_error=0.01",
                           "sep.fused:math=half,rows_in_flight=2/201x61/rgb8/tent:radius=1/wrap",
                           "sep.fused:math=half/208x61/r8/box:radius=1/clamp",
                           "sep.fused:math=half,rows_in_flight=3/300x61/rg8/box:before=1x0,after=2x1/reflect",
                           "sep.fused:math=half,pixels_per_thread=4/160x40/r8/gaussian:sigma=0.5/mirror/max_error=0.01",
                           "sep.fused:math=half/160x40/rgba8/gaussian:sigma=0.6x0/clamp/max_error=0.01",
                           "sep.fused:math=half/160x40/rgba8/gaussian:sigma=0x0.6/clamp/max_error=0.01",
                           "gauss.decimate:read_pixels=4,write_pixels=4/512x90/rgba8/gaussian:sigma=5/constant:value=0.3_0.3_0.3_0.3",
                           "gauss.decimate:read_pixels=2,write_pixels=2/700x90/rgba16f/gaussian:sigma=9/reflect",
                           "gauss.decimate:read_pixels=4,write_pixels=4/1200x90/r8/gaussian:sigma=20x4/wrap"}) {
    expect_case_passes(text);
  }
}

/// The cases sum few cells at once on a software driver.
TEST(Vulkan, TilesOfTheGridOfCells) {
  for (const char* text : {"gauss.decimate:samples_per_thread=4/511x263/rgba8/gaussian:sigma=8/wrap",
                           "gauss.decimate:samples_per_thread=8/257x633/rgba8/gaussian:sigma=20x8/mirror",
                           "gauss.decimate:samples_per_thread=4,group=64x2/640x260/rgba32f/gaussian:sigma=20/constant:value=2_1_0.5_0.25",
                           "gauss.decimate:samples_per_thread=8/600x511/r8/gaussian:sigma=8/clamp",
                           "gauss.decimate:samples_per_thread=4,group=99x3/300x333/rg16f/gaussian:sigma=9/reflect",
                           "gauss.decimate:samples_per_thread=8/300x333/rgb8/gaussian:sigma=18/wrap",
                           "gauss.decimate:samples_per_thread=4,storage=image/400x300/rgba8/gaussian:sigma=12x5/mirror",
                           "gauss.decimate:samples_per_thread=8,storage=image/300x400/r8/gaussian:sigma=7/clamp"}) {
    expect_case_passes(text);
  }
}

/// The cases sum few cells at once on a software driver, and have few shapes of groups.
TEST(Vulkan, GridsThatAreBlurredAsTheyAreExpanded) {
  for (const char* text :
       {"gauss.decimate:blur=upsample/64x64/rgba8/gaussian:sigma=8/clamp",
        "gauss.decimate:blur=upsample,samples_per_thread=4,write_pixels=4/301x90/rgba8/gaussian:sigma=8x20/clamp",
        "gauss.decimate:blur=upsample,group=8x16,coarse_rows=1/90x301/rgba32f/gaussian:sigma=12/constant:value=2_1_0.5_0.25",
        "gauss.decimate:blur=upsample,samples_per_thread=2,group=40x3,coarse_rows=5/257x633/rgba16/gaussian:sigma=20x8/mirror",
        "gauss.decimate:blur=upsample,samples_per_thread=4,write_pixels=2/200x90/rgba16f/gaussian:sigma=9/wrap+mirror/roi=101x40+31+17",
        "gauss.decimate:blur=upsample,samples_per_thread=8,write_pixels=8/600x111/r8/gaussian:sigma=8/reflect",
        "gauss.decimate:blur=upsample,group=128x1,coarse_rows=2/300x100/rg32f/gaussian:sigma=12x5/wrap",
        "gauss.decimate:blur=upsample,samples_per_thread=4/333x100/rgb8/gaussian:sigma=18/reflect"}) {
    expect_case_passes(text);
  }
}

/// While the host copies one piece another is on its way.
TEST(Vulkan, LargeImagesTravelInPieces) {
  for (const char* text : {"box.any:storage=buffer/1301x1303/rgba32f/box:radius=1/clamp",
                           "sep.fused:storage=image/1301x1303/rgba32f/box:radius=1/mirror/layout=padded",
                           "box.any:storage=buffer/1301x1303/rgba32f-rgba8/box:radius=1/clamp/roi=100x1200+7+50",
                           "box.any:storage=buffer/24000x700/r8/box:radius=1/wrap"}) {
    expect_case_passes(text);
  }
}

class LongImages : public testing::TestWithParam<AlgorithmInfo> {};

/// Group counts and indices beyond 16 bits.
TEST_P(LongImages, Of65537Pixels) {
  for (const PerAxis<std::int32_t> size : {PerAxis<std::int32_t>{65537, 1}, {1, 65537}}) {
    for (const KernelSpec& kernel : {KernelSpec(Box::of_radius(1, 1)), KernelSpec(Gaussian{{3.5, 3.5}, {}, {}})}) {
      cases::Case c;
      c.algorithm.id = GetParam().id;
      c.spec = spec_of(kernel, BorderMode::wrap);
      c.spec.accuracy.max_error = 0.5;
      c.src = c.dst = {size.x, size.y, PixelFormat::r8};
      if (!make_plan(c.spec, c.src, c.dst, gpu().info(), with(c.algorithm.id))) continue;
      expect_pass(c, gpu());
      break;  // one kernel is enough
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, LongImages, testing::ValuesIn(algorithms()), [](const auto& test) {
  std::string name(test.param.id);
  std::ranges::replace(name, '.', '_');
  return name;
});

/// Most cut Gaussians of the case list are cut at 3 sigma, where grids are of little use.
TEST(Vulkan, GaussiansCutAtFourSigmaAreDecimatedWithinTheError) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto number = [&](int first, int last) { return std::to_string(std::uniform_int_distribution(first, last)(random)); };
  int passed = 0;
  for (const char* format : {"r8", "rgb8", "rgba8", "r16", "rgba16", "rgba16f"}) {
    for (const char* border : {"clamp", "wrap"}) {
      // Halves need coarse samples so near to each other that below a sigma of 8 they are refused now and then.
      const std::string sigma = number(8, 24) + "." + number(0, 99) + "x" + number(8, 24);
      const cases::Case c = must(cases::parse_case("gauss.decimate/" + number(200, 300) + "x" + number(200, 300) + "/" + format +
                                                   "/gaussian:sigma=" + sigma + ",truncate=4/" + border));
      const cases::CaseResult result = cases::run_case(gpu(), c);  // refused without small numbers in buffers
      EXPECT_NE(result.outcome, cases::Outcome::failed) << cases::name(c) << "\n" << result.message;
      passed += result.outcome == cases::Outcome::pass ? 1 : 0;
    }
  }
  EXPECT_GT(passed, 0);
}

}  // namespace
}  // namespace mollify::test
