// Separable symmetric taps on 8-bit images in 16-bit integers, twice as many in a vector as floats and never converted:
// numbers are held as value * 256, taps as fractions of 65536. Two at the same distance share one multiplication: their
// mean times twice the tap, of which the high half is summed. Each product loses less than 1/256 of a step; half of what
// all of them lose at most is given back at the end. Where that is too much, because there are many, the outer taps, whose
// sum is small, are summed with more bits. Every sum is one of integers, so bits do not depend on tiles.
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/pixel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/sep_fused_u8.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
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

HWY_INLINE void widen_components(const std::uint8_t* src, std::int64_t count, std::uint16_t* dst) {
  const U16 d;
  const hn::Rebind<std::uint8_t, U16> d8;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (count < lanes) {
    for (std::int64_t i = 0; i < count; ++i) dst[i] = static_cast<std::uint16_t>(src[i] << 8);
    return;
  }
  for_vectors(count, lanes, [&](std::int64_t i) HWY_ATTR {
    hn::StoreU(hn::ShiftLeft<8>(hn::PromoteTo(d, hn::LoadU(d8, src + i))), d, dst + i);
  });
}

/// Columns [x, x + pixels) of source row y; both coordinates may lie outside the image.
HWY_INLINE void widen_row(const RowPipeline& rows, const ConstImageView& src, std::int64_t y, std::int64_t x,
                          std::int64_t pixels, std::uint16_t* dst) {
  const std::int64_t channels = rows.source.channels;
  const std::int64_t row = map_index(rows.border.mode.y, y, src.desc.height);
  const auto* stored = row == kOutside ? nullptr : reinterpret_cast<const std::uint8_t*>(src.row(row));
  const std::int64_t first = stored ? std::clamp<std::int64_t>(-x, 0, pixels) : 0;
  const std::int64_t last = stored ? std::clamp<std::int64_t>(src.desc.width - x, first, pixels) : 0;
  if (last > first) widen_components(stored + (x + first) * channels, (last - first) * channels, dst + first * channels);

  const auto fill = [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      const std::int64_t column = stored ? map_index(rows.border.mode.x, x + i, src.desc.width) : kOutside;
      for (std::int64_t c = 0; c < channels; ++c) {
        const int value = column == kOutside ? static_cast<int>(rows.outside[static_cast<std::size_t>(c)])
                                             : stored[column * channels + c];
        dst[i * channels + c] = static_cast<std::uint16_t>(value << 8);
      }
    }
  };
  fill(0, first);
  fill(last, pixels);
}

/// The taps over a row. `row` has 2 * radius pixels more than `out`; both have room for four vectors more. Meanwhile as many
/// bytes as are made are fetched from `ahead` on.
HWY_INLINE void filter_columns_u16(const FixedTaps& taps, std::int64_t channels, const std::uint16_t* row,
                                   std::int64_t count, const std::byte* ahead, std::uint16_t* out) {
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
        const auto pair = [&](std::int64_t at) HWY_ATTR {
          return hn::MulHigh(hn::AverageRound(hn::LoadU(d, left + at), hn::LoadU(d, right + at)), w);
        };
        a = hn::Add(a, pair(0)), b = hn::Add(b, pair(lanes));
        c = hn::Add(c, pair(2 * lanes)), e = hn::Add(e, pair(3 * lanes));
      }
    }
    const VecU16 w = hn::Set(d, weights[radius]);
    const auto finish = [&](VecU16 sum, std::int64_t at) HWY_ATTR {
      hn::StoreU(hn::Add(sum, hn::MulHigh(hn::LoadU(d, left + at), w)), d, out + i + at);
    };
    finish(a, 0), finish(b, lanes), finish(c, 2 * lanes), finish(e, 3 * lanes);
  }
}

/// sum[j] += mean(up[j], down[j]) * weight, the high half
HWY_INLINE void add_pairs(std::uint16_t weight, VecU16 up0, VecU16 up1, VecU16 up2, VecU16 up3, VecU16 down0, VecU16 down1,
                          VecU16 down2, VecU16 down3, VecU16& sum0, VecU16& sum1, VecU16& sum2, VecU16& sum3) {
  const VecU16 w = hn::Set(U16(), weight);
  sum0 = hn::Add(sum0, hn::MulHigh(hn::AverageRound(up0, down0), w));
  sum1 = hn::Add(sum1, hn::MulHigh(hn::AverageRound(up1, down1), w));
  sum2 = hn::Add(sum2, hn::MulHigh(hn::AverageRound(up2, down2), w));
  sum3 = hn::Add(sum3, hn::MulHigh(hn::AverageRound(up3, down3), w));
}

/// The taps over rows[j] + i, rows[j + 1] + i, ... for kRowBatch rows j: a vector of each. Rows that a tap needs above and
/// below an output are those of the tap before at the next output, so each tap loads two.
HWY_INLINE void sum_rows(const FixedTaps& taps, const std::uint16_t* const* rows, std::int64_t i, VecU16& sum0,
                         VecU16& sum1, VecU16& sum2, VecU16& sum3) {
  static_assert(kRowBatch == 4);
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
  const hn::RebindToSigned<U16> di;
  const hn::Rebind<std::uint8_t, U16> d8;
  const auto bytes = [&](VecU16 sum) HWY_ATTR {
    return hn::DemoteTo(d8, hn::BitCast(di, hn::ShiftRight<8>(hn::Add(sum, rounding))));
  };
#if HWY_TARGET == HWY_SCALAR
  hn::StoreU(bytes(a), d8, out);
  hn::StoreU(bytes(b), d8, out + 1);
#else
  const hn::Repartition<std::uint8_t, U16> both;
  if constexpr (kStore == Store::streamed) {
    hn::Stream(hn::Combine(both, bytes(b), bytes(a)), both, out);
  } else {
    hn::StoreU(hn::Combine(both, bytes(b), bytes(a)), both, out);
  }
#endif
}

