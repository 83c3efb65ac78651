// box.any on CUDA, whose kernels cuda_emulation.h runs on the processor: every case of the list, windows wider than a strip, and strides.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cases/cases.h"
#include "mollify/cuda.h"
#include "mollify/mollify.h"
#include "stride_support.h"
#include "windows_support.h"

namespace mollify {
namespace {

using cases::Case;
using cases::CaseResult;
using cases::Outcome;

TEST(CudaBoxes, PassTheirCases) {
  const Device device = Device::open("cuda").value();
  const std::vector<Case> list = cases::pairwise_cases(device.info(), "box.any");
  EXPECT_GT(list.size(), 80U);
  for (const Case& c : list) {
    const CaseResult result = cases::run_case(device, c);
    EXPECT_EQ(result.outcome, Outcome::pass) << name(c) << ": " << result.message;
  }
}

TEST(CudaBoxes, WiderThanAStripTakeTwoPasses) {
  const Device device = Device::open("cuda").value();
  for (const char* text :
       {"auto/1031x67/rgba8/box:radius=256x150/mirror", "auto/700x67/rgba32f/box:radius=300x100/reflect/roi=600x50+13+13",
        "auto/1500x67/rgba16f/box:radius=256x256/clamp", "auto/2300x33/r8/box:radius=1100x20/constant:value=0.25_0.8_0.1_0.6",
        "auto/900x67/rgb8/box:radius=400x50/wrap/roi=700x60+100+5", "auto/1100x40/rg16f/box:radius=600.5x50.25/mirror/roi=1000x17+64+8",
        "auto/1031x67/rgba16/box:radius=300x20/constant+wrap:value=0.25_0.8_0.1_0.6",
        "auto/1300x41/rgba32f/box:radius=400x9/clamp/outliers"}) {
    const Result<Case> c = cases::parse_case(text);
    ASSERT_TRUE(c) << text;
    const CaseResult result = cases::run_case(device, *c);
    EXPECT_EQ(result.outcome, Outcome::pass) << text << ": " << result.message;
    ASSERT_TRUE(result.plan) << text;
    EXPECT_EQ(result.plan->passes.size(), 2U) << text;
    EXPECT_EQ(result.plan->algorithm.id, "box.any") << text;
  }
}

/// Runs cases of box.any whose plans take segments; `check` is given each plan.
void expect_segments(std::initializer_list<const char*> cases_of_boxes, const std::function<void(const Plan&)>& check = {}) {
  const Device device = Device::open("cuda").value();
  for (const char* text : cases_of_boxes) {
    const Result<Case> c = cases::parse_case("box.any/" + std::string(text));
    ASSERT_TRUE(c) << text << ": " << c.error().message;
    const CaseResult result = cases::run_case(device, *c);
    EXPECT_EQ(result.outcome, Outcome::pass) << text << ": " << result.message;
    ASSERT_TRUE(result.plan) << text;
    EXPECT_EQ(result.plan->passes.back().kernel, "box_segments") << text;
    if (check) check(*result.plan);
  }
}

// Strips of each width, with first windows from pixels and from block sums, means by floats and by integers, windows with an even number
// of pixels, whose means may be halves, borders, regions and rows at any distance.
TEST(CudaBoxes, OfFourBytesSlideAlongSegments) {
  expect_segments({"301x77/rgba8/box:radius=1/clamp", "301x77/rgba8/box:before=1,after=2x0/mirror", "301x77/rgba8/box:radius=4/clamp",
                   "301x77/rgba8/box:before=4,after=5x9/mirror", "301x177/rgba8/box:radius=16/reflect/roi=200x160+33+5",
                   "301x177/rgba8/box:radius=25x85/mirror", "301x177/rgba8/box:before=24,after=23x50/wrap/layout=padded",
                   "301x177/rgba8/box:radius=33/constant:value=0.25_0.8_0.1_0.6/roi=200x160+33+5",
                   "1101x71/rgba8/box:radius=64x60/wrap+constant:value=0.25_0.8_0.1_0.6/layout=padded",
                   "1101x171/rgba8/box:radius=100/constant+wrap:value=0.25_0.8_0.1_0.6/roi=1000x71+70+93",
                   "1301x270/rgba8/box:radius=128/clamp", "1301x70/rgba8/box:radius=300x10/reflect",
                   "1101x90/rgba8/box:radius=20x129/mirror/layout=padded", "1101x70/rgba8/box:before=200,after=201x300/clamp",
                   "1101x71/rgba8/box:radius=100x200/constant+wrap:value=0.25_0.8_0.1_0.6/roi=1000x31+70+33"},
                  [](const Plan& plan) { EXPECT_EQ(plan.predicted_error, 0.0); });
}

// The same of halves and floats, whose regions begin anywhere in a strip and a chunk, with numbers that leave nothing of others in a sum.
TEST(CudaBoxes, OfHalvesAndFloatsSlideAlongSegments) {
  expect_segments(
      {"301x77/rgba16f/box:radius=1x2/clamp/outliers", "301x77/rgba32f/box:radius=3x1/wrap+constant/roi=200x60+33+5/outliers",
       "301x77/rgba32f/box:radius=1x0/mirror", "301x77/rgba16f/box:radius=4/clamp", "301x77/rgba32f/box:before=4,after=5x9/mirror",
       "301x177/rgba16f/box:radius=16/reflect/outliers", "301x177/rgba32f/box:radius=16/reflect/roi=200x160+33+5/outliers",
       "301x177/rgba32f/box:radius=25x85/mirror/layout=padded", "301x177/rgba16f/box:radius=25x85/wrap/outliers",
       "301x177/rgba16f/box:before=24,after=23x50/wrap/layout=padded",
       "701x77/rgba16f/box:radius=50x33/constant:value=0.25_0.8_0.1_0.6/roi=611x60+33+15",
       "801x77/rgba32f/box:radius=70x33/constant:value=0.25_0.8_0.1_0.6/roi=611x60+133+15/outliers",
       "1101x71/rgba32f/box:radius=120x60/wrap+constant:value=0.25_0.8_0.1_0.6/layout=padded",
       "1101x71/rgba16f/box:radius=120x90/constant+wrap:value=0.25_0.8_0.1_0.6/outliers",
       "1101x171/rgba32f/box:radius=100/constant+wrap:value=0.25_0.8_0.1_0.6/roi=1000x71+70+93", "1301x270/rgba16f/box:radius=128/clamp",
       "1101x41/rgba32f/box:radius=250x10/reflect/outliers", "1101x40/rgba32f/box:radius=250x0/clamp/outliers"});
}

// Means of an even number of pixels may be halves, which every device rounds up.
TEST(CudaBoxes, HalvesAreRoundedAsOnProcessors) {
  const Device gpu = Device::open("cuda").value();
  const Device processor = Device::open("cpu").value();
  const ImageDesc image{197, 90, PixelFormat::rgba8};
  std::vector<std::byte> source(static_cast<std::size_t>(image.payload_bytes()));
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 2654435761U >> 13 & 3U);
  for (const auto& [before, after] : {std::pair{1, 2}, {4, 5}, {5, 6}, {7, 8}, {10, 12}, {11, 14}, {20, 25}, {23, 24}, {30, 31}}) {
    BlurSpec spec;
    spec.kernel = Box{{{1.0 * before, 1.0 * after}, {1.0 * before, 1.0 * after}}};
    spec.border.mode = {BorderMode::mirror, BorderMode::clamp};
    const auto blurred = [&](const Device& device) {
      PlanOptions options;
      options.algorithm = *parse_algorithm("box.any");
      const Executable blur = device.prepare(*make_plan(spec, image, image, device.info(), options)).value();
      std::vector<std::byte> out(source.size(), std::byte{0xA5});
      Workspace workspace = blur.make_workspace().value();
      EXPECT_TRUE(blur.run(ConstImageView{image, source.data(), image.row_payload_bytes()},
                           ImageView{image, out.data(), image.row_payload_bytes()}, workspace));
      return out;
    };
    EXPECT_TRUE(blurred(gpu) == blurred(processor)) << before << " before and " << after << " behind";
  }
}

// In memory of a caller, pixels of bytes may begin anywhere. A GPU stops where a kernel reads a word that does not begin at a multiple of
// its length, and so do the kernels here, as they are compiled to check it.
TEST(CudaBoxes, OfFourBytesMayBeginAtAnyByte) {
  const Device gpu = Device::open("cuda").value();
  const Device processor = Device::open("cpu").value();
  const ImageDesc image{197, 150, PixelFormat::rgba8};
  constexpr std::int64_t kImages = 2;
  struct Layout {
    std::int64_t first, row_bytes;
  };
  for (const auto& [from, to] : {std::pair{Layout{1, 788}, Layout{0, 788}},
                                 {Layout{0, 789}, Layout{0, 788}},
                                 {Layout{0, 788}, Layout{2, 788}},
                                 {Layout{3, 801}, Layout{1, 791}},
                                 {Layout{0, 792}, Layout{4, 796}}}) {
    const auto in_memory = [&](const Layout& layout) {
      return std::vector<std::byte>(static_cast<std::size_t>(layout.first + layout.row_bytes * image.height * kImages), std::byte{0xA5});
    };
    std::vector<std::byte> source = in_memory(from), result = in_memory(to);
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 2654435761U >> 13);
    for (const double radius : {4.0, 60.0, 130.0}) {  // with first windows from pixels, from sums of blocks, and of many rows
      BlurSpec spec;
      spec.kernel = Box::of_radius(9.0, radius);
      spec.border.mode = {BorderMode::mirror, BorderMode::constant};
      PlanOptions options;
      options.algorithm = *parse_algorithm("box.any");
      const Executable blur = gpu.prepare(*make_plan(spec, image, image, gpu.info(), options)).value();
      ASSERT_EQ(blur.plan().passes.back().kernel, "box_segments");
      std::vector<std::byte> memory(static_cast<std::size_t>(cuda::scratch_needs(blur, kImages)->size) + 256);
      auto* const scratch = reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 255) / 256 * 256);
      const Status done = cuda::enqueue(blur, {source.data() + from.first, from.row_bytes}, {result.data() + to.first, to.row_bytes},
                                        kImages, {scratch, static_cast<std::int64_t>(memory.size()) - 256}, nullptr);
      ASSERT_TRUE(done) << done.error().message;

