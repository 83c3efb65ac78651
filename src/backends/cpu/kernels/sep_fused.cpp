// Separable taps, one read and one write of the image: each source row is decoded and filtered horizontally into a ring, and
// kRowGroup output rows are filtered vertically out of it (each load feeds all of them), encoded in registers and written
// at once. Per component 2R + 1 multiply-adds an axis. Every output sums its taps in the order of the kernel, wherever its
// tile lies.
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/pixel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/sep_fused.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include "backends/cpu/kernels/row_io-inl.h"
#include "backends/cpu/kernels/taps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

/// for_filtered_rows() of the vertical taps, also where outputs lie some rows apart.
template <class T, class Store>
HWY_INLINE void for_outputs(const SepFused<T>& k, const T* const* rows, std::int64_t first, std::int64_t last, const Store& store) {
  if (k.rows.step.y > 1) return for_rows_apart(k.y, k.rows.step.y, rows, first, last, store);
  for_filtered_rows(k.y, rows, first, last, store);
}

/// kRowGroup filtered rows of numbers that are stored as they are: components [first, last) where they belong.
template <bool kStreams>
HWY_INLINE void write_floats(const SepFused<float>& k, const float* const* rows, WholeLines lines, float* out, std::int64_t row_bytes) {
  const F32 d;
  const std::int64_t stride = row_bytes / static_cast<std::int64_t>(sizeof(float));
  for_outputs(k, rows, lines.first, lines.last, [&](std::int64_t j, std::int64_t i, VecF32 v) HWY_ATTR {
    if constexpr (kStreams) {
      hn::Stream(v, d, out + j * stride + i);
    } else {
      hn::StoreU(v, d, out + j * stride + i);
    }
  });
}

/// What a row group of finished rows needs to be written: `rows` rows from `y` on, in destination pixels.
template <class T>
struct RowGroup {
  const SepFused<T>& k;
  const Tile& tile;
  const SepFusedScratch<T>& scratch;
  std::int64_t y, rows;

  [[nodiscard]] std::int64_t count() const { return std::int64_t{tile.out.width} * k.rows.source.channels; }
  [[nodiscard]] std::byte* row(std::int64_t j) const { return tile.dst.row(y + j) + tile.out.x * info(tile.dst.desc.format).pixel_bytes(); }
};

/// f32 to f32, nothing to encode. Components outside of `lines` take a detour, and so does a row group that is not full.
HWY_INLINE void write_plain(const RowGroup<float>& group, WholeLines lines) {
  const SepFusedScratch<float>& s = group.scratch;
  const auto detour = [&](std::int64_t from, std::int64_t to) HWY_ATTR {
    if (from == to) return;
    const F32 d;
    for_outputs(group.k, s.rows, from, to,
                [&](std::int64_t j, std::int64_t i, VecF32 v) HWY_ATTR { hn::StoreU(v, d, s.out + j * s.stride + i); });
    for (std::int64_t j = 0; j < group.rows; ++j) {
      constexpr auto kBytes = static_cast<std::int64_t>(sizeof(float));
      store_bytes(group.tile, reinterpret_cast<const std::byte*>(s.out + j * s.stride + from), (to - from) * kBytes,
                  group.row(j) + from * kBytes);
    }
  };
  if (group.rows < kRowGroup) return detour(0, group.count());
  lines.last -= (lines.last - lines.first) % (2 * static_cast<std::int64_t>(hn::Lanes(F32())));  // made at once
  detour(0, lines.first);
  const auto write = group.tile.streams ? write_floats<true> : write_floats<false>;
  write(group.k, s.rows, lines, reinterpret_cast<float*>(group.row(0)), group.tile.dst.row_bytes);
  detour(lines.last, group.count());
}

/// To components of another type, in registers.
template <class D>
HWY_INLINE void write_encoded(const RowGroup<float>& group) {
  const SepFusedScratch<float>& s = group.scratch;
  const F32 d;
  const VecF32 scale = hn::Set(d, static_cast<float>(group.k.rows.destination.scale));
  auto* made = reinterpret_cast<D*>(s.out);  // never larger than numbers
  for_outputs(group.k, s.rows, 0, group.count(),
              [&](std::int64_t j, std::int64_t i, VecF32 v) HWY_ATTR { store_f32(d, hn::Mul(v, scale), made + j * s.stride + i); });
  for (std::int64_t j = 0; j < group.rows; ++j) {
    store_bytes(group.tile, reinterpret_cast<const std::byte*>(made + j * s.stride), group.count() * static_cast<std::int64_t>(sizeof(D)),
                group.row(j));
  }
}

