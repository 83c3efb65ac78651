// Rows of 16-bit numbers halved by [1 4 6 4 1] / 16 and doubled by the same filter, for one instruction set. Both are made
// of rounded means, which cannot overflow and cost one instruction each.

#if defined(MOLLIFY_HALVING_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MOLLIFY_HALVING_INL_H_
#undef MOLLIFY_HALVING_INL_H_
#else
#define MOLLIFY_HALVING_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "backends/cpu/kernels/fixed_taps-inl.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/row_io-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

/// (a + 4b + 6c + 4d + e) / 16
template <class V>
HWY_INLINE V halved(V a, V b, V c, V d, V e) {
  return hn::AverageRound(hn::AverageRound(b, d), hn::AverageRound(hn::AverageRound(hn::AverageRound(a, e), c), c));
}

/// (a + 6b + c) / 8
template <class V>
HWY_INLINE V doubled_even(V a, V b, V c) {
  return hn::AverageRound(hn::AverageRound(hn::AverageRound(a, c), b), b);
}

template <class V>
HWY_INLINE V doubled_odd(V b, V c) {
  return hn::AverageRound(b, c);
}

/// The same of bytes, times 256: what halved() makes of bytes times 256, since of those no mean loses a bit.
HWY_INLINE VecU16 halved_bytes(VecU16 a, VecU16 b, VecU16 c, VecU16 d, VecU16 e) {
  const VecU16 four_times = hn::Add(hn::Add(b, d), c);
  const VecU16 once = hn::Add(hn::Add(a, e), hn::Add(c, c));
  return hn::Add(hn::ShiftLeft<6>(four_times), hn::ShiftLeft<4>(once));
}

/// kRowGroup rows, `stride` apart, from kHalvedRows rows of stored S, of which nothing is read beyond `count` elements.
template <class S>
HWY_NOINLINE void halve_rows(const S* const* rows, std::int64_t count, std::uint16_t* out, std::int64_t stride) {
  const U16 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto load = [&](const S* p) HWY_ATTR {
    if constexpr (sizeof(S) == 1) {
      return hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::uint8_t, U16>(), p));
    } else {
      return hn::LoadU(d, p);
    }
  };
  S few[kHalvedRows][kMaxLanes];
  const S* rows_of_few[kHalvedRows];
  if (count < lanes) {
    for (std::int64_t r = 0; r < kHalvedRows; ++r) {
      std::fill_n(std::copy_n(rows[r], count, few[r]), lanes - count, S{0});
      rows_of_few[r] = few[r];
    }
    rows = rows_of_few;
  }
  for_vectors(std::max(count, lanes), lanes, [&](std::int64_t i) HWY_ATTR {
    VecU16 a = load(rows[0] + i), b = load(rows[1] + i), c = load(rows[2] + i);
    HWY_UNROLL(4)
    for (std::int64_t j = 0; j < kRowGroup; ++j) {
      const VecU16 next = load(rows[2 * j + 3] + i), after = load(rows[2 * j + 4] + i);
      const VecU16 made = sizeof(S) == 1 ? halved_bytes(a, b, c, next, after) : halved(a, b, c, next, after);
      hn::StoreU(made, d, out + j * stride + i);
      a = c, b = next, c = after;
    }
  });
}

