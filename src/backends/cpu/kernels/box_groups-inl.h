// Rows of floats to groups and back; included once for each instruction set. A group holds one pixel of each of several
// rows, kGroup numbers: windows are summed along groups without any exchange between lanes, and wherever they begin.

#if defined(MOLLIFY_BOX_GROUPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MOLLIFY_BOX_GROUPS_INL_H_
#undef MOLLIFY_BOX_GROUPS_INL_H_
#else
#define MOLLIFY_BOX_GROUPS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "backends/cpu/kernels/box_windows-inl.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/row_io-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

static_assert(kGroup == kBoxGroup);

inline constexpr std::size_t kVectorBytes = HWY_HAVE_SCALABLE ? 16 : 64;  ///< at most; scalable ones have at least 16

/// Numbers of a group that belong to one row.
template <int kChannels>
constexpr std::int64_t kRowLanes = kGroup / box_float_rows(kChannels);

/// Stores lanes in the precision of `p`. Highway's emulation makes infinities finite.
template <class D>
HWY_INLINE void store_as(HWY_MAYBE_UNUSED D d, hn::Vec<D> v, float* p) {
  if constexpr (std::is_same_v<hn::TFromD<D>, float>) {
    hn::StoreU(v, d, p);
  } else {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
    HWY_ALIGN double lanes[kMaxLanes];
    hn::Store(v, d, lanes);
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) p[i] = static_cast<float>(lanes[i]);
#else
    const hn::Rebind<float, D> d32;
    hn::StoreU(hn::DemoteTo(d32, v), d32, p);
#endif
  }
}
template <class D>
HWY_INLINE void store_as(D d, hn::Vec<D> v, double* p) {
  hn::StoreU(v, d, p);
}

/// Stores lanes of one row, four components a pixel, where they belong in the groups of their pixels.
template <class D, class T>
HWY_INLINE void store_quads(D d, hn::Vec<D> v, T* to) {
  constexpr std::size_t kLanes = hn::MaxLanes(D());
  if constexpr (kLanes <= kQuad) {
    store_as(d, v, to);
  } else if constexpr (!std::is_same_v<hn::TFromD<D>, T>) {
    const hn::Rebind<T, D> stored;
    store_quads(stored, hn::DemoteTo(stored, v), to);
  } else {
    const hn::Half<D> half;
    store_quads(half, hn::LowerHalf(half, v), to);
    store_quads(half, upper_half(half, v), to + kLanes / 2 / kQuad * kGroup);
  }
}

#if MOLLIFY_HAS_BLOCKS
/// Whole pixels of three channels in a vector, packed or each in a block of its own.
template <class D>
class PixelsOfThree {
 public:
  explicit PixelsOfThree(D d) : d_(d) {
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
      spread_[i] = static_cast<std::int32_t>(i / 4 * 3 + std::min<std::size_t>(i % 4, 2));
      packed_[i] = static_cast<std::int32_t>(std::min(i / 3 * 4 + i % 3, hn::Lanes(d) - 1));
    }
  }

  /// From pixels side by side; what is fourth in a block counts for nothing.
  HWY_INLINE hn::Vec<D> spread(hn::Vec<D> v) const { return hn::TableLookupLanes(v, hn::SetTableIndices(d_, spread_)); }
  /// To pixels side by side; the vector's last quarter counts for nothing.
  HWY_INLINE hn::Vec<D> packed(hn::Vec<D> v) const { return hn::TableLookupLanes(v, hn::SetTableIndices(d_, packed_)); }

 private:
  D d_;
  HWY_ALIGN std::int32_t spread_[kMaxLanes], packed_[kMaxLanes];
};
#endif

