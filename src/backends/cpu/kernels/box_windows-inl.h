// Windows of integer sums along rows, for four rows at once; included once for each instruction set. What is kept in a
// vector are quads: four components of each row, so that all that a window needs to know of the one before is in the same
// block of 16 bytes of the vector before.

#if defined(MOLLIFY_BOX_WINDOWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MOLLIFY_BOX_WINDOWS_INL_H_
#undef MOLLIFY_BOX_WINDOWS_INL_H_
#else
#define MOLLIFY_BOX_WINDOWS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/row_io-inl.h"

// Without blocks of 16 bytes to rely on, windows are made one component at a time.
#undef MOLLIFY_HAS_BLOCKS
#if HWY_TARGET == HWY_SCALAR || HWY_HAVE_SCALABLE
#define MOLLIFY_HAS_BLOCKS 0
#else
#define MOLLIFY_HAS_BLOCKS 1
#endif

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

static_assert(kBoxRows == 4);

using I32 = hn::RebindToSigned<F32>;
using VecI32 = hn::Vec<I32>;

inline constexpr std::int64_t kQuad = 4;                  ///< components of one row that lie together in a vector
inline constexpr std::int64_t kGroup = kQuad * kBoxRows;  ///< a quad of each row
inline constexpr std::int64_t kQuads = 4;                 ///< of each row that are made at once
inline constexpr std::int64_t kStep = kQuad * kQuads;     ///< components of each row that are made at once

/// Asks the memory for what is needed a while later: to the second cache, the first is too small for so many rows.
HWY_INLINE void fetch_far(const std::byte* p) {
#if HWY_COMPILER_GCC || HWY_COMPILER_CLANG
  __builtin_prefetch(p, 0, 2);
#else
  hwy::Prefetch(p);
#endif
}

/// Rows of sums. Before each row lie zeros, a pixel at least; behind it, a vector may be read.
template <class Sum>
struct SumRows {
  const Sum* sums;
  std::int64_t stride;
};

/// Sums of whole pixels of four channels: one of each row, then the next of each. As above zeros lie before it.
template <class Sum>
struct SumGroups {
  const Sum* sums;
};

template <class Half, class V>
HWY_INLINE hn::Vec<Half> upper_half(Half half, V v) {
#if HWY_TARGET == HWY_SCALAR  // has no such halves; nobody asks for them, but the compiler wants to know
  static_cast<void>(v);
  return hn::Zero(half);
#else
  return hn::UpperHalf(half, v);
#endif
}

/// The blocks of a vector, to one row each.
template <class D, class T>
HWY_INLINE void store_blocks(D d, hn::Vec<D> v, T* to, std::int64_t stride) {
  constexpr std::size_t kBlock = 16 / sizeof(T);
  if constexpr (hn::MaxLanes(D()) == kBlock) {
    hn::StoreU(v, d, to);
  } else {
    const hn::Half<D> half;
    constexpr auto kRows = static_cast<std::int64_t>(hn::MaxLanes(hn::Half<D>()) / kBlock);
    store_blocks(half, hn::LowerHalf(half, v), to, stride);
    store_blocks(half, upper_half(half, v), to + kRows * stride, stride);
  }
}

#if MOLLIFY_HAS_BLOCKS

HWY_INLINE VecI32 load_sums(I32 d, const std::uint16_t* p) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::uint16_t, I32>(), p));
}
HWY_INLINE VecI32 load_sums(I32 d, const std::uint32_t* p) {
  return hn::BitCast(d, hn::LoadU(hn::RebindToUnsigned<I32>(), p));
}

HWY_INLINE VecI32 load_sums(I32 d, const std::int16_t* p) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::int16_t, I32>(), p));
}

/// What enters less what leaves.
template <class Sum>
HWY_INLINE VecI32 difference_of(I32 d, const Sum* enters, const Sum* leaves) {
  return hn::Sub(load_sums(d, enters), load_sums(d, leaves));
}
HWY_INLINE VecI32 difference_of(I32 d, const std::int16_t* enters, const std::int16_t* leaves) {
  const hn::Rebind<std::int16_t, I32> d16;  // neither is negative: it fits
  return hn::PromoteTo(d, hn::Sub(hn::LoadU(d16, enters), hn::LoadU(d16, leaves)));
}

