// Exact box of any radius at constant cost a pixel: a vertical sum per column that takes in the entering row and drops
// the leaving one, then horizontal windows over the row of sums.
//   i32: modular integers, exact; a window is the one before plus the sum that enters minus the one that leaves, summed up
//        for a whole vector of pixels at once. Vertical sums of 8-bit pixels take 16 bits where they fit.
//   f64: vertical sums in f64, begun anew every segment; a window is the rest of one block plus the start of the next,
//        so nothing is ever subtracted horizontally and neither drift nor a NaN leaves its window.
// Segments and blocks are anchored to source coordinates, so bits do not depend on tiles.
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/pixel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/box_any.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include "backends/cpu/kernels/row_io-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

using I32 = hn::RebindToSigned<F32>;
using VecI32 = hn::Vec<I32>;

// ---- integers

/// The columns of one tile with their halo, and where each reads from. `S` is what is stored, `Sum` what a vertical sum
/// takes.
template <class S, class Sum>
struct IntegerColumns {
  const BoxAny& box;
  const ConstImageView& src;
  std::int64_t x;       ///< source column of sums[0]
  std::int64_t pixels;
  std::int64_t first, last;  ///< [first, last) lie inside the image
  int channels;

  IntegerColumns(const BoxAny& b, const Tile& tile)
      : box(b),
        src(tile.src),
        x(tile.origin_x + tile.out.x - b.x.before),
        pixels(tile.out.width + b.x.size() - 1),
        first(std::clamp<std::int64_t>(-x, 0, pixels)),
        last(std::clamp<std::int64_t>(src.desc.width - x, first, pixels)),
        channels(b.rows.source.channels) {}

  /// The stored row that stands for row y, or null for the border's constant.
  [[nodiscard]] const S* row(std::int64_t y) const {
    const std::int64_t inside = map_index(box.rows.border.mode.y, y, src.desc.height);
    return inside == kOutside ? nullptr : reinterpret_cast<const S*>(src.row(inside));
  }

  [[nodiscard]] Sum outside(int c) const { return static_cast<Sum>(box.rows.outside[static_cast<std::size_t>(c)]); }

  /// Sums of the columns outside the image, and of all if the row is (null): plus or minus what stands for them.
  template <int kSign>
  HWY_INLINE void add_border(const S* stored, Sum* sums) const {
    const auto range = [&](std::int64_t from, std::int64_t to) HWY_ATTR {
      for (std::int64_t i = from; i < to; ++i) {
        const std::int64_t inside = stored ? map_index(box.rows.border.mode.x, x + i, src.desc.width) : kOutside;
        for (int c = 0; c < channels; ++c) {
          const Sum value = inside == kOutside ? outside(c) : static_cast<Sum>(stored[inside * channels + c]);
          sums[i * channels + c] = static_cast<Sum>(sums[i * channels + c] + kSign * value);
        }
      }
    };
    if (!stored) return range(0, pixels);
    range(0, first);
    range(last, pixels);
  }

  /// Calls change(vector of sums, component index) for those inside the image, then rest(sum, index) for single ones.
  template <class Change, class Rest>
  HWY_INLINE void for_inside(Sum* sums, const Change& change, const Rest& rest) const {
    const hn::ScalableTag<Sum> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    std::int64_t i = first * channels;
    for (; i + lanes <= last * channels; i += lanes) hn::StoreU(change(hn::LoadU(d, sums + i), i), d, sums + i);
    for (; i < last * channels; ++i) sums[i] = rest(sums[i], i);
  }