      const Executable expected = processor.prepare(*make_plan(spec, image, image, processor.info(), options)).value();
      Workspace workspace = expected.make_workspace().value();
      std::vector<std::byte> whole(static_cast<std::size_t>(image.payload_bytes()));
      for (std::int64_t n = 0; n < kImages; ++n) {
        const auto* const pixels = source.data() + from.first + n * from.row_bytes * image.height;
        ASSERT_TRUE(expected.run(ConstImageView{image, pixels, from.row_bytes}, ImageView{image, whole.data(), image.row_payload_bytes()},
                                 workspace));
        for (std::int32_t y = 0; y < image.height; ++y) {
          const auto* const row = result.data() + to.first + (n * image.height + y) * to.row_bytes;
          EXPECT_TRUE(std::equal(row, row + image.row_payload_bytes(), whole.data() + y * image.row_payload_bytes()))
              << radius << " from " << from.first << " to " << to.first << ", image " << n << " row " << y;
        }
      }
    }
  }
}

/// Windows are planned by themselves, with the options of the whole.
TEST(CudaBoxes, WindowsHaveTheBitsOfTheWhole) {
  const Device device = Device::open("cuda").value();
  cases::Random random(1);
  for (const char* text :
       {"301x161/rgba8/box:radius=20/mirror", "301x261/rgba8/box:radius=9x60/wrap+constant", "301x161/rgb8/box:radius=20/clamp",
        "301x161/rgba32f/box:radius=20/reflect", "531x161/rgba16f/box:radius=45x20/mirror", "301x261/rgba32f/box:radius=20x40/clamp",
        "301x161/rgba32f/box:radius=20/clamp+constant", "1400x50/rgba32f/box:radius=50x9/clamp"}) {
    const Case c = cases::parse_case("box.any/" + std::string(text)).value();
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(test::expect_same_bits(c, c.algorithm, device, random)) << text;
  }
}