template <class T>
HWY_INLINE void write_row_group(const RowGroup<T>& group, HWY_MAYBE_UNUSED WholeLines lines) {
  const RowFormat& format = group.k.rows.destination;
  if constexpr (std::is_same_v<T, float>) {
    if (format.is_plain_f32()) return write_plain(group, lines);
    if (format.only_scaled()) {
      return with_component(format.component, [&](auto component) HWY_ATTR { write_encoded<decltype(component)>(group); });
    }
  }
  const SepFusedScratch<T>& s = group.scratch;
  for_outputs(group.k, s.rows, 0, group.count(),
              [&](std::int64_t j, std::int64_t i, auto v) HWY_ATTR { hn::StoreU(v, Tag<T>(), s.out + j * s.stride + i); });
  for (std::int64_t j = 0; j < group.rows; ++j) {
    store_pixels(format, group.tile, s.out + j * s.stride, group.tile.out.width, group.tile.out.x, group.y + j);
  }
}

/// Outputs that are filtered from the stored row as it is: all that they need lies inside it, and they fill whole vectors.
/// None where rows have to be decoded.
struct Direct {
  std::int64_t first = 0, last = 0;  ///< pixels
  std::int64_t components = 0;       ///< from `first` on, up to `last` and perhaps into that pixel
};

template <class T>
HWY_INLINE Direct direct_outputs(const SepFused<T>& k, const Source& src, std::int64_t row, std::int64_t x, std::int64_t pixels) {
  const RowFormat& format = k.rows.source;
  if (row == kOutside || !format.is_plain<T>()) return {};
  const std::int64_t first = std::clamp<std::int64_t>(-x, 0, pixels);
  const std::int64_t last = std::clamp<std::int64_t>(src.desc.width - x - k.x.size() + 1, first, pixels);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Tag<T>()));
  const std::int64_t components = (last - first) * format.channels / lanes * lanes;
  return {first, first + components / format.channels, components};
}

/// The horizontal taps over `components` outputs from `in` on. Meanwhile as much as they are stored in is fetched from `ahead`.
template <class T>
HWY_NOINLINE void filter_pixels(const SepFused<T>& k, const T* in, std::int64_t components, std::int64_t component_bytes,
                                const std::byte* ahead, T* out) {
  filter_columns(k.x, k.rows.source.channels, in, components, out, [&](std::int64_t from, std::int64_t to) HWY_ATTR {
    const std::byte* end = ahead + to * component_bytes;
    for (const std::byte* p = ahead + from * component_bytes; p < end; p += kLineBytes) hwy::Prefetch(p);
  });
}

/// The outputs of source row y, some pixels apart, which need its columns from x on.
template <class T>
HWY_NOINLINE void filter_row_apart(const SepFused<T>& k, const Tile& tile, const SepFusedScratch<T>& s, std::int64_t y, std::int64_t x,
                                   T* out) {
  const std::int64_t channels = k.rows.source.channels, step = k.rows.step.x;
  const std::int64_t pixels = (tile.out.width - 1) * step + k.x.size();
  load_row(k.rows, tile.src, y, x, pixels, s.decoded);
  with_channels(static_cast<int>(channels),
                [&](auto count) HWY_ATTR { split_row<decltype(count)::value>(s.decoded, pixels, step, s.parts, s.part_stride); });
  for (std::int64_t i = 0; i < k.x.size(); ++i) s.inputs[i] = s.parts + i % step * s.part_stride + i / step * channels;
  filter_inputs(k.x, s.inputs, tile.out.width * channels, out);
}

/// The outputs of source row y, which need its columns from x on.
template <class T>
HWY_INLINE void filter_row(const SepFused<T>& k, const Tile& tile, const SepFusedScratch<T>& s, std::int64_t y, std::int64_t x, T* out) {
  if (k.rows.step.x > 1) return filter_row_apart(k, tile, s, y, x, out);
  const std::int64_t channels = k.rows.source.channels, pixels = tile.out.width;
  const std::int64_t pixel_bytes = info(tile.src.desc.format).pixel_bytes();
  const std::byte* ahead = stored_row(k.rows, tile.src, y + kRowGroup, x);
  const auto filter = [&](const T* in, std::int64_t first, std::int64_t components) HWY_ATTR {
    filter_pixels(k, in, components, pixel_bytes / channels, ahead + first * pixel_bytes, out + first * channels);
  };
  const auto filter_decoded = [&](std::int64_t first, std::int64_t last) HWY_ATTR {
    if (first == last) return;
    load_row(k.rows, tile.src, y, x + first, last - first + k.x.size() - 1, s.decoded);
    filter(s.decoded, first, (last - first) * channels);
  };
  const std::int64_t row = map_index(k.rows.border.mode.y, y, tile.src.desc.height);
  const Direct direct = direct_outputs(k, tile.src, row, x, pixels);
  filter_decoded(0, direct.first);
  if (direct.components > 0) {
    const std::int64_t column = x + direct.first;
    const std::byte* stored = tile.src.row(row, column) + column * pixel_bytes;
    filter(reinterpret_cast<const T*>(stored), direct.first, direct.components);
  }
  filter_decoded(direct.last, pixels);  // and what a vector would have cut
}