/// Block j of vector i to block i of vector j; four blocks each.
template <class D>
HWY_INLINE void transpose_blocks(D d, hn::Vec<D> v0, hn::Vec<D> v1, hn::Vec<D> v2, hn::Vec<D> v3, hn::Vec<D>& t0, hn::Vec<D>& t1,
                                 hn::Vec<D>& t2, hn::Vec<D>& t3) {
  const auto even = hn::ConcatLowerLower(d, v2, v0), odd = hn::ConcatLowerLower(d, v3, v1);
  const auto even2 = hn::ConcatUpperUpper(d, v2, v0), odd2 = hn::ConcatUpperUpper(d, v3, v1);
  t0 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(odd), even), t1 = hn::OddEvenBlocks(odd, hn::SwapAdjacentBlocks(even));
  t2 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(odd2), even2), t3 = hn::OddEvenBlocks(odd2, hn::SwapAdjacentBlocks(even2));
}

/// Four vectors, one a row, to groups: four elements of each row, then the next four of each...
template <class D>
HWY_INLINE void store_groups(D d, hn::Vec<D> r0, hn::Vec<D> r1, hn::Vec<D> r2, hn::Vec<D> r3, hn::TFromD<D>* to) {
  constexpr std::size_t kLanes = hn::MaxLanes(D());
  constexpr std::size_t kBlock = 16 / sizeof(hn::TFromD<D>);
  if constexpr (kLanes == kQuad) {
    hn::StoreU(r0, d, to), hn::StoreU(r1, d, to + kLanes);
    hn::StoreU(r2, d, to + 2 * kLanes), hn::StoreU(r3, d, to + 3 * kLanes);
  } else if constexpr (sizeof(hn::TFromD<D>) == 2) {
    const hn::Repartition<std::uint64_t, D> quads;
    hn::StoreInterleaved4(hn::BitCast(quads, r0), hn::BitCast(quads, r1), hn::BitCast(quads, r2), hn::BitCast(quads, r3), quads,
                          reinterpret_cast<std::uint64_t*>(to));
  } else if constexpr (kLanes == 2 * kBlock) {
    hn::StoreU(hn::ConcatLowerLower(d, r1, r0), d, to), hn::StoreU(hn::ConcatLowerLower(d, r3, r2), d, to + kLanes);
    hn::StoreU(hn::ConcatUpperUpper(d, r1, r0), d, to + 2 * kLanes);
    hn::StoreU(hn::ConcatUpperUpper(d, r3, r2), d, to + 3 * kLanes);
  } else {
    hn::Vec<D> g0, g1, g2, g3;
    transpose_blocks(d, r0, r1, r2, r3, g0, g1, g2, g3);
    hn::StoreU(g0, d, to), hn::StoreU(g1, d, to + kLanes);
    hn::StoreU(g2, d, to + 2 * kLanes), hn::StoreU(g3, d, to + 3 * kLanes);
  }
}

/// Within each block: every lane plus those before it of the same channel.
template <int kChannels>
HWY_INLINE VecI32 sum_along_quad(HWY_MAYBE_UNUSED I32 d, VecI32 v) {
  if constexpr (kChannels == 1) v = hn::Add(v, hn::ShiftLeftLanes<1>(d, v));
  if constexpr (kChannels <= 2) v = hn::Add(v, hn::ShiftLeftLanes<2>(d, v));
  if constexpr (kChannels == 3) v = hn::Add(v, hn::ShiftLeftLanes<3>(d, v));
  return v;
}

/// Within each block: of every lane's channel, the last lane.
template <int kChannels>
HWY_INLINE VecI32 last_of_quad(HWY_MAYBE_UNUSED I32 d, VecI32 v) {
  if constexpr (kChannels == 1) return hn::Broadcast<3>(v);
  if constexpr (kChannels == 2) {
    const hn::Repartition<std::uint64_t, I32> pairs;
    return hn::BitCast(d, hn::InterleaveUpper(pairs, hn::BitCast(pairs, v), hn::BitCast(pairs, v)));
  }
  if constexpr (kChannels == 3) {
    HWY_ALIGN static constexpr std::uint8_t kLast[16] = {4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 4, 5, 6, 7};
    const hn::Repartition<std::uint8_t, I32> d8;
    return hn::BitCast(d, hn::TableLookupBytes(hn::BitCast(d8, v), hn::LoadDup128(d8, kLast)));
  }
  return v;
}

/// Stores the means of windows, rounded to S: quads q0 to q3 of some rows, from component i of row `row` on.
template <class S>
struct StoreMeans {
  VecF32 scale;
  S* out;
  std::int64_t stride;

  /// The rounded mean, as the bits behind those of an exponent.
  HWY_INLINE hn::Vec<hn::RebindToUnsigned<F32>> mean(VecI32 sum) const {
    const F32 d;
    const VecF32 whole = hn::Set(d, 0x1p23F);  // from here on floats have no fraction
    return hn::BitCast(hn::RebindToUnsigned<F32>(), hn::Add(hn::Mul(hn::ConvertTo(d, sum), scale), whole));
  }

