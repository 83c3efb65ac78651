// A sigma for each image of a batch, on a stand-in for CUDA's driver: cuda_stand_in.cpp, whose device memory is memory.
#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "mollify/cuda.h"
#include "mollify/mollify.h"
#include "reference/reference.h"
#include "support.h"

namespace mollify {
namespace {

constexpr ImageDesc kPlane{45, 38, PixelFormat::r32f};
constexpr ImageDesc kAligned{64, 38, PixelFormat::r32f};    // whose rows are loaded four numbers at a time
constexpr ImageDesc kPixels{45, 38, PixelFormat::rgba32f};  // the first with four channels
constexpr ImageDesc kPairs{45, 38, PixelFormat::rg32f};     // and two, which have no kernels with sums in registers
constexpr std::int32_t kPlanes = 2;

/// A stream whose work becomes a graph, by functions of the driver that the library does not need itself.
class Capture {
 public:
  Capture() { find<decltype(&cuStreamCreate)>("cuStreamCreate")(&stream_, CU_STREAM_NON_BLOCKING); }
  ~Capture() {
    find<decltype(&cuGraphExecDestroy)>("cuGraphExecDestroy")(executable_);
    find<decltype(&cuGraphDestroy)>("cuGraphDestroy")(graph_);
    find<decltype(&cuStreamDestroy_v2)>("cuStreamDestroy_v2")(stream_);
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  void begin() { find<decltype(&cuStreamBeginCapture_v2)>("cuStreamBeginCapture_v2")(stream_, CU_STREAM_CAPTURE_MODE_RELAXED); }
  void end() {
    find<decltype(&cuStreamEndCapture)>("cuStreamEndCapture")(stream_, &graph_);
    find<decltype(&cuGraphInstantiateWithFlags)>("cuGraphInstantiateWithFlags")(&executable_, graph_, 0);
  }
  void launch() {
    find<decltype(&cuGraphLaunch)>("cuGraphLaunch")(executable_, stream_);
    find<decltype(&cuStreamSynchronize)>("cuStreamSynchronize")(stream_);
  }
  [[nodiscard]] cuda::Stream stream() const { return stream_; }

 private:
  template <class Function>
  static Function find(const char* name) {
    static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
    return reinterpret_cast<Function>(dlsym(driver, name));
  }

  CUstream stream_ = nullptr;
  CUgraph graph_ = nullptr;
  CUgraphExec executable_ = nullptr;
};

struct Each {
  Device device = Device::open("cuda").value();
  ImageDesc desc;
  BlurSpec spec;
  std::vector<PerAxis<double>> sigmas;
  std::vector<float> source;
  std::vector<float> result;
  std::vector<std::byte> memory;

  explicit Each(std::vector<PerAxis<double>> of_images, ImageDesc of_plane = kPlane) : desc(of_plane), sigmas(std::move(of_images)) {
    spec.kernel = Gaussian{};
    spec.border.mode = {BorderMode::mirror, BorderMode::wrap};
    std::mt19937 random(std::random_device{}());
    source.resize(sigmas.size() * kPlanes * numbers());
    for (float& number : source) number = std::uniform_real_distribution<float>(-1.0F, 1.0F)(random);
    result.assign(source.size(), 7.0F);
  }

  /// Of a plane.
  [[nodiscard]] std::size_t numbers() const { return static_cast<std::size_t>(desc.payload_bytes()) / sizeof(float); }

  Result<cuda::WeightsOfEach> run(cuda::Stream stream = nullptr) {
    const auto blur = cuda::GaussianOfEach::prepare(device, spec, desc, static_cast<std::int32_t>(sigmas.size()) * kPlanes);
    if (!blur) return blur.error();
    Result<cuda::WeightsOfEach> weights = blur->weights(sigmas, kPlanes);
    if (!weights) return weights;
    memory.resize(static_cast<std::size_t>(weights->scratch.size) + 256);
    auto* scratch = reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 255) / 256 * 256);
    const Status done = blur->enqueue(*weights, {source.data()}, {result.data()}, {scratch, weights->scratch.size}, stream);
    if (!done) return done.error();
    return weights;
  }

