// Separable symmetric taps on 8-bit images in 16-bit integers, twice as many in a vector as floats and never converted:
// rows are held as value * 128, taps as fractions of 65536, and the high half of each product is summed. Taps at the same
// distance share one multiplication. Each product loses less than 1/128 of a step; half of what all of them lose on
// average is given back at the end. For few taps only: the planner adds up the error. Every sum is one of integers, so
// bits do not depend on tiles.
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
    for (std::int64_t i = 0; i < count; ++i) dst[i] = static_cast<std::uint16_t>(src[i] << kFixedBits);
    return;
  }
  for_vectors(count, lanes, [&](std::int64_t i) HWY_ATTR {
    hn::StoreU(hn::ShiftLeft<kFixedBits>(hn::PromoteTo(d, hn::LoadU(d8, src + i))), d, dst + i);
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
        dst[i * channels + c] = static_cast<std::uint16_t>(value << kFixedBits);
      }
    }
  };
  fill(0, first);
  fill(last, pixels);
}

/// out[j] = the taps over rows[j .. j + 2 * radius], for kRowBatch rows j: from the middle outwards, so that the rows above
/// and below that a tap reaches are those of the tap before, and one more.
HWY_INLINE void filter_rows_u16(const std::vector<std::uint16_t>& half, const std::uint16_t* const* rows,
                                std::int64_t count, std::uint16_t* out, std::int64_t stride) {
  static_assert(kRowBatch == 4);
  const U16 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto radius = static_cast<std::int64_t>(half.size()) - 1;
  const std::uint16_t* weights = half.data();
  const std::uint16_t* const* middle = rows + radius;
  for (std::int64_t i = 0; i < count; i += lanes) {
    const VecU16 w0 = hn::Set(d, weights[0]);
    VecU16 up0 = hn::LoadU(d, middle[0] + i), up1 = hn::LoadU(d, middle[1] + i);
    VecU16 up2 = hn::LoadU(d, middle[2] + i), up3 = hn::LoadU(d, middle[3] + i);
    VecU16 down0 = up0, down1 = up1, down2 = up2, down3 = up3;
    VecU16 sum0 = hn::MulHigh(up0, w0), sum1 = hn::MulHigh(up1, w0);
    VecU16 sum2 = hn::MulHigh(up2, w0), sum3 = hn::MulHigh(up3, w0);
    for (std::int64_t k = 1; k <= radius; ++k) {
      const VecU16 w = hn::Set(d, weights[k]);
      up3 = up2, up2 = up1, up1 = up0, up0 = hn::LoadU(d, middle[-k] + i);
      down0 = down1, down1 = down2, down2 = down3, down3 = hn::LoadU(d, middle[k + 3] + i);
      sum0 = hn::Add(sum0, hn::MulHigh(hn::Add(up0, down0), w));
      sum1 = hn::Add(sum1, hn::MulHigh(hn::Add(up1, down1), w));
      sum2 = hn::Add(sum2, hn::MulHigh(hn::Add(up2, down2), w));
      sum3 = hn::Add(sum3, hn::MulHigh(hn::Add(up3, down3), w));
    }
    hn::StoreU(sum0, d, out + i), hn::StoreU(sum1, d, out + stride + i);
    hn::StoreU(sum2, d, out + 2 * stride + i), hn::StoreU(sum3, d, out + 3 * stride + i);
  }
}