  HWY_INLINE void operator()(std::int64_t i, std::int64_t row, VecI32 q0, VecI32 q1, VecI32 q2, VecI32 q3) const {
    const hn::RebindToUnsigned<F32> d;
    const hn::Repartition<std::uint8_t, F32> d8;
    const hn::Repartition<S, F32> stored;
    const auto exponent = hn::Set(d, 0x4B000000);  // of every mean; shifted out of all but the first
    const auto store = [&](auto packed, const std::uint8_t* transpose, std::int64_t at) HWY_ATTR {
      const auto ordered = hn::TableLookupBytes(hn::BitCast(d8, packed), hn::LoadDup128(d8, transpose));
      store_blocks(stored, hn::BitCast(stored, ordered), out + row * stride + at, stride);
    };
    if constexpr (sizeof(S) == 1) {
      HWY_ALIGN static constexpr std::uint8_t kTranspose[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
      const auto three = hn::Xor3(mean(q0), hn::ShiftLeft<8>(mean(q1)), hn::ShiftLeft<16>(mean(q2)));
      store(hn::Xor3(three, hn::ShiftLeft<24>(mean(q3)), exponent), kTranspose, i);
    } else {
      HWY_ALIGN static constexpr std::uint8_t kTranspose[16] = {0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15};
      store(hn::Xor3(mean(q0), hn::ShiftLeft<16>(mean(q1)), exponent), kTranspose, i);
      store(hn::Xor3(mean(q2), hn::ShiftLeft<16>(mean(q3)), exponent), kTranspose, i + 2 * kQuad);
    }
  }
};

/// The same without dividing, for another component to be made of them.
struct StoreSums {
  float* out;
  std::int64_t stride;

  HWY_INLINE void operator()(std::int64_t i, std::int64_t row, VecI32 q0, VecI32 q1, VecI32 q2, VecI32 q3) const {
    const F32 d;
    float* to = out + row * stride + i;
    store_blocks(d, hn::ConvertTo(d, q0), to, stride);
    store_blocks(d, hn::ConvertTo(d, q1), to + kQuad, stride);
    store_blocks(d, hn::ConvertTo(d, q2), to + 2 * kQuad, stride);
    store_blocks(d, hn::ConvertTo(d, q3), to + 3 * kQuad, stride);
  }
};

/// Windows along rows of any number of channels: differences between what enters and what leaves come in quads and are
/// summed up within each and from one to the next.
template <int kChannels, class Sum>
class RowWindows {
 public:
  static constexpr std::int64_t kLanes = HWY_MAX_BYTES / 4;

  RowWindows(const SumRows<Sum>& rows, std::int64_t window) : rows_(rows), window_(window) {
    for (std::int64_t k = 0; k < kBoxRows; ++k) begin_row(rows.sums + k * rows.stride, running_ + k * kQuad);
  }

  /// Makes components [from, to) of every row and up to kStep - 1 more, after those before `from`; calls fetch(i) for each
  /// kStep of them.
  template <class Fetch, class Store>
  HWY_INLINE void make(std::int64_t from, std::int64_t to, const Fetch& fetch, const Store& store) {
    const I32 d;
    for (std::int64_t i = from; i < to; i += kStep) {
      fetch(i);
      HWY_ALIGN std::int32_t quads[kQuads * kGroup];
      const Sum* leaving = rows_.sums + i - kChannels;
      const auto difference = [&](std::int64_t k, std::int64_t j) HWY_ATTR {
        const Sum* p = leaving + k * rows_.stride + j;
        return difference_of(d, p + window_ * kChannels, p);
      };
      for (std::int64_t j = 0; j < kStep; j += kLanes) {
        store_groups(d, difference(0, j), difference(1, j), difference(2, j), difference(3, j), quads + j * kBoxRows);
      }
      for (std::int64_t part = 0; part < kGroup; part += kLanes) {
        const auto quad = [&](std::int64_t k) HWY_ATTR { return sum_along_quad<kChannels>(d, hn::Load(d, quads + k * kGroup + part)); };
        const VecI32 q0 = hn::Add(quad(0), hn::Load(d, running_ + part));
        const VecI32 q1 = hn::Add(quad(1), last_of_quad<kChannels>(d, q0));
        const VecI32 q2 = hn::Add(quad(2), last_of_quad<kChannels>(d, q1));
        const VecI32 q3 = hn::Add(quad(3), last_of_quad<kChannels>(d, q2));
        hn::Store(last_of_quad<kChannels>(d, q3), d, running_ + part);
        store(i, part / kQuad, q0, q1, q2, q3);
      }
    }
  }

