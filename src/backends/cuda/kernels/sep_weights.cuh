// The weights of a separable filter whose kernel is compiled for their number: the same for all images, or each image's own.
#pragma once

#include "backends/cuda/kernels/arguments.h"
#include "backends/cuda/kernels/sep_weights_shape.h"

namespace mollify::cuda {

/// Parameters of the kernel, which multiply-adds read without a load.
template <int kTaps>
class SameWeights {
 public:
  static constexpr int kSharedBytes = 0;
  __device__ SameWeights(const SepSums& a, std::int32_t image, char* /*memory*/) : image(image), a_(a) {}
  [[nodiscard]] __device__ float x(int k) const { return a_.weights_x[k]; }
  [[nodiscard]] __device__ float y(int k) const { return a_.weights_y[k]; }
  [[nodiscard]] __device__ std::int32_t first_x() const { return a_.first_x; }
  [[nodiscard]] __device__ std::int32_t first_y() const { return a_.first_y; }

  std::int32_t image;

 private:
  const SepSums& a_;
};

/// Those of one image, which a block of threads copies to shared memory. Loads of four follow each other where numbers are constants.
template <int kTaps>
class OwnWeights {
 public:
  static constexpr int kSharedBytes = sep_weights_bytes(kTaps);
  __device__ OwnWeights(const SepSumsEach& a, std::int32_t record, char* memory) : weights_(reinterpret_cast<const float4*>(memory)) {
    const TapsOfImage own = reinterpret_cast<const TapsOfImage*>(a.each)[record];
    image = own.image;
    const auto* const from = reinterpret_cast<const float*>(a.taps + own.taps);
    for (int i = threadIdx.x; i < 2 * kTaps; i += blockDim.x)
      reinterpret_cast<float*>(memory)[i / kTaps * 4 * kFours + i % kTaps] = from[i];
  }
  [[nodiscard]] __device__ float x(int k) const { return at(weights_[k / 4], k % 4); }
  [[nodiscard]] __device__ float y(int k) const { return at(weights_[kFours + k / 4], k % 4); }
  [[nodiscard]] __device__ std::int32_t first_x() const { return -(kTaps / 2); }
  [[nodiscard]] __device__ std::int32_t first_y() const { return -(kTaps / 2); }

  std::int32_t image;

 private:
  static constexpr int kFours = (kTaps + 3) / 4;
  static __device__ float at(float4 v, int i) { return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w; }

  const float4* weights_;  ///< of x, then of y, each from a multiple of four on
};

}  // namespace mollify::cuda
