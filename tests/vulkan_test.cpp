// What the Vulkan backend promises beside right pixels: batches, threads, bits that do not change.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

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
      const auto plan = [&] {
        return make_plan(spec, desc, destination_desc(spec, desc, desc.format), gpu().info(), with(algorithm.id));
      };
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

/// Pixels so bright that what a running sum forgets of the others is as large as they are.
TEST(Vulkan, WindowsOfARegionBeginWhereThoseOfTheWholeDo) {
  struct Way {
    const char* algorithm;
    Box box;
    PixelFormat format = PixelFormat::r32f;
  };
  for (const auto& [algorithm, box, format] :
       {Way{"box.any:sums=f32,threads=64,vertical_groups=5", Box::of_radius(5, 7.5)},
        Way{"box.any:sums=f32x2,threads=64,walks=1", Box::of_radius(5, 7.5)},
        Way{"box.any:form=corners", Box::of_radius(9, 12)},
        // So many cells that windows follow from each other.
        Way{"box.any:form=corners,vertical_groups=25", Box::of_radius(90, 31)},
        Way{"box.any:form=segments,vertical_groups=7", Box::of_radius(9, 12)},
        Way{"box.any:form=segments,threads=64,vertical_groups=5", Box::of_radius(20, 90)},
        Way{"box.any:form=segments,threads=64", Box::of_radius(64, 20), PixelFormat::rgba8},
        Way{"box.any:form=segments,threads=64", Box::of_radius(31, 90), PixelFormat::rgb8},
        Way{"box.any:form=segments", Box::of_radius(31, 60), PixelFormat::rg16},
        Way{"box.any:form=segments,threads=64,span=2,batch=2", Box::of_radius(31, 60), PixelFormat::rg16f},
        Way{"box.any:form=segments,threads=64", Box::of_radius(31, 90), PixelFormat::rgba16f},
        Way{"box.any:form=lanes,span=4,vertical_groups=7", Box::of_radius(9, 12)},
        Way{"box.any:form=lanes,span=3", Box::of_radius(2, 1), PixelFormat::rgba32f},
        Way{"box.any:form=lanes,span=8,batch=2", Box::of_radius(11, 60), PixelFormat::rg8}}) {
    const ImageDesc desc{300, 200, format};
    Pixels src = Pixels::random(desc);
    for (std::int32_t i = 0; i < desc.width * desc.height; i += 371) src.set(i % desc.width, i / desc.width, 0, 1e16);
    BlurSpec spec = spec_of(box, BorderMode::reflect);
    spec.accuracy.max_error = 0.5;
    const Pixels whole = run(prepared_on(gpu(), algorithm, spec, desc), src);
    for (const Rect region : {Rect{1, 1, 200, 150}, Rect{60, 90, 7, 3}, Rect{155, 41, 145, 1}, Rect{299, 0, 1, 200}}) {
      spec.roi = region;
      EXPECT_EQ(run(prepared_on(gpu(), algorithm, spec, desc), src), cropped(whole, region))
          << algorithm << " from " << region.x << ", " << region.y;
    }
  }
}

