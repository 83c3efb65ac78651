// Plans for CUDA, of a GPU that is described and not there, and what the backend says where there is no driver. What needs a GPU is
// `mollify verify --device cuda`.
#include "mollify/cuda.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "api/window_plans.h"
#include "backends/cuda/kernels/box_any_shape.h"
#include "backends/cuda/kernels/box_division.h"
#include "backends/cuda/kernels/gauss_decimate_shape.h"
#include "backends/cuda/kernels/sep_fused_shape.h"
#include "backends/cuda/modules.h"
#include "backends/cuda/pipeline.h"
#include "mollify/mollify.h"
#include "planner/window_plan.h"
#include "support.h"

namespace mollify {
namespace {

using test::fake_cuda;

BlurSpec gaussian(double sigma) {
  BlurSpec spec;
  spec.kernel = Gaussian{{sigma, sigma}};
  return spec;
}

constexpr ImageDesc kPhoto{4096, 4096, PixelFormat::rgba8};

TEST(CudaPlan, EverySizeBorderAndSigmaHasOne) {
  const DeviceInfo device = fake_cuda();
  for (const ImageDesc& desc : {kPhoto, ImageDesc{1, 70000, PixelFormat::rgb16f}, ImageDesc{17, 3, PixelFormat::rg32f}}) {
    for (const BorderMode mode : {BorderMode::clamp, BorderMode::mirror, BorderMode::wrap, BorderMode::constant}) {
      for (const double sigma : {0.0, 0.7, 5.0, 60.0, 3000.0}) {
        BlurSpec spec = gaussian(sigma);
        spec.border.mode = {mode, mode};
        const Result<Plan> plan = make_plan(spec, desc, desc, device);
        ASSERT_TRUE(plan.ok()) << desc.width << "x" << desc.height << " sigma " << sigma << ": " << plan.error().message;
        EXPECT_LE(plan->predicted_error, plan->allowed_error);
      }
    }
  }
}

TEST(CudaPlan, OnePassWhereSharedMemoryHoldsTheRows) {
  DeviceInfo device = fake_cuda();
  PlanOptions options;
  options.algorithm = *parse_algorithm("sep.fused:math=f32");
  const auto passes = [&](double sigma) { return make_plan(gaussian(sigma), kPhoto, kPhoto, device, options)->passes.size(); };
  EXPECT_EQ(passes(2.0), 1U);
  EXPECT_EQ(make_plan(gaussian(200.0), kPhoto, kPhoto, device, options)->passes.size(), 2U);
  device.gpu.shared_bytes = 16 << 10;
  EXPECT_EQ(passes(2.0), 2U);
}

/// What counts components of a row in 32 bits leaves them to kernels that do not.
TEST(CudaPlan, RowsOfTwoGibibytesTakeKernelsThatCountInMoreBits) {
  for (const auto& [format, radius] : {std::pair{PixelFormat::rgba8, 2}, {PixelFormat::rgba8, 20}, {PixelFormat::rgba32f, 4}}) {
    const std::int32_t pixel = info(format).pixel_bytes();
    for (const std::int32_t width : {1 << 20, (1 << 30) / pixel * 2}) {
      const ImageDesc desc{width, 2, format};
      const Plan plan = make_plan(gaussian(radius), desc, desc, fake_cuda()).value();
      EXPECT_EQ(plan.passes.back().kernel == "sep_columns" || plan.passes.back().kernel == "sep_rows", width > 1 << 20)
          << info(format).name << " " << radius << ": " << plan.passes.back().kernel;
    }
  }
}

TEST(CudaPlan, FewTapsAreMadeBySingleWarps) {
  const auto kernel = [](PixelFormat format, std::int32_t radius) {
    BlurSpec spec;
    spec.kernel = Gaussian{{radius / 3.0, radius / 3.0}, PerAxis<std::int32_t>{radius, radius}};
    const ImageDesc desc{4096, 4096, format};
    PlanOptions options;
    options.algorithm = *parse_algorithm("sep.fused");
    return make_plan(spec, desc, desc, fake_cuda(), options)->passes.at(0).kernel;
  };
  for (const auto& [format, most] :
       {std::pair{PixelFormat::r8, 3}, {PixelFormat::rgba8, 1}, {PixelFormat::r16f, 4}, {PixelFormat::rgba16f, 3}}) {
    for (std::int32_t radius = 1; radius <= most; ++radius)
      EXPECT_EQ(kernel(format, radius), "sep_warps") << info(format).name << " " << radius;
    EXPECT_EQ(kernel(format, most + 1), "sep_matrix") << info(format).name;
  }
  for (const auto& [format, most] : {std::pair{PixelFormat::r32f, 14}, {PixelFormat::rgba32f, 4}}) {
    for (std::int32_t radius = 1; radius <= most; ++radius)
      EXPECT_EQ(kernel(format, radius), "sep_warps") << info(format).name << " " << radius;
    EXPECT_EQ(kernel(format, most + 1), "sep_scatter") << info(format).name;
    EXPECT_EQ(kernel(format, 22), "sep_scatter") << info(format).name;
    EXPECT_EQ(kernel(format, 23), "sep_fused") << info(format).name;
  }
  EXPECT_EQ(kernel(PixelFormat::rgb32f, 2), "sep_fused");
  EXPECT_EQ(kernel(PixelFormat::rgb8, 1), "sep_fused");
  EXPECT_EQ(kernel(PixelFormat::rgba16, 1), "sep_fused");
}

TEST(CudaPlan, BoxesOfFourChannelsSlideAlongSegments) {
  const auto kernels = [](PixelFormat format, double x, double y) {
    BlurSpec spec;
    spec.kernel = Box::of_radius(x, y);
    const ImageDesc desc{4096, 4096, format};
    std::string out;
    const Plan plan = *make_plan(spec, desc, desc, fake_cuda());
    for (const Pass& pass : plan.passes) out += pass.kernel + " ";
    return out;
  };
  for (const double radius : {4.0, 16.0, 40.0}) EXPECT_EQ(kernels(PixelFormat::rgba8, radius, radius), "box_segments ") << radius;
  for (const double radius : {64.0, 128.0}) EXPECT_EQ(kernels(PixelFormat::rgba8, radius, radius), "box_blocks box_segments ") << radius;
  EXPECT_EQ(kernels(PixelFormat::rgba8, 300.0, 9.0), "box_segments ");
  EXPECT_EQ(kernels(PixelFormat::rgba8, 400.0, 9.0), "box_down box_along ");
  EXPECT_EQ(kernels(PixelFormat::rgba8, 9.0, 130.0), "box_blocks box_segments ");  // whose columns' sums have more than 16 bits
  for (const PixelFormat format : {PixelFormat::rgba16f, PixelFormat::rgba32f}) {
    for (const double radius : {4.0, 16.0, 64.0}) EXPECT_EQ(kernels(format, radius, radius), "box_segments ") << radius;
    for (const double radius : {128.0, 256.0}) EXPECT_EQ(kernels(format, radius, radius), "box_blocks box_segments ") << radius;
    EXPECT_EQ(kernels(format, 400.0, 9.0), "box_down box_along ");
  }
  EXPECT_EQ(kernels(PixelFormat::rgb8, 16.0, 16.0), "box_any ");
}

// A window of an image is planned by itself, though chunks of the whole would be shorter if it were as small.
TEST(CudaPlan, WindowsTakeThePassesOfTheWhole) {
  BlurSpec spec;
  spec.kernel = Box::of_radius(40, 40);
  const ImageDesc desc{4096, 4096, PixelFormat::rgba8};
  const Plan whole = make_plan(spec, desc, desc, fake_cuda()).value();
  ASSERT_EQ(whole.passes.size(), 1U);
  EXPECT_EQ(make_window_plan(whole, spec, {4096, 256, PixelFormat::rgba8}).value().passes.size(), 1U);
}

TEST(CudaPlan, BytesAndHalvesTakeTensorCores) {
  const auto kernel = [](PixelFormat format, const BlurSpec& spec) {
    const ImageDesc desc{4096, 4096, format};
    return make_plan(spec, desc, desc, fake_cuda())->passes.at(0).kernel;
  };
  for (const PixelFormat format : {PixelFormat::r8, PixelFormat::rgba8, PixelFormat::r16f, PixelFormat::rgba16f}) {
    EXPECT_EQ(kernel(format, gaussian(4.0)), "sep_matrix") << info(format).name;
    // Whose result is exact, and whose reach is the window.
    BlurSpec box;
    box.kernel = Box::of_radius(2.0, 2.0);
    EXPECT_NE(kernel(format, box), "sep_matrix") << info(format).name;
  }
  for (const PixelFormat format : {PixelFormat::rgb8, PixelFormat::rgba16, PixelFormat::rgba32f}) {
    EXPECT_NE(kernel(format, gaussian(2.0)), "sep_matrix") << info(format).name;
  }
}

TEST(CudaPlan, WideGaussiansTakeTensorCoresOrSpans) {
  const auto kernels = [](PixelFormat format) {
    const ImageDesc desc{4096, 4096, format};
    std::string out;
    const Plan plan = *make_plan(gaussian(20.0), desc, desc, fake_cuda());
    for (const Pass& pass : plan.passes) out += pass.kernel + " ";
    return out;
  };
  EXPECT_EQ(kernels(PixelFormat::r8), "gauss_matrix gauss_grid_matrix gauss_upsample_matrix ");
  for (const PixelFormat format : {PixelFormat::r16f, PixelFormat::r32f}) {
    EXPECT_EQ(kernels(format), "gauss_matrix gauss_grid_rows gauss_grid_columns gauss_upsample_matrix ") << info(format).name;
  }
  for (const PixelFormat format : {PixelFormat::rgba8, PixelFormat::rgba16f, PixelFormat::rgba32f}) {
    EXPECT_EQ(kernels(format), "gauss_spans gauss_strips ") << info(format).name;
  }
}

/// Weights of products grow with the factor; sums take little more.
TEST(CudaPlan, ProductsNeedRoomForTheirWeights) {
  DeviceInfo device = fake_cuda();
  device.gpu.shared_bytes = 99 << 10;
  const ImageDesc desc{16384, 16384, PixelFormat::r32f};
  for (const auto& [sigma, kernel] : {std::pair{20.0, "gauss_matrix"}, {400.0, "gauss_decimate"}}) {
    const Plan plan = *make_plan(gaussian(sigma), desc, desc, device);
    EXPECT_EQ(plan.algorithm.id, "gauss.decimate") << sigma;
    EXPECT_EQ(plan.passes.front().kernel, kernel) << sigma;
  }
}

TEST(CudaPlan, SpansNeedRoomForTheRowsOfAFactor) {
  const ImageDesc desc{512, 16384, PixelFormat::rgba32f};
  BlurSpec spec = gaussian(20.0);
  spec.kernel = Gaussian{{20.0, 3000.0}};
  spec.accuracy.max_error = 0.1;
  for (const auto& [kilobytes, kernel] : {std::pair{227, "gauss_spans"}, {64, "gauss_decimate"}}) {
    DeviceInfo device = fake_cuda();
    device.gpu.shared_bytes = kilobytes << 10;
    const Result<Plan> plan =
        make_plan(spec, desc, desc, device, {.algorithm = *parse_algorithm("gauss.decimate:factor=10x1024,support=4")});
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(plan->passes.front().kernel, kernel) << kilobytes;
  }
}

TEST(CudaPlan, ProductsOfFloatsNeedTf32) {
  DeviceInfo device = fake_cuda();
  device.gpu.tf32_matrices = false;
  const auto kernel = [&](PixelFormat format) {
    const ImageDesc small{4096, 4096, format};
    return make_plan(gaussian(20.0), small, small, device)->passes.front().kernel;
  };
  EXPECT_EQ(kernel(PixelFormat::r8), "gauss_matrix");
  EXPECT_EQ(kernel(PixelFormat::r16f), "gauss_decimate");
  EXPECT_EQ(kernel(PixelFormat::r32f), "gauss_decimate");
}

TEST(CudaPlan, WideGaussiansAreDecimated) {
  for (const PixelFormat format : {PixelFormat::rgb8, PixelFormat::rgb16, PixelFormat::rg32f}) {
    const ImageDesc desc{4096, 4096, format};
    for (const double sigma : {20.0, 200.0}) {
      const Result<Plan> plan = make_plan(gaussian(sigma), desc, desc, fake_cuda());
      ASSERT_TRUE(plan.ok()) << plan.error().message;
      EXPECT_EQ(plan->algorithm.id, "gauss.decimate") << sigma;
      ASSERT_EQ(plan->passes.size(), 4U);
      EXPECT_EQ(plan->passes[1].kernel, "gauss_grid_rows");
      EXPECT_EQ(plan->passes[2].kernel, "gauss_grid_columns");
      for (const ImageDesc& grid : plan->intermediates) EXPECT_EQ(grid.width % 4, 0);
    }
  }
}

// Blocks of one pass have rows enough there.
TEST(CudaPlan, LargeGridsAreBlurredInOnePass) {
  const ImageDesc desc{8192, 8192, PixelFormat::rgb32f};
  const Result<Plan> plan = make_plan(gaussian(8.0), desc, desc, fake_cuda(), {.algorithm = AlgorithmChoice{"gauss.decimate", {}}});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  ASSERT_EQ(plan->passes.size(), 3U);
  EXPECT_EQ(plan->passes[1].kernel, "gauss_grid");
}

/// A window of few rows has the passes of the whole image, or they could not be one blur.
TEST(CudaPlan, WindowsHaveThePassesOfTheWhole) {
  const ImageDesc desc{8000, 8000, PixelFormat::r8};
  const Result<Plan> whole = make_plan(gaussian(10.0), desc, desc, fake_cuda(), {.algorithm = AlgorithmChoice{"gauss.decimate", {}}});
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  const Pass& products = whole->passes.front();  // each of a block's coarse samples is summed in an order of its own
  const std::int64_t block = std::int64_t{products.tile.y} * products.constants.at("factor_y");
  for (const std::int32_t rows : {100, 396, 2000}) {
    const WindowImage image = window_image(*whole, {0, 1000, desc.width, rows});
    EXPECT_EQ(image.source.y.begin % block, 0);
    const Result<Plan> window = window_plan_of(*whole, image);
    ASSERT_TRUE(window.ok()) << rows << " rows: " << window.error().message;
    EXPECT_TRUE(std::ranges::equal(window->passes, whole->passes, {}, &Pass::kernel, &Pass::kernel)) << rows << " rows";
  }
}

/// Kernels that reach beyond a small image are fitted for it alone, which takes tens of milliseconds.
TEST(CudaPlan, SmallImagesAreDecimatedOnlyOnRequest) {
  const ImageDesc small{64, 64, PixelFormat::r32f};
  EXPECT_EQ(make_plan(gaussian(60.0), small, small, fake_cuda())->algorithm.id, "sep.fused");
  PlanOptions options;
  options.algorithm = *parse_algorithm("gauss.decimate");
  EXPECT_EQ(make_plan(gaussian(12.0), small, small, fake_cuda(), options)->algorithm.id, "gauss.decimate");
  const Result<Plan> plan = make_plan(gaussian(12.0), small, small, fake_cuda());
  EXPECT_NE(explain(*plan).find("so few pixels"), std::string::npos) << explain(*plan);
}

/// None is left to the taps of its window, whose number is the square of what a sliding window costs.
TEST(CudaPlan, BoxesOfAnyLengthSlide) {
  for (const PixelFormat format : {PixelFormat::rgba8, PixelFormat::rgba32f, PixelFormat::r64f, PixelFormat::rgb32i}) {
    const ImageDesc desc{4096, 4096, format};
    for (const double radius : {300.0, 1000.5, 3000.0, 100000.0}) {
      BlurSpec spec;
      spec.kernel = Box::of_radius(radius, radius);
      const Result<Plan> plan = make_plan(spec, desc, desc, fake_cuda());
      ASSERT_TRUE(plan.ok()) << plan.error().message;
      EXPECT_EQ(plan->algorithm.id, "box.any") << info(format).name << ", radius " << radius;
    }
  }
}

TEST(CudaPlan, StridesTakeTwoPasses) {
  BlurSpec spec = gaussian(2.0);
  spec.stride = {Stride::of_blocks(2), Stride::of_blocks(2)};
  const ImageDesc half = destination_desc(spec, kPhoto, kPhoto.format);
  const Result<Plan> plan = make_plan(spec, kPhoto, half, fake_cuda());
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->passes.size(), 2U);
}

TEST(CudaPlan, TwoPassesNeedRoomForTheirRows) {
  BlurSpec spec = gaussian(2.0);
  spec.stride = {Stride::of_blocks(16), Stride::of_blocks(2)};
  const ImageDesc image{4096, 4096, PixelFormat::rgba64f};
  DeviceInfo device = fake_cuda();
  EXPECT_TRUE(make_plan(spec, image, destination_desc(spec, image, image.format), device));
  device.gpu.shared_bytes = 64 << 10;
  EXPECT_FALSE(make_plan(spec, image, destination_desc(spec, image, image.format), device));
}

/// A ring holds all rows that the two fours of a group are made of, and the group that is written next begins where none of them is read.
TEST(SepFusedShape, RingHoldsWhatIsRead) {
  for (int channels = 1; channels <= 4; ++channels) {
    const std::int32_t columns = cuda::sep_fused_columns(channels);
    EXPECT_EQ(columns % 4, 0);
    EXPECT_LE(columns / 4 * channels, cuda::kSepFusedThreads / 2);
    for (std::int32_t taps = 1; taps <= 65; ++taps) {
      const cuda::SepFusedShape shape(channels, columns, taps, taps, -(taps / 2));
      EXPECT_GE(shape.ring_rows, 4 * shape.blocks_y + 4);
      EXPECT_EQ(shape.ring_rows % cuda::kSepFusedRows, 0);
      EXPECT_GE(4 * shape.blocks_x, shape.shift + taps + 3);
      EXPECT_GE(4 * shape.blocks_y, taps + 3);
    }
  }
}

/// All columns of a block have places in a row of shared memory, and no two the same.
TEST(DecimateShape, ColumnsHavePlacesOfTheirOwn) {
  for (int channels = 1; channels <= 4; ++channels) {
    for (const std::int32_t threads : {128, 512}) {
      for (std::int32_t factor = 1; factor <= 16; ++factor) {
        const std::int32_t components = channels == 4 && threads < 512 ? 8 : 4;
        const cuda::DecimateShape shape(channels, threads, components, factor, 4);
        const auto place = [&](std::int32_t pixel) { return pixel / factor * shape.pitch + pixel % factor; };
        for (std::int32_t pixel = 1; pixel < shape.columns; ++pixel) EXPECT_GT(place(pixel), place(pixel - 1));
        EXPECT_LT(place(shape.columns - 1) * channels + channels - 1, shape.row_floats);
        // Of the last coarse sample, the last pixel that it is a sum of.
        EXPECT_LT((shape.samples + 3) * factor - 1 + components / 4 * cuda::pixels_of_fours(channels) - 1, shape.columns);
      }
    }
  }
}

TEST(BoxShape, AStripHoldsTheWindowsOfItsPixels) {
  for (int channels = 1; channels <= 4; ++channels) {
    for (const std::int32_t threads : {128, 256, 512}) {
      const cuda::BoxShape shape(channels, threads, 16);
      EXPECT_GE(shape.row_floats, 4 * threads);
      for (std::int32_t taps = cuda::kBoxLeastWindow; shape.made(taps) >= cuda::kBoxRun; ++taps) {
        EXPECT_EQ(shape.made(taps) % cuda::kBoxRun, 0);
        constexpr std::int32_t kAhead = 3;  // that loads may begin before the first window
        EXPECT_LE(kAhead + shape.made(taps) + taps - 1, shape.columns);
        EXPECT_LE(shape.made(taps) * channels, 4 * threads);  // results, of fours
      }
      const cuda::BoxAlongShape along(channels, threads, 16);
      EXPECT_EQ(along.groups_at() % 16 + along.stored_at() % 16, 0);
      for (std::int32_t taps = cuda::kBoxLeastWindow; along.made(taps) >= cuda::kBoxRun; ++taps) {
        EXPECT_LE(3 + along.made(taps) + taps - 1, along.columns);
      }
    }
  }
}

TEST(BoxDivision, IsTheNearestInteger) {
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    const std::int64_t window = std::uniform_int_distribution<std::int64_t>(81, i % 2 == 0 ? 2000 : 600000)(random);
    const std::int64_t largest = i % 3 == 0 ? 65535 : 255;
    const cuda::BoxDivision division = cuda::box_division(window, largest);
    if (!division.is_exact(window, largest)) continue;
    // Around a half, where it matters.
    const std::int64_t code = std::uniform_int_distribution<std::int64_t>(0, largest - 1)(random);
    for (std::int64_t sum = code * window + window / 2 - 1; sum <= code * window + window / 2 + 2; ++sum) {
      const auto product = static_cast<std::uint64_t>(sum + division.half) * division.factor;
      EXPECT_EQ(static_cast<std::int64_t>(product >> (32 + division.shift)), (sum + window / 2) / window) << window << " " << sum;
    }
  }
  EXPECT_TRUE(cuda::box_division(129 * 129, 255).is_exact(129 * 129, 255));
  EXPECT_FALSE(cuda::box_division(300001, 65535).is_exact(300001, 65535));  // more than 32 bits
}