  /// sums += kSign * row y. Sums wrap around; what is left at the end fits.
  template <int kSign>
  HWY_INLINE void add(std::int64_t y, Sum* sums) const {
    using V = hn::Vec<hn::ScalableTag<Sum>>;
    const hn::ScalableTag<Sum> d;
    const hn::Rebind<S, decltype(d)> narrow;
    const S* stored = row(y);
    if (stored) {
      const S* p = stored + x * channels;
      for_inside(
          sums,
          [&](V sum, std::int64_t i) HWY_ATTR {
            const V value = hn::PromoteTo(d, hn::LoadU(narrow, p + i));
            return kSign > 0 ? hn::Add(sum, value) : hn::Sub(sum, value);
          },
          [&](Sum sum, std::int64_t i) { return static_cast<Sum>(sum + kSign * static_cast<Sum>(p[i])); });
    }
    add_border<kSign>(stored, sums);
  }

  /// sums += row `entering` - row `leaving`
  HWY_INLINE void step(std::int64_t entering, std::int64_t leaving, Sum* sums) const {
    using V = hn::Vec<hn::ScalableTag<Sum>>;
    const hn::ScalableTag<Sum> d;
    const hn::Rebind<S, decltype(d)> narrow;
    const S* in = row(entering);
    const S* out = row(leaving);
    if (!in || !out) {
      add<1>(entering, sums);
      add<-1>(leaving, sums);
      return;
    }
    const S* p = in + x * channels;
    const S* q = out + x * channels;
    for_inside(
        sums,
        [&](V sum, std::int64_t i) HWY_ATTR {
          const V entered = hn::PromoteTo(d, hn::LoadU(narrow, p + i));
          return hn::Add(sum, hn::Sub(entered, hn::PromoteTo(d, hn::LoadU(narrow, q + i))));
        },
        [&](Sum sum, std::int64_t i) { return static_cast<Sum>(sum + static_cast<Sum>(p[i]) - static_cast<Sum>(q[i])); });
    add_border<1>(in, sums);
    add_border<-1>(out, sums);
  }
};

HWY_INLINE VecI32 load_sums(I32 d, const std::uint16_t* p) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::uint16_t, I32>(), p));
}
HWY_INLINE VecI32 load_sums(I32 d, const std::uint32_t* p) {
  return hn::BitCast(d, hn::LoadU(hn::RebindToUnsigned<I32>(), p));
}

/// Calls each(i, sums of the windows that begin at components i, i + 1, ...) for a vector of them at a time. The pixel
/// before the row of vertical sums holds zeros; behind the row, a vector may be read.
template <int kChannels, class Sum, class Each>
HWY_INLINE void for_windows(const Sum* sums, std::int64_t window, std::int64_t count, const Each& each) {
  const I32 d;
  constexpr std::int64_t kMostLanes = HWY_MAX_BYTES / 4;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  // The window that would begin one pixel earlier, for every channel.
  std::uint32_t before[kChannels] = {};
  for (std::int64_t i = 0; i < window - 1; ++i) {
    for (int c = 0; c < kChannels; ++c) before[c] += sums[i * kChannels + c];
  }
  HWY_ALIGN std::int32_t start[kMostLanes];
  HWY_ALIGN std::int32_t last[kMostLanes];
  for (std::int64_t i = 0; i < lanes; ++i) {
    start[i] = static_cast<std::int32_t>(before[i % kChannels]);
    last[i] = static_cast<std::int32_t>(std::max<std::int64_t>(lanes - kChannels, 0) + i % kChannels);
  }
  const Sum* entering = sums + (window - 1) * kChannels;
  const Sum* leaving = sums - kChannels;
  if (lanes < kChannels) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::uint32_t& sum = before[i % kChannels];
      sum += static_cast<std::uint32_t>(entering[i]) - static_cast<std::uint32_t>(leaving[i]);
      each(i, hn::Set(d, static_cast<std::int32_t>(sum)));
    }
    return;
  }
  // Sums up to and including each lane's own pixel, by doubling steps; then what came before.
  const VecI32 lane = hn::Iota(d, 0);
  const auto last_pixel = hn::SetTableIndices(d, last);
  VecI32 carry = hn::Load(d, start);
  for (std::int64_t i = 0; i < count; i += lanes) {
    VecI32 sum = hn::Sub(load_sums(d, entering + i), load_sums(d, leaving + i));
    HWY_UNROLL(4)
    for (std::int64_t by = kChannels; by < kMostLanes; by *= 2) {
      if (by >= lanes) break;
      const VecI32 step = hn::Set(d, static_cast<std::int32_t>(by));
      const auto source = hn::IndicesFromVec(d, hn::Max(hn::Sub(lane, step), hn::Zero(d)));
      sum = hn::Add(sum, hn::IfThenElseZero(hn::Not(hn::Lt(lane, step)), hn::TableLookupLanes(sum, source)));
    }
    sum = hn::Add(sum, carry);
    carry = hn::TableLookupLanes(sum, last_pixel);
    each(i, sum);
  }
}

