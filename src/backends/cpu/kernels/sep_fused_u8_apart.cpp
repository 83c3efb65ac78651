// sep_fused_u8 where outputs lie some pixels apart and so share few inputs, for 8-bit pixels with or without alpha. Rows are
// filtered first down, which leaves few of them, then along rows, of which every step-th pixel is brought together. There may
// be even numbers of taps: all are pairs then. Every sum is one of integers, so bits do not depend on tiles.
#include "backends/cpu/kernels/fixed_taps.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/pixel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/sep_fused_u8_apart.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include "backends/cpu/kernels/fixed_rows-inl.h"
#include "backends/cpu/kernels/fixed_taps-inl.h"
#include "backends/cpu/kernels/row_io-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

/// The taps over what lies at inputs[k] + i for each: four vectors. store(i, a, b, c, e) for every i up to `count`.
template <class Store>
HWY_INLINE void sum_inputs(const FixedTaps& taps, const std::uint16_t* const* inputs, std::int64_t count, const Store& store) {
  const U16 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const VecU16 zero = hn::Zero(d);
  const std::uint16_t* weights = taps.weights.data();
  const std::uint16_t* const* last = inputs + taps.size() - 1;
  for (std::int64_t i = 0; i < count; i += 4 * lanes) {
    VecU16 a = zero, b = zero, c = zero, e = zero;
    std::int64_t t = 0;
    for (const std::int64_t end : taps.runs) {
      if (t > 0) {
        a = hn::AverageRound(a, zero), b = hn::AverageRound(b, zero);
        c = hn::AverageRound(c, zero), e = hn::AverageRound(e, zero);
      }
      for (; t < end; ++t) {
        const std::uint16_t *before = inputs[t] + i, *after = last[-t] + i;
        const VecU16 w = hn::Set(d, weights[t]);
        const auto pair = [&](std::int64_t at) HWY_ATTR { return product_of_pair(hn::LoadU(d, before + at), hn::LoadU(d, after + at), w); };
        a = hn::Add(a, pair(0)), b = hn::Add(b, pair(lanes));
        c = hn::Add(c, pair(2 * lanes)), e = hn::Add(e, pair(3 * lanes));
      }
    }
    if (!taps.is_even) {
      const VecU16 w = hn::Set(d, weights[t]);
      const auto middle = [&](std::int64_t at) HWY_ATTR { return hn::MulHigh(hn::LoadU(d, inputs[t] + i + at), w); };
      a = hn::Add(a, middle(0)), b = hn::Add(b, middle(lanes));
      c = hn::Add(c, middle(2 * lanes)), e = hn::Add(e, middle(3 * lanes));
    }
    store(i, a, b, c, e);
  }
}

/// The same, stored as they are. Touches whole vectors.
HWY_INLINE void sum_inputs_to(const FixedTaps& taps, const std::uint16_t* const* inputs, std::int64_t count, std::uint16_t* out) {
  const U16 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  sum_inputs(taps, inputs, count, [&](std::int64_t i, VecU16 a, VecU16 b, VecU16 c, VecU16 e) HWY_ATTR {
    std::uint16_t* to = out + i;
    hn::StoreU(a, d, to), hn::StoreU(b, d, to + lanes), hn::StoreU(c, d, to + 2 * lanes), hn::StoreU(e, d, to + 3 * lanes);
  });
}

#if HWY_TARGET != HWY_SCALAR
/// Numbers of a row, pixels of `P` each, every step-th one together; for steps of 2 and 4. Touches whole vectors.
template <class P, int kStep>
HWY_INLINE void split_pixels(const std::uint16_t* row, std::int64_t pixels, std::uint16_t* parts, std::int64_t stride) {
  const hn::ScalableTag<P> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  constexpr auto kNumbers = static_cast<std::int64_t>(sizeof(P) / sizeof *row);
  const auto load = [&](std::int64_t pixel) HWY_ATTR { return hn::LoadU(d, reinterpret_cast<const P*>(row + pixel * kNumbers)); };
  for (std::int64_t i = 0; i < pixels; i += kStep * lanes) {
    const auto store = [&](int part, auto v)
                           HWY_ATTR { hn::StoreU(v, d, reinterpret_cast<P*>(parts + part * stride + i / kStep * kNumbers)); };
    const auto a = load(i), b = load(i + lanes);
    const auto even = hn::ConcatEven(d, b, a), odd = hn::ConcatOdd(d, b, a);
    if constexpr (kStep == 2) {
      store(0, even), store(1, odd);
    } else {
      const auto c = load(i + 2 * lanes), e = load(i + 3 * lanes);
      const auto later_even = hn::ConcatEven(d, e, c), later_odd = hn::ConcatOdd(d, e, c);
      store(0, hn::ConcatEven(d, later_even, even)), store(1, hn::ConcatEven(d, later_odd, odd));
      store(2, hn::ConcatOdd(d, later_even, even)), store(3, hn::ConcatOdd(d, later_odd, odd));
    }
  }
}
#endif

