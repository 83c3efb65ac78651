// Box of any radius, fractional too, on floats of any number of channels: vertical sums in f64, begun anew every segment; a
// window is the rest of one block plus the start of the next, so nothing is ever subtracted horizontally and neither drift
// nor a NaN leaves its window. Segments and blocks are anchored to source coordinates, so bits do not depend on tiles.
#include "backends/cpu/kernels/box_window.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/pixel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/box_any_float.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include "backends/cpu/kernels/row_io-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

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

HWY_EXPORT(box_any_f32);
HWY_EXPORT(box_any_f64);

void box_any_f32(const BoxAny& box, const Tile& tile) { HWY_DYNAMIC_DISPATCH(box_any_f32)(box, tile); }
void box_any_f64(const BoxAny& box, const Tile& tile) { HWY_DYNAMIC_DISPATCH(box_any_f64)(box, tile); }

namespace scalar {
namespace {

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