template <int kChannels, class S, class Sum>
HWY_INLINE void box_integer_row(const BoxAny& box, const BoxIntegerScratch& s, const Sum* sums, std::int64_t pixels,
                                const std::byte* ahead) {
  const F32 d;
  const VecF32 scale = hn::Set(d, static_cast<float>(box.rows.destination.scale));
  const std::int64_t count = pixels * kChannels;
  if (box.rows.destination.component == box.rows.source.component) {
    const hn::Rebind<S, F32> stored;
    auto* out = reinterpret_cast<S*>(s.out);
    for_windows<kChannels>(sums, box.x.size(), count, [&](std::int64_t i, VecI32 sum) HWY_ATTR {
      hwy::Prefetch(ahead + i * static_cast<std::int64_t>(sizeof(S)));
      hn::StoreU(hn::DemoteTo(stored, hn::NearestInt(hn::Mul(hn::ConvertTo(d, sum), scale))), stored, out + i);
    });
    return;
  }
  for_windows<kChannels>(sums, box.x.size(), count, [&](std::int64_t i, VecI32 sum) HWY_ATTR {
    hn::StoreU(hn::ConvertTo(d, sum), d, s.out + i);
  });
  encode_pixels(box.rows.destination, s.out, pixels, reinterpret_cast<std::byte*>(s.out));
}

template <class S, class Sum>
HWY_INLINE void box_integer(const BoxAny& box, const Tile& tile) {
  const IntegerColumns<S, Sum> columns(box, tile);
  const int channels = columns.channels;
  const BoxIntegerScratch s(tile.scratch, tile.out.width, box.x.size(), channels);
  const std::int64_t pixel_bytes = info(tile.dst.desc.format).pixel_bytes();
  auto* before_sums = reinterpret_cast<Sum*>(s.sums);
  auto* sums = before_sums + kPadElements;
  std::fill_n(before_sums, kPadElements + columns.pixels * channels, Sum{0});

  const std::int64_t top = tile.origin_y + tile.out.y;
  for (std::int64_t y = top - box.y.before; y <= top + box.y.after; ++y) columns.template add<1>(y, sums);
  for (std::int64_t row = 0; row < tile.out.height; ++row) {
    if (row > 0) columns.step(top + row + box.y.after, top + row - 1 - box.y.before, sums);
    const std::byte* ahead = stored_row(box.rows, tile.src, top + row + 1 + box.y.after, columns.x);
    const auto make_row = [&](auto constant) HWY_ATTR {
      box_integer_row<decltype(constant)::value, S>(box, s, sums, tile.out.width, ahead);
    };
    switch (channels) {
      case 1: make_row(std::integral_constant<int, 1>{}); break;
      case 2: make_row(std::integral_constant<int, 2>{}); break;
      case 3: make_row(std::integral_constant<int, 3>{}); break;
      default: make_row(std::integral_constant<int, 4>{}); break;
    }
    store_bytes(tile, reinterpret_cast<const std::byte*>(s.out), tile.out.width * pixel_bytes,
                tile.dst.row(tile.out.y + row) + tile.out.x * pixel_bytes);
  }
  finish_stores(tile);
}

