// Stored pixels to numbers and back, and what lies beyond the edges of an image.
#pragma once

#include <cuda_fp16.h>

#include "backends/cuda/kernels/arguments.h"
#include "backends/cuda/kernels/turns.cuh"

namespace mollify::cuda {

/// Whether loops over rows are unrolled where that saves time. It is several times as much code. Code for compute capability 7.5, which is
/// also what drivers compile for GPUs that the library does not know, does without.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr bool kUnrollsRows = false;
#else
constexpr bool kUnrollsRows = true;
#endif

/// Four consecutive components of a row, which may belong to several pixels. T is float, or double where sums are.
template <class T>
struct alignas(16) FourOf {
  T at[4];
};
using Four = FourOf<float>;

/// The place of a block of threads in the images that it works on.
struct BlockPlace {
  std::int32_t across;
  std::int32_t down;
  std::int32_t image;
};

__device__ inline BlockPlace block_place(const Shared& a) {
  const std::uint32_t row = blockIdx.x / a.blocks_across;
  return {static_cast<std::int32_t>(blockIdx.x - row * a.blocks_across), static_cast<std::int32_t>(row % a.blocks_down),
          static_cast<std::int32_t>(row / a.blocks_down)};
}

__device__ inline char* row_of(const Pixels& images, std::int32_t image, std::int32_t y) {
  return reinterpret_cast<char*>(images.data) + image * images.image_bytes + y * images.row_bytes;
}

/// Whether rows of all images begin at multiples of so many bytes.
__device__ inline bool are_multiples(const Pixels& images, unsigned bytes) {
  const std::uint64_t bits = images.data | static_cast<std::uint64_t>(images.row_bytes) | static_cast<std::uint64_t>(images.image_bytes);
  return bits % bytes == 0;
}

// ---- borders

/// Whole periods that lie before `i`, rounded down.
__device__ inline std::int32_t floor_of(std::int32_t i, std::int32_t period) {
  return (i >= 0 ? i : i - (period - 1)) / period;
}

/// The pixel of [0, length) that is the nearest to pixel `i`.
__device__ inline std::int32_t clamped(std::int32_t i, std::int32_t length) {
  return min(max(i, 0), length - 1);
}

/// The pixel of [0, length) that stands in for pixel `i`, which lies outside, or -1 for the constant. Three divisions are a lot of code,
/// and few pixels need them, so it is code of its own.
__device__ __noinline__ std::int32_t mapped_outside(std::int32_t mode, std::int32_t i, std::int32_t length) {
  // Of an endless row of periods. Twice a length is less than 2^32, and divisions of 64 bits would take three times as much code.
  const auto wrapped = [i](std::uint32_t period) {
    return i >= 0 ? static_cast<std::uint32_t>(i) % period : period - 1 - static_cast<std::uint32_t>(-1 - i) % period;
  };
  const auto count = static_cast<std::uint32_t>(length);
  switch (mode) {
    case kClamp:
      return i < 0 ? 0 : length - 1;
    case kMirror: {
      if (length == 1) return 0;
      const std::uint32_t p = wrapped(2 * (count - 1));
      return static_cast<std::int32_t>(p < count ? p : 2 * (count - 1) - p);
    }
    case kReflect: {
      const std::uint32_t p = wrapped(2 * count);
      return static_cast<std::int32_t>(p < count ? p : 2 * count - 1 - p);
    }
    case kWrap:
      return static_cast<std::int32_t>(wrapped(count));
    default:
      return -1;
  }
}

/// The same for any pixel.
__device__ inline std::int32_t mapped(std::int32_t mode, std::int32_t i, std::int32_t length) {
  return i >= 0 && i < length ? i : mapped_outside(mode, i, length);
}

// ---- colour: the sRGB curve of IEC 61966-2-1, odd about zero

template <class T>
__device__ inline T srgb_to_linear(T v) {
  const T a = fabs(v);
  return copysign(a <= T(0.04045) ? a / T(12.92) : pow((a + T(0.055)) / T(1.055), T(2.4)), v);
}

template <class T>
__device__ inline T linear_to_srgb(T v) {
  const T a = fabs(v);
  return copysign(a <= T(0.0031308) ? a * T(12.92) : fma(T(1.055), pow(a, T(1.0 / 2.4)), T(-0.055)), v);
}

/// Four components of sRGB to numbers of light. Powers are long and rarely needed, so they are code of their own. Numbers go by
/// value: by reference they would have to lie in memory all along. `kept`: bit i is set where component i stays as it is.
template <class T>
__device__ __noinline__ FourOf<T> linear_of(FourOf<T> v, unsigned kept) {
#pragma unroll
  for (int i = 0; i < 4; ++i) v.at[i] = (kept >> i & 1U) != 0 ? v.at[i] : srgb_to_linear(v.at[i]);
  return v;
}

/// And back.
template <class T>
__device__ __noinline__ FourOf<T> srgb_of(FourOf<T> v, unsigned kept) {
#pragma unroll
  for (int i = 0; i < 4; ++i) v.at[i] = (kept >> i & 1U) != 0 ? v.at[i] : linear_to_srgb(v.at[i]);
  return v;
}

/// Whether the component at place `i` of a pixel's row is alpha.
template <int kChannels>
__device__ constexpr bool is_alpha(int i) {
  return kChannels % 2 == 0 && i % kChannels == kChannels - 1;
}

/// Which of four components have no curve, as bits: alpha, and those from `count` on, which are not used.
template <int kChannels>
__device__ constexpr unsigned without_curve(bool has_alpha, int count) {
  unsigned bits = 0;
  for (int i = 0; i < 4; ++i) {
    if (i >= count || (has_alpha && is_alpha<kChannels>(i))) bits |= 1U << i;
  }
  return bits;
}

/// Stored components, scaled, to numbers: four, or the first `count` of them. The first begins a pixel, or there is no alpha.
template <int kChannels, class T>
__device__ inline void decode(const Coding& coding, FourOf<T>& v, int count = 4) {
  if (coding.is_srgb) v = linear_of(v, without_curve<kChannels>(coding.premultiplied, count));
  if constexpr (kChannels % 2 == 0) {
    if (coding.premultiplied) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (!is_alpha<kChannels>(i)) v.at[i] *= v.at[i / kChannels * kChannels + kChannels - 1];
      }
    }
  }
}