/// Sums as large as their integers hold.
TEST(Vulkan, BoxesOverWhiteAreWhite) {
  struct White {
    const char* algorithm;
    PixelFormat format;
    double radius_x, radius_y;
    std::int32_t height = 61;
  };
  for (const White& white : {White{"box.any:form=columns,sums=u16x2", PixelFormat::rgba8, 1, 128},
                             White{"box.any:form=columns,sums=u16x2", PixelFormat::rg8, 100, 128},
                             White{"box.any:form=columns,sums=u32", PixelFormat::rgba16, 127, 128},
                             White{"box.any:form=corners,vertical_groups=1", PixelFormat::rgba8, 1, 300},
                             White{"box.any:form=corners", PixelFormat::rg8, 2000, 2047},
                             White{"box.any:form=corners,sums=u32", PixelFormat::rgba16, 127, 128},
                             White{"box.any:form=segments", PixelFormat::rgba8, 100, 32},
                             White{"box.any:form=segments,sums=u16x2", PixelFormat::rgba8, 20, 128, 514},
                             White{"box.any:form=segments,sums=u16x2", PixelFormat::rg8, 100, 128},
                             White{"box.any:form=segments", PixelFormat::rg8, 100, 2047},
                             White{"box.any:form=segments,vertical_groups=1", PixelFormat::rgba8, 63, 300, 514},
                             White{"box.any:form=segments", PixelFormat::r16, 127, 128},
                             White{"box.any:form=segments,sums=u32", PixelFormat::rgba16, 100, 128},
                             White{"box.any:form=lanes,span=16", PixelFormat::rg8, 48, 128},
                             White{"box.any:form=lanes,span=8", PixelFormat::rgb8, 8, 7},  // 17x15: as much as a half holds
                             White{"box.any:form=lanes,span=8", PixelFormat::rgb8, 7, 8, 300},
                             White{"box.any:form=lanes,span=16", PixelFormat::r16, 48, 300},
                             White{"box.any:sums=u32,storage=image", PixelFormat::rgba8, 200, 300}}) {
    const ImageDesc desc{75, white.height, white.format};
    Pixels src(desc);
    for (std::int32_t i = 0; i < desc.width * desc.height * info(desc.format).channels; ++i) {
      const std::int32_t pixel = i / info(desc.format).channels;
      src.set(pixel % desc.width, pixel / desc.width, i % info(desc.format).channels, 1.0);
    }
    const BlurSpec spec = spec_of(Box::of_radius(white.radius_x, white.radius_y), BorderMode::wrap);
    EXPECT_EQ(run(prepared_on(gpu(), white.algorithm, spec, desc), src), src) << white.algorithm;
  }
}

/// Errors of a quarter of a code and more take sums out of the range of bytes.
TEST(Vulkan, SumsOfHalvesKeepWhiteAndBlackApart) {
  const ImageDesc desc{256, 40, PixelFormat::r8};
  BlurSpec spec = spec_of(Box::of_radius(32, 1));
  spec.accuracy.max_error = 0.004;
  const Executable executable = prepared_on(gpu(), "sep.fused:math=mixed,span=16", spec, desc);
  EXPECT_GT(executable.plan().predicted_error, 0.25 / 255.0);
  for (const double value : {0.0, 1.0}) {
    EXPECT_NEAR(run(executable, Pixels::constant(desc, value)).at(100, 20), value, executable.plan().predicted_error);
  }
}

/// Rows that enter windows are white where those that leave are black, and then the other way round: halves of words borrow from each
/// other and give back.
TEST(Vulkan, BoxesBySegmentsOverWhiteAndBlackRows) {
  constexpr int kRows = 9;
  for (const PixelFormat format : {PixelFormat::rgba8, PixelFormat::rgb8, PixelFormat::rg8}) {
    const ImageDesc desc{301, 60, format};
    Pixels src(desc);
    for (std::int32_t y = 0; y < desc.height; ++y) {
      if (y / kRows % 2 == 0) continue;
      for (std::int32_t x = 0; x < desc.width; ++x) {
        for (int c = 0; c < info(format).channels; ++c) src.set(x, y, c, 1.0);
      }
    }
    for (const int columns : {1, 16, 127, 128, 129, 200}) {
      const BlurSpec spec = spec_of(Box::of_size({columns, kRows}, {columns / 2, kRows / 2}), BorderMode::wrap);
      const Executable segments = prepared_on(gpu(), "box.any:form=segments", spec, desc);
      EXPECT_EQ(segments.plan().algorithm.options.at("sums"), "u16x2");
      EXPECT_EQ(run(segments, src), run(prepared_on(gpu(), "box.any:form=columns,sums=u32", spec, desc), src))
          << columns << " columns of " << info(format).name;
    }
  }
}

