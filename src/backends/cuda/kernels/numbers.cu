// Numbers one by one, a thread for each: what masks and sharpening take beside blurs.
#include "backends/cuda/kernels/numbers_shape.h"

namespace mollify::cuda {
namespace {

__device__ std::int64_t number() {
  return std::int64_t{blockIdx.x} * kNumbersThreads + threadIdx.x;
}

}  // namespace

extern "C" {

__global__ void __launch_bounds__(kNumbersThreads) numbers_fill(float* to, std::int64_t count, float value) {
  const std::int64_t i = number();
  if (i < count) to[i] = value;
}

__global__ void __launch_bounds__(kNumbersThreads) numbers_weigh(float* weights, float* image, std::int64_t count, bool skips_nan) {
  const std::int64_t i = number();
  if (i >= count) return;
  const float weight = weights[i];
  const float value = image[i];
  const bool is_unknown = weight == 0.0F || (skips_nan && isnan(value));
  if (is_unknown) weights[i] = 0.0F;
  image[i] = is_unknown ? 0.0F : value * weight;
}

__global__ void __launch_bounds__(kNumbersThreads)
    numbers_divide(const float* weights, float* image, std::int64_t count, float least, float otherwise) {
  const std::int64_t i = number();
  if (i >= count) return;
  const float weight = weights[i];
  image[i] = weight > least ? image[i] / weight : otherwise;
}

__global__ void __launch_bounds__(kNumbersThreads) numbers_sharpen(const float* blurred, float* image, std::int64_t count, float amount) {
  const std::int64_t i = number();
  if (i >= count) return;
  const float value = image[i];
  image[i] = value + amount * (value - blurred[i]);
}

__global__ void __launch_bounds__(kNumbersThreads)
    numbers_gather(const char* from, float* to, std::int64_t count, const __grid_constant__ Strided array) {
  const std::int64_t i = number();
  if (i >= count) return;
  std::int64_t left = i;
  for (int axis = 0; axis < array.axes; ++axis) {
    const std::int64_t next = left / array.extents[axis];
    from += (left - next * array.extents[axis]) * array.strides[axis];
    left = next;
  }
  to[i] = array.are_bytes ? (*from != 0 ? 1.0F : 0.0F) : *reinterpret_cast<const float*>(from);
}

}  // extern "C"

}  // namespace mollify::cuda