TEST(Cuda, BoxesSlide) {
  const auto expect_box = [](PixelFormat format, double radius) {
    BlurSpec spec;
    spec.kernel = Box::of_radius(radius, radius);
    const ImageDesc image{4096, 4096, format};
    const Plan plan = *make_plan(spec, image, image, fake_cuda());
    EXPECT_EQ(plan.algorithm.id, "box.any") << info(format).name << " radius " << radius;
    // Sums of integers are exact, as far as 32 bits hold them, and divided exactly.
    const double pixels = (2.0 * radius + 1.0) * (2.0 * radius + 1.0);
    const bool is_exact = info(format).is_unorm() && pixels * info(format).unit() < 0x1p32;
    EXPECT_EQ(plan.predicted_error == 0.0, is_exact) << info(format).name << " radius " << radius;
  };
  for (const PixelFormat format : {PixelFormat::r8, PixelFormat::rgba8, PixelFormat::r32f, PixelFormat::rgba32f}) expect_box(format, 4.0);
  for (const PixelFormat format : {PixelFormat::r8, PixelFormat::rgb8, PixelFormat::rgba16, PixelFormat::rgba16f, PixelFormat::rgba32f}) {
    for (const double radius : {16.0, 64.0, 100.0, 256.0}) expect_box(format, radius);
  }
}

