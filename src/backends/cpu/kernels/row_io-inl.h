// Rows of stored pixels to rows of numbers and back, for one instruction set. Included once for each by every kernel.
// load_row() resolves the border, so that no filter needs to know of it.

#if defined(MOLLIFY_ROW_IO_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MOLLIFY_ROW_IO_INL_H_
#undef MOLLIFY_ROW_IO_INL_H_
#else
#define MOLLIFY_ROW_IO_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "backends/cpu/kernels/kernels.h"
#include "base/border.h"
#include "base/half.h"
#include "base/transfer.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::ScalableTag<T>;
using F32 = Tag<float>;
using VecF32 = hn::Vec<F32>;

inline constexpr std::int64_t kMaxLanes = 64;  // of f32, on any instruction set in use

// ---- stored components <-> f32 vectors

HWY_INLINE VecF32 load_f32(F32 d, const std::uint8_t* p) {
  const hn::Rebind<std::uint8_t, F32> d8;
  const hn::Rebind<std::int32_t, F32> d32;
  return hn::ConvertTo(d, hn::PromoteTo(d32, hn::LoadU(d8, p)));
}

HWY_INLINE VecF32 load_f32(F32 d, const std::uint16_t* p) {
  const hn::Rebind<std::uint16_t, F32> d16;
  const hn::Rebind<std::int32_t, F32> d32;
  return hn::ConvertTo(d, hn::PromoteTo(d32, hn::LoadU(d16, p)));
}

HWY_INLINE VecF32 load_f32(F32 d, const hwy::float16_t* p) {
#if HWY_TARGET <= HWY_AVX2
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<hwy::float16_t, F32>(), p));
#else  // Highway's emulation knows neither infinities nor rounding
  HWY_ALIGN float lanes[kMaxLanes];
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
    std::uint16_t bits;
    std::memcpy(&bits, p + i, sizeof bits);
    lanes[i] = half_to_float(bits);
  }
  return hn::Load(d, lanes);
#endif
}

HWY_INLINE VecF32 load_f32(F32 d, const float* p) {
  return hn::LoadU(d, p);
}

/// `v` in [0, largest]; a NaN becomes 0.
HWY_INLINE VecF32 clamp_unorm(F32 d, VecF32 v, float largest) {
  return hn::Min(hn::IfThenElseZero(hn::Gt(v, hn::Zero(d)), v), hn::Set(d, largest));
}

HWY_INLINE void store_f32(F32 d, VecF32 v, std::uint8_t* p) {
  const hn::Rebind<std::uint8_t, F32> d8;
  hn::StoreU(hn::DemoteTo(d8, hn::NearestInt(clamp_unorm(d, v, 255.0F))), d8, p);
}

HWY_INLINE void store_f32(F32 d, VecF32 v, std::uint16_t* p) {
  const hn::Rebind<std::uint16_t, F32> d16;
  hn::StoreU(hn::DemoteTo(d16, hn::NearestInt(clamp_unorm(d, v, 65535.0F))), d16, p);
}

HWY_INLINE void store_f32(HWY_MAYBE_UNUSED F32 d, VecF32 v, hwy::float16_t* p) {
#if HWY_TARGET <= HWY_AVX2
  const hn::Rebind<hwy::float16_t, F32> d16;
  hn::StoreU(hn::DemoteTo(d16, v), d16, p);
#else
  HWY_ALIGN float lanes[kMaxLanes];
  hn::Store(v, d, lanes);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
    const std::uint16_t bits = float_to_half(lanes[i]);
    std::memcpy(p + i, &bits, sizeof bits);
  }
#endif
}

HWY_INLINE void store_f32(F32 d, VecF32 v, float* p) {
  hn::StoreU(v, d, p);
}

// ---- four vectors at once

/// Whether four_vectors() makes whole vectors, which may be streamed.
template <bool kBounded, class S>
constexpr bool kMakesWholeVectors =
    HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE && (std::is_same_v<S, float> || (kBounded && std::is_same_v<S, std::uint8_t>));