/// The taps over a row, rounded to 8 bits. `row` has 2 * radius pixels more than `out`; both have room for four vectors more.
/// Meanwhile as many bytes as are made are fetched from `ahead` on.
HWY_INLINE void filter_columns_u16(const std::vector<std::uint16_t>& half, std::uint16_t rounding, std::int64_t channels,
                                   const std::uint16_t* row, std::int64_t count, const std::byte* ahead,
                                   std::uint8_t* out) {
  const U16 d;
  const hn::RebindToSigned<U16> di;
  const hn::Rebind<std::uint8_t, U16> d8;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto radius = static_cast<std::int64_t>(half.size()) - 1;
  const std::uint16_t* weights = half.data();
  for (std::int64_t i = 0; i < count; i += 4 * lanes) {
    hwy::Prefetch(ahead + i);
    hwy::Prefetch(ahead + i + 2 * lanes);
    const std::uint16_t* left = row + radius * channels + i;
    const std::uint16_t* right = left;
    const VecU16 w0 = hn::Set(d, weights[0]);
    const auto centre = [&](std::int64_t at) HWY_ATTR { return hn::MulHigh(hn::LoadU(d, left + at), w0); };
    VecU16 a = centre(0), b = centre(lanes), c = centre(2 * lanes), e = centre(3 * lanes);
    for (std::int64_t k = 1; k <= radius; ++k) {
      left -= channels;
      right += channels;
      const VecU16 w = hn::Set(d, weights[k]);
      const auto pair = [&](std::int64_t at) HWY_ATTR {
        return hn::MulHigh(hn::Add(hn::LoadU(d, left + at), hn::LoadU(d, right + at)), w);
      };
      a = hn::Add(a, pair(0)), b = hn::Add(b, pair(lanes));
      c = hn::Add(c, pair(2 * lanes)), e = hn::Add(e, pair(3 * lanes));
    }
    const auto finish = [&](VecU16 sum, std::int64_t at) HWY_ATTR {
      const VecU16 whole = hn::ShiftRight<kFixedBits>(hn::Add(sum, hn::Set(d, rounding)));
      hn::StoreU(hn::DemoteTo(d8, hn::BitCast(di, whole)), d8, out + i + at);
    };
    finish(a, 0), finish(b, lanes), finish(c, 2 * lanes), finish(e, 3 * lanes);
  }
}

void sep_fused_u8(const SepFusedU8& k, const Tile& tile) {
  const std::int64_t channels = k.rows.source.channels;
  const auto radius_x = static_cast<std::int64_t>(k.x.size()) - 1;
  const auto radius_y = static_cast<std::int64_t>(k.y.size()) - 1;
  const SepFusedU8Scratch s(tile.scratch, tile.out.width, radius_x, radius_y, static_cast<int>(channels));
  const std::int64_t columns = tile.out.width + 2 * radius_x;
  const std::int64_t x = tile.origin_x + tile.out.x - radius_x;
  const std::int64_t y = tile.origin_y + tile.out.y - radius_y;  // source row of ring row 0
  const std::int64_t count = tile.out.width * channels;

  std::int64_t loaded = 0;  // ring rows so far
  for (std::int64_t row = 0; row < tile.out.height; row += kRowBatch) {
    const std::int64_t batch = std::min<std::int64_t>(kRowBatch, tile.out.height - row);
    for (; loaded < row + batch + 2 * radius_y; ++loaded) {
      widen_row(k.rows, tile.src, y + loaded, x, columns, s.ring + loaded % s.ring_rows * s.stride);
    }
    // Rows past the last batch hold old pixels; what is made of them is not written.
    for (std::int64_t i = 0; i < s.ring_rows; ++i) s.rows[i] = s.ring + (row + i) % s.ring_rows * s.stride;
    filter_rows_u16(k.y, s.rows, columns * channels, s.vertical, s.stride);
    for (std::int64_t j = 0; j < batch; ++j) {
      const std::byte* ahead = stored_row(k.rows, tile.src, y + loaded + j, x);
      filter_columns_u16(k.x, k.rounding(), channels, s.vertical + j * s.stride, count, ahead, s.out);
      store_bytes(tile, reinterpret_cast<const std::byte*>(s.out), count,
                  tile.dst.row(tile.out.y + row + j) + tile.out.x * channels);
    }
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
  const auto filtered = [](const std::vector<std::uint16_t>& half, const auto& at) {
    std::uint32_t sum = at(0) * half[0] >> 16;
    for (std::int64_t i = 1; i < static_cast<std::int64_t>(half.size()); ++i) {
      sum += (at(-i) + at(i)) * half[static_cast<std::size_t>(i)] >> 16;
    }
    return sum;
  };
  for_each_pixel<float>(k.rows, tile, [&](std::int64_t x, std::int64_t y) {
    std::array<float, 4> out{};
    for (std::size_t c = 0; c < static_cast<std::size_t>(k.rows.source.channels); ++c) {
      const std::uint32_t sum = filtered(k.x, [&](std::int64_t i) {
        return filtered(k.y, [&](std::int64_t j) {
          return static_cast<std::uint32_t>(read_pixel<float>(k.rows, tile.src, x + i, y + j)[c]) << kFixedBits;
        });
      });
      out[c] = static_cast<float>((sum + k.rounding()) >> kFixedBits);
    }
    return out;
  });
}

}  // namespace scalar
}  // namespace mollify::cpu
#endif  // HWY_ONCE