/// From a strip as wide as the group to one of a single column.
TEST(Vulkan, BoxesOfEveryWidthThatAGroupReaches) {
  cases::Case c;
  c.src = c.dst = {150, 19, PixelFormat::rgba8};
  for (int columns = 1; columns <= 64; columns += columns < 4 || columns > 60 ? 1 : 5) {
    c.spec = spec_of(Box{{{0, columns - 1.0}, {1, 2}}}, BorderMode::mirror);
    for (const char* algorithm :
         {"box.any:form=columns,threads=64", "box.any:threads=64,walks=1,sums=u32", "box.any:threads=66,sums=f32",
          "box.any:form=corners", "box.any:form=segments,threads=64", "box.any:form=segments,threads=32"}) {
      c.algorithm = must(parse_algorithm(algorithm));
      expect_pass(c, gpu());
    }
  }
}

/// A case as `mollify verify` names it.
void expect_case_passes(const std::string& text) {
  const Result<cases::Case> c = cases::parse_case(text);
  ASSERT_TRUE(c.ok()) << text << ": " << message_of(c);
  expect_pass(*c, gpu());
}

/// Windows that begin and end any number of pixels after whole spans, and strips and bands that are no whole number of windows.
TEST(Vulkan, BoxesByCornersOfSpans) {
  struct Windows {
    const char* size;
    const char* image;
    const char* border;
    const char* options = "";
  };
  for (const Windows& w :
       {Windows{"radius=5x9", "292x70/rgba8", "clamp", ",vertical_groups=10"},
        Windows{"radius=6x9", "300x70/rgba8", "mirror", ",vertical_groups=24"},
        Windows{"radius=7x40", "301x70/rgba8", "wrap"},
        Windows{"before=8x3,after=5x60", "300x70/rgba8", "constant:value=0.3_0.9_0.1_0.6", ",sums=u32"},
        Windows{"radius=100x150", "560x64/rgba8", "reflect"},
        Windows{"radius=10x20", "400x50/rgb8", "mirror", ",vertical_groups=7"},
        Windows{"radius=11x20", "401x50/rgb8", "wrap"},
        Windows{"before=3x0,after=9x30", "320x50/rg8", "reflect"},
        Windows{"radius=17x9", "512x50/r8", "clamp", ",vertical_groups=7"},
        Windows{"before=4x7,after=8x7", "511x50/r8", "constant:value=0.7_0_0_0"},
        Windows{"radius=30x31", "256x64/rgba16", "wrap"},
        Windows{"radius=3x200", "200x64/rgba16", "mirror", ",sums=f32"},
        Windows{"radius=10x21", "256x64/rgb16", "reflect"},
        Windows{"radius=10x21", "256x64/rg16", "constant:value=0.3_0.9_0_0"},
        Windows{"radius=13x21", "256x64/r16", "clamp"},
        Windows{"radius=20x21", "256x64/rgba16f", "mirror/max_error=0.01", ",vertical_groups=9"},
        Windows{"radius=21x20", "255x64/rgba16f", "constant:value=0.3_0.9_0.1_0.6/max_error=0.01"},
        Windows{"radius=20x21", "256x64/rgb16f", "wrap/max_error=0.01"},
        Windows{"radius=22x33", "256x64/rg16f", "reflect/max_error=0.01"},
        Windows{"radius=9x50", "300x64/r16f", "clamp/max_error=0.01"},
        Windows{"radius=16x40", "128x64/rgba32f", "mirror/max_error=0.001"},
        Windows{"radius=16x40", "128x64/rgb32f", "wrap/max_error=0.001"},
        Windows{"radius=13x40", "128x64/rg32f", "constant:value=0.3_0.9_0_0/max_error=0.001"},
        Windows{"radius=14x40", "200x64/r32f", "reflect/max_error=0.001"}}) {
    expect_case_passes("box.any:form=corners" + std::string(w.options) + "/" + w.image + "/box:" + w.size + "/" + w.border);
  }
}

