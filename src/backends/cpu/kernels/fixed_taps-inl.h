// Symmetric taps in 16-bit integers (FixedTaps), and how finished sums become rows of bytes, for one instruction set. Numbers
// are held as value * 256, taps as fractions of 65536. Two at the same distance share one multiplication: their mean times
// twice the tap, of which the high half is summed.

#if defined(MOLLIFY_FIXED_TAPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MOLLIFY_FIXED_TAPS_INL_H_
#undef MOLLIFY_FIXED_TAPS_INL_H_
#else
#define MOLLIFY_FIXED_TAPS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/row_io-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

using U16 = hn::ScalableTag<std::uint16_t>;
using VecU16 = hn::Vec<U16>;

/// Calls body(i) for i = 0, lanes, 2 * lanes, ... and once more so that the last vector ends with the row: what it does
/// twice comes out the same. `count` is at least `lanes`.
template <class Body>
HWY_INLINE void for_vectors(std::int64_t count, std::int64_t lanes, const Body& body) {
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) body(i);
  if (i < count) body(count - lanes);
}

HWY_INLINE VecU16 product_of_pair(VecU16 a, VecU16 b, VecU16 weight) {
  return hn::MulHigh(hn::AverageRound(a, b), weight);
}

/// Taps of a small radius, in registers, for loops that know how many there are: with one pair of taps the loops for any
/// number take as long for what surrounds them as for the taps.
template <int kRadius>
struct FewTaps {
  VecU16 weights[kRadius + 1];

  explicit FewTaps(const FixedTaps& taps) {
    for (std::size_t t = 0; t <= kRadius; ++t) weights[t] = hn::Set(U16(), taps.weights[t]);
  }

  /// in(offset): what lies so far from the middle.
  template <class In>
  HWY_INLINE VecU16 sum(const In& in) const {
    VecU16 sum = hn::MulHigh(in(0), weights[kRadius]);
    // Without HWY_UNROLL, for which GCC 12 at -O1 loses a turn.
    for (int t = 0; t < kRadius; ++t) sum = hn::Add(sum, product_of_pair(in(t - kRadius), in(kRadius - t), weights[t]));
    return sum;
  }
};

/// filter_columns_u16() for few taps.
template <int kRadius>
HWY_INLINE void filter_columns_few(const FewTaps<kRadius>& taps, std::int64_t channels, const std::uint16_t* row, std::int64_t count,
                                   const std::byte* ahead, std::uint16_t* out) {
  const U16 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < count; i += 2 * lanes) {
    hwy::Prefetch(ahead + i);
    for (std::int64_t j = i; j < i + 2 * lanes; j += lanes) {
      const std::uint16_t* middle = row + j + kRadius * channels;
      hn::StoreU(taps.sum([&](int offset) HWY_ATTR { return hn::LoadU(d, middle + offset * channels); }), d, out + j);
    }
  }
}

/// And for any number.
HWY_INLINE void filter_columns_many(const FixedTaps& taps, std::int64_t channels, const std::uint16_t* row, std::int64_t count,
                                    const std::byte* ahead, std::uint16_t* out) {
  const U16 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t radius = taps.radius();
  const std::uint16_t* weights = taps.weights.data();
  const VecU16 zero = hn::Zero(d);
  for (std::int64_t i = 0; i < count; i += 4 * lanes) {
    hwy::Prefetch(ahead + i);
    hwy::Prefetch(ahead + i + 2 * lanes);
    VecU16 a = zero, b = zero, c = zero, e = zero;
    const std::uint16_t* left = row + i;
    const std::uint16_t* right = row + i + 2 * radius * channels;
    std::int64_t t = 0;
    for (const std::int64_t end : taps.runs) {
      if (t > 0) {
        a = hn::AverageRound(a, zero), b = hn::AverageRound(b, zero);
        c = hn::AverageRound(c, zero), e = hn::AverageRound(e, zero);
      }
      for (; t < end; ++t, left += channels, right -= channels) {
        const VecU16 w = hn::Set(d, weights[t]);
        const auto pair = [&](std::int64_t at) HWY_ATTR { return product_of_pair(hn::LoadU(d, left + at), hn::LoadU(d, right + at), w); };
        a = hn::Add(a, pair(0)), b = hn::Add(b, pair(lanes));
        c = hn::Add(c, pair(2 * lanes)), e = hn::Add(e, pair(3 * lanes));
      }
    }
    const VecU16 w = hn::Set(d, weights[radius]);
    const auto finish = [&](VecU16 sum, std::int64_t at)
                            HWY_ATTR { hn::StoreU(hn::Add(sum, hn::MulHigh(hn::LoadU(d, left + at), w)), d, out + i + at); };
    finish(a, 0), finish(b, lanes), finish(c, 2 * lanes), finish(e, 3 * lanes);
  }
}