/// T is a whole pixel of a level. Meanwhile as many bytes as there are components in are fetched from `ahead` on.
template <class T>
HWY_NOINLINE void halve_columns(const std::uint16_t* in, std::int64_t count, HWY_MAYBE_UNUSED const std::byte* ahead, std::uint16_t* out) {
  constexpr std::int64_t kComponents = sizeof(T) / sizeof(std::uint16_t);
#if HWY_TARGET == HWY_SCALAR || HWY_HAVE_SCALABLE
  const hn::CappedTag<std::uint16_t, 1> d;
  for (std::int64_t i = 0; i < count * kComponents; ++i) {
    const std::uint16_t* p = in + i / kComponents * 2 * kComponents + i % kComponents;
    const auto at = [&](std::int64_t pixel) HWY_ATTR { return hn::LoadU(d, p + pixel * kComponents); };
    hn::StoreU(halved(at(0), at(1), at(2), at(3), at(4)), d, out + i);
  }
#else
  const U16 d;
  const hn::Repartition<T, U16> dt;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(dt));
  const auto* src = reinterpret_cast<const T*>(in);
  auto* dst = reinterpret_cast<T*>(out);
  for (std::int64_t i = 0; i < count; i += lanes) {
    const T* p = src + 2 * i;
    hwy::Prefetch(ahead + 2 * i * kComponents);
    const auto lower = [&](std::int64_t pixel) HWY_ATTR { return hn::LoadU(dt, p + pixel); };
    const auto even = [&](std::int64_t pixel) HWY_ATTR { return hn::BitCast(d, hn::ConcatEven(dt, lower(pixel + lanes), lower(pixel))); };
    const auto odd = [&](std::int64_t pixel) HWY_ATTR { return hn::BitCast(d, hn::ConcatOdd(dt, lower(pixel + lanes), lower(pixel))); };
    hn::StoreU(hn::BitCast(dt, halved(even(0), odd(0), even(2), odd(2), even(4))), dt, dst + i);
  }
#endif
}

#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
/// StoreInterleaved2(), which on vectors of four blocks takes six shuffles instead of four.
template <class D, class V, class T>
HWY_INLINE void store_interleaved(D d, V even, V odd, T* out) {
#if HWY_TARGET <= HWY_AVX3
  const hn::Repartition<std::uint64_t, D> d64;
  HWY_ALIGN static constexpr std::uint64_t kHalvesInTurn[8] = {0, 4, 1, 5, 2, 6, 3, 7};
  const auto order = hn::SetTableIndices(d64, kHalvesInTurn);
  const auto turned = [&](V v) HWY_ATTR { return hn::BitCast(d, hn::TableLookupLanes(hn::BitCast(d64, v), order)); };
  const V e = turned(even), o = turned(odd);
  hn::StoreU(hn::InterleaveLower(d, e, o), d, out);
  hn::StoreU(hn::InterleaveUpper(d, e, o), d, out + hn::Lanes(d));
#else
  hn::StoreInterleaved2(even, odd, d, out);
#endif
}
#endif

/// `count` pixels to twice as many less four, beginning with the even one of the second. Fetches as halve_columns() does.
template <class T>
HWY_NOINLINE void double_columns(const std::uint16_t* in, std::int64_t count, HWY_MAYBE_UNUSED const std::byte* ahead, std::uint16_t* out) {
  constexpr std::int64_t kComponents = sizeof(T) / sizeof(std::uint16_t);
#if HWY_TARGET == HWY_SCALAR || HWY_HAVE_SCALABLE
  const hn::CappedTag<std::uint16_t, 1> d;
  for (std::int64_t i = 0; i < (count - 2) * kComponents; ++i) {
    const auto at = [&](std::int64_t pixel) HWY_ATTR { return hn::LoadU(d, in + i + pixel * kComponents); };
    std::uint16_t* pixel = out + i / kComponents * 2 * kComponents + i % kComponents;
    hn::StoreU(doubled_even(at(0), at(1), at(2)), d, pixel);
    hn::StoreU(doubled_odd(at(1), at(2)), d, pixel + kComponents);
  }
#else
  const U16 d;
  const hn::Repartition<T, U16> dt;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(dt));
  const auto* src = reinterpret_cast<const T*>(in);
  auto* dst = reinterpret_cast<T*>(out);
  for (std::int64_t i = 0; i + 2 < count; i += lanes) {
    hwy::Prefetch(ahead + 2 * i * kComponents);
    const auto at = [&](std::int64_t pixel) HWY_ATTR { return hn::BitCast(d, hn::LoadU(dt, src + i + pixel)); };
    const VecU16 b = at(1), c = at(2);
    store_interleaved(dt, hn::BitCast(dt, doubled_even(at(0), b, c)), hn::BitCast(dt, doubled_odd(b, c)), dst + 2 * i);
  }