/// Windows of whole segments and not, narrower than one and wider than most of a row; bands that begin with their own pixels and with
/// cells; rows that lanes of one subgroup share and of several.
TEST(Vulkan, BoxesBySegments) {
  struct Windows {
    int columns, rows;
    const char* image;
    const char* border;
    const char* options = "";
  };
  for (const Windows& w :
       {Windows{1, 1, "203x61/rgba8", "mirror"},
        Windows{3, 160, "203x61/rgba8", "mirror"},
        Windows{16, 161, "201x61/rgba8", "wrap"},
        Windows{17, 100, "198x47/rgba8", "clamp", ",threads=32"},
        Windows{120, 161, "210x61/rgba8", "reflect", ",threads=32"},
        Windows{129, 9, "75x47/rgba8", "constant:value=0.3_0.9_0.1_0.6"},
        Windows{250, 165, "203x61/rgba8", "constant:value=0.3_0.9_0.1_0.6", ",threads=64"},
        Windows{127, 65, "190x61/rgb8", "constant:value=0.3_0.9_0.1_0.6"},
        Windows{31, 180, "203x61/rgb8", "reflect", ",threads=32"},
        Windows{128, 166, "201x47/rg8", "mirror"},
        Windows{9, 65, "198x61/rg8", "clamp", ",threads=32,batch=2"},
        Windows{129, 65, "203x61/r8", "wrap"},
        Windows{100, 166, "210x61/r8", "constant:value=0.7_0_0_0"},
        Windows{12, 7, "213x61/r8", "reflect", ",threads=32"},
        Windows{128, 66, "203x47/rgba16", "wrap"},
        Windows{127, 9, "201x61/rgb16", "mirror"},
        Windows{255, 165, "198x61/rg16", "constant:value=0.3_0.9_0_0"},
        Windows{129, 66, "190x61/r16", "reflect"},
        // Codes that are summed as floats: where asked for, and where 32 bits do not hold the window.
        Windows{31, 180, "203x61/r8", "wrap", ",sums=f32"},
        Windows{200, 340, "210x61/rgba16", "mirror", ",threads=64"},
        Windows{127, 65, "203x61/rgba16f", "clamp/max_error=0.01"},
        Windows{19, 12, "203x61/rgba16f", "clamp", ",threads=32"},
        Windows{128, 166, "201x47/rgb16f", "constant:value=0.3_0.9_0.1_0/max_error=0.01"},
        Windows{129, 65, "198x61/rg16f", "mirror/max_error=0.01"},
        Windows{100, 166, "210x61/r16f", "wrap/max_error=0.01"},
        Windows{129, 166, "203x61/rgba32f", "constant:value=0.3_0.9_0.1_0.6/max_error=0.001"},
        Windows{30, 16, "203x61/r32f", "wrap", ",threads=32,batch=4"},
        Windows{30, 16, "203x61/rgb32f", "reflect"},
        // So narrow that rows lie without gaps: those of 127 pixels begin anywhere in 16 bytes.
        Windows{7, 201, "127x33/rgba8", "clamp"},
        // Many strips and bands.
        Windows{129, 181, "701x260/rgba8", "mirror", ",threads=64,vertical_groups=9"},
        Windows{31, 21, "703x260/rgba8", "wrap", ",threads=64,vertical_groups=9,batch=2"},
        Windows{28, 180, "1101x230/rg8", "constant:value=0.3_0.9_0_0", ",threads=128,vertical_groups=6"},
        Windows{31, 170, "301x160/rgba16f", "reflect/max_error=0.01", ",threads=64,vertical_groups=4"},
        // Lanes of fewer and of more columns.
        Windows{33, 19, "203x61/rgba16f", "mirror/max_error=0.01", ",threads=128,span=2,batch=4"},
        Windows{18, 31, "203x61/rgba8", "reflect", ",threads=64,span=2,batch=4,vertical_groups=3"},
        Windows{20, 165, "203x61/rg16", "wrap", ",threads=64,span=2,batch=2"},
        Windows{9, 12, "203x61/rgba32f", "clamp/max_error=0.01", ",threads=64,span=1,batch=2"},
        Windows{41, 7, "203x61/r8", "constant:value=0.4_0_0_0", ",threads=64,span=8,batch=2"}}) {
    const auto pair = [](int x, int y) { return std::to_string(x) + "x" + std::to_string(y); };
    const std::string kernel = "box:before=" + pair(w.columns / 2, w.rows / 2) +
                               ",after=" + pair((w.columns - 1) / 2, (w.rows - 1) / 2);
    const std::string algorithm = "box.any:form=segments" + std::string(w.options);
    const std::string text = algorithm + "/" + w.image + "/" + kernel + "/" + w.border;
    expect_case_passes(text);
  }
}

