// Results do not depend on how a blur is run: threads, region, batch, strides, memory shared by source and destination.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>

#include "support.h"

namespace mollify::test {
namespace {

const std::vector<PixelFormat> kFormats{PixelFormat::rgba8, PixelFormat::rgb16, PixelFormat::rg16f, PixelFormat::rgba32f};

std::vector<KernelSpec> kernels() {
  std::vector<KernelSpec> result = sample_kernels();
  result.emplace_back(Box::of_radius(31, 70));
  result.emplace_back(Gaussian{{9, 9}, {}, {}});
  return result;
}

/// The planner's choice and each algorithm that can do it.
std::vector<AlgorithmChoice> choices(const BlurSpec& spec, const ImageDesc& src, PixelFormat format) {
  std::vector<AlgorithmChoice> result{{}};
  for (const AlgorithmInfo& algorithm : algorithms()) {
    const AlgorithmChoice choice{std::string(algorithm.id), {}};
    if (make_plan(spec, src, destination_desc(spec, src, format), cpu().info(), {choice, Overlap::none}).ok()) {
      result.push_back(choice);
    }
  }
  return result;
}

TEST(Invariance, ThreadsDoNotChangeABit) {
  for (const PixelFormat format : kFormats) {
    const Pixels src = Pixels::random({300, 211, format});
    for (const KernelSpec& kernel : kernels()) {
      const BlurSpec spec = spec_of(kernel, BorderMode::mirror);
      for (const AlgorithmChoice& choice : choices(spec, src.desc(), format)) {
        const Pixels one = blurred(spec, src.view(), {format, choice, 1});
        for (const std::int32_t threads : {2, 5}) {
          EXPECT_EQ(blurred(spec, src.view(), {format, choice, threads}), one)
              << to_string(choice) << " " << info(format).name << ", " << threads << " threads";
        }
      }
    }
  }
}

TEST(Invariance, TilesSideBySideDoNotTouchEachOther) {
  // Wide enough for many columns of tiles; repeated, since what one thread spoils depends on the others' pace.
  for (const PixelFormat format : {PixelFormat::r8, PixelFormat::rg16, PixelFormat::rgb32f, PixelFormat::rgba8}) {
    const Pixels src = Pixels::random({60000, 3, format});
    for (const KernelSpec& kernel : {KernelSpec(Gaussian{{12, 0.5}, {}, {}}), KernelSpec(Box::of_radius(9, 1))}) {
      BlurSpec spec = spec_of(kernel);
      spec.accuracy.max_error = 0.01;
      for (const AlgorithmChoice& choice : choices(spec, src.desc(), format)) {
        const Pixels one = blurred(spec, src.view(), {format, choice, 1});
        int different = 0;
        for (int round = 0; round < 8; ++round) different += blurred(spec, src.view(), {format, choice, 2}) == one ? 0 : 1;
        EXPECT_EQ(different, 0) << to_string(choice) << " " << info(format).name;
      }
    }
  }
}

TEST(Invariance, ARegionIsACropOfTheWhole) {
  const Rect regions[] = {{0, 0, 150, 131}, {1, 1, 148, 129}, {13, 13, 124, 105}, {149, 130, 1, 1},
                          {37, 64, 50, 3},  {0, 65, 150, 1},  {70, 0, 1, 131}};
  for (const PixelFormat format : kFormats) {
    const Pixels src = Pixels::random({150, 131, format});
    for (const KernelSpec& kernel : kernels()) {
      BlurSpec spec = spec_of(kernel, BorderMode::wrap);
      for (const AlgorithmChoice& choice : choices(spec, src.desc(), format)) {
        const Pixels whole = blurred(spec, src.view(), {format, choice, 2});
        for (const Rect& region : regions) {
          BlurSpec part = spec;
          part.roi = region;
          EXPECT_EQ(blurred(part, src.view(), {format, choice, 2}), cropped(whole, region))
              << to_string(choice) << " " << info(format).name << " " << region.width << "x" << region.height << "+" << region.x << "+"
              << region.y;
        }
      }
    }
  }
}

/// How often an image is halved decides how its sums round. What takes the least time differs with the region, and with the tiles of
/// threads.
TEST(Invariance, NeitherRegionsNorThreadsChangeLevels) {
  struct Request {
    ImageDesc image;
    Gaussian gaussian;
    std::string_view algorithm;
  };
  for (const auto& [image, gaussian, algorithm] :
       {Request{{239, 322, PixelFormat::rgba8}, {{17.6088, 17.6088}, {{52, 52}}, {}}, "gauss.cut"},
        {{606, 555, PixelFormat::rgba8}, {{22.8942, 22.8942}, {{68, 68}}, {}}, "gauss.cut"},
        {{316, 604, PixelFormat::rgba8}, {{24.0731, 24.0731}, {}, {}}, "gauss.pyramid"},
        {{573, 222, PixelFormat::rgb8}, {{41.7559, 41.7559}, {}, {}}, "gauss.pyramid"}}) {
    const auto planned = [&](std::int32_t threads, std::optional<Rect> region) {
      DeviceInfo device = cpu().info();
      device.threads = threads;
      BlurSpec spec = spec_of(gaussian);
      spec.roi = region;
      return make_plan(spec, image, destination_desc(spec, image, image.format), device, {AlgorithmChoice{std::string(algorithm), {}}})
          .value();
    };
    const AlgorithmChoice whole = planned(1, {}).algorithm;
    for (const std::int32_t threads : {1, 2, 15, 26, 62}) {
      for (const std::optional<Rect> region : {std::optional<Rect>(), {{10, 10, 30, 20}}, {{200, 150, 3, 39}}, {{1, 100, 200, 1}}}) {
        EXPECT_EQ(to_string(planned(threads, region).algorithm), to_string(whole)) << threads << " threads";
      }
    }
    const Pixels src = Pixels::random(image);
    const BlurSpec spec = spec_of(gaussian);
    BlurSpec part = spec;
    part.roi = Rect{10, 10, 30, 20};
    const How how{image.format, {std::string(algorithm), {}}, 1};
    EXPECT_EQ(blurred(part, src.view(), how), cropped(blurred(spec, src.view(), how), *part.roi)) << algorithm;
  }
}

TEST(Invariance, ARegionIsACropEvenWhereRoundingErrorsShow) {
  // Pixels so bright that what a running sum forgets of the others is as large as they are.
  const ImageDesc desc{40, 300, PixelFormat::r32f};
  Pixels src = Pixels::random(desc);
  for (std::int32_t i = 0; i < 40 * 300; i += 371) src.set(i % 40, i / 40, 0, 1e16);
  for (const KernelSpec& kernel :
       {KernelSpec(Box::of_radius(3, 5)), KernelSpec(Box::of_radius(2.5, 30.5)), KernelSpec(Gaussian{{2, 3}, {}, {}})}) {
    BlurSpec spec = spec_of(kernel);
    const Pixels whole = blurred(spec, src.view(), {desc.format, {}, 1});
    EXPECT_EQ(blurred(spec, src.view(), {desc.format, {}, 5}), whole);
    for (const std::int32_t y : {1, 63, 64, 65, 131, 200}) {
      spec.roi = Rect{3, y, 30, 90};
      EXPECT_EQ(blurred(spec, src.view(), {desc.format, {}, 2}), cropped(whole, *spec.roi)) << "from row " << y;
    }
  }
}

TEST(Invariance, ABatchIsManyBlurs) {
  const ImageDesc desc{41, 23, PixelFormat::rgb8};
  for (const KernelSpec& kernel : kernels()) {
    const Executable executable = prepared(spec_of(kernel), desc, {PixelFormat::rgb8, {}, 2});
    Workspace workspace = executable.make_workspace().value();
    std::vector<Pixels> sources;
    std::vector<Pixels> results(5, Pixels(desc));
    std::vector<ConstImageView> from;
    std::vector<ImageView> to;
    for (std::uint64_t seed = 1; seed <= results.size(); ++seed) sources.push_back(Pixels::random(desc, seed));
    for (const Pixels& source : sources) from.push_back(source.view());
    for (Pixels& result : results) to.push_back(result.view());
    ASSERT_TRUE(executable.run(from, to, workspace).ok());
    for (std::size_t i = 0; i < results.size(); ++i) {
      EXPECT_EQ(results[i], blurred(spec_of(kernel), sources[i].view(), {PixelFormat::rgb8, {}, 2}));
    }
  }
}

TEST(Invariance, ABatchOfUnequalLengthsIsRefused) {
  const ImageDesc desc{4, 3, PixelFormat::r8};
  const Executable executable = prepared(spec_of(Box{}), desc, {PixelFormat::r8, {}, 2});
  Workspace workspace = executable.make_workspace().value();
  Pixels src(desc);
  Pixels dst(desc);
  const std::vector<ConstImageView> from{src.view(), src.view()};
  const std::vector<ImageView> to{dst.view()};
  EXPECT_FALSE(executable.run(from, to, workspace).ok());
  EXPECT_TRUE(executable.run(std::span<const ConstImageView>{}, std::span<const ImageView>{}, workspace).ok());
}

TEST(Invariance, AWorkspaceMayBeUsedAgain) {
  const ImageDesc desc{97, 61, PixelFormat::rgba16f};
  for (const KernelSpec& kernel : kernels()) {
    const Executable executable = prepared(spec_of(kernel), desc, {desc.format, {}, 2});
    Workspace workspace = executable.make_workspace().value();
    const Pixels bright = Pixels::random(desc, 4);
    const Pixels src = Pixels::random(desc, 5);
    Pixels result(desc);
    ASSERT_TRUE(executable.run(bright.view(), result.view(), workspace).ok());
    ASSERT_TRUE(executable.run(src.view(), result.view(), workspace).ok());
    EXPECT_EQ(result, blurred(spec_of(kernel), src.view(), {desc.format, {}, 2}));
  }
}

/// The same pixels, the last row first in memory.
ImageView bottom_up(const ImageView& view) {
  return {view.desc, view.row(view.desc.height - 1), -view.row_bytes};
}

Pixels rows_reversed(const Pixels& image) {
  Pixels result(image.desc());
  for (std::int32_t y = 0; y < image.desc().height; ++y) {
    std::memcpy(result.view().row(y), image.view().row(image.desc().height - 1 - y),
                static_cast<std::size_t>(image.desc().row_payload_bytes()));
  }
  return result;
}

TEST(Invariance, RowsMayRunBottomUp) {
  for (const PixelFormat format : kFormats) {
    const Pixels src = Pixels::random({77, 51, format});
    for (const KernelSpec& kernel : kernels()) {
      const BlurSpec spec = spec_of(kernel);
      const Pixels expected = blurred(spec, src.view(), {format, {}, 2});
      Pixels stored = rows_reversed(src);
      EXPECT_EQ(blurred(spec, bottom_up(stored.view()), {format, {}, 2}), expected);

      const Executable executable = prepared(spec, src.desc(), {format, {}, 2});
      Workspace workspace = executable.make_workspace().value();
      Pixels result(src.desc());
      ASSERT_TRUE(executable.run(src.view(), bottom_up(result.view()), workspace).ok());
      EXPECT_EQ(rows_reversed(result), expected);
    }
  }
}

TEST(Invariance, BlurIsPrepareAndRun) {
  for (const PixelFormat format : kFormats) {
    const Pixels src = Pixels::random({64, 48, format});
    for (const KernelSpec& kernel : kernels()) {
      Pixels result(src.desc());
      ASSERT_TRUE(blur(src.view(), result.view(), spec_of(kernel)).ok());
      EXPECT_EQ(result, blurred(spec_of(kernel), src.view(), {format, {}, 2}));
    }
  }
}

TEST(InPlace, BlurGivesTheSameBits) {
  for (const PixelFormat format : kFormats) {
    const Pixels src = Pixels::random({90, 70, format});
    for (const KernelSpec& kernel : kernels()) {
      Pixels image = src;
      ASSERT_TRUE(blur(image.view(), image.view(), spec_of(kernel)).ok());
      EXPECT_EQ(image, blurred(spec_of(kernel), src.view(), {format, {}, 2}));
    }
  }
}

TEST(InPlace, BlurSeesEveryOverlap) {
  // Rows shifted up, down and sideways within one block of memory.
  const ImageDesc desc{50, 40, PixelFormat::rgb8};
  const std::ptrdiff_t row_bytes = 200;
  const BlurSpec spec = spec_of(Gaussian{{2, 2}, {}, {}});
  for (const std::ptrdiff_t shift :
       {-10 * row_bytes, -row_bytes, std::ptrdiff_t{-9}, std::ptrdiff_t{0}, std::ptrdiff_t{21}, row_bytes, 10 * row_bytes}) {
    std::vector<std::byte> memory(static_cast<std::size_t>(row_bytes * 80));
    std::byte* first = memory.data() + 20 * row_bytes;
    const ImageView src{desc, first, row_bytes};
    const ImageView dst{desc, first + shift, row_bytes};
    const Pixels pixels = Pixels::random(desc, 9);
    for (std::int32_t y = 0; y < desc.height; ++y) std::memcpy(src.row(y), pixels.view().row(y), 150);
    ASSERT_TRUE(blur(src, dst, spec).ok());
    const Pixels expected = blurred(spec, pixels.view(), {desc.format, {}, 2});
    for (std::int32_t y = 0; y < desc.height; ++y) {
      ASSERT_EQ(std::memcmp(dst.row(y), expected.view().row(y), 150), 0) << "shift " << shift << ", row " << y;
    }
  }
}

TEST(InPlace, BottomUpViewsOfTheSameMemoryOverlapToo) {
  const Pixels src = Pixels::random({33, 29, PixelFormat::r16});
  const BlurSpec spec = spec_of(Box::of_radius(3, 4));
  Pixels image = src;
  ASSERT_TRUE(blur(image.view(), bottom_up(image.view()), spec).ok());
  EXPECT_EQ(rows_reversed(image), blurred(spec, src.view(), {PixelFormat::r16, {}, 2}));
}

TEST(Blur, PassesErrorsOn) {
  Pixels image({4, 4, PixelFormat::rgb8});
  Pixels other({4, 4, PixelFormat::rgba8});
  BlurSpec spec;
  const Status status = blur(image.view(), other.view(), spec);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("channels"), std::string::npos);
  const Pixels before = image;
  spec.kernel = Gaussian{{-1, 1}, {}, {}};
  EXPECT_FALSE(blur(image.view(), image.view(), spec).ok());
  EXPECT_EQ(image, before);
}

TEST(Blur, NullAndMisalignedMemoryAreErrors) {
  const ImageDesc desc{4, 4, PixelFormat::r32f};
  alignas(8) std::byte memory[4 * 4 * 4 + 8] = {};
  Pixels image(desc);
  const BlurSpec spec = spec_of(Box{});
  EXPECT_FALSE(blur({desc, nullptr, 16}, image.view(), spec).ok());
  EXPECT_FALSE(blur(image.view(), {desc, nullptr, 16}, spec).ok());
  EXPECT_FALSE(blur({desc, memory + 1, 16}, image.view(), spec).ok());
  EXPECT_FALSE(blur({desc, memory, 17}, image.view(), spec).ok());
  EXPECT_FALSE(blur({desc, memory, 8}, image.view(), spec).ok()) << "rows shorter than their pixels";
}

}  // namespace
}  // namespace mollify::test
