// Separable symmetric taps on 8-bit images in 16-bit integers, twice as many in a vector as floats and never converted:
// numbers are held as value * 256, taps as fractions of 65536. Two at the same distance share one multiplication: their
// mean times twice the tap, of which the high half is summed. Each product loses less than 1/256 of a step; half of what
// all of them lose at most is given back at the end. Where that is too much, because there are many, the outer taps, whose
// sum is small, are summed with more bits. Every sum is one of integers, so bits do not depend on tiles.
#include "backends/cpu/kernels/fixed_taps.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/pixel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/sep_fused_u8.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include "backends/cpu/kernels/fixed_rows-inl.h"
#include "backends/cpu/kernels/fixed_taps-inl.h"
#include "backends/cpu/kernels/row_io-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

/// The taps over kRowGroup rows, rounded to 8 bits, written row by row to out + j * stride; components from `first` up to
/// `last`, and up to two vectors more.
template <Store kStore>
HWY_NOINLINE void filter_rows_u16(const FixedTaps& taps, std::uint16_t rounding, const std::uint16_t* const* rows, std::int64_t first,
                                  std::int64_t last, std::uint8_t* out, std::int64_t stride) {
  const U16 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const VecU16 half = hn::Set(d, rounding);
  const auto store = [&](std::int64_t i, std::int64_t j, VecU16 a, VecU16 b)
                         HWY_ATTR { store_sums<kStore>(half, a, b, out + j * stride + i); };
  with_few_taps(taps, [&](auto radius) HWY_ATTR {
    constexpr int kRadius = decltype(radius)::value;
    if constexpr (kRadius > 0) {
      const FewTaps<kRadius> few(taps);
      const std::uint16_t* row[kRowGroup + 2 * kRadius];
      std::copy_n(rows, kRowGroup + 2 * kRadius, row);
      for (std::int64_t i = first; i < last; i += 2 * lanes) {
        HWY_UNROLL(4)
        for (int j = 0; j < kRowGroup; ++j) {
          const auto sum = [&](std::int64_t at) HWY_ATTR {
            return few.sum([&](int offset) HWY_ATTR { return hn::LoadU(d, row[j + kRadius + offset] + at); });
          };
          store(i, j, sum(i), sum(i + lanes));
        }
      }
    } else {
      for (std::int64_t i = first; i < last; i += 2 * lanes) {
        VecU16 a0, a1, a2, a3, b0, b1, b2, b3;
        sum_rows(taps, rows, i, a0, a1, a2, a3);
        sum_rows(taps, rows, i + lanes, b0, b1, b2, b3);
        store(i, 0, a0, b0), store(i, 1, a1, b1), store(i, 2, a2, b2), store(i, 3, a3, b3);
      }
    }
  });
}

void sep_fused_u8(const SepFusedU8& k, const Tile& tile) {
  const std::int64_t channels = k.rows.source.channels;
  const SepFusedU8Scratch s(tile.scratch, tile.out.width, k.x.radius(), k.y.radius(), static_cast<int>(channels));
  const std::int64_t columns = tile.out.width + 2 * k.x.radius();
  const std::int64_t x = tile.origin_x + tile.out.x - k.x.radius();
  const std::int64_t made = tile.rows_made();
  const std::int64_t y = tile.origin_y + tile.out.y - made - k.y.radius();  // source row of ring row 0
  const std::int64_t count = tile.out.width * channels;

  const WholeLines lines = whole_lines(tile, count);
  constexpr std::int64_t kLine = 64;
  // Vectors that are written to whole lines are read from whole ones. In a column of tiles the ring stays where it is.
  std::uint16_t* ring = tile.rows_above ? s.ring : s.ring + (kLine - lines.first) % kLine;

  std::int64_t loaded = made > 0 ? made + 2 * k.y.radius() : 0;  // ring rows so far
  const std::int64_t end = made + tile.out.height;
  for (std::int64_t row = made; row < end; row += kRowGroup) {
    const std::int64_t group = std::min(kRowGroup, end - row);
    for (; loaded < row + group + 2 * k.y.radius(); ++loaded) {
      const std::byte* ahead = stored_row(k.rows, tile.src, y + loaded + kRowGroup, x);
      widen_row(k.rows, tile.src, y + loaded, x, columns, s.wide);
      filter_columns_u16(k.x, channels, s.wide, count, ahead, ring + loaded % s.ring_rows * s.stride);
    }
    // Rows past the last row group hold old pixels; what is made of them is not written.
    for (std::int64_t i = 0; i < s.ring_rows; ++i) s.rows[i] = ring + (row + i) % s.ring_rows * s.stride;
    write_rows(tile, lines, row - made, 0, group, count, s.out, s.stride,
               [&](auto store, std::int64_t from, std::int64_t to, std::uint8_t* out, std::int64_t stride)
                   HWY_ATTR { filter_rows_u16<decltype(store)::value>(k.y, k.rounding, s.rows, from, to, out, stride); });
  }
  finish_stores(tile);
}

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mollify::cpu {

HWY_EXPORT(sep_fused_u8);

void sep_fused_u8(const SepFusedU8& k, const Tile& tile) {
  HWY_DYNAMIC_DISPATCH(sep_fused_u8)(k, tile);
}

namespace scalar {

void sep_fused_u8(const SepFusedU8& k, const Tile& tile) {
  for_each_pixel<float>(k.rows, tile, [&](std::int64_t x, std::int64_t y) {
    std::array<float, 4> out{};
    for (std::size_t c = 0; c < static_cast<std::size_t>(k.rows.source.channels); ++c) {
      const std::uint32_t sum = filtered_fixed(k.y, [&](std::int64_t j) {
        return filtered_fixed(
            k.x, [&](std::int64_t i) { return static_cast<std::uint32_t>(read_pixel<float>(k.rows, tile.src, x + i, y + j)[c]) << 8; });
      });
      out[c] = static_cast<float>((sum + k.rounding) >> 8);
    }
    return out;
  });
}

}  // namespace scalar
}  // namespace mollify::cpu
#endif  // HWY_ONCE