/// Numbers to components before they are scaled and rounded.
template <int kChannels, class T>
__device__ inline void encode(const Coding& coding, T (&v)[4], int count = 4) {
  if constexpr (kChannels % 2 == 0) {
    if (coding.premultiplied) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const T alpha = v[i / kChannels * kChannels + kChannels - 1];
        if (!is_alpha<kChannels>(i)) v[i] = alpha == T(0) ? T(0) : v[i] / alpha;
      }
    }
  }
  if (coding.is_srgb) {
    const FourOf<T> coded = srgb_of(FourOf<T>{{v[0], v[1], v[2], v[3]}}, without_curve<kChannels>(coding.premultiplied, count));
#pragma unroll
    for (int i = 0; i < 4; ++i) v[i] = coded.at[i];
  }
}

// ---- loads

/// T is double where f32 cannot hold the numbers.
template <class T = float>
__device__ inline T load_component(Component component, const char* row, std::int64_t i) {
  if constexpr (sizeof(T) == sizeof(double)) {
    if (component == Component::i32) return reinterpret_cast<const std::int32_t*>(row)[i];
    if (component == Component::u32) return reinterpret_cast<const std::uint32_t*>(row)[i];
    if (component == Component::f64) return reinterpret_cast<const double*>(row)[i];
  }
  switch (component) {
    case Component::u8:
      return reinterpret_cast<const unsigned char*>(row)[i];
    case Component::u16:
      return reinterpret_cast<const unsigned short*>(row)[i];
    case Component::f16:
      return __half2float(reinterpret_cast<const __half*>(row)[i]);
    default:
      return reinterpret_cast<const float*>(row)[i];
  }
}

/// Components i to i + 3, whose address is a multiple of all four's size.
template <class T = float>
__device__ inline FourOf<T> load_aligned(Component component, const char* row, std::int64_t i) {
  if constexpr (sizeof(T) == sizeof(double)) {
    if (component == Component::i32) {
      const int4 v = reinterpret_cast<const int4*>(row + 4 * i)[0];
      return {{T(v.x), T(v.y), T(v.z), T(v.w)}};
    }
    if (component == Component::u32) {
      const uint4 v = reinterpret_cast<const uint4*>(row + 4 * i)[0];
      return {{T(v.x), T(v.y), T(v.z), T(v.w)}};
    }
    if (component == Component::f64) {
      const auto* const halves = reinterpret_cast<const double2*>(row + 8 * i);
      return {{halves[0].x, halves[0].y, halves[1].x, halves[1].y}};
    }
  }
  switch (component) {
    case Component::u8: {
      const uchar4 v = reinterpret_cast<const uchar4*>(row + i)[0];
      return {{T(v.x), T(v.y), T(v.z), T(v.w)}};
    }
    case Component::u16: {
      const ushort4 v = reinterpret_cast<const ushort4*>(row + 2 * i)[0];
      return {{T(v.x), T(v.y), T(v.z), T(v.w)}};
    }
    case Component::f16: {
      const uint2 v = reinterpret_cast<const uint2*>(row + 2 * i)[0];
      const float2 a = __half22float2(reinterpret_cast<const __half2&>(v.x)), b = __half22float2(reinterpret_cast<const __half2&>(v.y));
      return {{a.x, a.y, b.x, b.y}};
    }
    default: {
      const float4 v = reinterpret_cast<const float4*>(row + 4 * i)[0];
      return {{v.x, v.y, v.z, v.w}};
    }
  }
}