#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
/// Bytes of four vectors of numbers within 16 bits, rounded and clamped.
HWY_INLINE hn::Vec<hn::Repartition<std::uint8_t, F32>> bounded_bytes(F32 d, VecF32 a, VecF32 b, VecF32 c, VecF32 e) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const hn::RepartitionToNarrow<hn::RebindToSigned<F32>> d16;
  const hn::RebindToUnsigned<F32> d32;
  const hn::Repartition<std::uint8_t, F32> d8;
  // Past 2^23 a float has no fraction: adding that rounds to nearest, and the low 16 bits are the integer.
  const VecF32 rounder = hn::Set(d, 12582912.0F);
  const auto rounded = [&](VecF32 v) HWY_ATTR { return hn::BitCast(d32, hn::Add(v, rounder)); };
  const auto bytes_of = [&](VecF32 even, VecF32 odd) HWY_ATTR {
    const auto both = hn::OddEven(hn::BitCast(d16, hn::ShiftLeft<16>(rounded(odd))), hn::BitCast(d16, rounded(even)));
    return hn::BitCast(d32, hn::Min(hn::Max(both, hn::Zero(d16)), hn::Set(d16, 255)));
  };
  // Each 32-bit lane now gets its bytes of a, b, c, e; the bytes of each belong together.
  const auto mixed = hn::BitCast(d8, hn::Or(bytes_of(a, b), hn::ShiftLeft<8>(bytes_of(c, e))));
  HWY_ALIGN static constexpr std::uint8_t kOfBlock[16] = {0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13, 3, 7, 11, 15};
  const auto by_vector = hn::BitCast(d32, hn::TableLookupBytes(mixed, hn::LoadDup128(d8, kOfBlock)));
  HWY_ALIGN std::uint32_t order[kMaxLanes];
  for (std::int64_t i = 0; i < lanes; ++i) order[i] = static_cast<std::uint32_t>(i % (lanes / 4) * 4 + i / (lanes / 4));
  return hn::BitCast(d8, hn::TableLookupLanes(by_vector, hn::SetTableIndices(d32, order)));
}
#else
void bounded_bytes(F32, VecF32, VecF32, VecF32, VecF32);  // never called: one lane holds no four bytes
#endif

/// Four vectors in a row. `kBounded`: the numbers are known to lie within 16 bits, which spares bytes most of the checks.
/// `kStream`: past the cache, where `p` begins a vector and kMakesWholeVectors says that it may be.
template <bool kBounded, bool kStream = false, class S>
HWY_INLINE void store_four(F32 d, VecF32 a, VecF32 b, VecF32 c, VecF32 e, S* p) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if constexpr (kMakesWholeVectors<kBounded, S>) {
    const auto put = [](auto tag, auto v, S* to) HWY_ATTR {
      if constexpr (kStream) {
        hn::Stream(v, tag, to);
      } else {
        hn::StoreU(v, tag, to);
      }
    };
    if constexpr (std::is_same_v<S, std::uint8_t>) {
      put(hn::Repartition<std::uint8_t, F32>(), bounded_bytes(d, a, b, c, e), p);
    } else {
      put(d, a, p), put(d, b, p + lanes), put(d, c, p + 2 * lanes), put(d, e, p + 3 * lanes);
    }
  } else {
    store_f32(d, a, p), store_f32(d, b, p + lanes), store_f32(d, c, p + 2 * lanes), store_f32(d, e, p + 3 * lanes);
  }
}

HWY_INLINE void store_lanes(F32 d, VecF32 v, float* p) {
  hn::StoreU(v, d, p);
}

HWY_INLINE void store_lanes(F32 d, VecF32 v, double* p) {
  HWY_ALIGN float lanes[kMaxLanes];
  hn::Store(v, d, lanes);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) p[i] = static_cast<double>(lanes[i]);
}

// ---- spans of components

/// Whether numbers of f32 cannot hold the stored type.
template <class S>
constexpr bool kIsWide = std::is_same_v<S, double> || std::is_same_v<S, std::int32_t> || std::is_same_v<S, std::uint32_t>;

/// Calls `body(component type)` for the stored type, which numbers of f32 can hold.
template <class Body>
HWY_INLINE void with_component(Component component, Body body) {
  switch (component) {
    case Component::u8:
      return body(std::uint8_t{});
    case Component::u16:
      return body(std::uint16_t{});
    case Component::f16:
      return body(hwy::float16_t{});
    case Component::f32:
      return body(float{});
    default:  // planners have no kernels of f32 for these
      return;
  }
}

/// The same for any stored type where numbers are of f64.
template <class T, class Body>
HWY_INLINE void with_component_of(Component component, Body body) {
  if constexpr (std::is_same_v<T, double>) {
    if (component == Component::i32) return body(std::int32_t{});
    if (component == Component::u32) return body(std::uint32_t{});
    if (component == Component::f64) return body(double{});
  }
  with_component(component, body);
}