void box_any_i32(const BoxAny& box, const Tile& tile) {
  if (box.rows.source.component != Component::u8) return box_integer<std::uint16_t, std::uint32_t>(box, tile);
  constexpr std::int64_t kMostRows = 65535 / 255;
  if (box.y.size() <= kMostRows) return box_integer<std::uint8_t, std::uint16_t>(box, tile);
  box_integer<std::uint8_t, std::uint32_t>(box, tile);
}

// ---- f64 sums

using F64 = Tag<double>;
using VecF64 = hn::Vec<F64>;

HWY_INLINE VecF64 load_f64(F64 d, const float* p) { return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, F64>(), p)); }
HWY_INLINE VecF64 load_f64(F64 d, const double* p) { return hn::LoadU(d, p); }
HWY_INLINE void store_f64(HWY_MAYBE_UNUSED F64 d, VecF64 v, float* p) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128  // Highway's emulation makes infinities finite
  HWY_ALIGN double lanes[kMaxLanes];
  hn::Store(v, d, lanes);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) p[i] = static_cast<float>(lanes[i]);
#else
  const hn::Rebind<float, F64> d32;
  hn::StoreU(hn::DemoteTo(d32, v), d32, p);
#endif
}
HWY_INLINE void store_f64(F64 d, VecF64 v, double* p) { hn::StoreU(v, d, p); }

/// For every pixel, the sum of its block from the start up to it, not including (`prefix`), and from it to the end
/// (`suffix`). Blocks of `n` pixels; the first begins `offset` pixels before pixel 0. One prefix more than pixels.
template <int kChannels>
HWY_INLINE void block_sums(const double* values, std::int64_t pixels, std::int64_t n, std::int64_t offset,
                           double* prefix, double* suffix) {
  for (std::int64_t begin = -offset; begin <= pixels; begin += n) {
    const std::int64_t from = std::max<std::int64_t>(begin, 0);
    const std::int64_t to = std::min(begin + n, pixels);
    double running[kChannels] = {};
    for (std::int64_t i = from; i < to; ++i) {
      for (int c = 0; c < kChannels; ++c) {
        prefix[i * kChannels + c] = running[c];
        running[c] += values[i * kChannels + c];
      }
    }
    if (begin + n > pixels) {
      for (int c = 0; c < kChannels; ++c) prefix[pixels * kChannels + c] = running[c];
    }
    for (double& r : running) r = 0.0;
    for (std::int64_t i = to - 1; i >= from; --i) {
      for (int c = 0; c < kChannels; ++c) {
        running[c] += values[i * kChannels + c];
        suffix[i * kChannels + c] = running[c];
      }
    }
  }
}

template <class T>
struct FloatColumns {
  const BoxAny& box;
  const Tile& tile;
  int channels;
  std::int64_t pixels;    ///< of the tile with its halo
  std::int64_t elements;
  std::int64_t x;         ///< source column of pixel 0
  BoxFloatScratch<T> s;

  FloatColumns(const BoxAny& b, const Tile& t)
      : box(b),
        tile(t),
        channels(b.rows.source.channels),
        pixels(t.out.width + b.x.reach_before() + b.x.reach_after()),
        elements(pixels * channels),
        x(t.origin_x + t.out.x - b.x.reach_before()),
        s(t.scratch, t.out.width, b.x.reach_before() + b.x.reach_after(), channels) {}

  HWY_INLINE void load(std::int64_t y, T* row) const { load_row(box.rows, tile.src, y, x, pixels, row); }

  /// into += weight * row y
  HWY_INLINE void add(std::int64_t y, double weight, double* into) const {
    load(y, s.entering);
    const F64 d;
    const VecF64 w = hn::Set(d, weight);
    for (std::int64_t i = 0; i < elements; i += static_cast<std::int64_t>(hn::Lanes(d))) {
      hn::StoreU(hn::MulAdd(load_f64(d, s.entering + i), w, hn::LoadU(d, into + i)), d, into + i);
    }
  }

  /// into = the sums of the window's whole pixels around row y, from scratch
  HWY_INLINE void sum_anew(std::int64_t y, double* into) const {
    std::fill_n(into, elements, 0.0);
    for (std::int64_t r = y - box.y.before; r <= y + box.y.after; ++r) add(r, 1.0, into);
  }