/// Calls body(the radius), as a constant where there are few taps, 0 otherwise.
template <class Body>
HWY_INLINE void with_few_taps(const FixedTaps& taps, const Body& body) {
  if (taps.runs.size() == 1) {
    switch (taps.radius()) {
      case 1:
        return body(std::integral_constant<int, 1>());
      case 2:
        return body(std::integral_constant<int, 2>());
      default:
        break;
    }
  }
  body(std::integral_constant<int, 0>());
}

/// The taps over a row. `row` has 2 * radius pixels more than `out`; both have room for four vectors more. Meanwhile as many
/// bytes as are made are fetched from `ahead` on.
HWY_INLINE void filter_columns_u16(const FixedTaps& taps, std::int64_t channels, const std::uint16_t* row, std::int64_t count,
                                   const std::byte* ahead, std::uint16_t* out) {
  with_few_taps(taps, [&](auto radius) HWY_ATTR {
    constexpr int kRadius = decltype(radius)::value;
    if constexpr (kRadius > 0) {
      filter_columns_few(FewTaps<kRadius>(taps), channels, row, count, ahead, out);
    } else {
      filter_columns_many(taps, channels, row, count, ahead, out);
    }
  });
}

/// sum[j] += mean(up[j], down[j]) * weight, the high half
HWY_INLINE void add_pairs(std::uint16_t weight, VecU16 up0, VecU16 up1, VecU16 up2, VecU16 up3, VecU16 down0, VecU16 down1, VecU16 down2,
                          VecU16 down3, VecU16& sum0, VecU16& sum1, VecU16& sum2, VecU16& sum3) {
  const VecU16 w = hn::Set(U16(), weight);
  sum0 = hn::Add(sum0, product_of_pair(up0, down0, w)), sum1 = hn::Add(sum1, product_of_pair(up1, down1, w));
  sum2 = hn::Add(sum2, product_of_pair(up2, down2, w)), sum3 = hn::Add(sum3, product_of_pair(up3, down3, w));
}

/// The taps over rows[j] + i, rows[j + 1] + i, ... for kRowGroup rows j: a vector of each. Rows that a tap needs above and
/// below an output are those of the tap before at the next output, so each tap loads two.
HWY_INLINE void sum_rows(const FixedTaps& taps, const std::uint16_t* const* rows, std::int64_t i, VecU16& sum0, VecU16& sum1, VecU16& sum2,
                         VecU16& sum3) {
  static_assert(kRowGroup == 4);
  const U16 d;
  const std::int64_t radius = taps.radius();
  const std::uint16_t* w = taps.weights.data();
  const std::uint16_t* const* below = rows + 2 * radius - 1;
  const auto row = [&](std::int64_t r) HWY_ATTR { return hn::LoadU(d, rows[r] + i); };
  const auto row_below = [&](std::int64_t r) HWY_ATTR { return hn::LoadU(d, below[-r] + i); };
  sum0 = sum1 = sum2 = sum3 = hn::Zero(d);
  VecU16 up0 = row(0), up1 = row(1), up2 = row(2), up3 = row(3);
  VecU16 down0 = row_below(-1), down1 = row_below(-2), down2 = row_below(-3), down3 = row_below(-4);
  std::int64_t t = 0;
  for (const std::int64_t end : taps.runs) {
    if (t > 0) {
      const VecU16 zero = hn::Zero(d);
      sum0 = hn::AverageRound(sum0, zero), sum1 = hn::AverageRound(sum1, zero);
      sum2 = hn::AverageRound(sum2, zero), sum3 = hn::AverageRound(sum3, zero);
    }
    for (; t + 4 <= end; t += 4) {  // after four taps each row is back in its register
      add_pairs(w[t], up0, up1, up2, up3, down0, down1, down2, down3, sum0, sum1, sum2, sum3);
      up0 = row(t + 4), down3 = row_below(t);
      add_pairs(w[t + 1], up1, up2, up3, up0, down3, down0, down1, down2, sum0, sum1, sum2, sum3);
      up1 = row(t + 5), down2 = row_below(t + 1);
      add_pairs(w[t + 2], up2, up3, up0, up1, down2, down3, down0, down1, sum0, sum1, sum2, sum3);
      up2 = row(t + 6), down1 = row_below(t + 2);
      add_pairs(w[t + 3], up3, up0, up1, up2, down1, down2, down3, down0, sum0, sum1, sum2, sum3);
      up3 = row(t + 7), down0 = row_below(t + 3);
    }
    for (; t < end; ++t) {
      add_pairs(w[t], up0, up1, up2, up3, down0, down1, down2, down3, sum0, sum1, sum2, sum3);
      up0 = up1, up1 = up2, up2 = up3, up3 = row(t + 4);
      down3 = down2, down2 = down1, down1 = down0, down0 = row_below(t);
    }
  }
  const VecU16 middle = hn::Set(d, w[radius]);
  sum0 = hn::Add(sum0, hn::MulHigh(up0, middle)), sum1 = hn::Add(sum1, hn::MulHigh(up1, middle));
  sum2 = hn::Add(sum2, hn::MulHigh(up2, middle)), sum3 = hn::Add(sum3, hn::MulHigh(up3, middle));
}