/// A mean a quarter of a thousandth of a code above a half, which a multiply-add that rounds its product takes for the half.
TEST(Vulkan, BoxesSayWhatRoundedProductsLose) {
  expect_case_passes("box.any:form=segments,sums=u16x2,threads=128/503x11/rgba8/box:radius=29x17/reflect+mirror/seed=444");
}

/// Planned as for a device that does not run on the processor: first windows are fetched several rows together.
TEST(Vulkan, BoxesBySegmentsAsOtherDevicesFetchThem) {
  DeviceInfo other = gpu().info();
  other.gpu.is_software = false;
  for (const PixelFormat format : {PixelFormat::rgba8, PixelFormat::rgba16, PixelFormat::rg16f, PixelFormat::rgba32f}) {
    const ImageDesc desc{203, 150, format};
    const Pixels src = Pixels::random(desc);
    BlurSpec spec = spec_of(Box::of_size({32, 19}, {16, 9}), BorderMode::constant);
    spec.accuracy.max_error = 0.5;
    const PlanOptions options = with("box.any:form=segments,threads=64,span=4,batch=4,vertical_groups=5");
    Plan plan = must(make_plan(spec, desc, desc, other, options));
    plan.device = gpu().info();
    const Executable usual = must(gpu().prepare(must(make_plan(spec, desc, desc, gpu().info(), options))));
    EXPECT_GT(plan.passes.back().constants.at("ahead"), 1);
    EXPECT_EQ(usual.plan().passes.back().constants.at("ahead"), 1);
    EXPECT_EQ(run(must(gpu().prepare(plan)), src), run(usual, src)) << info(format).name;
  }
}