/// `pixels` of kBoxRows rows, which lie `stride` apart, to as many groups, from lane `lane` of each on. May write up to a
/// vector's worth of groups more.
template <int kChannels, class T>
HWY_INLINE void rows_to_groups(const T* rows, std::int64_t stride, std::int64_t pixels, std::int64_t lane, T* groups) {
  constexpr std::int64_t kLanes = kRowLanes<kChannels>;
#if MOLLIFY_HAS_BLOCKS
  if constexpr (kChannels == 3 && sizeof(T) == 4) {
    const hn::CappedTag<float, kVectorBytes / 4> d;
    const PixelsOfThree three(d);
    const auto step = static_cast<std::int64_t>(hn::Lanes(d)) / kQuad;
    for (std::int64_t i = 0; i < pixels; i += step) {
      const T* p = rows + i * kChannels;
      const auto row = [&](std::int64_t k) HWY_ATTR { return three.spread(hn::LoadU(d, p + k * stride)); };
      store_groups(d, row(0), row(1), row(2), row(3), groups + i * kGroup);
    }
    return;
  } else if constexpr (kLanes == kQuad) {
    const hn::CappedTag<T, kQuad> d;
    for (std::int64_t i = 0; i < pixels; ++i) {
      for (std::int64_t k = 0; k < kBoxRows; ++k) {
        const T* from = rows + k * stride + i * kChannels;
        T* to = groups + i * kGroup + lane + k * kQuad;
        for (std::size_t c = 0; c < kQuad; c += hn::Lanes(d)) hn::StoreU(hn::LoadU(d, from + c), d, to + c);
      }
    }
    return;
  } else if constexpr (sizeof(T) == 4) {
    const hn::CappedTag<float, kVectorBytes / 4> d;
    const hn::Repartition<std::uint64_t, decltype(d)> pairs;
    const auto of_pairs = [&](auto v) HWY_ATTR { return hn::BitCast(pairs, v); };
    const auto put = [&](auto v, std::int64_t pixel, std::int64_t row_lane) HWY_ATTR {
      store_blocks(d, hn::BitCast(d, v), groups + pixel * kGroup + lane + row_lane, kQuad / kChannels * kGroup);
    };
    const auto step = static_cast<std::int64_t>(hn::Lanes(d)) / kChannels;
    for (std::int64_t i = 0; i < pixels; i += step) {
      const T* p = rows + i * kChannels;
      const auto r0 = hn::LoadU(d, p), r1 = hn::LoadU(d, p + stride);
      const auto r2 = hn::LoadU(d, p + 2 * stride), r3 = hn::LoadU(d, p + 3 * stride);
      if constexpr (kChannels == 2) {
        put(hn::InterleaveLower(pairs, of_pairs(r0), of_pairs(r1)), i, 0);
        put(hn::InterleaveUpper(pairs, of_pairs(r0), of_pairs(r1)), i + 1, 0);
        put(hn::InterleaveLower(pairs, of_pairs(r2), of_pairs(r3)), i, kQuad);
        put(hn::InterleaveUpper(pairs, of_pairs(r2), of_pairs(r3)), i + 1, kQuad);
      } else {
        const auto a = of_pairs(hn::InterleaveLower(d, r0, r1)), b = of_pairs(hn::InterleaveUpper(d, r0, r1));
        const auto c = of_pairs(hn::InterleaveLower(d, r2, r3)), e = of_pairs(hn::InterleaveUpper(d, r2, r3));
        put(hn::InterleaveLower(pairs, a, c), i, 0), put(hn::InterleaveUpper(pairs, a, c), i + 1, 0);
        put(hn::InterleaveLower(pairs, b, e), i + 2, 0), put(hn::InterleaveUpper(pairs, b, e), i + 3, 0);
      }
    }
    return;
  }
#endif
  for (std::int64_t i = 0; i < pixels; ++i) {
    for (std::int64_t k = 0; k < kBoxRows; ++k) {
      for (std::int64_t c = 0; c < kChannels; ++c) {
        groups[i * kGroup + lane + k * kLanes + c] = rows[k * stride + i * kChannels + c];
      }
    }
  }
}

#if MOLLIFY_HAS_BLOCKS
/// Groups of as many pixels as a vector holds, four components each, to vectors of rows: the opposite of store_groups().
template <class D>
HWY_INLINE void load_groups(D d, const float* from, hn::Vec<D>& r0, hn::Vec<D>& r1, hn::Vec<D>& r2, hn::Vec<D>& r3) {
  constexpr std::size_t kLanes = hn::MaxLanes(D());
  const auto g0 = hn::LoadU(d, from), g1 = hn::LoadU(d, from + kLanes);
  const auto g2 = hn::LoadU(d, from + 2 * kLanes), g3 = hn::LoadU(d, from + 3 * kLanes);
  if constexpr (kLanes == kQuad) {
    r0 = g0, r1 = g1, r2 = g2, r3 = g3;
  } else if constexpr (kLanes == 2 * kQuad) {
    r0 = hn::ConcatLowerLower(d, g2, g0), r1 = hn::ConcatUpperUpper(d, g2, g0);
    r2 = hn::ConcatLowerLower(d, g3, g1), r3 = hn::ConcatUpperUpper(d, g3, g1);
  } else {
    transpose_blocks(d, g0, g1, g2, g3, r0, r1, r2, r3);
  }
}

/// `pixels` groups, four components a pixel and whole vectors, to kBoxRows rows of the destination.
template <bool kStreams>
HWY_INLINE void groups_to_destination(const float* groups, std::int64_t pixels, std::byte* out, std::int64_t row_bytes) {
  const hn::CappedTag<float, kVectorBytes / 4> d;
  const auto put = [&](auto v, std::int64_t k, std::int64_t i) HWY_ATTR {
    auto* to = reinterpret_cast<float*>(out + k * row_bytes) + i * kQuad;
    if constexpr (kStreams) {
      hn::Stream(v, d, to);
    } else {
      hn::StoreU(v, d, to);
    }
  };
  for (std::int64_t i = 0; i < pixels; i += static_cast<std::int64_t>(hn::Lanes(d)) / kQuad) {
    hn::Vec<decltype(d)> r0, r1, r2, r3;
    load_groups(d, groups + i * kGroup, r0, r1, r2, r3);
    put(r0, 0, i), put(r1, 1, i), put(r2, 2, i), put(r3, 3, i);
  }
}