  /// The largest error of an image.
  [[nodiscard]] double error(std::size_t image) const {
    BlurSpec own = spec;
    std::get<Gaussian>(own.kernel).sigma = sigmas[image];
    double worst = 0.0;
    for (std::int32_t plane = 0; plane < kPlanes; ++plane) {
      const std::size_t first = (image * kPlanes + static_cast<std::size_t>(plane)) * numbers();
      const std::vector<double> exact = reference_blur(own, {desc, source.data() + first, desc.row_payload_bytes()}).value();
      for (std::size_t i = 0; i < exact.size(); ++i) worst = test::larger_error(worst, std::abs(exact[i] - double{result[first + i]}));
    }
    return worst;
  }
};

TEST(CudaEach, EveryImageIsWithinItsOwnBound) {
  for (const ImageDesc& desc : {kPlane, kAligned, kPixels, kPairs}) {
    SCOPED_TRACE(std::string(info(desc.format).name));
    Each each({{0.1, 0.1}, {2.0, 2.0}, {0.7, 1.3}, {5.5, 0.0}, {2.0, 2.0}, {3.1, 4.0}, {0.0, 0.0}, {0.9, 0.3}, {3.3, 1.0}}, desc);
    const Result<cuda::WeightsOfEach> weights = each.run();
    ASSERT_TRUE(weights.ok()) << weights.error().message;
    EXPECT_TRUE(weights->left_out.empty());
    EXPECT_LE(weights->groups.size(), 4U);
    EXPECT_GE(weights->groups.size(), 2U);
    for (std::size_t i = 0; i < each.sigmas.size(); ++i) EXPECT_LE(each.error(i), weights->predicted_error + 1e-7) << i;
    EXPECT_LT(weights->predicted_error, 2.1e-5);
  }
}

/// What is not finite acts as far as an image of its group may be blurred, and no further.
TEST(CudaEach, InfinitiesStayNear) {
  Each each({{0.5, 0.5}, {1.0, 1.0}});
  constexpr std::int32_t kWidth = 45, kX = 20, kY = 17;
  for (std::size_t i = 0; i < 2; ++i) each.source[i * kPlanes * each.numbers() + kY * kWidth + kX] = HUGE_VALF;
  ASSERT_TRUE(each.run().ok());
  for (std::size_t i = 0; i < 2; ++i) {
    constexpr std::int32_t kReach[] = {4, 9};  // of the groups with up to 9 and 19 taps
    for (std::int32_t y = 0; y < kPlane.height; ++y) {
      for (std::int32_t x = 0; x < kWidth; ++x) {
        const float v = each.result[i * kPlanes * each.numbers() + static_cast<std::size_t>(y * kWidth + x)];
        const bool is_near = std::max(std::abs(x - kX), std::abs(y - kY)) <= kReach[i];
        EXPECT_TRUE(is_near || std::isfinite(v)) << i << ": " << x << ", " << y;
      }
    }
    EXPECT_FALSE(std::isfinite(each.result[i * kPlanes * each.numbers() + kY * kWidth + kX]));
  }
}

TEST(CudaEach, WideOnesAreLeftOut) {
  Each each({{1.0, 1.0}, {40.0, 40.0}, {2.5, 2.5}});
  const Result<cuda::WeightsOfEach> weights = each.run();
  ASSERT_TRUE(weights.ok()) << weights.error().message;
  EXPECT_EQ(weights->left_out, std::vector<std::int32_t>{1});
  EXPECT_LE(each.error(0), 2.1e-5);
  EXPECT_LE(each.error(2), 2.1e-5);
  for (std::size_t i = 0; i < kPlanes * 45 * 38; ++i) ASSERT_EQ(each.result[kPlanes * 45 * 38 + i], 7.0F) << "it is not written";
}

/// More than the parameters of one launch hold, whose own memory is gone when the graph runs.
TEST(CudaEach, AGraphKeepsItsWeights) {
  std::vector<PerAxis<double>> sigmas;
  for (int i = 0; i < 40; ++i) sigmas.push_back({0.1 + 0.15 * i, 0.2 + 0.1 * i});
  Each each(sigmas);
  Capture capture;
  capture.begin();
  Result<cuda::WeightsOfEach> weights = each.run(capture.stream());
  capture.end();
  ASSERT_TRUE(weights.ok()) << weights.error().message;
  ASSERT_TRUE(weights->left_out.empty());
  ASSERT_GT(weights->tables.size(), 5000U);
  EXPECT_EQ(each.result.front(), 7.0F) << "nothing runs under capture";
  std::ranges::fill(weights->tables, std::byte{0x7F});
  for (int run = 0; run < 2; ++run) {
    for (float& number : each.source) number = -0.5F * number;
    std::ranges::fill(each.memory, std::byte{0x7F});
    capture.launch();
    for (std::size_t i = 0; i < each.sigmas.size(); ++i) EXPECT_LE(each.error(i), weights->predicted_error + 1e-7) << run << ", " << i;
  }
}

/// The plan's tables outlive it, and go with the graph.
TEST(CudaGraph, KeepsAnExecutablesTables) {
  Each each({{5.5, 5.5}});
  std::get<Gaussian>(each.spec.kernel).sigma = {5.5, 5.5};
  Capture capture;
  {
    const Plan plan = make_plan(each.spec, kPlane, kPlane, each.device.info(), {.batch = kPlanes}).value();
    ASSERT_EQ(plan.passes.front().kernel, "sep_fused") << "which has its weights in a table";
    const Executable blur = each.device.prepare(plan).value();
    ASSERT_EQ(cuda::scratch_needs(blur, kPlanes)->size, 0);
    capture.begin();
    const Status status = cuda::enqueue(blur, {each.source.data()}, {each.result.data()}, kPlanes, {}, capture.stream());
    capture.end();
    ASSERT_TRUE(status) << status.error().message;
  }
  capture.launch();
  EXPECT_LE(each.error(0), 2.1e-5);
}

TEST(CudaEach, WhatIsWrongIsRefused) {
  Each each({{1.0, 1.0}});
  const Device cpu = *Device::open("cpu");
  EXPECT_FALSE(cuda::GaussianOfEach::prepare(cpu, each.spec, kPlane, 1).ok());
  BlurSpec box;
  box.kernel = Box::of_radius(1, 1);
  EXPECT_FALSE(cuda::GaussianOfEach::prepare(each.device, box, kPlane, 1).ok());
  const cuda::GaussianOfEach blur = cuda::GaussianOfEach::prepare(each.device, each.spec, kPlane, 1).value();
  const PerAxis<double> wrong{-1.0, 1.0};
  EXPECT_EQ(blur.weights({&wrong, 1}).error().code, ErrorCode::invalid_argument);
  const cuda::WeightsOfEach weights = blur.weights(each.sigmas).value();
  const Status status = blur.enqueue(weights, {each.source.data()}, {each.result.data()}, {}, nullptr);
  EXPECT_NE(status.error().message.find("scratch memory"), std::string::npos) << status.error().message;
}

}  // namespace
}  // namespace mollify