  /// sums: from around row y - 1 to around row y
  HWY_INLINE void step(std::int64_t y) const {
    load(y + box.y.after, s.entering);
    load(y - 1 - box.y.before, s.leaving);
    const F64 d;
    VecF64 poison = hn::Zero(d);  // NaN where a leaving value is not finite: no subtraction takes that back
    for (std::int64_t i = 0; i < elements; i += static_cast<std::int64_t>(hn::Lanes(d))) {
      const VecF64 leaving = load_f64(d, s.leaving + i);
      const VecF64 change = hn::Sub(load_f64(d, s.entering + i), leaving);
      hn::StoreU(hn::Add(hn::LoadU(d, s.sums + i), change), d, s.sums + i);
      poison = hn::MulAdd(leaving, hn::Zero(d), poison);
    }
    if (hn::AllTrue(d, hn::Eq(poison, hn::Zero(d)))) return;
    sum_anew(y, s.fresh);
    for (std::int64_t i = 0; i < elements; ++i) {
      if (!std::isfinite(s.leaving[i])) s.sums[i] = s.fresh[i];
    }
  }

  /// The sums with the window's fractional rows, for row y.
  HWY_INLINE const double* with_fractions(std::int64_t y) const {
    if (box.y.before_fraction == 0.0 && box.y.after_fraction == 0.0) return s.sums;
    std::copy_n(s.sums, elements, s.values);
    if (box.y.before_fraction != 0.0) add(y - box.y.before - 1, box.y.before_fraction, s.values);
    if (box.y.after_fraction != 0.0) add(y + box.y.after + 1, box.y.after_fraction, s.values);
    return s.values;
  }

  HWY_INLINE void block_sums(const double* values) const {
    const std::int64_t n = box.x.size();
    const std::int64_t offset = (x % n + n) % n;
    const auto run = [&](auto constant) HWY_ATTR {
      HWY_NAMESPACE::block_sums<decltype(constant)::value>(values, pixels, n, offset, s.prefix, s.suffix);
    };
    switch (channels) {
      case 1: return run(std::integral_constant<int, 1>{});
      case 2: return run(std::integral_constant<int, 2>{});
      case 3: return run(std::integral_constant<int, 3>{});
      default: return run(std::integral_constant<int, 4>{});
    }
  }

  /// out = the means of the windows over a row of vertical sums
  HWY_INLINE void horizontal(const double* values) const {
    block_sums(values);
    // A window is the rest of the block it begins in and the start of the block it reaches into.
    const std::int64_t lead = (box.x.reach_before() - box.x.before) * channels;  // of a fractional tap
    const std::int64_t past = lead + box.x.size() * channels;
    const F64 d;
    const VecF64 scale = hn::Set(d, box.scale);
    const VecF64 before = hn::Set(d, box.x.before_fraction);
    const VecF64 after = hn::Set(d, box.x.after_fraction);
    for (std::int64_t i = 0; i < tile.out.width * channels; i += static_cast<std::int64_t>(hn::Lanes(d))) {
      VecF64 sum = hn::Add(hn::LoadU(d, s.suffix + lead + i), hn::LoadU(d, s.prefix + past + i));
      if (box.x.before_fraction != 0.0) sum = hn::MulAdd(before, hn::LoadU(d, values + i), sum);
      if (box.x.after_fraction != 0.0) sum = hn::MulAdd(after, hn::LoadU(d, values + past + i), sum);
      store_f64(d, hn::Mul(sum, scale), s.out + i);
    }
  }
};

