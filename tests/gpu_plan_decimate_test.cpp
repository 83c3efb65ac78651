// Planning gauss.decimate for GPUs that do not exist: how coarse samples are made, blurred and expanded, and what is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string_view>

#include "api/window_plans.h"
#include "cases/random.h"
#include "planner/window_plan.h"
#include "vulkan_support.h"

namespace mollify::test {
namespace {

/// How gauss.decimate blurs its grid, or why it does not.
std::string blur_of_grid(std::string_view algorithm, std::int32_t size = 1000, PixelFormat format = PixelFormat::rgba8,
                         const DeviceInfo& device = fake_gpu(false)) {
  const ImageDesc desc{size, size, format};
  const Result<Plan> plan = make_plan(spec_of(Gaussian{{20, 20}, {}, {}}), desc, desc, device, with(algorithm));
  if (!plan) return message_of(plan);
  const Options& options = plan->algorithm.options;
  const std::string blur = options.at("blur") + " by " + plan->passes[1].kernel;
  return options.contains("samples_per_thread") ? blur + " in spans of " + options.at("samples_per_thread") : blur;
}

TEST(VulkanPlan, SmallImagesAreDecimatedInTwoDispatches) {
  EXPECT_EQ(blur_of_grid("gauss.decimate"), "upsample by gauss_upsample_tile in spans of 4");
  EXPECT_EQ(blur_of_grid("gauss.decimate", 1000, PixelFormat::rgba16f), "strips by gauss_upsample_strip in spans of 4");
  EXPECT_EQ(blur_of_grid("gauss.decimate", 1000, PixelFormat::rgba8, fake_gpu(true)), "tiles by gauss_grid in spans of 1")
      << "software takes seconds to compile the others";
}

/// llvmpipe would leave a walk's loop over rows before its end.
TEST(VulkanPlan, SoftwareDecimatesTallImagesInMoreWalks) {
  const ImageDesc desc{2, 4000000, PixelFormat::rgba8};
  const auto rows_of_walk = [&](bool is_software) {
    DeviceInfo device = fake_gpu(is_software);
    device.gpu.max_buffer_bytes = 1 << 30;
    device.gpu.multiprocessors.count = 2;  // which get few walks
    return 8 *
           must(make_plan(spec_of(Gaussian{{20, 20}, {}, {}}), desc, desc, device, with("gauss.decimate:factor=8"))).passes.front().tile.y;
  };
  EXPECT_LT(rows_of_walk(true), 65535);
  EXPECT_GT(rows_of_walk(false), 65535);
}

/// As measured on an H200: where rows of coarse samples are far apart or pixels large, and for bytes of small images, tiles are as fast.
TEST(VulkanPlan, StripsAreForRowsOfCellsThatAreNear) {
  using enum PixelFormat;
  const DeviceInfo device = fake_h200();
  const auto kernel_of = [&](PixelFormat format, double sigma, std::int32_t size = 4096) {
    const ImageDesc desc{size, size, format};
    return must(make_plan(spec_of(Gaussian{{sigma, sigma}, {}, {}}), desc, desc, device, with("gauss.decimate"))).passes.back().kernel;
  };
  for (const double sigma : {5.0, 10.0, 100.0}) EXPECT_EQ(kernel_of(rgba8, sigma), "gauss_upsample_strip") << sigma;
  EXPECT_EQ(kernel_of(rgba8, 20.0), "gauss_upsample_tile");
  EXPECT_EQ(kernel_of(rgba8, 5.0, 1440), "gauss_upsample_tile");
  EXPECT_EQ(kernel_of(rgb8, 5.0), "gauss_upsample_tile");
  for (const double sigma : {5.0, 50.0}) EXPECT_EQ(kernel_of(rgba16f, sigma), "gauss_upsample_strip") << sigma;
  EXPECT_EQ(kernel_of(rgba16f, 100.0), "gauss_upsample_tile");
  EXPECT_EQ(kernel_of(rgba32f, 5.0), "gauss_upsample_strip");
  EXPECT_EQ(kernel_of(rgba32f, 10.0), "gauss_upsample_tile");
}

/// Rows that are within 6 % of the best on an H200.
TEST(VulkanPlan, StripsAreWholeTurnsInWholeRounds) {
  using enum PixelFormat;
  const DeviceInfo device = fake_h200();
  struct Expected {
    PixelFormat format;
    double sigma;
    std::string_view batch;
    std::string_view rows;
  };
  for (const auto& [format, sigma, batch, rows] :
       {Expected{rgba8, 5, "4", "14"}, Expected{rgba8, 10, "4", "10"}, Expected{rgba8, 50, "12", "8"}, Expected{rgba16f, 10, "8", "13"},
        Expected{rgba16f, 50, "8", "22"}}) {
    const ImageDesc desc{4096, 4096, format};
    const Options options =
        must(make_plan(spec_of(Gaussian{{sigma, sigma}, {}, {}}), desc, desc, device, with("gauss.decimate"))).algorithm.options;
    EXPECT_EQ(options.at("step_rows"), batch) << sigma;
    EXPECT_EQ(options.at("coarse_rows"), rows) << sigma;
  }
}

TEST(VulkanPlan, GridsAreBlurredByTilesOrAsTheyAreExpanded) {
  DeviceInfo device = fake_gpu(false);
  std::erase(device.kernels, "gauss_upsample_tile");
  std::erase(device.kernels, "gauss_upsample_strip");
  EXPECT_EQ(blur_of_grid("gauss.decimate", 1000, PixelFormat::rgba8, device), "tiles by gauss_grid in spans of 4");
  EXPECT_EQ(blur_of_grid("gauss.decimate", 1000, PixelFormat::r8, device), "tiles by gauss_grid in spans of 8");
  EXPECT_EQ(blur_of_grid("gauss.decimate", 1000, PixelFormat::rgba8, fake_gpu(true)), "tiles by gauss_grid in spans of 1");
  EXPECT_EQ(blur_of_grid("gauss.decimate:factor=4", 6000, PixelFormat::rgb8, device), "tiles by gauss_grid in spans of 8");
  EXPECT_EQ(blur_of_grid("gauss.decimate:blur=upsample"), "upsample by gauss_upsample_tile in spans of 4");
  EXPECT_EQ(blur_of_grid("gauss.decimate:blur=tiles", 6000, PixelFormat::rgb8), "tiles by gauss_grid in spans of 8");
  EXPECT_EQ(blur_of_grid("gauss.decimate:samples_per_thread=2", 6000, PixelFormat::rgb8, device), "tiles by gauss_grid in spans of 2");
  std::erase(device.kernels, "gauss_grid");
  const std::string cannot = "gauss.decimate cannot do this: ";
  EXPECT_EQ(blur_of_grid("gauss.decimate:blur=tiles", 1000, PixelFormat::rgba8, device),
            cannot + "the vulkan backend has no kernel gauss_grid");
  EXPECT_EQ(blur_of_grid("gauss.decimate:blur=upsample,storage=image"),
            cannot + "grids are blurred as they are expanded to pixels in buffers that are only blurred");
  EXPECT_EQ(blur_of_grid("gauss.decimate:blur=upsample,factor=6,support=4,samples_per_thread=8,coarse_rows=64"),
            cannot + "lanes would have to keep more than 96 numbers of the grid");
  EXPECT_EQ(blur_of_grid("gauss.decimate:coarse_rows=2"), "upsample by gauss_upsample_tile in spans of 4");
  EXPECT_EQ(blur_of_grid("gauss.decimate:step_rows=8"), "strips by gauss_upsample_strip in spans of 4");
  EXPECT_EQ(blur_of_grid("gauss.decimate:blur=strips,coarse_rows=700"), "strips by gauss_upsample_strip in spans of 4");
  EXPECT_EQ(blur_of_grid("gauss.decimate:blur=strips,storage=image"),
            cannot + "grids are blurred as they are expanded to pixels in buffers that are only blurred");
  EXPECT_EQ(blur_of_grid("gauss.decimate:step_rows=12", 1000, PixelFormat::rgb8), "strips by gauss_upsample_strip in spans of 4");
  EXPECT_EQ(blur_of_grid("gauss.decimate:blur=strips,samples_per_thread=4,step_rows=6"),
            cannot + "the option step_rows is a multiple of samples_per_thread, 4");
  EXPECT_EQ(blur_of_grid("gauss.decimate:blur=strips,group=64x2"),
            cannot + "the threads of a strip are side by side: group is such as 128x1");
  EXPECT_EQ(blur_of_grid("gauss.decimate:blur=upsample,step_rows=4"), cannot + "the option step_rows is for blur=strips");
  EXPECT_EQ(blur_of_grid("gauss.decimate:blur=tiles,coarse_rows=2"),
            cannot + "the option coarse_rows is for blur=upsample and blur=strips");
  EXPECT_EQ(blur_of_grid("gauss.decimate:factor=700,support=4,read_pixels=4"),
            cannot + "so many coarse samples of so many pixels reach further than 7 sigma");
  EXPECT_EQ(blur_of_grid("gauss.decimate:factor=6,blur=tiles,group=17x4"), cannot + "25 taps reach further than the tile of a group");
  EXPECT_EQ(blur_of_grid("gauss.decimate:factor=6,blur=tiles,group=64x12"),
            cannot + "it would need 62976 bytes of shared memory, the device has 32768");
  EXPECT_EQ(blur_of_grid("gauss.decimate:blur=tiles,group=64x8", 1000, PixelFormat::rgba8, fake_matrix_gpu()),
            cannot + "tiles of more than 32768 bytes leave a processor too few groups");
}

/// As measured on an H200: one group more than a processor runs at once takes a tenth longer.
TEST(VulkanPlan, DecimatingBySumsIsOneRound) {
  const DeviceInfo device = fake_h200();
  using enum PixelFormat;
  struct Expected {
    PixelFormat format;
    double sigma;
    double threads_at_once;  // of a processor, that took the least time
  };
  for (const auto& [format, sigma, at_once] :
       {Expected{rgba16f, 5, 768}, Expected{rgba16f, 8, 768}, Expected{rgba16f, 10, 640}, Expected{rgba16f, 20, 512},
        Expected{rgba32f, 5, 768}, Expected{rgba32f, 8, 768}, Expected{rgba32f, 10, 512}, Expected{r32f, 10, 640},
        Expected{rgba16f, 50, 640}, Expected{rgba8, 100, 384}}) {
    const ImageDesc desc{4096, 4096, format};
    const Pass pass = must(make_plan(spec_of(Gaussian{{sigma, sigma}, {}, {}}), desc, desc, device, with("gauss.decimate"))).passes.front();
    const double rounds = groups_a_processor(pass, device) * pass.group.x / at_once;
    EXPECT_LE(rounds, 1.0) << info(format).name << ", sigma " << sigma;
    EXPECT_GT(rounds, 0.7) << info(format).name << ", sigma " << sigma;
  }
}

/// As measured on an H200, each 2 to 15 % faster than the factors and tiles next to them: kernels of the grid that are short enough only
/// once what they do not need is left out, turns of eight rows, and two groups a processor where one would do.
TEST(VulkanPlan, LargeGaussiansTakeTheFastestFactors) {
  const DeviceInfo device = fake_h200();
  using enum PixelFormat;
  struct Expected {
    PixelFormat format;
    double sigma;
    std::string_view factor;
  };
  for (const auto& [format, sigma, factor] : {Expected{rgba8, 50, "16"}, Expected{rgba8, 80, "16"}, Expected{rgba16f, 50, "20x8"},
                                              Expected{rgba16f, 80, "20x16"}, Expected{rgba32f, 100, "24x16"}}) {
    const ImageDesc desc{4096, 4096, format};
    const Plan plan = must(make_plan(spec_of(Gaussian{{sigma, sigma}, {}, {}}), desc, desc, device, with("gauss.decimate")));
    EXPECT_EQ(plan.algorithm.options.at("factor"), factor) << info(format).name << ", sigma " << sigma;
    EXPECT_LE(plan.predicted_error, default_max_error(format));
    const Pass& last = plan.passes.back();
    EXPECT_LE(last.constants.at("taps_y"), 65);
    EXPECT_GT(groups_a_processor(last, device), 1.5) << info(format).name << ", sigma " << sigma;
  }
}

/// How gauss.decimate makes coarse samples of an image, or why it does not.
std::string coarse_by(std::string_view algorithm, PixelFormat format = PixelFormat::rgba8, std::int32_t size = 4000,
                      const DeviceInfo& device = fake_matrix_gpu()) {
  const ImageDesc desc{size, size, format};
  const Result<Plan> plan = make_plan(spec_of(Gaussian{{10, 10}, {}, {}}), desc, desc, device, with(algorithm));
  if (!plan) return message_of(plan);
  EXPECT_LE(plan->predicted_error, default_max_error(format));
  return plan->algorithm.options.at("math") + " by " + plan->passes[0].kernel;
}

TEST(VulkanPlan, MatricesMakeCellsOfLargeImagesOfFourBytes) {
  const std::string matrix = "coopmat by gauss_decimate_coopmat";
  const std::string sums = "f32 by gauss_decimate_vec";
  EXPECT_EQ(coarse_by("gauss.decimate"), matrix);
  EXPECT_EQ(coarse_by("gauss.decimate:math=f32"), sums);
  EXPECT_EQ(coarse_by("gauss.decimate:read_pixels=2"), sums) << "an option of f32 alone";
  EXPECT_EQ(coarse_by("gauss.decimate", PixelFormat::rgba8, 500), sums) << "matrices of taps take their time to make";
  EXPECT_EQ(coarse_by("gauss.decimate", PixelFormat::r8), sums);
  EXPECT_EQ(coarse_by("gauss.decimate:math=coopmat", PixelFormat::r8), matrix);
  const std::string cannot = "gauss.decimate cannot do this: ";
  EXPECT_EQ(coarse_by("gauss.decimate:math=coopmat", PixelFormat::rgba16f), cannot + "matrices multiply 8-bit integers");
  EXPECT_EQ(coarse_by("gauss.decimate:math=coopmat", PixelFormat::rgb8),
            cannot + "a matrix has no whole number of coarse samples of three channels");
  EXPECT_EQ(coarse_by("gauss.decimate:math=coopmat,read_pixels=2"),
            cannot + "matrices are made of 16 bytes at once, without the option read_pixels");
  EXPECT_EQ(coarse_by("gauss.decimate:math=coopmat,storage=image"), cannot + "matrices need pixels in buffers that are only blurred");
  DeviceInfo device = fake_matrix_gpu();
  device.gpu.byte_matrices = false;
  EXPECT_EQ(coarse_by("gauss.decimate", PixelFormat::rgba8, 4000, device), sums);
  EXPECT_EQ(coarse_by("gauss.decimate:math=coopmat", PixelFormat::rgba8, 4000, device),
            cannot + "the device has no cooperative matrices of 8-bit integers");
}

/// Groups of a device have work alike: none has a third where others have two.
TEST(VulkanPlan, WalksOfCellsFillProcessorsEvenly) {
  const ImageDesc desc{4096, 4096, PixelFormat::rgba8};
  const DeviceInfo device = fake_h200();
  const Plan plan =
      must(make_plan(spec_of(Gaussian{{10, 10}, {}, {}}), desc, desc, device, with("gauss.decimate:math=coopmat,blur=tiles")));
  for (const Pass& pass : {plan.passes[0], plan.passes[2]}) {
    const double share = groups_a_processor(pass, device);
    EXPECT_LE(share, std::round(share)) << pass.kernel;
    EXPECT_GT(share, std::round(share) - 0.15) << pass.kernel;
  }
}

/// Clamping takes instructions: taps that are negative by next to nothing are left out, and factors that need others avoided.
TEST(VulkanPlan, MixturesOfBytesStayInTheirRange) {
  const ImageDesc desc{4096, 4096, PixelFormat::rgba8};
  const DeviceInfo device = fake_h200();
  for (const double sigma : {5.0, 8.0, 10.0, 12.0, 18.0, 20.0, 50.0, 100.0}) {
    const Plan plan = must(make_plan(spec_of(Gaussian{{sigma, sigma}, {}, {}}), desc, desc, device, with("gauss.decimate")));
    EXPECT_EQ(plan.passes.back().constants.at("clamps"), 0) << "sigma " << sigma;
  }
}

/// Of 8 bits eight where small factors leave many sums, else sixteen.
TEST(VulkanPlan, PixelsAreReadSixteenBytesAtOnce) {
  const auto read_span_at = [](int factor, PixelFormat format) {
    const ImageDesc desc{4096, 4096, format};
    const std::string algorithm = "gauss.decimate:math=f32,support=5,factor=" + std::to_string(factor);
    BlurSpec spec = spec_of(Gaussian{{3.0 * factor, 3.0 * factor}, {}, {}});
    spec.accuracy.max_error = 1e-2;
    return must(make_plan(spec, desc, desc, fake_matrix_gpu(), with(algorithm))).algorithm.options.at("read_pixels");
  };
  EXPECT_EQ(read_span_at(3, PixelFormat::rgba16f), "2");
  EXPECT_EQ(read_span_at(12, PixelFormat::rgba16f), "2");
  EXPECT_EQ(read_span_at(4, PixelFormat::rgba16), "2");
  EXPECT_EQ(read_span_at(4, PixelFormat::rg16f), "4");
  EXPECT_EQ(read_span_at(4, PixelFormat::rgba8), "2");
  EXPECT_EQ(read_span_at(8, PixelFormat::rgba8), "4");
}

/// Of 8 bits and small factors sixteen bytes whatever rows are.
TEST(VulkanPlan, PixelsAreWrittenInSpansThatDivideRows) {
  const auto write_span_at = [](std::int32_t width, PixelFormat format, double sigma) {
    const ImageDesc desc{width, 4096, format};
    return must(make_plan(spec_of(Gaussian{{sigma, sigma}, {}, {}}), desc, desc, fake_h200(), with("gauss.decimate")))
        .algorithm.options.at("write_pixels");
  };
  EXPECT_EQ(write_span_at(4096, PixelFormat::rgba8, 50), "4");
  EXPECT_EQ(write_span_at(4094, PixelFormat::rgba8, 50), "2");
  EXPECT_EQ(write_span_at(4095, PixelFormat::rgba8, 50), "1");
  EXPECT_EQ(write_span_at(4095, PixelFormat::rgba8, 10), "4");
  EXPECT_EQ(write_span_at(4095, PixelFormat::rgba16f, 10), "1");
  EXPECT_EQ(write_span_at(4095, PixelFormat::rgb8, 50), "4") << "the shortest of whole words";
}

/// On an H200 the coarse samples of a single channel take 40 us.
TEST(VulkanPlan, CellsOfOneChannelAreCheaperThanThoseOfFour) {
  const ImageDesc desc{4096, 4096, PixelFormat::r8};
  const DeviceInfo device = fake_h200();
  EXPECT_EQ(must(make_plan(spec_of(Gaussian{{10, 10}, {}, {}}), desc, desc, device)).algorithm.id, "gauss.decimate");
}

/// Where one axis is decimated and the other is not, the size of an image decides how the error is shared between them.
/// At 4 sigma the jump is so low that the grid of the Gaussian that is not cut follows it well enough for integers, nearly.
TEST(VulkanPlan, IntegersCutAtFourSigmaTakeHardlyLongerThanUncut) {
  using enum PixelFormat;
  const DeviceInfo device = fake_h200();
  for (const PixelFormat format : {r8, rgba8, r16, rgba16}) {
    const ImageDesc desc{4096, 4096, format};
    for (const double sigma : {5.0, 6.0, 8.0, 10.0, 14.0, 20.0, 40.0, 100.0}) {
      const auto plan = [&](std::optional<double> truncate) {
        return must(make_plan(spec_of(Gaussian{{sigma, sigma}, {}, truncate}), desc, desc, device));
      };
      const Plan cut = plan(4.0), endless = plan({});
      EXPECT_EQ(cut.algorithm.id, endless.algorithm.id) << explain(cut);
      EXPECT_LT(cut.predicted_seconds, 1.3 * endless.predicted_seconds) << sigma << "\n" << explain(cut) << explain(endless);
    }
  }
}

TEST(VulkanPlan, WindowsHaveTheFitOfTheWhole) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  cases::Random random(seed);
  const DeviceInfo devices[] = {fake_gpu(false), fake_gpu(true), fake_h200()};
  int tried = 0;
  while (tried < 1500 && !HasFailure()) {
    const auto sigma = [&] { return std::exp2(random.uniform(0.0, random.one_in(2) ? 2.0 : 5.0)); };
    BlurSpec spec = spec_of(Gaussian{{sigma(), sigma()}, {}, {}}, random.pick(border_modes()).mode);
    if (random.one_in(2)) spec.accuracy.max_error = std::exp2(random.uniform(-14.0, -5.0));
    const ImageDesc desc{random.between(100, 1500), random.between(100, 1500), random.pick(formats()).format};
    const Result<Plan> whole = make_plan(spec, desc, desc, random.pick(devices), with("gauss.decimate"));
    if (!whole) continue;
    ++tried;
    const Rect window{random.between(0, 50), random.between(0, 50), random.between(1, 50), random.between(1, 50)};
    const WindowImage image = window_image(*whole, window);
    spec.roi = image.region;
    const ImageDesc part{static_cast<std::int32_t>(image.source.x.size()), static_cast<std::int32_t>(image.source.y.size()), desc.format};
    const Result<Plan> made = make_window_plan(*whole, spec, part);
    ASSERT_TRUE(made) << explain(*whole) << message_of(made);
    ASSERT_EQ(made->passes.size(), whole->passes.size());
    for (std::size_t i = 0; i < made->passes.size(); ++i) {
      EXPECT_EQ(made->passes[i].taps.x.weights.size(), whole->passes[i].taps.x.weights.size()) << explain(*whole);
      EXPECT_EQ(made->passes[i].taps.y.weights.size(), whole->passes[i].taps.y.weights.size()) << explain(*whole);
    }
  }
}

}  // namespace
}  // namespace mollify::test