/// Rounding errors of a plain sum would add up to several times what is promised here.
TEST(Vulkan, LongWalksKeepWhatAdditionsLose) {
  cases::Case c;
  c.src = c.dst = {40, 7000, PixelFormat::r32f};
  c.spec = spec_of(Box::of_radius(2, 3.5), BorderMode::clamp);
  c.algorithm = must(parse_algorithm("box.any:sums=f32x2,vertical_groups=1,batch=16"));
  expect_pass(c, gpu());
  c.src = c.dst = {45, 160, PixelFormat::rg32f};
  c.spec.kernel = Box::of_radius(92, 0);
  c.algorithm = must(parse_algorithm("box.any:sums=f32x2"));
  expect_pass(c, gpu());
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

/// Cases have few windows of most shapes, and all subgroups alike.
TEST(Vulkan, WindowsThatEndWithALane) {
  for (const char* text : {"box.any:form=lanes/203x61/rgba8/box:radius=3/mirror",
                           "box.any:form=lanes,span=4,batch=2/208x61/rgba8/box:radius=4/clamp",
                           "box.any:form=lanes,span=4,batch=3,threads=32/111x91/rgba8/box:before=2x0,after=5x9/wrap",
                           "box.any:form=lanes,span=16/250x61/rgba8/box:radius=9/clamp",  // sums that halves of words do not hold
                           "box.any:form=lanes,span=16/200x200/r8/box:radius=45x100/clamp",  // of more than 2^14 pixels
                           "box.any:form=lanes,span=8/200x50/r8/box:radius=2/reflect",
                           "box.any:form=lanes/200x50/rgb8/box:radius=3x1/constant:value=0.3_0.6_0.9_0.3",
                           "box.any:form=lanes/200x50/rgba16f/box:radius=1/wrap",
                           "box.any:form=lanes,span=4/150x50/rg16f/box:before=0x2,after=7x1/mirror",
                           "box.any:form=lanes/200x50/rgba32f/box:radius=2/constant:value=2_1_0.5_0.25",
                           "box.any:form=lanes,sums=f32,span=4/200x50/rgba8/box:radius=4/mirror",
                           "box.any:form=lanes,span=4/200x50/rg16/box:radius=4/mirror",
                           "box.any:form=lanes,span=4/200x50/rgba8/box:before=1x2,after=3x0/mirror/roi=50x20+13+7",
                           "box.any:form=lanes,span=4/203x61/r8/box:before=0,after=1/wrap",
                           "box.any:form=lanes,span=4/203x61/rg8/box:before=0,after=1/wrap",
                           "box.any:form=lanes,span=4/200x50/r8/box:radius=5x40/constant:value=0.3_0_0_0/roi=50x20+13+7"}) {
    expect_case_passes(text);
  }
}

/// The cases leave out the steps that a software driver compiles slowly.
TEST(Vulkan, ManyUnrolledSteps) {
  cases::Case c;
  c.src = c.dst = {75, 61, PixelFormat::rgba8};
  c.spec = spec_of(Box::of_radius(3, 2), BorderMode::mirror);
  for (const char* algorithm : {"box.running:storage=buffer,unroll=12", "box.running:storage=buffer,unroll=16",
                                "box.running:storage=buffer,unroll=24", "box.running:storage=buffer,unroll=32",
                                "sep.fused:span=4,batch=3"}) {
    c.algorithm = must(parse_algorithm(algorithm));
    expect_pass(c, gpu());
  }
}

/// On a software driver lanes lend each other pixels only when asked to, and cases have few wide images.
TEST(Vulkan, LanesLendEachOtherPixels) {
  for (const char* text : {"sep.fused:neighbours=lanes,batch=1/203x61/rgba8/gaussian:sigma=0.6,radius=2/mirror",
                           "sep.fused:neighbours=lanes,batch=3/208x61/rgba8/taps:x=0.2_0.5_0.4_-0.1@1,y=0.7_0.3@1/wrap",
                           "sep.fused:neighbours=lanes,batch=4,threads=32/400x67/r8/gaussian:sigma=1.3,radius=4/clamp",
                           "sep.fused:neighbours=lanes,span=16/640x40/r8/box:radius=1x2/constant:value=0.3_0.3_0.3_0.3",
                           "sep.fused:neighbours=lanes/200x50/rgb16/gaussian:sigma=0.8,radius=2/reflect",
                           "sep.fused:neighbours=lanes/64x64/rgba32f/gaussian:sigma=1,radius=3/constant:value=2_1_0.5_0.25",
                           "sep.fused:math=half/160x70/rgba16f/gaussian:sigma=1,radius=3/constant:value=0.5_1_0.25_0/max_error=0.05",
                           "sep.fused:math=half/160x70/rg16f/gaussian:sigma=0.7,radius=2x1/mirror/max_error=0.05",
                           "sep.fused:math=mixed/160x70/rgba16f/gaussian:sigma=1,radius=3/constant:value=0.5_1_0.25_0/max_error=0.01",
                           "sep.fused:math=mixed,span=4/150x70/rg16f/taps:x=0.2_0.5_0.4_-0.1@1,y=0.7_0.3@1/wrap/max_error=0.01",
                           "sep.fused:math=half/203x61/rgba8/gaussian:sigma=0.333,radius=1/mirror/max_error=0.01",
                           "sep.fused:math=half/160x70/rgba8/gaussian:sigma=0.666,radius=2/constant:value=0.5_1_0.25_0/max_error=0.01",
                           "sep.fused:math=half,batch=2/201x61/rgb8/tent:radius=1/wrap",
                           "sep.fused:math=half/208x61/r8/box:radius=1/clamp",
                           "sep.fused:math=half,batch=3/300x61/rg8/box:before=1x0,after=2x1/reflect",
                           "sep.fused:math=half,span=4/160x40/r8/gaussian:sigma=0.5/mirror/max_error=0.01",
                           "sep.fused:math=half/160x40/rgba8/gaussian:sigma=0.6x0/clamp/max_error=0.01",
                           "sep.fused:math=half/160x40/rgba8/gaussian:sigma=0x0.6/clamp/max_error=0.01",
                           "sep.fused:math=mixed/160x70/rgba8/gaussian:sigma=1.333,radius=4/mirror",
                           "sep.fused:math=mixed/161x70/rgb8/gaussian:sigma=1,radius=3x2/constant:value=0.5_1_0.25_0",
                           "sep.fused:math=mixed/400x70/r8/taps:x=-0.2_1.4_-0.2@1,y=0.9_0.3@1/wrap/max_error=0.01",
                           "gauss.decimate:read_span=4,write_span=4/512x90/rgba8/gaussian:sigma=5/constant:value=0.3_0.3_0.3_0.3",
                           "gauss.decimate:read_span=2,write_span=2/700x90/rgba16f/gaussian:sigma=9/reflect",
                           "gauss.decimate:read_span=4,write_span=4/1200x90/r8/gaussian:sigma=20x4/wrap"}) {
    expect_case_passes(text);
  }
}

/// The cases sum few cells at once on a software driver.
TEST(Vulkan, TilesOfTheGridOfCells) {
  for (const char* text : {"gauss.decimate:blur_span=4/511x263/rgba8/gaussian:sigma=8/wrap",
                           "gauss.decimate:blur_span=8/257x633/rgba8/gaussian:sigma=20x8/mirror",
                           "gauss.decimate:blur_span=4,group=64x2/640x260/rgba32f/gaussian:sigma=20/constant:value=2_1_0.5_0.25",
                           "gauss.decimate:blur_span=8/600x511/r8/gaussian:sigma=8/clamp",
                           "gauss.decimate:blur_span=4,group=99x3/300x333/rg16f/gaussian:sigma=9/reflect",
                           "gauss.decimate:blur_span=8/300x333/rgb8/gaussian:sigma=18/wrap",
                           "gauss.decimate:blur_span=4,storage=image/400x300/rgba8/gaussian:sigma=12x5/mirror",
                           "gauss.decimate:blur_span=8,storage=image/300x400/r8/gaussian:sigma=7/clamp"}) {
    expect_case_passes(text);
  }
}

/// The cases sum few cells at once on a software driver, and have few shapes of groups.
TEST(Vulkan, GridsThatAreBlurredAsTheyAreExpanded) {
  for (const char* text : {"gauss.decimate:blur=expand/64x64/rgba8/gaussian:sigma=8/clamp",
                           "gauss.decimate:blur=expand,blur_span=4,write_span=4/301x90/rgba8/gaussian:sigma=8x20/clamp",
                           "gauss.decimate:blur=expand,group=8x16,cell_rows=1/90x301/rgba32f/gaussian:sigma=12/constant:value=2_1_0.5_0.25",
                           "gauss.decimate:blur=expand,blur_span=2,group=40x3,cell_rows=5/257x633/rgba16/gaussian:sigma=20x8/mirror",
                           "gauss.decimate:blur=expand,blur_span=4,write_span=2/200x90/rgba16f/gaussian:sigma=9/wrap+mirror/roi=101x40+31+17",
                           "gauss.decimate:blur=expand,blur_span=8,write_span=8/600x111/r8/gaussian:sigma=8/reflect",
                           "gauss.decimate:blur=expand,group=128x1,cell_rows=2/300x100/rg32f/gaussian:sigma=12x5/wrap",
                           "gauss.decimate:blur=expand,blur_span=4/333x100/rgb8/gaussian:sigma=18/reflect"}) {
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

}  // namespace
}  // namespace mollify::test