TEST(CudaBoxes, HaveWindowsOfAnyLength) {
  const Device device = Device::open("cuda").value();
  for (const char* text :
       {"box.any:sums=f64/97x61/rgba8/box:radius=0x1/mirror", "box.any:sums=f64/97x61/rgb16/box:radius=5x40/reflect/roi=60x40+13+13",
        "box.any:sums=f64/301x67/rgba16f/box:radius=200.5x700.25/wrap", "box.any:sums=f64/301x67/r32f/box:radius=900x20000/mirror",
        "box.any:sums=f64/301x67/rgba32f/box:radius=60x3/clamp/outliers",
        "box.any:sums=f64/67x301/rg32f/box:radius=9x100/constant/outliers",
        "box.any:sums=f64/67x301/rgba16/box:radius=5000x100/constant+clamp:value=0.25_0.8_0.1_0.6",
        "box.any:sums=f64/67x41/rgba8/box:radius=31x100/clamp/premultiply/srgb", "box.any:sums=f64/67x41/r64f/box:radius=31x100/mirror",
        "box.any:sums=f64/67x41/rgba32i/box:radius=31x10.5/wrap", "box.any:sums=f64/1x41/rg32ui/box:radius=31x10/wrap/roi=1x20+0+20"}) {
    const Result<Case> c = cases::parse_case(text);
    ASSERT_TRUE(c) << text;
    const CaseResult result = cases::run_case(device, *c);
    EXPECT_EQ(result.outcome, Outcome::pass) << text << ": " << result.message;
  }
}

