// A sigma for each image of a batch, on a stand-in for CUDA's driver: cuda_stand_in.cpp, whose device memory is memory.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "mollify/cuda.h"
#include "mollify/mollify.h"
#include "reference/reference.h"

namespace mollify {
namespace {

constexpr ImageDesc kPlane{45, 38, PixelFormat::r32f};
constexpr std::int32_t kPlanes = 2;

struct Each {
  Device device = Device::open("cuda").value();
  BlurSpec spec;
  std::vector<PerAxis<double>> sigmas;
  std::vector<float> source;
  std::vector<float> result;
  std::vector<std::byte> memory;

  explicit Each(std::vector<PerAxis<double>> of_images) : sigmas(std::move(of_images)) {
    spec.kernel = Gaussian{};
    spec.border.mode = {BorderMode::mirror, BorderMode::wrap};
    std::mt19937 random(std::random_device{}());
    source.resize(sigmas.size() * kPlanes * 45 * 38);
    for (float& number : source) number = std::uniform_real_distribution<float>(-1.0F, 1.0F)(random);
    result.assign(source.size(), 7.0F);
  }

  Result<cuda::WeightsOfEach> run() {
    const auto blur = cuda::GaussianOfEach::prepare(device, spec, kPlane, static_cast<std::int32_t>(sigmas.size()) * kPlanes);
    if (!blur) return blur.error();
    Result<cuda::WeightsOfEach> weights = blur->weights(sigmas, kPlanes);
    if (!weights) return weights;
    memory.resize(static_cast<std::size_t>(weights->scratch.size) + 256);
    auto* scratch = reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 255) / 256 * 256);
    const Status done = blur->enqueue(*weights, {source.data()}, {result.data()}, {scratch, weights->scratch.size}, nullptr);
    if (!done) return done.error();
    return weights;
  }

  /// The largest error of an image.
  [[nodiscard]] double error(std::size_t image) const {
    BlurSpec own = spec;
    std::get<Gaussian>(own.kernel).sigma = sigmas[image];
    double worst = 0.0;
    for (std::int32_t plane = 0; plane < kPlanes; ++plane) {
      const std::size_t first = (image * kPlanes + static_cast<std::size_t>(plane)) * 45 * 38;
      const std::vector<double> exact = reference_blur(own, {kPlane, source.data() + first, kPlane.row_payload_bytes()}).value();
      for (std::size_t i = 0; i < exact.size(); ++i) worst = std::max(worst, std::abs(exact[i] - double{result[first + i]}));
    }
    return worst;
  }
};

TEST(CudaEach, EveryImageIsWithinItsOwnBound) {
  Each each({{0.1, 0.1}, {2.0, 2.0}, {0.7, 1.3}, {5.5, 0.0}, {2.0, 2.0}, {3.1, 4.0}, {0.0, 0.0}});
  const Result<cuda::WeightsOfEach> weights = each.run();
  ASSERT_TRUE(weights.ok()) << weights.error().message;
  EXPECT_TRUE(weights->left_out.empty());
  EXPECT_LE(weights->groups.size(), 4U);
  EXPECT_GE(weights->groups.size(), 2U);
  for (std::size_t i = 0; i < each.sigmas.size(); ++i) EXPECT_LE(each.error(i), weights->predicted_error + 1e-7) << i;
  EXPECT_LT(weights->predicted_error, 2.1e-5);
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