/// What stands for components i to i + 3 of a row outside a constant border.
template <int kChannels>
__device__ inline Four outside_four(const Shared& a, std::int32_t i) {
  Four v;
  const std::int32_t first = i - floor_of(i, kChannels) * kChannels;
#pragma unroll
  for (int j = 0; j < 4; ++j) v.at[j] = static_cast<float>(a.outside.value[(first + j) % kChannels]);
  return v;
}

/// A row of a source. Components count from its first pixel and may lie outside the image.
struct SourceRow {
  const char* begin;  ///< null: all of it is outside a constant border
};

__device__ inline SourceRow source_row(const Shared& a, std::int32_t image, std::int32_t y) {
  const std::int32_t row = mapped(a.outside.mode_y, y, a.source.height);
  return {row < 0 ? nullptr : row_of(a.source, image, row)};
}

/// Numbers of components i to i + 3 of a row, some of which may be outside. `i` is a multiple of four where there is alpha.
template <int kChannels, class T = float>
__device__ inline FourOf<T> load_across_edges(const Shared& a, const SourceRow& row, std::int32_t i) {
  FourOf<T> v;
  bool is_outside[4];
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const std::int32_t pixel = floor_of(i + j, kChannels);
    const std::int32_t inside = row.begin == nullptr ? -1 : mapped(a.outside.mode_x, pixel, a.source.width);
    is_outside[j] = inside < 0;
    v.at[j] = T(0);
    if (inside >= 0) {
      const std::int64_t channel = i + j - pixel * kChannels;
      v.at[j] = T(a.from.scale) * load_component<T>(a.from.component, row.begin, std::int64_t{inside} * kChannels + channel);
    }
  }
  decode<kChannels>(a.from, v);
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const std::int32_t pixel = floor_of(i + j, kChannels);
    if (is_outside[j]) v.at[j] = T(a.outside.value[i + j - pixel * kChannels]);
  }
  return v;
}

/// The same of components that are all inside, at an aligned address.
template <int kChannels, class T = float>
__device__ inline FourOf<T> load_inside(const Shared& a, const SourceRow& row, std::int32_t i) {
  FourOf<T> v = load_aligned<T>(a.from.component, row.begin, i);
#pragma unroll
  for (T& number : v.at) number *= T(a.from.scale);
  decode<kChannels>(a.from, v);
  return v;
}

/// Numbers of one pixel of a row, which may be outside: the code of load_pixel().
template <int kChannels, class T>
__device__ inline FourOf<T> load_pixel_here(const Shared& a, const SourceRow& row, std::int32_t x) {
  const std::int32_t inside = row.begin == nullptr ? -1 : mapped(a.outside.mode_x, x, a.source.width);
  if (inside < 0) return {{T(a.outside.value[0]), T(a.outside.value[1]), T(a.outside.value[2]), T(a.outside.value[3])}};
  FourOf<T> v{};
#pragma unroll
  for (int c = 0; c < kChannels; ++c) {
    v.at[c] = T(a.from.scale) * load_component<T>(a.from.component, row.begin, std::int64_t{inside} * kChannels + c);
  }
  decode<kChannels>(a.from, v, kChannels);
  return v;
}
/// The same in f64. Components of seven types become doubles, and sums of doubles are slow anyway, so it is code of its own.
template <int kChannels>
__device__ __noinline__ FourOf<double> load_doubles(const Shared& a, SourceRow row, std::int32_t x) {
  return load_pixel_here<kChannels, double>(a, row, x);
}
/// Numbers of one pixel of a row, which may be outside.
template <int kChannels, class T>
__device__ inline FourOf<T> load_pixel(const Shared& a, const SourceRow& row, std::int32_t x) {
  if constexpr (sizeof(T) == sizeof(double)) {
    return load_doubles<kChannels>(a, row, x);
  } else {
    return load_pixel_here<kChannels, T>(a, row, x);
  }
}

// ---- stores

/// To an integer of at least 0; a NaN becomes 0.
template <class T>
__device__ inline std::uint32_t rounded_unsigned(T v, T largest) {
  const T clamped = v > T(0) ? (v < largest ? v : largest) : T(0);
  if constexpr (sizeof(T) == sizeof(double)) {
    return __double2uint_rn(clamped);
  } else {
    return __float2uint_rn(clamped);
  }
}

/// To an integer of either sign; a NaN becomes 0.
__device__ inline std::int32_t rounded_signed(double v) {
  const double clamped = v < 2147483647.0 ? (v > -2147483648.0 ? v : -2147483648.0) : 2147483647.0;
  return isnan(v) ? 0 : __double2int_rn(clamped);
}

