// Rows of 8-bit pixels as numbers of 16 bits, for one instruction set: value * 256, or, premultiplied, colour * alpha and
// alpha * 255. Both are exact.

#if defined(MOLLIFY_FIXED_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MOLLIFY_FIXED_ROWS_INL_H_
#undef MOLLIFY_FIXED_ROWS_INL_H_
#else
#define MOLLIFY_FIXED_ROWS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "backends/cpu/kernels/fixed_taps-inl.h"
#include "backends/cpu/kernels/kernels.h"
#include "base/border.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

HWY_INLINE void widen_components(const std::uint8_t* src, std::int64_t count, std::uint16_t* dst) {
  const U16 d;
  const hn::Rebind<std::uint8_t, U16> d8;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (count < lanes) {
    for (std::int64_t i = 0; i < count; ++i) dst[i] = static_cast<std::uint16_t>(src[i] << 8);
    return;
  }
  for_vectors(count, lanes,
              [&](std::int64_t i) HWY_ATTR { hn::StoreU(hn::ShiftLeft<8>(hn::PromoteTo(d, hn::LoadU(d8, src + i))), d, dst + i); });
}

HWY_INLINE void widen_premultiplied_pixel(const std::uint8_t* src, std::int64_t channels, std::uint16_t* dst) {
  const std::uint8_t alpha = src[channels - 1];
  for (std::int64_t c = 0; c < channels - 1; ++c) dst[c] = static_cast<std::uint16_t>(src[c] * alpha);
  dst[channels - 1] = static_cast<std::uint16_t>(alpha * 255);
}

/// Of two or four channels, the last of which is alpha.
HWY_INLINE void widen_premultiplied(const std::uint8_t* src, std::int64_t channels, std::int64_t count, std::uint16_t* dst) {
#if HWY_TARGET != HWY_SCALAR
  const U16 d;
  const hn::Rebind<std::uint8_t, U16> d8;
  const hn::Repartition<std::uint8_t, U16> bytes;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (count >= lanes) {
    constexpr std::uint8_t kNone = 0x80;
    HWY_ALIGN static constexpr std::uint8_t kAlphas[2][16] = {
        {2, 3, kNone, kNone, 6, 7, kNone, kNone, 10, 11, kNone, kNone, 14, 15, kNone, kNone},
        {6, 7, 6, 7, 6, 7, kNone, kNone, 14, 15, 14, 15, 14, 15, kNone, kNone}};
    HWY_ALIGN static constexpr std::uint16_t kOfAlphas[2][8] = {{0, 255, 0, 255, 0, 255, 0, 255}, {0, 0, 0, 255, 0, 0, 0, 255}};
    const std::size_t which = channels == 4 ? 1 : 0;
    const auto places = hn::LoadDup128(bytes, kAlphas[which]);
    const VecU16 of_alphas = hn::LoadDup128(d, kOfAlphas[which]);
    for_vectors(count, lanes, [&](std::int64_t i) HWY_ATTR {
      const VecU16 v = hn::PromoteTo(d, hn::LoadU(d8, src + i));
      const VecU16 alphas = hn::BitCast(d, hn::TableLookupBytesOr0(hn::BitCast(bytes, v), places));
      hn::StoreU(hn::Mul(v, hn::Or(alphas, of_alphas)), d, dst + i);
    });
    return;
  }
#endif
  for (std::int64_t i = 0; i < count; i += channels) widen_premultiplied_pixel(src + i, channels, dst + i);
}

/// Columns [x, x + pixels) of source row y; both coordinates may lie outside the image.
template <bool kPremultiplied = false>
HWY_INLINE void widen_row(const RowPipeline& rows, const Source& src, std::int64_t y, std::int64_t x, std::int64_t pixels,
                          std::uint16_t* dst) {
  const std::int64_t channels = rows.source.channels;
  const std::int64_t row = map_index(rows.border.mode.y, y, src.desc.height);
  const bool is_stored = row != kOutside;
  const std::int64_t first = is_stored ? std::clamp<std::int64_t>(-x, 0, pixels) : 0;
  const std::int64_t last = is_stored ? std::clamp<std::int64_t>(src.desc.width - x, first, pixels) : 0;
  const auto stored = [&](std::int64_t column)
                          HWY_ATTR { return reinterpret_cast<const std::uint8_t*>(src.row(row, column)) + column * channels; };
  if (last > first) {
    const std::int64_t count = (last - first) * channels;
    if constexpr (kPremultiplied) {
      widen_premultiplied(stored(x + first), channels, count, dst + first * channels);
    } else {
      widen_components(stored(x + first), count, dst + first * channels);
    }
  }

  const auto fill = [&](std::int64_t from, std::int64_t to) HWY_ATTR {
    for (std::int64_t i = from; i < to; ++i) {
      const std::int64_t column = is_stored ? map_index(rows.border.mode.x, x + i, src.desc.width) : kOutside;
      std::uint16_t* out = dst + i * channels;
      if (column == kOutside) {
        for (std::int64_t c = 0; c < channels; ++c) {
          const double value = rows.outside[static_cast<std::size_t>(c)];
          out[c] = static_cast<std::uint16_t>(kPremultiplied ? std::lround(value * kPremultipliedOne) : std::lround(value) << 8);
        }
      } else if constexpr (kPremultiplied) {
        widen_premultiplied_pixel(stored(column), channels, out);
      } else {
        for (std::int64_t c = 0; c < channels; ++c) out[c] = static_cast<std::uint16_t>(stored(column)[c] << 8);
      }
    }
  };
  fill(0, first);
  fill(last, pixels);
}

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // MOLLIFY_FIXED_ROWS_INL_H_