 private:
  /// What the window before the first holds, for each component of a quad.
  HWY_INLINE void begin_row(const Sum* row, std::int32_t* running) const {
    const I32 d;
    const std::int64_t count = (window_ - 1) * kChannels;
    // As many vectors as there are channels begin with the same one again.
    VecI32 a = hn::Zero(d), b = hn::Zero(d), c = hn::Zero(d), e = hn::Zero(d);
    std::int64_t i = 0;
    for (; i + kChannels * kLanes <= count; i += kChannels * kLanes) {
      a = hn::Add(a, load_sums(d, row + i));
      if constexpr (kChannels > 1) b = hn::Add(b, load_sums(d, row + i + kLanes));
      if constexpr (kChannels > 2) c = hn::Add(c, load_sums(d, row + i + 2 * kLanes));
      if constexpr (kChannels > 3) e = hn::Add(e, load_sums(d, row + i + 3 * kLanes));
    }
    HWY_ALIGN std::int32_t parts[4 * kLanes];
    hn::Store(a, d, parts), hn::Store(b, d, parts + kLanes);
    hn::Store(c, d, parts + 2 * kLanes), hn::Store(e, d, parts + 3 * kLanes);
    std::uint32_t total[kChannels] = {};
    for (std::int64_t j = 0; j < kChannels * kLanes; ++j) total[j % kChannels] += static_cast<std::uint32_t>(parts[j]);
    for (; i < count; ++i) total[i % kChannels] += row[i];
    for (std::int64_t j = 0; j < kQuad; ++j) running[j] = static_cast<std::int32_t>(total[j % kChannels]);
  }

  SumRows<Sum> rows_;
  std::int64_t window_;
  HWY_ALIGN std::int32_t running_[kGroup];
};

/// Windows of pixels of four channels: a pixel of each row makes a group, so nothing has to be summed within vectors.
template <class Sum>
class GroupWindows {
 public:
  static constexpr std::int64_t kLanes = HWY_MAX_BYTES / 4;

  GroupWindows(const SumGroups<Sum>& groups, std::int64_t window) : groups_(groups), window_(window) {
    const I32 d;
    for (std::int64_t part = 0; part < kGroup; part += kLanes) {
      VecI32 sum = hn::Zero(d);
      for (std::int64_t i = 0; i < window - 1; ++i) sum = hn::Add(sum, load_sums(d, groups.sums + i * kGroup + part));
      hn::Store(sum, d, running_ + part);
    }
  }

  /// As that of RowWindows.
  template <class Fetch, class Store>
  HWY_INLINE void make(std::int64_t from, std::int64_t to, const Fetch& fetch, const Store& store) {
    const I32 d;
    for (std::int64_t part = 0; part < kGroup; part += kLanes) {
      VecI32 running = hn::Load(d, running_ + part);
      const Sum* leaving = groups_.sums + (from / kQuad - 1) * kGroup + part;
      const Sum* entering = leaving + window_ * kGroup;
      for (std::int64_t i = from; i < to; i += kStep, leaving += kQuads * kGroup, entering += kQuads * kGroup) {
        if (part == 0) fetch(i);
        const auto difference = [&](std::int64_t k) HWY_ATTR { return difference_of(d, entering + k * kGroup, leaving + k * kGroup); };
        const VecI32 q0 = hn::Add(running, difference(0));
        const VecI32 q1 = hn::Add(q0, difference(1));
        const VecI32 q2 = hn::Add(q1, difference(2));
        running = hn::Add(q2, difference(3));
        store(i, part / kQuad, q0, q1, q2, running);
      }
      hn::Store(running, d, running_ + part);
    }
  }

 private:
  SumGroups<Sum> groups_;
  std::int64_t window_;
  HWY_ALIGN std::int32_t running_[kGroup];
};

#else

/// Sums of the windows of one row, one after the other.
template <int kChannels, class Sum>
HWY_INLINE void plain_windows(const Sum* sums, std::int64_t window, std::int64_t count, float* out) {
  std::uint32_t running[kChannels] = {};
  for (std::int64_t i = 0; i < (window - 1) * kChannels; ++i) running[i % kChannels] += sums[i];
  for (std::int64_t i = 0; i < count; ++i) {
    const Sum* leaving = sums + i - kChannels;
    std::uint32_t& sum = running[i % kChannels];
    sum += static_cast<std::uint32_t>(leaving[window * kChannels]) - static_cast<std::uint32_t>(*leaving);
    out[i] = static_cast<float>(static_cast<std::int32_t>(sum));
  }
}

#endif

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // MOLLIFY_BOX_WINDOWS_INL_H_