/// `count` stored components to numbers: change(a vector of them) is stored.
template <class S, class T, class Change>
HWY_INLINE void decode_vectors(const S* src, std::int64_t count, T* dst, const Change& change) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) store_lanes(d, change(load_f32(d, src + i)), dst + i);
  if (i < count) {
    S in[kMaxLanes] = {};
    HWY_ALIGN T out[kMaxLanes];
    std::memcpy(static_cast<void*>(in), src + i, static_cast<std::size_t>(count - i) * sizeof(S));
    store_lanes(d, change(load_f32(d, in)), out);
    std::copy_n(out, count - i, dst + i);
  }
}

/// The same, times `scale`.
template <class S>
HWY_INLINE void decode_components(const S* src, std::int64_t count, float scale, float* dst) {
  const VecF32 factor = hn::Set(F32(), scale);
  decode_vectors(src, count, dst, [&](VecF32 v) HWY_ATTR { return hn::Mul(v, factor); });
}

template <class S>
HWY_INLINE void decode_components(const S* src, std::int64_t count, double scale, double* dst) {
  if constexpr (kIsWide<S>) {
    for (std::int64_t i = 0; i < count; ++i) dst[i] = static_cast<double>(src[i]);
  } else {
    decode_vectors(src, count, dst, [](VecF32 v) HWY_ATTR { return v; });
  }
  if (scale != 1.0) {
    for (std::int64_t i = 0; i < count; ++i) dst[i] *= scale;
  }
}

/// Numbers times `scale`, rounded, to stored components.
template <class D>
HWY_INLINE void encode_components(const float* src, std::int64_t count, float scale, D* dst) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const VecF32 factor = hn::Set(d, scale);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) store_f32(d, hn::Mul(hn::LoadU(d, src + i), factor), dst + i);
  if (i < count) {
    HWY_ALIGN float in[kMaxLanes] = {};
    D out[kMaxLanes];
    std::copy_n(src + i, count - i, in);
    store_f32(d, hn::Mul(hn::Load(d, in), factor), out);
    std::memcpy(static_cast<void*>(dst + i), out, static_cast<std::size_t>(count - i) * sizeof(D));
  }
}

/// The f64 way rounds once, from f64.
template <class D>
HWY_INLINE void encode_components(const double* src, std::int64_t count, double scale, D* dst) {
  for (std::int64_t i = 0; i < count; ++i) {
    const double v = src[i] * scale;
    if constexpr (std::is_unsigned_v<D>) {
      constexpr auto kLargest = static_cast<double>(std::numeric_limits<D>::max());
      dst[i] = static_cast<D>(std::nearbyint(v > 0.0 ? std::min(v, kLargest) : 0.0));
    } else if constexpr (std::is_same_v<D, std::int32_t>) {
      dst[i] = static_cast<D>(std::isnan(v) ? 0.0 : std::nearbyint(std::clamp(v, -0x1p31, 0x1p31 - 1.0)));
    } else if constexpr (std::is_floating_point_v<D>) {
      dst[i] = static_cast<D>(v);
    } else {
      const std::uint16_t bits = double_to_half(v);
      std::memcpy(static_cast<void*>(dst + i), &bits, sizeof bits);
    }
  }
}

// ---- colour

/// sRGB (IEC 61966-2-1), odd about zero, the power continued above one.
HWY_INLINE VecF32 srgb_to_linear(F32 d, VecF32 v) {
  const VecF32 a = hn::Abs(v);
  const VecF32 base = hn::Mul(hn::Add(a, hn::Set(d, 0.055F)), hn::Set(d, 1.0F / 1.055F));
  const VecF32 power = hn::Exp(d, hn::Mul(hn::Log(d, base), hn::Set(d, 2.4F)));
  const VecF32 line = hn::Mul(a, hn::Set(d, 1.0F / 12.92F));
  return hn::CopySign(hn::IfThenElse(hn::Le(a, hn::Set(d, 0.04045F)), line, power), v);
}