/// The vector whose blocks lie `stride` apart.
template <class D, class T>
HWY_INLINE hn::Vec<D> load_blocks(D d, const T* from, std::int64_t stride) {
  constexpr std::size_t kBlock = 16 / sizeof(T);
  if constexpr (hn::MaxLanes(D()) <= kBlock) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    constexpr auto kRows = static_cast<std::int64_t>(hn::MaxLanes(hn::Half<D>()) / kBlock);
    return hn::Combine(d, load_blocks(half, from + kRows * stride, stride), load_blocks(half, from, stride));
  }
}
#endif

/// `pixels` groups to kBoxRows rows, `stride` apart, from lane `lane` of each on. May read and write a vector's worth more.
template <int kChannels, class T, class P>
HWY_INLINE void groups_to_rows(const T* groups, std::int64_t pixels, std::int64_t lane, P* rows, std::int64_t stride) {
  constexpr std::int64_t kLanes = kRowLanes<kChannels>;
#if MOLLIFY_HAS_BLOCKS
  if constexpr (kChannels == 3 && std::is_same_v<T, float> && std::is_same_v<P, float>) {
    const hn::CappedTag<float, kVectorBytes / 4> d;
    const PixelsOfThree three(d);
    for (std::int64_t i = 0; i < pixels; i += static_cast<std::int64_t>(hn::Lanes(d)) / kQuad) {
      hn::Vec<decltype(d)> r0, r1, r2, r3;
      load_groups(d, groups + i * kGroup, r0, r1, r2, r3);
      P* to = rows + i * kChannels;  // what a vector writes too much is overwritten by the next
      hn::StoreU(three.packed(r0), d, to), hn::StoreU(three.packed(r1), d, to + stride);
      hn::StoreU(three.packed(r2), d, to + 2 * stride), hn::StoreU(three.packed(r3), d, to + 3 * stride);
    }
    return;
  } else if constexpr (kLanes == kQuad) {
    const hn::CappedTag<T, kQuad> d;
    for (std::int64_t i = 0; i < pixels; ++i) {  // the fourth of three channels is overwritten by the next pixel
      for (std::int64_t k = 0; k < kBoxRows; ++k) {
        const T* from = groups + i * kGroup + lane + k * kQuad;
        P* to = rows + k * stride + i * kChannels;
        for (std::size_t c = 0; c < kQuad; c += hn::Lanes(d)) store_as(d, hn::LoadU(d, from + c), to + c);
      }
    }
    return;
  } else if constexpr (sizeof(T) == 4) {
    const hn::CappedTag<float, kVectorBytes / 4> d;
    const hn::Repartition<std::uint64_t, decltype(d)> pairs;
    const auto get = [&](std::int64_t pixel, std::int64_t row_lane)
                         HWY_ATTR { return load_blocks(d, groups + pixel * kGroup + lane + row_lane, kQuad / kChannels * kGroup); };
    const auto put = [&](auto v, std::int64_t k, std::int64_t pixel)
                         HWY_ATTR { hn::StoreU(hn::BitCast(d, v), d, rows + k * stride + pixel * kChannels); };
    const auto of_pairs = [&](auto v) HWY_ATTR { return hn::BitCast(pairs, v); };
    const auto step = static_cast<std::int64_t>(hn::Lanes(d)) / kChannels;
    for (std::int64_t i = 0; i < pixels; i += step) {
      if constexpr (kChannels == 2) {
        const auto a = of_pairs(get(i, 0)), b = of_pairs(get(i + 1, 0));
        const auto c = of_pairs(get(i, kQuad)), e = of_pairs(get(i + 1, kQuad));
        put(hn::InterleaveLower(pairs, a, b), 0, i), put(hn::InterleaveUpper(pairs, a, b), 1, i);
        put(hn::InterleaveLower(pairs, c, e), 2, i), put(hn::InterleaveUpper(pairs, c, e), 3, i);
      } else {
        const auto t0 = get(i, 0), t1 = get(i + 1, 0), t2 = get(i + 2, 0), t3 = get(i + 3, 0);
        const auto a = of_pairs(hn::InterleaveLower(d, t0, t1)), b = of_pairs(hn::InterleaveUpper(d, t0, t1));
        const auto c = of_pairs(hn::InterleaveLower(d, t2, t3)), e = of_pairs(hn::InterleaveUpper(d, t2, t3));
        put(hn::InterleaveLower(pairs, a, c), 0, i), put(hn::InterleaveUpper(pairs, a, c), 1, i);
        put(hn::InterleaveLower(pairs, b, e), 2, i), put(hn::InterleaveUpper(pairs, b, e), 3, i);
      }
    }
    return;
  }
#endif
  for (std::int64_t i = 0; i < pixels; ++i) {
    for (std::int64_t k = 0; k < kBoxRows; ++k) {
      for (std::int64_t c = 0; c < kChannels; ++c) {
        rows[k * stride + i * kChannels + c] = static_cast<P>(groups[i * kGroup + lane + k * kLanes + c]);
      }
    }
  }
}

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // MOLLIFY_BOX_GROUPS_INL_H_