#endif
}

/// Calls body(a pixel) with the type that holds a pixel of a level.
template <class Body>
HWY_INLINE void with_pixel(int channels, const Body& body) {
  switch (channels) {
    case 1:
      return body(std::uint16_t{});
    case 2:
      return body(std::uint32_t{});
    default:
      return body(std::uint64_t{});
  }
}

inline constexpr bool kToFour = true, kToThree = false;

/// Pixels of three channels to such with the room of four, or back. Reads and writes up to an element more.
template <bool kSpreads>
HWY_INLINE void move_pixels(const std::uint16_t* in, std::int64_t pixels, std::uint16_t* out) {
  constexpr std::int64_t kFrom = kSpreads ? 3 : 4, kTo = 7 - kFrom;
  std::int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
  // A block of 128 bits holds two pixels, in four words or three. Words go from block to block, and within one bytes to their
  // places: two pixels have as many words as one has elements, so both are counted alike.
  constexpr std::int64_t kBlock = 8;
  const U16 d;
  const hn::Repartition<std::uint32_t, U16> d32;
  const hn::Repartition<std::uint8_t, U16> d8;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto source_of = [](std::int64_t j) { return j / kTo * kFrom + std::min<std::int64_t>(j % kTo, 2); };
  HWY_ALIGN std::uint32_t words[kMaxLanes];
  HWY_ALIGN std::uint16_t places[kMaxLanes];
  for (std::int64_t j = 0; j < lanes / 2; ++j) words[j] = static_cast<std::uint32_t>(std::min(source_of(j), lanes / 2 - 1));
  for (std::int64_t j = 0; j < lanes; ++j) {
    const std::int64_t byte = 2 * std::min(source_of(j % kBlock), kBlock - 1);
    places[j] = static_cast<std::uint16_t>(byte + 256 * (byte + 1));
  }
  const auto word_order = hn::SetTableIndices(d32, words);
  const auto byte_order = hn::BitCast(d8, hn::Load(d, places));
  const auto by_words = [&](auto v) HWY_ATTR { return hn::BitCast(d8, hn::TableLookupLanes(hn::BitCast(d32, v), word_order)); };
  const auto by_bytes = [&](auto v) HWY_ATTR { return hn::TableLookupBytes(hn::BitCast(d8, v), byte_order); };
  // A vector is no longer than what is left of the shorter row.
  for (; 3 * (pixels - i) >= lanes; i += lanes / 4) {
    const VecU16 v = hn::LoadU(d, in + i * kFrom);
    hn::StoreU(hn::BitCast(d, kSpreads ? by_bytes(by_words(v)) : by_words(by_bytes(v))), d, out + i * kTo);
  }
#endif
  for (; i < pixels; ++i) std::memcpy(out + i * kTo, in + i * kFrom, 4 * sizeof *in);
}

/// kRowGroup rows of the level below from as many of a level, which begin one before them.
inline HWY_NOINLINE void double_rows(const std::uint16_t* const* rows, std::int64_t count, std::uint16_t* out, std::int64_t stride) {
  const U16 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < count; i += lanes) {
    const VecU16 a = hn::LoadU(d, rows[0] + i), b = hn::LoadU(d, rows[1] + i);
    const VecU16 c = hn::LoadU(d, rows[2] + i), e = hn::LoadU(d, rows[3] + i);
    hn::StoreU(doubled_even(a, b, c), d, out + i);
    hn::StoreU(doubled_odd(b, c), d, out + stride + i);
    hn::StoreU(doubled_even(b, c, e), d, out + 2 * stride + i);
    hn::StoreU(doubled_odd(c, e), d, out + 3 * stride + i);
  }
}

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // MOLLIFY_HALVING_INL_H_