TEST(CudaBoxes, KeepTheirPromiseWithStrides) {
  const Device device = Device::open("cuda").value();
  test::expect_promise_with_strides("box.any", {device}, 60);
  test::expect_same_bits_on_windows_with_strides("box.any", {device}, 8);
}

TEST(CudaBoxes, WithStridesTakeOnePassOrTwo) {
  const Device device = Device::open("cuda").value();
  for (const std::string_view stride : {"2", "2@1", "3@2x1", "1x5@4", "7@4x9@2", "7@3x9@17", "16@30x4@6"}) {
    for (const std::string_view image :
         {"rgba8/box:radius=20", "r16/box:radius=20", "rgb32f/box:radius=20", "rg16f/box:radius=20x5.25", "rgba32f/box:radius=40x9",
          "rgba8/box:radius=256x50", "r8/box:radius=1100x20", "rgba32f/box:radius=300x100", "rgb16f/box:radius=400.5x20"}) {
      const std::string text = "box.any/1031x67/" + std::string(image) + "/mirror/roi=990x57+13+5/stride=" + std::string(stride);
      const Result<Case> c = cases::parse_case(text);
      ASSERT_TRUE(c) << text;
      const CaseResult result = cases::run_case(device, *c);
      EXPECT_EQ(result.outcome, Outcome::pass) << text << ": " << result.message;
    }
  }
}

// Sums of floats must not depend on where a region begins.
TEST(CudaBoxes, RegionsHaveTheBitsOfTheWhole) {
  const Device device = Device::open("cuda").value();
  const ImageDesc image{611, 97, PixelFormat::rgba32f};
  std::vector<float> source(static_cast<std::size_t>(image.width) * image.height * 4);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<float>(i * 2654435761U % 65521U) / 7001.0F;
  struct Way {
    double across, down;
    const char* algorithm;
    BorderMode border = BorderMode::mirror;
  };
  const auto blurred = [&](const Way& way, std::optional<Rect> region) {
    BlurSpec spec;
    spec.kernel = Box::of_radius(way.across, way.down);
    spec.border.mode = {way.border, BorderMode::clamp};
    spec.roi = region;
    const ImageDesc result{region ? region->width : image.width, region ? region->height : image.height, image.format};
    const Executable blur =
        device.prepare(*make_plan(spec, image, result, device.info(), {.algorithm = *parse_algorithm(way.algorithm)})).value();
    std::vector<float> out(static_cast<std::size_t>(result.width) * result.height * 4, -1.0F);
    Workspace workspace = blur.make_workspace().value();
    EXPECT_TRUE(blur.run(ConstImageView{image, reinterpret_cast<const std::byte*>(source.data()), image.row_payload_bytes()},
                         ImageView{result, reinterpret_cast<std::byte*>(out.data()), result.row_payload_bytes()}, workspace));
    return out;
  };
  const std::vector<Way> ways{{30.0, 21.0, "box.any"},  // by segments,
                              {8.0, 100.0, "box.any", BorderMode::constant},
                              {260.0, 21.0, "box.any"},  // by strips, and in two passes
                              {30.0, 21.0, "box.any:threads=128"},
                              {20.5, 21.0, "box.any:sums=f64"},
                              {400.0, 21.0, "box.any:sums=f64"}};
  for (const Way& way : ways) {
    const std::vector<float> whole = blurred(way, std::nullopt);
    const Rect region{205, 37, 390, 41};
    const std::vector<float> part = blurred(way, region);
    for (std::int32_t y = 0; y < region.height; ++y) {
      const auto* const expected = whole.data() + ((std::int64_t{region.y} + y) * image.width + region.x) * 4;
      EXPECT_TRUE(std::equal(expected, expected + region.width * 4, part.data() + std::int64_t{y} * region.width * 4))
          << way.algorithm << " " << way.across << " row " << y;
    }
  }
}

}  // namespace
}  // namespace mollify