HWY_INLINE void split_numbers(const std::uint16_t* row, std::int64_t channels, std::int64_t pixels, std::int64_t step, std::uint16_t* parts,
                              std::int64_t stride) {
#if HWY_TARGET != HWY_SCALAR
  const auto whole = [&](auto pixel) HWY_ATTR {
    using P = decltype(pixel);
    if (step == 2) {
      split_pixels<P, 2>(row, pixels, parts, stride);
    } else {
      split_pixels<P, 4>(row, pixels, parts, stride);
    }
  };
  if ((step == 2 || step == 4) && channels != 3) {
    if (channels == 1) return whole(std::uint16_t{});
    if (channels == 2) return whole(std::uint32_t{});
    return whole(std::uint64_t{});
  }
#endif
  with_channels(static_cast<int>(channels), [&](auto count) {
    constexpr std::int64_t kChannels = decltype(count)::value;
    for (std::int64_t part = 0; part < step; ++part) {
      std::uint16_t* out = parts + part * stride;
      for (std::int64_t i = part; i < pixels; i += step, out += kChannels) std::copy_n(row + i * kChannels, kChannels, out);
    }
  });
}

/// Finished sums, `given` added, to components of the destination that are no plain bytes.
template <class D>
HWY_INLINE void encode_sums(const RowFormat& format, float given, const std::uint16_t* sums, std::int64_t pixels, D* out) {
  const F32 d;
  const std::int64_t channels = format.channels, count = pixels * channels;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const FixedScale scale(format);
  const VecF32 to_code = hn::Set(d, scale.to_code);
  for (std::int64_t i = 0; i < count; i += lanes) {
    const VecF32 raw = load_f32(d, sums + i);
    const VecF32 sum = hn::Add(raw, hn::Set(d, given));
    VecF32 code = hn::Mul(sum, to_code);
#if HWY_TARGET != HWY_SCALAR
    if (format.alpha == AlphaMode::premultiply) {
      const hn::RebindToUnsigned<F32> du;
      const auto last = hn::Set(du, static_cast<std::uint32_t>(channels - 1));
      const auto is_alpha = hn::RebindMask(d, hn::Eq(hn::And(hn::Iota(du, 0), last), last));
      const auto alphas = [&](VecF32 v) HWY_ATTR { return channels == 4 ? hn::Broadcast<3>(v) : hn::DupOdd(v); };
      const VecF32 colour = hn::Div(hn::Mul(sum, hn::Set(d, scale.full)), alphas(sum));
      code = hn::IfThenElse(is_alpha, code, hn::IfThenZeroElse(hn::Eq(alphas(raw), hn::Zero(d)), colour));
    }
#else
    if (format.alpha == AlphaMode::premultiply && i % channels != channels - 1) {
      const std::uint16_t alpha = sums[i + channels - 1 - i % channels];
      code = hn::Set(d, alpha == 0 ? 0.0F : hn::GetLane(sum) * scale.full / (static_cast<float>(alpha) + given));
    }
#endif
    store_f32(d, code, out + i);
  }
}

/// The last steps of a row: horizontal taps over the parts of `s`, and to components.
HWY_INLINE void make_row(const SepFusedU8& k, const Tile& tile, const SepFusedU8ApartScratch& s, std::byte* dst) {
  const U16 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const RowFormat& format = k.rows.destination;
  const std::int64_t count = tile.out.width * std::int64_t{format.channels};
  if (format.component == Component::u8 && format.only_scaled()) {
    const VecU16 half = hn::Set(d, k.rounding);
    sum_inputs(k.x, s.inputs, count, [&](std::int64_t i, VecU16 a, VecU16 b, VecU16 c, VecU16 e) HWY_ATTR {
      store_sums<Store::cached>(half, a, b, s.out + i), store_sums<Store::cached>(half, c, e, s.out + i + 2 * lanes);
    });
    return store_bytes(tile, reinterpret_cast<const std::byte*>(s.out), count, dst);
  }
  sum_inputs_to(k.x, s.inputs, count, s.filtered);
  const auto given = static_cast<float>(k.given());
  if (format.component == Component::u8) {
    encode_sums(format, given, s.filtered, tile.out.width, s.out);
    return store_bytes(tile, reinterpret_cast<const std::byte*>(s.out), count, dst);
  }
  encode_sums(format, given, s.filtered, tile.out.width, reinterpret_cast<std::uint16_t*>(s.out));
  store_bytes(tile, reinterpret_cast<const std::byte*>(s.out), 2 * count, dst);
}