TEST(Cuda, TheDescribedDeviceHasTheKernelsOfTheBackend) {
  EXPECT_EQ(fake_cuda().kernels, cuda::kernel_ids());
}

TEST(Cuda, KernelsAreInTheLibrary) {
  for (const std::string_view id :
       {"box_any", "box_segments", "box_wide", "gauss_downsample", "gauss_upsample", "nxn_direct", "sep_fused", "sep_matrix",
        "sep_matrix_planes", "sep_passes", "sep_scatter", "sep_scatter_each", "sep_warps", "sep_warps_each"}) {
    const auto image = std::ranges::find(cuda::module_images(), id, &cuda::ModuleImage::id);
    ASSERT_NE(image, cuda::module_images().end()) << id;
    constexpr std::uint32_t kFatBinary = 0xBA55ED50U;  // that all of them begin with
    EXPECT_EQ(*static_cast<const std::uint32_t*>(image->bytes), kFatBinary) << id;
  }
}

TEST(Cuda, WithoutADriverOneLineSaysSo) {
  const Result<Device> device = Device::open("cuda");
  if (device) GTEST_SKIP() << "there is a GPU here";
  EXPECT_EQ(device.error().message.find('\n'), std::string::npos);
  EXPECT_NE(device.error().message.find("NVIDIA"), std::string::npos) << device.error().message;
}

TEST(Cuda, EnqueueRefusesExecutablesOfOtherBackends) {
  const Device cpu = *Device::open("cpu");
  const Executable blur = *cpu.prepare(*make_plan(gaussian(1.0), {8, 8}, {8, 8}, cpu.info()));
  EXPECT_EQ(cuda::scratch_needs(blur).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(cuda::enqueue(blur, {}, {}, 1, {}, nullptr).error().message, "the executable is not one of the CUDA backend");
}

}  // namespace
}  // namespace mollify