HWY_INLINE VecF32 linear_to_srgb(F32 d, VecF32 v) {
  const VecF32 a = hn::Abs(v);
  const VecF32 safe = hn::Max(a, hn::Set(d, 1e-6F));  // log of 0; the line covers it
  const VecF32 root = hn::Exp(d, hn::Mul(hn::Log(d, safe), hn::Set(d, 1.0F / 2.4F)));
  const VecF32 power = hn::MulSub(root, hn::Set(d, 1.055F), hn::Set(d, 0.055F));
  const VecF32 line = hn::Mul(a, hn::Set(d, 12.92F));
  return hn::CopySign(hn::IfThenElse(hn::Le(a, hn::Set(d, 0.0031308F)), line, power), v);
}

enum class Transfer : std::uint8_t { decode, encode };

/// Applies the curve to every component of a row but alpha. May touch a vector's worth beyond the row.
template <Transfer kDirection>
HWY_INLINE void apply_transfer(const RowFormat& format, std::int64_t count, float* row) {
  const F32 d;
  const hn::RebindToSigned<F32> di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int32_t last = format.channels - 1;
  for (std::int64_t i = 0; i < count; i += lanes) {
    const VecF32 v = hn::LoadU(d, row + i);
    VecF32 out = kDirection == Transfer::decode ? srgb_to_linear(d, v) : linear_to_srgb(d, v);
    if (format.alpha == AlphaMode::premultiply) {  // 2 or 4 channels: the index tells which lane holds alpha
      const auto channel = hn::And(hn::Iota(di, static_cast<std::int32_t>(i & 3)), hn::Set(di, last));
      out = hn::IfThenElse(hn::RebindMask(d, hn::Eq(channel, hn::Set(di, last))), v, out);
    }
    hn::StoreU(out, d, row + i);
  }
}

template <Transfer kDirection>
HWY_INLINE void apply_transfer(const RowFormat& format, std::int64_t count, double* row) {
  const std::int64_t colours = format.channels - (format.alpha == AlphaMode::premultiply ? 1 : 0);
  for (std::int64_t i = 0; i < count; ++i) {
    if (i % format.channels >= colours) continue;
    row[i] = kDirection == Transfer::decode ? mollify::srgb_to_linear(row[i]) : mollify::linear_to_srgb(row[i]);
  }
}

#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
/// Colours of pixels of four floats become with(colours, their alphas).
template <class With>
HWY_INLINE VecF32 with_alphas(VecF32 v, const With& with) {
  const F32 d;
  const hn::RebindToUnsigned<F32> du;
  const auto is_alpha = hn::RebindMask(d, hn::Eq(hn::And(hn::Iota(du, 0), hn::Set(du, 3)), hn::Set(du, 3)));
  return hn::IfThenElse(is_alpha, v, with(v, hn::Broadcast<3>(v)));
}

/// The same for whole vectors of a row; returns how many pixels that were.
template <class With>
HWY_INLINE std::int64_t with_alphas(std::int64_t pixels, float* row, const With& with) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= 4 * pixels; i += lanes) hn::StoreU(with_alphas(hn::LoadU(d, row + i), with), d, row + i);
  return i / 4;
}

/// Stored pixels of four components, the last of which is alpha, times `scale` and premultiplied in one go.
template <class S>
HWY_INLINE void decode_premultiplied(const S* src, std::int64_t count, float scale, float* dst) {
  const VecF32 factor = hn::Set(F32(), scale);
  decode_vectors(src, count, dst, [&](VecF32 v) HWY_ATTR {
    return with_alphas(hn::Mul(v, factor), [](VecF32 colours, VecF32 alphas) HWY_ATTR { return hn::Mul(colours, alphas); });
  });
}
#endif

template <class T>
HWY_INLINE void premultiply(int channels, std::int64_t pixels, T* row) {
  std::int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
  if constexpr (std::is_same_v<T, float>) {
    if (channels == 4) i = with_alphas(pixels, row, [](VecF32 v, VecF32 alpha) HWY_ATTR { return hn::Mul(v, alpha); });
  }
#endif
  for (row += i * channels; i < pixels; ++i, row += channels) {
    for (int c = 0; c + 1 < channels; ++c) row[c] *= row[channels - 1];
  }
}

template <class T>
HWY_INLINE void unpremultiply(int channels, std::int64_t pixels, T* row) {
  std::int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
  if constexpr (std::is_same_v<T, float>) {
    if (channels == 4) {
      i = with_alphas(pixels, row, [](VecF32 v, VecF32 alpha) HWY_ATTR {
        const F32 d;
        return hn::IfThenZeroElse(hn::Eq(alpha, hn::Zero(d)), hn::Div(v, alpha));
      });
    }
  }
#endif
  for (row += i * channels; i < pixels; ++i, row += channels) {
    const T alpha = row[channels - 1];
    for (int c = 0; c + 1 < channels; ++c) row[c] = alpha == T{0} ? T{0} : row[c] / alpha;
  }
}