void sep_fused_u8_apart(const SepFusedU8& k, const Tile& tile) {
  const std::int64_t channels = k.rows.source.channels;
  const PerAxis<std::int64_t> step = k.rows.step;
  const SepFusedU8ApartScratch s(tile.scratch, tile.out.width, {k.x.size(), step.x}, {k.y.size(), step.y}, static_cast<int>(channels));
  const std::int64_t columns = (tile.out.width - 1) * step.x + k.x.size();
  const std::int64_t x = tile.origin_x + tile.out.x * step.x - k.x.radius();
  const std::int64_t made = tile.rows_made();
  const std::int64_t y = tile.origin_y + (tile.out.y - made) * step.y - k.y.radius();  // source row of ring row 0
  const std::int64_t pixel_bytes = info(tile.dst.desc.format).pixel_bytes();
  const auto widen = k.rows.source.alpha == AlphaMode::premultiply ? widen_row<true> : widen_row<false>;
  for (std::int64_t i = 0; i < k.x.size(); ++i) s.inputs[i] = s.parts + i % step.x * s.part_stride + i / step.x * channels;

  std::int64_t loaded = made > 0 ? (made - 1) * step.y + k.y.size() : 0;  // ring rows so far
  const std::int64_t end = made + tile.out.height;
  for (std::int64_t row = made; row < end; ++row) {
    for (; loaded < row * step.y + k.y.size(); ++loaded) {
      if (loaded % step.y >= k.y.size()) continue;  // between the rows of two outputs
      widen(k.rows, tile.src, y + loaded, x, columns, s.ring + loaded % s.ring_rows * s.stride);
    }
    for (std::int64_t i = 0; i < s.ring_rows; ++i) s.rows[i] = s.ring + (row * step.y + i) % s.ring_rows * s.stride;
    sum_inputs_to(k.y, s.rows, columns * channels, s.sums);
    if (step.x > 1) split_numbers(s.sums, channels, columns, step.x, s.parts, s.part_stride);
    make_row(k, tile, s, tile.dst.row(tile.out.y + row - made) + tile.out.x * pixel_bytes);
  }
  finish_stores(tile);
}

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mollify::cpu {

HWY_EXPORT(sep_fused_u8_apart);

void sep_fused_u8_apart(const SepFusedU8& k, const Tile& tile) {
  HWY_DYNAMIC_DISPATCH(sep_fused_u8_apart)(k, tile);
}

namespace scalar {
namespace {

/// What write_component() rounds.
std::array<float, 4> codes_of(const SepFusedU8& k, const std::array<std::uint32_t, 4>& sums) {
  const RowFormat& format = k.rows.destination;
  const FixedScale scale(format);
  const auto given = static_cast<float>(k.given());
  const auto last = static_cast<std::size_t>(format.channels - 1);
  std::array<float, 4> out{};
  for (std::size_t c = 0; c <= last; ++c) {
    const float sum = static_cast<float>(sums[c]) + given;
    if (format.component == Component::u8 && format.only_scaled()) {
      out[c] = static_cast<float>((sums[c] + k.rounding) >> 8);
    } else if (format.alpha == AlphaMode::premultiply && c < last) {
      out[c] = sums[last] == 0 ? 0.0F : sum * scale.full / (static_cast<float>(sums[last]) + given);
    } else {
      out[c] = sum * scale.to_code;
    }
  }
  return out;
}

}  // namespace

void sep_fused_u8_apart(const SepFusedU8& k, const Tile& tile) {
  const bool has_alpha = k.rows.source.alpha == AlphaMode::premultiply;
  RowPipeline rows = k.rows;  // whose results are codes
  rows.destination.alpha = AlphaMode::ignore;
  rows.destination.scale = 1.0;
  for_each_pixel<float>(rows, tile, [&](std::int64_t x, std::int64_t y) {
    std::array<std::uint32_t, 4> sums{};
    for (std::size_t c = 0; c < static_cast<std::size_t>(k.rows.source.channels); ++c) {
      const auto wide = [&](std::int64_t column, std::int64_t row) {
        const double number = read_pixel<double>(k.rows, tile.src, column, row)[c];
        return static_cast<std::uint32_t>(std::lround(number * (has_alpha ? kPremultipliedOne : 256)));
      };
      sums[c] =
          filtered_fixed(k.x, [&](std::int64_t i) { return filtered_fixed(k.y, [&](std::int64_t j) { return wide(x + i, y + j); }); });
    }
    return codes_of(k, sums);
  });
}

}  // namespace scalar
}  // namespace mollify::cpu
#endif  // HWY_ONCE