/// The taps over kRowBatch rows, rounded to 8 bits, written row by row to out + j * stride; components from `first` up to
/// `last`, and up to two vectors more.
template <Store kStore>
HWY_INLINE void filter_rows_u16(const FixedTaps& taps, std::uint16_t rounding, const std::uint16_t* const* rows,
                                std::int64_t first, std::int64_t last, std::uint8_t* out, std::int64_t stride) {
  const U16 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const VecU16 half = hn::Set(d, rounding);
  for (std::int64_t i = first; i < last; i += 2 * lanes) {
    VecU16 a0, a1, a2, a3, b0, b1, b2, b3;
    sum_rows(taps, rows, i, a0, a1, a2, a3);
    sum_rows(taps, rows, i + lanes, b0, b1, b2, b3);
    store_sums<kStore>(half, a0, b0, out + i), store_sums<kStore>(half, a1, b1, out + stride + i);
    store_sums<kStore>(half, a2, b2, out + 2 * stride + i), store_sums<kStore>(half, a3, b3, out + 3 * stride + i);
  }
}

void sep_fused_u8(const SepFusedU8& k, const Tile& tile) {
  const std::int64_t channels = k.rows.source.channels;
  const SepFusedU8Scratch s(tile.scratch, tile.out.width, k.x.radius(), k.y.radius(), static_cast<int>(channels));
  const std::int64_t columns = tile.out.width + 2 * k.x.radius();
  const std::int64_t x = tile.origin_x + tile.out.x - k.x.radius();
  const std::int64_t y = tile.origin_y + tile.out.y - k.y.radius();  // source row of ring row 0
  const std::int64_t count = tile.out.width * channels;

  const auto [first, last] = whole_lines(tile, count);
  constexpr std::int64_t kLine = 64;
  std::uint16_t* ring = s.ring + (kLine - first) % kLine;  // vectors that are written to whole lines are read from whole ones

  std::int64_t loaded = 0;  // ring rows so far
  for (std::int64_t row = 0; row < tile.out.height; row += kRowBatch) {
    const std::int64_t batch = std::min<std::int64_t>(kRowBatch, tile.out.height - row);
    for (; loaded < row + batch + 2 * k.y.radius(); ++loaded) {
      const std::byte* ahead = stored_row(k.rows, tile.src, y + loaded + kRowBatch, x);
      widen_row(k.rows, tile.src, y + loaded, x, columns, s.wide);
      filter_columns_u16(k.x, channels, s.wide, count, ahead, ring + loaded % s.ring_rows * s.stride);
    }
    // Rows past the last batch hold old pixels; what is made of them is not written.
    for (std::int64_t i = 0; i < s.ring_rows; ++i) s.rows[i] = ring + (row + i) % s.ring_rows * s.stride;
    std::byte* dst = tile.dst.row(tile.out.y + row) + tile.out.x * channels;
    const auto detour = [&](std::int64_t from, std::int64_t to) {
      if (from == to) return;
      filter_rows_u16<Store::cached>(k.y, k.rounding, s.rows, from, to, s.out, s.stride);
      for (std::int64_t j = 0; j < batch; ++j) {
        store_bytes(tile, reinterpret_cast<const std::byte*>(s.out + j * s.stride + from), to - from,
                    dst + j * tile.dst.row_bytes + from);
      }
    };
    if (batch < kRowBatch) {
      detour(0, count);
      continue;
    }
    detour(0, first);
    auto* bytes = reinterpret_cast<std::uint8_t*>(dst);
    if (tile.streams) {
      filter_rows_u16<Store::streamed>(k.y, k.rounding, s.rows, first, last, bytes, tile.dst.row_bytes);
    } else {
      filter_rows_u16<Store::cached>(k.y, k.rounding, s.rows, first, last, bytes, tile.dst.row_bytes);
    }
    detour(last, count);
  }
  finish_stores(tile);
}

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mollify::cpu {

HWY_EXPORT(sep_fused_u8);

void sep_fused_u8(const SepFusedU8& k, const Tile& tile) { HWY_DYNAMIC_DISPATCH(sep_fused_u8)(k, tile); }

namespace scalar {

void sep_fused_u8(const SepFusedU8& k, const Tile& tile) {
  /// One axis: `at(offset)` is what lies there.
  const auto filtered = [](const FixedTaps& taps, const auto& at) {
    const std::int64_t radius = taps.radius();
    std::uint32_t sum = 0;
    std::int64_t i = 0;
    for (const std::int64_t end : taps.runs) {
      sum = (sum + 1) / 2;
      for (; i < end; ++i) {
        sum += (at(i - radius) + at(radius - i) + 1) / 2 * taps.weights[static_cast<std::size_t>(i)] >> 16;
      }
    }
    return sum + (at(0) * taps.weights[static_cast<std::size_t>(radius)] >> 16);
  };
  for_each_pixel<float>(k.rows, tile, [&](std::int64_t x, std::int64_t y) {
    std::array<float, 4> out{};
    for (std::size_t c = 0; c < static_cast<std::size_t>(k.rows.source.channels); ++c) {
      const std::uint32_t sum = filtered(k.y, [&](std::int64_t j) {
        return filtered(k.x, [&](std::int64_t i) {
          return static_cast<std::uint32_t>(read_pixel<float>(k.rows, tile.src, x + i, y + j)[c]) << 8;
        });
      });
      out[c] = static_cast<float>((sum + k.rounding) >> 8);
    }
    return out;
  });
}

}  // namespace scalar
}  // namespace mollify::cpu
#endif  // HWY_ONCE