/// Elements to leave out before the ring, fewer than there is room for. Vectors that are written to whole lines are read from whole ones.
/// Of the lines that this leaves, the ring begins where its loads stay clear of the stores before them: processors compare the last 12 bits
/// of addresses first, and a load that agrees in them with a store waits. Rows of powers of two agree in the last 9 bits, all of them.
template <class T>
HWY_INLINE std::int64_t skipped_before(const T* ring, const Tile& tile, WholeLines lines) {
  constexpr std::int64_t kPeriod = 512;
  constexpr std::int64_t kNext = 128;  // bytes from what is stored to what is loaded meanwhile
  constexpr auto kLine = kLineBytes / static_cast<std::int64_t>(sizeof(T));
  const std::byte* corner = tile.dst.row(tile.out.y) + tile.out.x * info(tile.dst.desc.format).pixel_bytes();
  const auto clear = [&](std::int64_t skipped) {
    const auto apart = reinterpret_cast<std::uintptr_t>(ring + skipped) - reinterpret_cast<std::uintptr_t>(corner) + kNext;
    const auto ahead = static_cast<std::int64_t>(apart % kPeriod);
    return std::min(ahead, kPeriod - ahead);
  };
  std::int64_t best = (kLine - lines.first % kLine) % kLine;
  for (std::int64_t skipped = best; skipped < kPadElements; skipped += kLine) {
    if (clear(skipped) > clear(best)) best = skipped;
  }
  return best;
}

template <class T>
HWY_INLINE void sep_fused(const SepFused<T>& k, const Tile& tile) {
  const int channels = k.rows.source.channels;
  const PerAxis<std::int64_t> step = k.rows.step;
  const SepFusedScratch<T> s(tile.scratch, tile.out.width, {k.x.size(), step.x}, {k.y.size(), step.y}, channels);
  const std::int64_t count = std::int64_t{tile.out.width} * channels;
  const std::int64_t x = tile.origin_x + tile.out.x * step.x - k.x.before;
  const std::int64_t made = tile.rows_made();
  const std::int64_t y = tile.origin_y + (tile.out.y - made) * step.y - k.y.before;  // source row of ring row 0
  const WholeLines lines = whole_lines(tile, count);
  // In a column of tiles the ring stays where it is.
  T* ring = tile.rows_above ? s.ring : s.ring + skipped_before(s.ring, tile, lines);

  std::int64_t loaded = made > 0 ? (made - 1) * step.y + k.y.size() : 0;  // ring rows so far
  const std::int64_t end = made + tile.out.height;
  for (std::int64_t row = made; row < end; row += kRowGroup) {
    const std::int64_t group = std::min(kRowGroup, end - row);
    for (; loaded < (row + group - 1) * step.y + k.y.size(); ++loaded) {
      if (loaded % step.y >= k.y.size()) continue;  // between the rows of two outputs
      filter_row(k, tile, s, y + loaded, x, ring + loaded % s.ring_rows * s.stride);
    }
    // Rows past the last row group hold old pixels; what is made of them is not written.
    for (std::int64_t i = 0; i < s.ring_rows; ++i) s.rows[i] = ring + (row * step.y + i) % s.ring_rows * s.stride;
    write_row_group(RowGroup<T>{k, tile, s, tile.out.y + row - made, group}, lines);
  }
  finish_stores(tile);
}

void sep_fused_f32(const SepFused<float>& k, const Tile& tile) {
  sep_fused(k, tile);
}
void sep_fused_f64(const SepFused<double>& k, const Tile& tile) {
  sep_fused(k, tile);
}

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mollify::cpu {

HWY_EXPORT(sep_fused_f32);
HWY_EXPORT(sep_fused_f64);

void sep_fused_f32(const SepFused<float>& k, const Tile& tile) {
  HWY_DYNAMIC_DISPATCH(sep_fused_f32)(k, tile);
}
void sep_fused_f64(const SepFused<double>& k, const Tile& tile) {
  HWY_DYNAMIC_DISPATCH(sep_fused_f64)(k, tile);
}

namespace scalar {
namespace {

template <class T>
void sep_fused(const SepFused<T>& k, const Tile& tile) {
  for_each_pixel<T>(k.rows, tile, [&](std::int64_t x, std::int64_t y) {
    std::array<T, 4> out{};
    for (std::int64_t j = 0; j < k.y.size(); ++j) {
      std::array<T, 4> row{};
      for (std::int64_t i = 0; i < k.x.size(); ++i) {
        const std::array<T, 4> in = read_pixel<T>(k.rows, tile.src, x - k.x.before + i, y - k.y.before + j);
        const T weight = k.x.weights[static_cast<std::size_t>(i)];
        for (std::size_t c = 0; c < 4; ++c) row[c] = std::fma(in[c], weight, row[c]);
      }
      const T weight = k.y.weights[static_cast<std::size_t>(j)];
      for (std::size_t c = 0; c < 4; ++c) out[c] = std::fma(row[c], weight, out[c]);
    }
    return out;
  });
}

}  // namespace

void sep_fused_f32(const SepFused<float>& k, const Tile& tile) {
  sep_fused(k, tile);
}
void sep_fused_f64(const SepFused<double>& k, const Tile& tile) {
  sep_fused(k, tile);
}

}  // namespace scalar

}  // namespace mollify::cpu
#endif  // HWY_ONCE