__device__ inline __half rounded_half(float v) {
  return __float2half_rn(v);
}
__device__ inline __half rounded_half(double v) {
  return __double2half(v);
}

template <class T>
__device__ inline void store_component(Component component, char* row, std::int64_t i, T v) {
  if constexpr (sizeof(T) == sizeof(double)) {
    switch (component) {
      case Component::i32:
        reinterpret_cast<std::int32_t*>(row)[i] = rounded_signed(v);
        return;
      case Component::u32:
        reinterpret_cast<std::uint32_t*>(row)[i] = rounded_unsigned(v, 4294967295.0);
        return;
      case Component::f64:
        reinterpret_cast<double*>(row)[i] = v;
        return;
      default:
        break;
    }
  }
  switch (component) {
    case Component::u8:
      reinterpret_cast<unsigned char*>(row)[i] = static_cast<unsigned char>(rounded_unsigned(v, T(255)));
      break;
    case Component::u16:
      reinterpret_cast<unsigned short*>(row)[i] = static_cast<unsigned short>(rounded_unsigned(v, T(65535)));
      break;
    case Component::f16:
      reinterpret_cast<__half*>(row)[i] = rounded_half(v);
      break;
    default:
      reinterpret_cast<float*>(row)[i] = static_cast<float>(v);
  }
}

template <class T>
__device__ inline void store_aligned(Component component, char* row, std::int64_t i, const T (&v)[4]) {
  if constexpr (sizeof(T) == sizeof(double)) {
    switch (component) {
      case Component::i32:
        reinterpret_cast<int4*>(row + 4 * i)[0] =
            make_int4(rounded_signed(v[0]), rounded_signed(v[1]), rounded_signed(v[2]), rounded_signed(v[3]));
        return;
      case Component::u32: {
        constexpr double kMost = 4294967295.0;
        reinterpret_cast<uint4*>(row + 4 * i)[0] = make_uint4(rounded_unsigned(v[0], kMost), rounded_unsigned(v[1], kMost),
                                                              rounded_unsigned(v[2], kMost), rounded_unsigned(v[3], kMost));
        return;
      }
      case Component::f64: {
        auto* const halves = reinterpret_cast<double2*>(row + 8 * i);
        halves[0] = make_double2(v[0], v[1]);
        halves[1] = make_double2(v[2], v[3]);
        return;
      }
      default:
        break;
    }
  }
  switch (component) {
    case Component::u8: {
      const uchar4 out = make_uchar4(rounded_unsigned(v[0], T(255)), rounded_unsigned(v[1], T(255)), rounded_unsigned(v[2], T(255)),
                                     rounded_unsigned(v[3], T(255)));
      reinterpret_cast<uchar4*>(row + i)[0] = out;
      break;
    }
    case Component::u16: {
      const ushort4 out = make_ushort4(rounded_unsigned(v[0], T(65535)), rounded_unsigned(v[1], T(65535)), rounded_unsigned(v[2], T(65535)),
                                       rounded_unsigned(v[3], T(65535)));
      reinterpret_cast<ushort4*>(row + 2 * i)[0] = out;
      break;
    }
    case Component::f16: {
      uint2 out;
      reinterpret_cast<__half2&>(out.x) = __halves2half2(rounded_half(v[0]), rounded_half(v[1]));
      reinterpret_cast<__half2&>(out.y) = __halves2half2(rounded_half(v[2]), rounded_half(v[3]));
      reinterpret_cast<uint2*>(row + 2 * i)[0] = out;
      break;
    }
    default:
      reinterpret_cast<float4*>(row + 4 * i)[0] = make_float4(v[0], v[1], v[2], v[3]);
  }
}

/// Sums that become components i to i + 3 of a row of the destination, of those that there are. Changes `v`.
template <int kChannels, class T>
__device__ inline void store_sums(const Shared& a, char* row, std::int32_t i, T (&v)[4]) {
  encode<kChannels>(a.to, v);
#pragma unroll
  for (T& number : v) number *= T(a.to.scale);
  const std::int32_t left = a.destination.width * kChannels - i;
  if (left >= 4 && a.destination.is_aligned) {
    store_aligned(a.to.component, row, i, v);
  } else {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (j < left) store_component(a.to.component, row, i + j, v[j]);
    }
  }
}

/// The same of one pixel.
template <int kChannels, class T>
__device__ inline void store_pixel(const Shared& a, char* row, std::int32_t x, T (&v)[4]) {
  encode<kChannels>(a.to, v, kChannels);
#pragma unroll
  for (int c = 0; c < kChannels; ++c) store_component(a.to.component, row, std::int64_t{x} * kChannels + c, v[c] * T(a.to.scale));
}

}  // namespace mollify::cuda
