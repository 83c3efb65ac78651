// Exact box of any radius at constant cost a pixel: a vertical sum per column that takes in the entering row and drops
// the leaving one, then horizontal windows over the row of sums.
//   i32: modular integers, exact; a window is the difference of two prefix sums.
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

HWY_INLINE VecI32 load_i32(I32 d, const std::uint8_t* p) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::uint8_t, I32>(), p));
}
HWY_INLINE VecI32 load_i32(I32 d, const std::uint16_t* p) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::uint16_t, I32>(), p));
}

// ---- integers

/// The columns of one tile with their halo, and where each reads from.
template <class S>
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

  [[nodiscard]] std::int32_t outside(int c) const {
    return static_cast<std::int32_t>(box.rows.outside[static_cast<std::size_t>(c)]);
  }

  /// Calls f(index into sums, index into a stored row or kOutside) for every component of the border columns.
  template <class F>
  HWY_INLINE void for_border(F f) const {
    const auto range = [&](std::int64_t from, std::int64_t to) HWY_ATTR {
      for (std::int64_t i = from; i < to; ++i) {
        const std::int64_t inside = map_index(box.rows.border.mode.x, x + i, src.desc.width);
        for (int c = 0; c < channels; ++c) f(i * channels + c, inside == kOutside ? kOutside : inside * channels + c, c);
      }
    };
    range(0, first);
    range(last, pixels);
  }

  /// sums += sign * row y
  template <int kSign>
  HWY_INLINE void add(std::int64_t y, std::int32_t* sums) const {
    const S* stored = row(y);
    if (!stored) {
      for (std::int64_t i = 0; i < pixels; ++i) {
        for (int c = 0; c < channels; ++c) sums[i * channels + c] += kSign * outside(c);
      }
      return;
    }
    const S* p = stored + x * channels;
    for (std::int64_t i = first * channels; i < last * channels; ++i) sums[i] += kSign * static_cast<std::int32_t>(p[i]);
    for_border([&](std::int64_t i, std::int64_t from, int c) HWY_ATTR {
      sums[i] += kSign * (from == kOutside ? outside(c) : static_cast<std::int32_t>(stored[from]));
    });
  }

  /// sums += row `entering` - row `leaving`
  HWY_INLINE void step(std::int64_t entering, std::int64_t leaving, std::int32_t* sums) const {
    const S* in = row(entering);
    const S* out = row(leaving);
    if (!in || !out) {
      add<1>(entering, sums);
      add<-1>(leaving, sums);
      return;
    }
    const I32 d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const S* p = in + x * channels;
    const S* q = out + x * channels;
    std::int64_t i = first * channels;
    for (; i + lanes <= last * channels; i += lanes) {
      const VecI32 change = hn::Sub(load_i32(d, p + i), load_i32(d, q + i));
      hn::StoreU(hn::Add(hn::LoadU(d, sums + i), change), d, sums + i);
    }
    for (; i < last * channels; ++i) sums[i] += static_cast<std::int32_t>(p[i]) - static_cast<std::int32_t>(q[i]);
    if (first == 0 && last == pixels) return;
    for_border([&](std::int64_t j, std::int64_t from, int) HWY_ATTR {
      if (from != kOutside) sums[j] += static_cast<std::int32_t>(in[from]) - static_cast<std::int32_t>(out[from]);
    });
  }
};

/// prefix[i] = sum of sums[i - channels], sums[i - 2 channels], ...: of all pixels before, modulo 2^32.
template <int kChannels>
HWY_INLINE void prefix_sums(const std::int32_t* sums, std::int64_t pixels, std::int32_t* prefix) {
  std::uint32_t running[kChannels] = {};
  for (std::int64_t i = 0; i < pixels; ++i) {
    for (int c = 0; c < kChannels; ++c) {
      prefix[i * kChannels + c] = static_cast<std::int32_t>(running[c]);
      running[c] += static_cast<std::uint32_t>(sums[i * kChannels + c]);
    }
  }
  for (int c = 0; c < kChannels; ++c) prefix[pixels * kChannels + c] = static_cast<std::int32_t>(running[c]);
}

HWY_INLINE void prefix_sums(int channels, const std::int32_t* sums, std::int64_t pixels, std::int32_t* prefix) {
  switch (channels) {
    case 1: return prefix_sums<1>(sums, pixels, prefix);
    case 2: return prefix_sums<2>(sums, pixels, prefix);
    case 3: return prefix_sums<3>(sums, pixels, prefix);
    default: break;
  }
  // Four channels are one 128-bit vector.
  const hn::Simd<std::int32_t, HWY_TARGET == HWY_SCALAR ? 1 : 4, 0> d4;
  if (hn::Lanes(d4) != 4) return prefix_sums<4>(sums, pixels, prefix);
  auto running = hn::Zero(d4);
  for (std::int64_t i = 0; i < pixels; ++i) {
    hn::StoreU(running, d4, prefix + 4 * i);
    running = hn::Add(running, hn::LoadU(d4, sums + 4 * i));
  }
  hn::StoreU(running, d4, prefix + 4 * pixels);
}

template <class S>
HWY_INLINE void box_integer(const BoxAny& box, const Tile& tile) {
  const IntegerColumns<S> columns(box, tile);
  const int channels = columns.channels;
  const BoxIntegerScratch s(tile.scratch, tile.out.width, box.x.size(), channels);
  const std::int64_t pixel_bytes = info(tile.dst.desc.format).pixel_bytes();
  const std::int64_t count = std::int64_t{tile.out.width} * channels;
  const std::int64_t window = box.x.size() * channels;
  const F32 d;
  const I32 di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));

  const std::int64_t top = tile.origin_y + tile.out.y;
  std::fill_n(s.sums, columns.pixels * channels, 0);
  for (std::int64_t y = top - box.y.before; y <= top + box.y.after; ++y) columns.template add<1>(y, s.sums);
  for (std::int64_t row = 0; row < tile.out.height; ++row) {
    if (row > 0) columns.step(top + row + box.y.after, top + row - 1 - box.y.before, s.sums);
    prefix_sums(channels, s.sums, columns.pixels, s.prefix);
    for (std::int64_t i = 0; i < count; i += lanes) {
      const VecI32 sum = hn::Sub(hn::LoadU(di, s.prefix + i + window), hn::LoadU(di, s.prefix + i));
      hn::StoreU(hn::ConvertTo(d, sum), d, s.out + i);
    }
    encode_pixels(box.rows.destination, s.out, tile.out.width,
                  tile.dst.row(tile.out.y + row) + tile.out.x * pixel_bytes);
  }
}

void box_any_i32(const BoxAny& box, const Tile& tile) {
  if (box.rows.source.component == Component::u8) return box_integer<std::uint8_t>(box, tile);
  box_integer<std::uint16_t>(box, tile);
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
  const std::int64_t pixel_bytes = info(tile.dst.desc.format).pixel_bytes();
  const std::int64_t top = tile.origin_y + tile.out.y;
  for (std::int64_t y = top - top % box.segment_rows; y < top + tile.out.height; ++y) {
    if (y % box.segment_rows == 0) {
      columns.sum_anew(y, columns.s.sums);
    } else {
      columns.step(y);
    }
    if (y < top) continue;
    columns.horizontal(columns.with_fractions(y));
    encode_pixels(box.rows.destination, columns.s.out, tile.out.width,
                  tile.dst.row(y - tile.origin_y) + tile.out.x * pixel_bytes);
  }
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