template <class T>
HWY_INLINE void box_float(const BoxAny& box, const Tile& tile) {
  const FloatColumns<T> columns(box, tile);
  // step() looks at whole vectors: what lies behind the row must not pass for a NaN, whose removal costs a whole window.
  std::fill_n(columns.s.leaving + columns.elements, hn::Lanes(F64()), T{0});
  const std::int64_t top = tile.origin_y + tile.out.y;
  for (std::int64_t y = top - top % box.segment_rows; y < top + tile.out.height; ++y) {
    if (y % box.segment_rows == 0) {
      columns.sum_anew(y, columns.s.sums);
    } else {
      columns.step(y);
    }
    if (y < top) continue;
    columns.horizontal(columns.with_fractions(y));
    store_pixels(box.rows.destination, tile, columns.s.out, tile.out.width, tile.out.x, y - tile.origin_y);
  }
  finish_stores(tile);
}

void box_any_f32(const BoxAny& box, const Tile& tile) { box_float<float>(box, tile); }
void box_any_f64(const BoxAny& box, const Tile& tile) { box_float<double>(box, tile); }

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mollify::cpu {

HWY_EXPORT(box_any_i32);
HWY_EXPORT(box_any_f32);
HWY_EXPORT(box_any_f64);

void box_any_i32(const BoxAny& box, const Tile& tile) { HWY_DYNAMIC_DISPATCH(box_any_i32)(box, tile); }
void box_any_f32(const BoxAny& box, const Tile& tile) { HWY_DYNAMIC_DISPATCH(box_any_f32)(box, tile); }
void box_any_f64(const BoxAny& box, const Tile& tile) { HWY_DYNAMIC_DISPATCH(box_any_f64)(box, tile); }

namespace scalar {
namespace {

/// The sum over the window around (x, y), `S` sums of `T` pixels.
template <class T, class S>
std::array<S, 4> window_sum(const BoxAny& box, const ConstImageView& src, std::int64_t x, std::int64_t y) {
  const auto weight = [](const BoxWindow& w, std::int64_t i) {
    return static_cast<S>(i < -w.before ? w.before_fraction : i > w.after ? w.after_fraction : 1.0);
  };
  std::array<S, 4> sum{};
  for (std::int64_t j = -box.y.reach_before(); j <= box.y.reach_after(); ++j) {
    for (std::int64_t i = -box.x.reach_before(); i <= box.x.reach_after(); ++i) {
      const std::array<T, 4> in = read_pixel<T>(box.rows, src, x + i, y + j);
      for (std::size_t c = 0; c < 4; ++c) sum[c] += weight(box.x, i) * weight(box.y, j) * static_cast<S>(in[c]);
    }
  }
  return sum;
}

template <class T>
void box_float(const BoxAny& box, const Tile& tile) {
  for_each_pixel<T>(box.rows, tile, [&](std::int64_t x, std::int64_t y) {
    std::array<T, 4> out;
    const std::array<double, 4> sum = window_sum<T, double>(box, tile.src, x, y);
    std::transform(sum.begin(), sum.end(), out.begin(), [&](double v) { return static_cast<T>(v * box.scale); });
    return out;
  });
}

}  // namespace

void box_any_i32(const BoxAny& box, const Tile& tile) {
  for_each_pixel<float>(box.rows, tile, [&](std::int64_t x, std::int64_t y) {
    std::array<float, 4> out;
    const std::array<std::int32_t, 4> sum = window_sum<double, std::int32_t>(box, tile.src, x, y);
    std::transform(sum.begin(), sum.end(), out.begin(), [](std::int32_t v) { return static_cast<float>(v); });
    return out;
  });
}

void box_any_f32(const BoxAny& box, const Tile& tile) { box_float<float>(box, tile); }
void box_any_f64(const BoxAny& box, const Tile& tile) { box_float<double>(box, tile); }

}  // namespace scalar

BoxWindow box_window(const BoxExtent& extent) {
  BoxWindow window;
  window.before = static_cast<std::int64_t>(extent.before);
  window.after = static_cast<std::int64_t>(extent.after);
  window.before_fraction = extent.before - static_cast<double>(window.before);
  window.after_fraction = extent.after - static_cast<double>(window.after);
  return window;
}

}  // namespace mollify::cpu
#endif  // HWY_ONCE