enum class Store : std::uint8_t { cached, streamed };

/// Two vectors of sums as bytes. Streams to whole vectors only.
template <Store kStore>
HWY_INLINE void store_sums(VecU16 rounding, VecU16 a, VecU16 b, std::uint8_t* out) {
#if HWY_TARGET == HWY_SCALAR
  for (const VecU16 sum : {a, b}) *out++ = static_cast<std::uint8_t>(hn::GetLane(hn::Add(sum, rounding)) >> 8);
#else
  const hn::Repartition<std::uint8_t, U16> d8;
  const auto bytes = hn::ConcatOdd(d8, hn::BitCast(d8, hn::Add(b, rounding)), hn::BitCast(d8, hn::Add(a, rounding)));
  if constexpr (kStore == Store::streamed) {
    hn::Stream(bytes, d8, out);
  } else {
    hn::StoreU(bytes, d8, out);
  }
#endif
}

/// kRowGroup rows of bytes, of which [from, to) belong to the tile and begin at its row `row`: what fills whole lines is
/// written where it belongs as it is made, the rest by way of `made`, rows of which are `stride` bytes apart.
/// make(store, first, last, out, stride) writes components [first, last) of all rows, and up to two vectors more.
template <class Make>
HWY_INLINE void write_rows(const Tile& tile, const WholeLines& lines, std::int64_t row, std::int64_t from, std::int64_t to,
                           std::int64_t count, std::uint8_t* made, std::int64_t stride, const Make& make) {
  using Cached = std::integral_constant<Store, Store::cached>;
  using Streamed = std::integral_constant<Store, Store::streamed>;
  const std::int64_t channels = info(tile.dst.desc.format).channels;
  std::byte* dst = tile.dst.row(tile.out.y + row) + tile.out.x * channels;
  const auto detour = [&](std::int64_t first, std::int64_t last) HWY_ATTR {
    if (first == last) return;
    make(Cached(), first, last, made, stride);
    for (std::int64_t j = from; j < to; ++j) {
      store_bytes(tile, reinterpret_cast<const std::byte*>(made + j * stride + first), last - first,
                  dst + (j - from) * tile.dst.row_bytes + first);
    }
  };
  if (to - from < kRowGroup) return detour(0, count);
  detour(0, lines.first);
  auto* bytes = reinterpret_cast<std::uint8_t*>(dst);
  if (tile.streams) {
    make(Streamed(), lines.first, lines.last, bytes, tile.dst.row_bytes);
  } else {
    make(Cached(), lines.first, lines.last, bytes, tile.dst.row_bytes);
  }
  detour(lines.last, count);
}

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // MOLLIFY_FIXED_TAPS_INL_H_