// ---- stores

inline constexpr std::int64_t kLineBytes = 64;  ///< bytes of the cache

/// Elements from `p` on to the first that begins a cache line.
template <class S>
HWY_INLINE std::int64_t elements_to_line(const S* p) {
  const auto beyond = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(p) % kLineBytes);
  return (kLineBytes - beyond) % kLineBytes / static_cast<std::int64_t>(sizeof(S));
}

/// `bytes` finished bytes from `src` to `dst`: past the cache where the tile says so.
HWY_INLINE void store_bytes(const Tile& tile, const std::byte* src, std::int64_t bytes, std::byte* dst) {
  if (!tile.streams || bytes < 2 * kLineBytes) {  // streaming pays only where it fills whole lines
    std::memcpy(dst, src, static_cast<std::size_t>(bytes));
    return;
  }
  const hn::ScalableTag<std::uint8_t> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto* from = reinterpret_cast<const std::uint8_t*>(src);
  auto* to = reinterpret_cast<std::uint8_t*>(dst);
  std::int64_t i = elements_to_line(dst);
  std::memcpy(to, from, static_cast<std::size_t>(i));
  for (; i + kLineBytes <= bytes; i += kLineBytes) {
    for (std::int64_t j = i; j < i + kLineBytes; j += lanes) hn::Stream(hn::LoadU(d, from + j), d, to + j);
  }
  std::memcpy(to + i, from + i, static_cast<std::size_t>(bytes - i));
}

/// Before another thread may read what was streamed.
HWY_INLINE void finish_stores(const Tile& tile) {
  if (tile.streams) hwy::FlushStream();
}

/// Which components of a tile's rows fill whole lines of the destination, the same in every row: these may be written where
/// they belong as they are made, past the cache where the tile says so. None where rows begin anywhere in a line.
struct WholeLines {
  std::int64_t first = 0, last = 0;
};

HWY_INLINE WholeLines whole_lines(const Tile& tile, std::int64_t count) {
  const FormatInfo& format = info(tile.dst.desc.format);
  const std::int64_t in_line = kLineBytes / (format.bits / 8);  // components
  if (!tile.streams) return {0, count / in_line * in_line};
  const std::byte* corner = tile.dst.row(tile.out.y) + tile.out.x * format.pixel_bytes();
  const std::int64_t first = std::min(elements_to_line(corner) / (format.bits / 8), count);
  if (tile.dst.row_bytes % kLineBytes != 0) return {first, first};
  return {first, first + (count - first) / in_line * in_line};
}

// ---- rows

/// `pixels` stored pixels from `src` on to numbers. `dst` has room for a vector more.
template <class T>
HWY_INLINE void decode_pixels(const RowFormat& format, const std::byte* src, std::int64_t pixels, T* dst) {
  const std::int64_t count = pixels * format.channels;
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
  if constexpr (std::is_same_v<T, float>) {
    if (format.alpha == AlphaMode::premultiply && format.transfer == TransferFunction::none && format.channels == 4) {
      return with_component(format.component, [&](auto component) HWY_ATTR {
        using S = decltype(component);
        decode_premultiplied(reinterpret_cast<const S*>(src), count, static_cast<float>(format.scale), dst);
      });
    }
  }
#endif
  with_component_of<T>(format.component, [&](auto component) HWY_ATTR {
    using S = decltype(component);
    decode_components(reinterpret_cast<const S*>(src), count, static_cast<T>(format.scale), dst);
  });
  if (format.transfer == TransferFunction::srgb) apply_transfer<Transfer::decode>(format, count, dst);
  if (format.alpha == AlphaMode::premultiply) premultiply(format.channels, pixels, dst);
}

/// Numbers to stored pixels. Uses `src`, which has room for a vector more, as scratch.
template <class T>
HWY_INLINE void encode_pixels(const RowFormat& format, T* src, std::int64_t pixels, std::byte* dst) {
  const std::int64_t count = pixels * format.channels;
  if (format.alpha == AlphaMode::premultiply) unpremultiply(format.channels, pixels, src);
  if (format.transfer == TransferFunction::srgb) apply_transfer<Transfer::encode>(format, count, src);
  with_component_of<T>(format.component, [&](auto component) HWY_ATTR {
    using D = decltype(component);
    encode_components(src, count, static_cast<T>(format.scale), reinterpret_cast<D*>(dst));
  });
}

