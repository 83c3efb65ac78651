// Plans for CUDA, of a GPU that is described and not there, and what the backend says where there is no driver. What needs a GPU is
// `mollify verify --device cuda`.
#include "mollify/cuda.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "backends/cuda/kernels/sep_fused_shape.h"
#include "backends/cuda/modules.h"
#include "backends/cuda/pipeline.h"
#include "mollify/mollify.h"
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
  const auto passes = [&](double sigma) { return make_plan(gaussian(sigma), kPhoto, kPhoto, device)->passes.size(); };
  EXPECT_EQ(passes(2.0), 1U);
  EXPECT_EQ(passes(200.0), 2U);
  device.gpu.shared_bytes = 16 << 10;
  EXPECT_EQ(passes(2.0), 2U);
}

TEST(CudaPlan, StridesTakeTwoPasses) {
  BlurSpec spec = gaussian(2.0);
  spec.stride = {Stride::of_blocks(2), Stride::of_blocks(2)};
  const ImageDesc half = destination_desc(spec, kPhoto, kPhoto.format);
  const Result<Plan> plan = make_plan(spec, kPhoto, half, fake_cuda());
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->passes.size(), 2U);
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

TEST(Cuda, TheDescribedDeviceHasTheKernelsOfTheBackend) {
  EXPECT_EQ(fake_cuda().kernels, cuda::kernel_ids());
}

TEST(Cuda, KernelsAreInTheLibrary) {
  for (const std::string_view id : {"nxn_direct", "sep_fused", "sep_passes"}) {
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
