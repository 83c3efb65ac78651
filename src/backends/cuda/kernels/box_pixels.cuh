// What a box sums up: how eight rows of four components are loaded and become numbers, and sums become results.
#pragma once

#include "backends/cuda/kernels/box_any_shape.h"
#include "backends/cuda/kernels/coding.cuh"

namespace mollify::cuda {

constexpr int kRun = kBoxRun;

/// Images that are only blurred. Rows are the same for all threads of a block, and shorter than 2^31 bytes.
template <int kChannels, Component kComponent>
struct Only : Plain<kChannels, kComponent> {
  using Stored = typename Plain<kChannels, kComponent>::Stored;
  static __device__ Stored load(const Shared&, const char* row, std::int32_t i) {
    return *reinterpret_cast<const Stored*>(row + static_cast<std::uint32_t>(i) * static_cast<std::uint32_t>(sizeof(Stored) / 4));
  }
};

/// Of integers: their sums are exact.
template <int kChannels, Component kComponent>
struct Integers : Only<kChannels, kComponent> {
  using Number = unsigned;
  using Stored = typename Plain<kChannels, kComponent>::Stored;
  using Loaded = Stored;
  static constexpr bool is_plain = true, is_exact = true;
  static __device__ FourOf<unsigned> numbers(const BoxAny&, const Stored& stored) {
    if constexpr (kComponent == Component::u8) {
      const auto byte = [&](unsigned i) { return __byte_perm(stored, 0, 0x4440U | i); };
      return {{byte(0), byte(1), byte(2), byte(3)}};
    } else {
      return {{stored.x & 0xFFFFU, stored.x >> 16, stored.y & 0xFFFFU, stored.y >> 16}};
    }
  }
  /// Of sums to which half of a window is added.
  static __device__ Stored result(const BoxAny& a, const FourOf<unsigned>& sum) {
    unsigned mean[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) mean[i] = __umulhi(sum.at[i], a.factor);
    if constexpr (kComponent == Component::u8) {
      const unsigned pair = 0x40U + 0x11U * (a.shift / 8);
      return __byte_perm(__byte_perm(mean[0], mean[1], pair), __byte_perm(mean[2], mean[3], pair), 0x5410);
    } else {
      return make_uint2(__byte_perm(mean[0] >> a.shift, mean[1] >> a.shift, 0x5410),
                        __byte_perm(mean[2] >> a.shift, mean[3] >> a.shift, 0x5410));
    }
  }
};

/// Of floats.
template <int kChannels, Component kComponent>
struct Floats : Only<kChannels, kComponent> {
  using Number = float;
  using Stored = typename Plain<kChannels, kComponent>::Stored;
  using Loaded = Stored;
  static constexpr bool is_plain = true, is_exact = false;
  static __device__ Four numbers(const BoxAny& a, const Stored& stored) {
    Four v = Plain<kChannels, kComponent>::numbers(a, stored);
    if constexpr (kComponent == Component::f32) {
#pragma unroll
      for (float& number : v.at) number *= a.lift;
    }
    return v;
  }
  static __device__ Stored result(const BoxAny& a, const Four& sum) {
    float v[4] = {sum.at[0] * a.scale, sum.at[1] * a.scale, sum.at[2] * a.scale, sum.at[3] * a.scale};
    Stored stored;
    store_aligned(kComponent, reinterpret_cast<char*>(&stored), 0, v);
    return stored;
  }
};

/// All images, and windows with fractions of pixels. What is loaded is decoded at once.
template <int kChannels>
struct AnyFloats : AnyCoding<kChannels> {
  using Number = float;
  using Stored = Four;
  using Loaded = Four;
  static constexpr bool is_plain = false, is_exact = false;
  static __device__ __noinline__ Loaded load(const BoxAny& a, const char* row, std::int32_t i) {
    return AnyCoding<kChannels>::numbers(a, AnyCoding<kChannels>::load(a, row, i));
  }
  static __device__ __noinline__ Loaded load_each(const BoxAny& a, const char* row, int x, int y, int z, int w) {
    return AnyCoding<kChannels>::numbers(a, AnyCoding<kChannels>::load_each(a, row, x, y, z, w));
  }
  static __device__ Four numbers(const BoxAny& a, const Loaded& v) {
    return {{v.at[0] * a.lift, v.at[1] * a.lift, v.at[2] * a.lift, v.at[3] * a.lift}};
  }
  static __device__ Stored result(const BoxAny& a, const Four& sum) {
    return {{sum.at[0] * a.scale, sum.at[1] * a.scale, sum.at[2] * a.scale, sum.at[3] * a.scale}};
  }
};

template <class Number>
__device__ inline FourOf<Number> operator-(const FourOf<Number>& a, const FourOf<Number>& b) {
  return {{a.at[0] - b.at[0], a.at[1] - b.at[1], a.at[2] - b.at[2], a.at[3] - b.at[3]}};
}
template <class Number>
__device__ inline FourOf<Number> operator+(const FourOf<Number>& a, const FourOf<Number>& b) {
  return {{a.at[0] + b.at[0], a.at[1] + b.at[1], a.at[2] + b.at[2], a.at[3] + b.at[3]}};
}

/// The place of a thread in a strip.
struct Column {
  const char* image;
  std::int32_t local;      ///< the first of four components, counted from the first that the block loads
  std::int32_t component;  ///< of a row, what stands in for it
  int at[4];               ///< the same for each of the four, or -1
  bool is_inside;          ///< four are loaded at once; this and the next are the same for all threads of a warp
  bool is_in_image;        ///< none lies outside a constant border
};

/// The row that stands in for row `y`, or -1.
__device__ inline std::int32_t row_of_source(const BoxAny& a, std::int32_t y) {
  return mapped(a.outside.mode_y, y, a.source.height);
}

/// What stands for four components outside a constant border.
template <class Pixels>
__device__ __noinline__ Four outside_of(const BoxAny& a, std::int32_t local) {
  Four v;
#pragma unroll
  for (int i = 0; i < 4; ++i) v.at[i] = static_cast<float>(a.outside.value[(local + i) % Pixels::channels]);
  return v;
}
/// The same of a sum down the column of one component.
template <class Pixels>
__device__ inline typename Pixels::Number outside_of_columns(const BoxAny& a, int channel) {
  if constexpr (Pixels::is_exact) {
    return __double2uint_rn(a.outside.value[channel]) * static_cast<unsigned>(a.window_y);
  } else {
    return static_cast<float>(a.outside.value[channel]) * a.lift * (static_cast<float>(a.window_y) + a.before_y + a.after_y);
  }
}
template <class Pixels>
__device__ inline typename Pixels::Loaded as_loaded(const BoxAny& a, Four v) {
  if constexpr (Pixels::is_plain) {
    typename Pixels::Loaded stored;
    store_aligned(Pixels::component, reinterpret_cast<char*>(&stored), 0, v.at);
    return stored;
  } else {
    return v;
  }
}

/// Four components of a row, some of which lie outside a constant border.
template <class Pixels>
__device__ __noinline__ typename Pixels::Loaded load_across(const BoxAny& a, const char* row, int x, int y, int z, int w,
                                                            std::int32_t local) {
  const int at[4] = {x, y, z, w};
  Four v = AnyCoding<Pixels::channels>::load_each(a, row, max(x, 0), max(y, 0), max(z, 0), max(w, 0));
  if constexpr (!Pixels::is_plain) v = AnyCoding<Pixels::channels>::numbers(a, v);
  const Four outside = outside_of<Pixels>(a, local);
#pragma unroll
  for (int i = 0; i < 4; ++i) v.at[i] = at[i] < 0 ? outside.at[i] : v.at[i];
  return as_loaded<Pixels>(a, v);
}

/// Of eight rows from row `y` on. All loads are on their way before one is needed.
template <class Pixels>
__device__ inline void load(const BoxAny& a, const Column& column, std::int32_t y, typename Pixels::Loaded (&v)[kRun]) {
  if (column.is_inside && y >= 0 && y + kRun <= a.source.height) {
    const char* row = column.image + y * a.source.row_bytes;
#pragma unroll
    for (int j = 0; j < kRun; ++j) {
      v[j] = Pixels::load(a, row, column.component);
      row += a.source.row_bytes;
    }
    return;
  }
  const char* rows[kRun];
  bool is_outside = false;
#pragma unroll
  for (int j = 0; j < kRun; ++j) {
    const std::int32_t row = row_of_source(a, y + j);
    rows[j] = column.image + max(row, 0) * a.source.row_bytes;
    is_outside = is_outside || row < 0;
  }
  if (column.is_inside) {
#pragma unroll
    for (int j = 0; j < kRun; ++j) v[j] = Pixels::load(a, rows[j], column.component);
  } else if (column.is_in_image) {
#pragma unroll
    for (int j = 0; j < kRun; ++j) v[j] = Pixels::load_each(a, rows[j], column.at[0], column.at[1], column.at[2], column.at[3]);
  } else {
#pragma unroll
    for (int j = 0; j < kRun; ++j) {
      v[j] = load_across<Pixels>(a, rows[j], column.at[0], column.at[1], column.at[2], column.at[3], column.local);
    }
  }
  if (is_outside) {
    const typename Pixels::Loaded outside = as_loaded<Pixels>(a, outside_of<Pixels>(a, column.local));
#pragma unroll
    for (int j = 0; j < kRun; ++j) {
      if (row_of_source(a, y + j) < 0) v[j] = outside;
    }
  }
}

}  // namespace mollify::cuda
