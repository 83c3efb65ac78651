// Boxes on the Vulkan backend: windows of shapes and sizes that conformance cases have few of.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "vulkan_support.h"

namespace mollify::test {
namespace {

/// Pixels so bright that what a running sum forgets of the others is as large as they are, and most of them not so bright that it is
/// begun anew for them.
TEST(Vulkan, WindowsOfARegionBeginWhereThoseOfTheWholeDo) {
  struct Way {
    const char* algorithm;
    Box box;
    PixelFormat format = PixelFormat::r32f;
  };
  for (const auto& [algorithm, box, format] :
       {Way{"box.any:sums=f32,threads=64,chunks=5", Box::of_radius(5, 7.5)},
        Way{"box.any:sums=f32x2,threads=64,lanes_per_row=1", Box::of_radius(5, 7.5)},
        Way{"box.any:form=four_corner", Box::of_radius(9, 12)},
        // So many cells that windows follow from each other.
        Way{"box.any:form=four_corner,chunks=25", Box::of_radius(90, 31)}, Way{"box.any:form=row_segments,chunks=7", Box::of_radius(9, 12)},
        Way{"box.any:form=row_segments,threads=64,chunks=5", Box::of_radius(20, 90)},
        Way{"box.any:form=row_segments,threads=64", Box::of_radius(64, 20), PixelFormat::rgba8},
        Way{"box.any:form=row_segments,threads=64", Box::of_radius(31, 90), PixelFormat::rgb8},
        Way{"box.any:form=row_segments", Box::of_radius(31, 60), PixelFormat::rg16},
        Way{"box.any:form=row_segments,threads=64,pixels_per_thread=2,rows_in_flight=2", Box::of_radius(31, 60), PixelFormat::rg16f},
        Way{"box.any:form=row_segments,threads=64", Box::of_radius(31, 90), PixelFormat::rgba16f}}) {
    const ImageDesc desc{300, 200, format};
    Pixels src = Pixels::random(desc);
    for (std::int32_t i = 0; i < desc.width * desc.height; i += 371) src.set(i % desc.width, i / desc.width, 0, 1e7);
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

/// Nearly as large as floats are.
TEST(Vulkan, MeansOfLargeFloatsAreFinite) {
  struct Way {
    const char* algorithm;
    Box box;
  };
  for (const auto& [algorithm, box] :
       {Way{"box.any:form=column_sums", Box::of_radius(9, 9)}, Way{"box.any:form=four_corner", Box::of_radius(9, 9)},
        Way{"box.any:form=row_segments", Box::of_radius(9, 9)}, Way{"box.any:form=row_segments", Box::of_radius(9, 200)}}) {
    for (const PixelFormat format : {PixelFormat::r32f, PixelFormat::rgba32f}) {
      const ImageDesc desc{80, 64, format};
      BlurSpec spec = spec_of(box, BorderMode::clamp);
      spec.accuracy.max_error = 0.5;
      const Executable executable = prepared_on(gpu(), algorithm, spec, desc);
      const double large = 3e38;
      for (const int period : {1, 2, 3}) {  // of what is not large and positive: none, every second one negative, every third one zero
        Pixels src(desc);
        for (std::int32_t i = 0; i < desc.width * desc.height; ++i) {
          const double other = period == 2 ? -large : 0.0;
          for (int c = 0; c < info(format).channels; ++c) {
            src.set(i % desc.width, i / desc.width, c, period > 1 && (i + c) % period == 0 ? other : large);
          }
        }
        const Pixels result = run(executable, src);
        int wrong = 0;
        for (std::int32_t i = 0; i < desc.width * desc.height; ++i) {
          wrong += !(std::abs(result.at(i % desc.width, i / desc.width, 0)) <= 1.0001 * large);  // also what is no number
        }
        EXPECT_EQ(wrong, 0) << algorithm << " " << info(format).name << " " << box.extent.y.before << ", period " << period;
      }
    }
  }
}

/// So many rows that a driver which counts the turns of loops would leave them.
TEST(Vulkan, WalksDownTallImagesEnd) {
  for (const char* name :
       {"sep.fused:chunks=1/8x100000/r8/gaussian:sigma=1/clamp", "sep.fused:exchange=shuffle,chunks=1/8x100000/r8/gaussian:sigma=1/clamp",
        "sep.inline_sliding:chunks=1/8x70000/r8/gaussian:sigma=1/clamp", "box.any:form=column_sums,chunks=1/8x100000/r8/box:radius=3/clamp",
        "box.any:form=four_corner,chunks=1/8x100000/r8/box:radius=3/clamp",
        "box.any:form=row_segments,chunks=1/8x100000/r8/box:radius=3/clamp"}) {
    expect_pass(must(cases::parse_case(name)), gpu());
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
  for (const White& white : {White{"box.any:form=column_sums,sums=u16x2", PixelFormat::rgba8, 1, 128},
                             White{"box.any:form=column_sums,sums=u16x2", PixelFormat::rg8, 100, 128},
                             White{"box.any:form=column_sums,sums=u32", PixelFormat::rgba16, 127, 128},
                             White{"box.any:form=four_corner,chunks=1", PixelFormat::rgba8, 1, 300},
                             White{"box.any:form=four_corner,sums=u16x2,chunks=1", PixelFormat::rgba8, 40, 60, 514},
                             White{"box.any:form=four_corner", PixelFormat::rg8, 2000, 2047},
                             White{"box.any:form=four_corner,sums=u32", PixelFormat::rgba16, 127, 128},
                             White{"box.any:form=row_segments", PixelFormat::rgba8, 100, 32},
                             White{"box.any:form=row_segments,sums=u16x2", PixelFormat::rgba8, 20, 128, 514},
                             White{"box.any:form=row_segments,sums=u16x2", PixelFormat::rg8, 100, 128},
                             White{"box.any:form=row_segments", PixelFormat::rg8, 100, 2047},
                             White{"box.any:form=row_segments,chunks=1", PixelFormat::rgba8, 63, 300, 514},
                             White{"box.any:form=row_segments", PixelFormat::r16, 127, 128},
                             White{"box.any:form=row_segments,sums=u32", PixelFormat::rgba16, 100, 128},
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
      const Executable segments = prepared_on(gpu(), "box.any:form=row_segments", spec, desc);
      EXPECT_EQ(segments.plan().algorithm.options.at("sums"), "u16x2");
      EXPECT_EQ(run(segments, src), run(prepared_on(gpu(), "box.any:form=column_sums,sums=u32", spec, desc), src))
          << columns << " columns of " << info(format).name;
    }
  }
}

/// White and black blocks as large as the window, so that what a row of a strip changes by is as large as half a word holds, one way and
/// the other.
TEST(Vulkan, BoxesByCornersOverWhiteAndBlackBlocks) {
  constexpr int kColumns = 128;  // of a window; a strip has half as many, and lies within a block at both ends of its windows
  constexpr int kRows = 9;
  for (const PixelFormat format : {PixelFormat::rgba8, PixelFormat::rg8}) {
    const ImageDesc desc{3 * kColumns, 60, format};
    Pixels src(desc);
    for (std::int32_t y = 0; y < desc.height; ++y) {
      for (std::int32_t x = 0; x < desc.width; ++x) {
        const bool is_white = x / kColumns % 2 == y / kRows % 2;
        for (int c = 0; c < info(format).channels; ++c) src.set(x, y, c, is_white ? 1.0 : 0.0);
      }
    }
    const BlurSpec spec = spec_of(Box::of_size({kColumns, kRows}, {kColumns / 2 - 1, kRows / 2}), BorderMode::mirror);
    const Executable corners = prepared_on(gpu(), "box.any:form=four_corner,sums=u16x2", spec, desc);
    EXPECT_EQ(run(corners, src), run(prepared_on(gpu(), "box.any:form=column_sums,sums=u32", spec, desc), src)) << info(format).name;
  }
}

/// From a strip as wide as the group to one of a single column.
TEST(Vulkan, BoxesOfEveryWidthThatAGroupReaches) {
  cases::Case c;
  c.src = c.dst = {150, 19, PixelFormat::rgba8};
  for (int columns = 1; columns <= 64; columns += columns < 4 || columns > 60 ? 1 : 5) {
    c.spec = spec_of(Box{{{0, columns - 1.0}, {1, 2}}}, BorderMode::mirror);
    for (const char* algorithm :
         {"box.any:form=column_sums,threads=64", "box.any:threads=64,lanes_per_row=1,sums=u32", "box.any:threads=66,sums=f32",
          "box.any:form=four_corner", "box.any:form=row_segments,threads=64", "box.any:form=row_segments,threads=32"}) {
      c.algorithm = must(parse_algorithm(algorithm));
      expect_pass(c, gpu());
    }
  }
}

/// Windows that begin and end any number of pixels after whole spans, and strips and bands that are no whole number of windows.
TEST(Vulkan, BoxesByCornersOfSpans) {
  struct Windows {
    const char* size;
    const char* image;
    const char* border;
    const char* options = "";
  };
  for (const Windows& w : {Windows{"radius=5x9", "292x70/rgba8", "clamp", ",chunks=10"},
                           Windows{"radius=6x9", "300x70/rgba8", "mirror", ",chunks=24"},
                           Windows{"radius=7x40", "301x70/rgba8", "wrap"},
                           Windows{"before=8x3,after=5x60", "300x70/rgba8", "constant:value=0.3_0.9_0.1_0.6", ",sums=u32"},
                           Windows{"radius=100x150", "560x64/rgba8", "reflect"},
                           Windows{"radius=10x20", "400x50/rgb8", "mirror", ",chunks=7"},
                           Windows{"radius=11x20", "401x50/rgb8", "wrap"},
                           Windows{"before=3x0,after=9x30", "320x50/rg8", "reflect"},
                           Windows{"radius=17x9", "512x50/r8", "clamp", ",chunks=7"},
                           Windows{"before=4x7,after=8x7", "511x50/r8", "constant:value=0.7_0_0_0"},
                           Windows{"radius=30x31", "256x64/rgba16", "wrap"},
                           Windows{"radius=3x200", "200x64/rgba16", "mirror", ",sums=f32"},
                           Windows{"radius=10x21", "256x64/rgb16", "reflect"},
                           Windows{"radius=10x21", "256x64/rg16", "constant:value=0.3_0.9_0_0"},
                           Windows{"radius=13x21", "256x64/r16", "clamp"},
                           Windows{"radius=20x21", "256x64/rgba16f", "mirror/max_error=0.01", ",chunks=9"},
                           Windows{"radius=21x20", "255x64/rgba16f", "constant:value=0.3_0.9_0.1_0.6/max_error=0.01"},
                           Windows{"radius=20x21", "256x64/rgb16f", "wrap/max_error=0.01"},
                           Windows{"radius=22x33", "256x64/rg16f", "reflect/max_error=0.01"},
                           Windows{"radius=9x50", "300x64/r16f", "clamp/max_error=0.01"},
                           Windows{"radius=16x40", "128x64/rgba32f", "mirror/max_error=0.001"},
                           Windows{"radius=16x40", "128x64/rgb32f", "wrap/max_error=0.001"},
                           Windows{"radius=13x40", "128x64/rg32f", "constant:value=0.3_0.9_0_0/max_error=0.001"},
                           Windows{"radius=14x40", "200x64/r32f", "reflect/max_error=0.001"}}) {
    expect_case_passes("box.any:form=four_corner" + std::string(w.options) + "/" + w.image + "/box:" + w.size + "/" + w.border);
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
       {Windows{1, 1, "203x61/rgba8", "mirror"}, Windows{3, 160, "203x61/rgba8", "mirror"}, Windows{16, 161, "201x61/rgba8", "wrap"},
        Windows{17, 100, "198x47/rgba8", "clamp", ",threads=32"}, Windows{120, 161, "210x61/rgba8", "reflect", ",threads=32"},
        Windows{129, 9, "75x47/rgba8", "constant:value=0.3_0.9_0.1_0.6"},
        Windows{250, 165, "203x61/rgba8", "constant:value=0.3_0.9_0.1_0.6", ",threads=64"},
        Windows{127, 65, "190x61/rgb8", "constant:value=0.3_0.9_0.1_0.6"}, Windows{31, 180, "203x61/rgb8", "reflect", ",threads=32"},
        Windows{128, 166, "201x47/rg8", "mirror"}, Windows{9, 65, "198x61/rg8", "clamp", ",threads=32,rows_in_flight=2"},
        Windows{129, 65, "203x61/r8", "wrap"}, Windows{100, 166, "210x61/r8", "constant:value=0.7_0_0_0"},
        Windows{12, 7, "213x61/r8", "reflect", ",threads=32"}, Windows{128, 66, "203x47/rgba16", "wrap"},
        Windows{127, 9, "201x61/rgb16", "mirror"}, Windows{255, 165, "198x61/rg16", "constant:value=0.3_0.9_0_0"},
        Windows{129, 66, "190x61/r16", "reflect"},
        // Codes that are summed as floats: where asked for, and where 32 bits do not hold the window.
        Windows{31, 180, "203x61/r8", "wrap", ",sums=f32"}, Windows{200, 340, "210x61/rgba16", "mirror", ",threads=64"},
        Windows{127, 65, "203x61/rgba16f", "clamp/max_error=0.01"}, Windows{19, 12, "203x61/rgba16f", "clamp", ",threads=32"},
        Windows{128, 166, "201x47/rgb16f", "constant:value=0.3_0.9_0.1_0/max_error=0.01"},
        Windows{129, 65, "198x61/rg16f", "mirror/max_error=0.01"}, Windows{100, 166, "210x61/r16f", "wrap/max_error=0.01"},
        Windows{129, 166, "203x61/rgba32f", "constant:value=0.3_0.9_0.1_0.6/max_error=0.001"},
        Windows{30, 16, "203x61/r32f", "wrap", ",threads=32,rows_in_flight=4"}, Windows{30, 16, "203x61/rgb32f", "reflect"},
        // So narrow that rows lie without gaps: those of 127 pixels begin anywhere in 16 bytes.
        Windows{7, 201, "127x33/rgba8", "clamp"},
        // Many strips and bands.
        Windows{129, 181, "701x260/rgba8", "mirror", ",threads=64,chunks=9"},
        Windows{31, 21, "703x260/rgba8", "wrap", ",threads=64,chunks=9,rows_in_flight=2"},
        Windows{28, 180, "1101x230/rg8", "constant:value=0.3_0.9_0_0", ",threads=128,chunks=6"},
        Windows{31, 170, "301x160/rgba16f", "reflect/max_error=0.01", ",threads=64,chunks=4"},
        // Lanes of fewer and of more columns.
        Windows{33, 19, "203x61/rgba16f", "mirror/max_error=0.01", ",threads=128,pixels_per_thread=2,rows_in_flight=4"},
        Windows{18, 31, "203x61/rgba8", "reflect", ",threads=64,pixels_per_thread=2,rows_in_flight=4,chunks=3"},
        Windows{20, 165, "203x61/rg16", "wrap", ",threads=64,pixels_per_thread=2,rows_in_flight=2"},
        Windows{9, 12, "203x61/rgba32f", "clamp/max_error=0.01", ",threads=64,pixels_per_thread=1,rows_in_flight=2"},
        Windows{41, 7, "203x61/r8", "constant:value=0.4_0_0_0", ",threads=64,pixels_per_thread=8,rows_in_flight=2"}}) {
    const auto pair = [](int x, int y) { return std::to_string(x) + "x" + std::to_string(y); };
    const std::string kernel = "box:before=" + pair(w.columns / 2, w.rows / 2) + ",after=" + pair((w.columns - 1) / 2, (w.rows - 1) / 2);
    const std::string algorithm = "box.any:form=row_segments" + std::string(w.options);
    const std::string text = algorithm + "/" + w.image + "/" + kernel + "/" + w.border;
    expect_case_passes(text);
  }
}

/// A mean a quarter of a thousandth of a code above a half, which a multiply-add that rounds its product takes for the half.
TEST(Vulkan, BoxesSayWhatRoundedProductsLose) {
  expect_case_passes("box.any:form=row_segments,sums=u16x2,threads=128/503x11/rgba8/box:radius=29x17/reflect+mirror/seed=444");
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
    const PlanOptions options = with("box.any:form=row_segments,threads=64,pixels_per_thread=4,rows_in_flight=4,chunks=5");
    Plan plan = must(make_plan(spec, desc, desc, other, options));
    plan.device = gpu().info();
    const Executable usual = must(gpu().prepare(must(make_plan(spec, desc, desc, gpu().info(), options))));
    const auto ahead = [](const Plan& of) {
      return std::ranges::find(of.passes, "box_row_segments", &Pass::kernel)->constants.at("seed_rows_in_flight");
    };
    EXPECT_GT(ahead(plan), 1);
    EXPECT_EQ(ahead(usual.plan()), 1);
    EXPECT_EQ(run(must(gpu().prepare(plan)), src), run(usual, src)) << info(format).name;
  }
}

/// Rounding errors of a plain sum would add up to several times what is promised here.
TEST(Vulkan, LongWalksKeepWhatAdditionsLose) {
  cases::Case c;
  c.src = c.dst = {40, 7000, PixelFormat::r32f};
  c.spec = spec_of(Box::of_radius(2, 3.5), BorderMode::clamp);
  c.algorithm = must(parse_algorithm("box.any:sums=f32x2,chunks=1,rows_in_flight=16"));
  expect_pass(c, gpu());
  c.src = c.dst = {45, 160, PixelFormat::rg32f};
  c.spec.kernel = Box::of_radius(92, 0);
  c.algorithm = must(parse_algorithm("box.any:sums=f32x2"));
  expect_pass(c, gpu());
}

}  // namespace
}  // namespace mollify::test
