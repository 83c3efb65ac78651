// How four components of a row are loaded, become numbers, and are stored: of one type that is known when the kernel is compiled, or any.
#pragma once

#include <type_traits>

#include "backends/cuda/kernels/pixels.cuh"

namespace mollify::cuda {

/// Of images whose components become numbers as they are, and are of one type: the type is known when the kernel is compiled.
template <int kChannels, Component kComponent>
struct Plain {
  static constexpr int channels = kChannels;
  static constexpr Component component = kComponent;
  static constexpr bool has_fractions = kComponent == Component::f16 || kComponent == Component::f32;
  using Stored = std::conditional_t<kComponent == Component::u8, unsigned, std::conditional_t<kComponent == Component::f32, float4, uint2>>;
  /// As wide as a component.
  using Number = std::conditional_t<kComponent == Component::u8, unsigned char,
                                    std::conditional_t<kComponent == Component::f32, float, unsigned short>>;
  static __device__ Stored load(const Shared&, const char* row, std::int32_t i) {
    return reinterpret_cast<const Stored*>(row + std::int64_t{i} * static_cast<std::int64_t>(sizeof(Stored) / 4))[0];
  }
  static __device__ Stored load_each(const Shared&, const char* row, int x, int y, int z, int w) {
    if constexpr (kComponent == Component::u8) {
      const auto* const bytes = reinterpret_cast<const unsigned char*>(row);
      return bytes[x] | bytes[y] << 8 | bytes[z] << 16 | unsigned{bytes[w]} << 24;
    } else if constexpr (kComponent == Component::f32) {
      const auto* const floats = reinterpret_cast<const float*>(row);
      return make_float4(floats[x], floats[y], floats[z], floats[w]);
    } else {
      const auto* const halves = reinterpret_cast<const unsigned short*>(row);
      return make_uint2(halves[x] | unsigned{halves[y]} << 16, halves[z] | unsigned{halves[w]} << 16);
    }
  }
  static __device__ Four numbers(const Shared&, const Stored& stored) {
    if constexpr (kComponent == Component::u8) {
      // A byte below the bits of 2^23 is 2^23 more than itself: moving it there takes less time than a conversion.
      constexpr unsigned kShifted = 0x4B000000U;
      const auto number = [&](unsigned byte) { return __uint_as_float(__byte_perm(stored, kShifted, 0x7440U | byte)) - 8388608.0F; };
      return {{number(0), number(1), number(2), number(3)}};
    } else {
      return load_aligned(kComponent, reinterpret_cast<const char*>(&stored), 0);
    }
  }
  static __device__ void store(const Shared&, char* row, std::int32_t i, float (&v)[4]) {
    if constexpr (kComponent == Component::u8) {
      // 2^23 has no bits for fractions: adding it rounds to the nearest whole number, which then lies in the lowest byte.
      const auto rounded = [](float number) { return __float_as_uint(fminf(fmaxf(number, 0.0F), 255.0F) + 8388608.0F); };
      const unsigned low = __byte_perm(rounded(v[0]), rounded(v[1]), 0x0040), high = __byte_perm(rounded(v[2]), rounded(v[3]), 0x0040);
      *reinterpret_cast<unsigned*>(row + i) = __byte_perm(low, high, 0x5410);
    } else {
      store_aligned(kComponent, row, i, v);
    }
  }

  /// The largest code, or 1 where there are none. What store_fractions() and store_fraction_each() take is divided by it.
  static constexpr float full = kComponent == Component::u8 ? 255.0F : 1.0F;
  static __device__ void store_fractions(const Shared&, char* row, std::int32_t i, float (&v)[4]) {
    if constexpr (kComponent == Component::u8) {
      *reinterpret_cast<unsigned*>(row + i) = codes_of(v);
    } else {
      store_aligned(kComponent, row, i, v);
    }
  }
  static constexpr int of_span = 64 / sizeof(Stored);  ///< components of 16 bytes
  /// What store_fractions() would store, 16 bytes of it.
  static __device__ uint4 fractions_of_span(const float (&v)[of_span]) {
    uint4 out;
    if constexpr (kComponent == Component::u8) {
      out = make_uint4(codes_of(v), codes_of(v + 4), codes_of(v + 8), codes_of(v + 12));
    } else {
#pragma unroll
      for (int i = 0; i < of_span; i += 4) {
        float four[4] = {v[i], v[i + 1], v[i + 2], v[i + 3]};
        store_aligned(kComponent, reinterpret_cast<char*>(&out), i, four);
      }
    }
    return out;
  }
  /// Of four at no multiple of four components, or the last of a row, those that there are. The same bits.
  static __device__ __noinline__ void store_fraction_each(const Shared& a, char* row, std::int32_t i, Four v) {
    if constexpr (kComponent == Component::u8) {
      const unsigned codes = codes_of(v.at);
      for (int j = 0; j < min(a.destination.width * kChannels - i, 4); ++j) row[i + j] = static_cast<char>(codes >> 8 * j);
    } else {
      store_sums<kChannels>(a, row, i, v.at);
    }
  }

 private:
  /// Multiply-adds clamp to 0 and 1 at no cost, where a clamp to 0 and 255 takes two instructions; a NaN becomes 0.
  static __device__ unsigned codes_of(const float* v) {
    const auto rounded = [](float number) { return __float_as_uint(fmaf(__saturatef(number), full, 8388608.0F)); };
    const unsigned low = __byte_perm(rounded(v[0]), rounded(v[1]), 0x0040), high = __byte_perm(rounded(v[2]), rounded(v[3]), 0x0040);
    return __byte_perm(low, high, 0x5410);
  }
};

template <int kChannels>
using BytesOf = Plain<kChannels, Component::u8>;
template <int kChannels>
using HalvesOf = Plain<kChannels, Component::f16>;
template <int kChannels>
using FloatsOf = Plain<kChannels, Component::f32>;

/// Four components of any type, or the last of a row, wherever they lie. That is a lot of code, so it is code of its own. Numbers go by
/// value: by reference they would have to lie in memory all along.
template <int kChannels>
__device__ __noinline__ void store_any(const Shared& a, char* row, std::int32_t i, Four v) {
  store_sums<kChannels>(a, row, i, v.at);
}

/// Of all images.
template <int kChannels>
struct AnyCoding {
  static constexpr int channels = kChannels;
  static constexpr bool has_fractions = true;
  using Stored = Four;
  static __device__ Stored load(const Shared& a, const char* row, std::int32_t i) { return load_aligned(a.from.component, row, i); }
  static __device__ __noinline__ Stored load_each(const Shared& a, const char* row, int x, int y, int z, int w) {
    const Component component = a.from.component;
    return {{load_component(component, row, x), load_component(component, row, y), load_component(component, row, z),
             load_component(component, row, w)}};
  }
  static __device__ Four numbers(const Shared& a, const Stored& stored) {
    Four v = stored;
#pragma unroll
    for (float& number : v.at) number *= static_cast<float>(a.from.scale);
    decode<kChannels>(a.from, v);
    return v;
  }
  static __device__ void store(const Shared& a, char* row, std::int32_t i, float (&v)[4]) {
    store_any<kChannels>(a, row, i, {{v[0], v[1], v[2], v[3]}});
  }
  static constexpr float full = 1.0F;
  static __device__ void store_fractions(const Shared& a, char* row, std::int32_t i, float (&v)[4]) {
    store(a, row, i, v);
  }
  static __device__ void store_fraction_each(const Shared& a, char* row, std::int32_t i, const Four& v) {
    store_any<kChannels>(a, row, i, v);
  }
};

}  // namespace mollify::cuda
