// Numbers one by one, a thread for each: what masks, sharpening, and numbers that images are not made of take beside blurs.
#include "backends/cuda/kernels/numbers_shape.h"

namespace mollify::cuda {
namespace {

__device__ std::int64_t number() {
  return std::int64_t{blockIdx.x} * kNumbersThreads + threadIdx.x;
}

/// Bytes from the first element of the array to number i.
__device__ std::int64_t place(const Strided& array, std::int64_t i) {
  std::int64_t bytes = 0;
  for (int axis = 0; axis < array.axes; ++axis) {
    const std::int64_t next = i / array.extents[axis];
    bytes += (i - next * array.extents[axis]) * array.strides[axis];
    i = next;
  }
  return bytes;
}

__device__ float load(std::int32_t type, const char* from) {
  switch (type) {
    case kBoolean:
      return *from != 0 ? 1.0F : 0.0F;
    case kI8:
      return *reinterpret_cast<const signed char*>(from);
    case kI16:
      return *reinterpret_cast<const short*>(from);
    case kBf16:
      return __uint_as_float(static_cast<unsigned>(*reinterpret_cast<const unsigned short*>(from)) << 16);
    default:
      return *reinterpret_cast<const float*>(from);
  }
}

/// The nearest of two upper halves, of two the even one. Rounding could make a NaN infinite.
__device__ unsigned short upper_half(float value) {
  const unsigned bits = __float_as_uint(value);
  return static_cast<unsigned short>(isnan(value) ? bits >> 16 | 0x40U : (bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

__device__ void store(std::int32_t type, char* to, float value) {
  switch (type) {
    case kBoolean:
      *to = value >= 0.5F ? 1 : 0;
      break;
    case kI8:
      *reinterpret_cast<signed char*>(to) = static_cast<signed char>(__float2int_rn(fminf(fmaxf(value, -128.0F), 127.0F)));
      break;
    case kI16:
      *reinterpret_cast<short*>(to) = static_cast<short>(__float2int_rn(fminf(fmaxf(value, -32768.0F), 32767.0F)));
      break;
    case kBf16:
      *reinterpret_cast<unsigned short*>(to) = upper_half(value);
      break;
    default:
      *reinterpret_cast<float*>(to) = value;
  }
}

// Packed numbers, of f32 or f64.

template <class Float>
__device__ void fill(Float* to, std::int64_t count, Float value) {
  const std::int64_t i = number();
  if (i < count) to[i] = value;
}

template <class Float>
__device__ void weigh(Float* weights, Float* image, std::int64_t count, bool skips_nan) {
  const std::int64_t i = number();
  if (i >= count) return;
  const Float weight = weights[i];
  const Float value = image[i];
  const bool is_unknown = weight == Float(0) || (skips_nan && isnan(value));
  if (is_unknown) weights[i] = Float(0);
  image[i] = is_unknown ? Float(0) : value * weight;
}

template <class Float>
__device__ void divide(const Float* weights, Float* image, std::int64_t count, Float least, Float otherwise) {
  const std::int64_t i = number();
  if (i >= count) return;
  const Float weight = weights[i];
  image[i] = weight > least ? image[i] / weight : otherwise;
}

template <class Float>
__device__ void sharpen(const Float* blurred, Float* image, std::int64_t count, Float amount) {
  const std::int64_t i = number();
  if (i >= count) return;
  const Float value = image[i];
  image[i] = value + amount * (value - blurred[i]);
}

template <class Float>
__device__ void gather(const char* from, Float* to, std::int64_t count, const Strided& array) {
  const std::int64_t i = number();
  if (i < count) to[i] = load(array.type, from + place(array, i));
}

}  // namespace

extern "C" {

#define MOLLIFY_NUMBERS(type, Float)                                                                                   \
  __global__ void __launch_bounds__(kNumbersThreads) numbers_fill_##type(Float* to, std::int64_t count, Float value) { \
    fill(to, count, value);                                                                                            \
  }                                                                                                                    \
  __global__ void __launch_bounds__(kNumbersThreads)                                                                   \
      numbers_weigh_##type(Float* weights, Float* image, std::int64_t count, bool skips_nan) {                         \
    weigh(weights, image, count, skips_nan);                                                                           \
  }                                                                                                                    \
  __global__ void __launch_bounds__(kNumbersThreads)                                                                   \
      numbers_divide_##type(const Float* weights, Float* image, std::int64_t count, Float least, Float otherwise) {    \
    divide(weights, image, count, least, otherwise);                                                                   \
  }                                                                                                                    \
  __global__ void __launch_bounds__(kNumbersThreads)                                                                   \
      numbers_sharpen_##type(const Float* blurred, Float* image, std::int64_t count, Float amount) {                   \
    sharpen(blurred, image, count, amount);                                                                            \
  }                                                                                                                    \
  __global__ void __launch_bounds__(kNumbersThreads)                                                                   \
      numbers_gather_##type(const char* from, Float* to, std::int64_t count, const __grid_constant__ Strided array) {  \
    gather(from, to, count, array);                                                                                    \
  }
MOLLIFY_NUMBERS(f32, float)
MOLLIFY_NUMBERS(f64, double)

__global__ void __launch_bounds__(kNumbersThreads)
    numbers_scatter(const float* from, char* to, std::int64_t count, const __grid_constant__ Strided array) {
  const std::int64_t i = number();
  if (i < count) store(array.type, to + place(array, i), from[i]);
}

}  // extern "C"

}  // namespace mollify::cuda