/// encode_pixels() to (x, y) of the destination, past the cache where the tile says so. The bytes are made in place first:
/// stored pixels are never larger than numbers.
template <class T>
HWY_INLINE void store_pixels(const RowFormat& format, const Tile& tile, T* src, std::int64_t pixels, std::int64_t x, std::int64_t y) {
  const std::int64_t pixel_bytes = info(tile.dst.desc.format).pixel_bytes();
  std::byte* dst = tile.dst.row(y) + x * pixel_bytes;
  if (!tile.streams) return encode_pixels(format, src, pixels, dst);
  auto* made = reinterpret_cast<std::byte*>(src);
  encode_pixels(format, src, pixels, made);
  store_bytes(tile, made, pixels * pixel_bytes, dst);
}

/// Where the part of row y from column x on that lies inside the image is stored, to be fetched before it is needed; of a
/// row that is not stored, some address in the image.
HWY_INLINE const std::byte* stored_row(const RowPipeline& rows, const Source& src, std::int64_t y, std::int64_t x) {
  const std::int64_t row = std::max<std::int64_t>(map_index(rows.border.mode.y, y, src.desc.height), 0);
  const std::int64_t column = std::max<std::int64_t>(x, 0);
  return src.row(row, column) + column * info(src.desc.format).pixel_bytes();
}

/// Asks the memory for columns [x, x + pixels) of source row y, which is needed soon.
HWY_INLINE void fetch_row(const RowPipeline& rows, const Source& src, std::int64_t y, std::int64_t x, std::int64_t pixels) {
  const std::int64_t inside = std::min(pixels, src.desc.width - std::max<std::int64_t>(x, 0));
  const std::byte* stored = stored_row(rows, src, y, x);
  for (std::int64_t i = 0; i < inside * info(src.desc.format).pixel_bytes(); i += kLineBytes) hwy::Prefetch(stored + i);
}

template <class T>
HWY_INLINE void copy_pixel(std::int64_t channels, const T* from, T* to) {
  if (channels == 4) {
    std::memcpy(to, from, 4 * sizeof *to);
  } else {
    for (std::int64_t c = 0; c < channels; ++c) to[c] = from[c];
  }
}

/// Columns [x, x + pixels) of source row y as numbers; both coordinates may lie outside the image.
template <class T>
HWY_INLINE void load_row(const RowPipeline& rows, const Source& src, std::int64_t y, std::int64_t x, std::int64_t pixels, T* dst) {
  const int channels = rows.source.channels;
  const auto fill_outside = [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      for (int c = 0; c < channels; ++c) dst[i * channels + c] = static_cast<T>(rows.outside[static_cast<std::size_t>(c)]);
    }
  };
  const std::int64_t row = map_index(rows.border.mode.y, y, src.desc.height);
  if (row == kOutside) return fill_outside(0, pixels);

  const std::int64_t pixel_bytes = info(src.desc.format).pixel_bytes();
  const std::int64_t width = src.desc.width;
  const std::int64_t first = std::clamp<std::int64_t>(-x, 0, pixels);  // columns [first, last) lie inside
  const std::int64_t last = std::clamp<std::int64_t>(width - x, first, pixels);
  const auto decode = [&](std::int64_t column, std::int64_t count, T* out)
                          HWY_ATTR { decode_pixels(rows.source, src.row(row, column) + column * pixel_bytes, count, out); };
  if (last > first) decode(x + first, last - first, dst + first * channels);

  const auto fill = [&](std::int64_t from, std::int64_t to) HWY_ATTR {
    if (rows.border.mode.x == BorderMode::constant) return fill_outside(from, to);
    for (std::int64_t i = from; i < to; ++i) {
      const std::int64_t inside = map_index(rows.border.mode.x, x + i, width);
      T* pixel = dst + i * channels;
      if (inside >= x + first && inside < x + last) {
        copy_pixel(channels, dst + (inside - x) * channels, pixel);
      } else {
        T decoded[kMaxLanes * 2];
        decode(inside, 1, decoded);
        std::copy_n(decoded, channels, pixel);
      }
    }
  };
  fill(0, first);
  fill(last, pixels);
}

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // MOLLIFY_ROW_IO_INL_H_
