// Separable taps, one read and one write of the image: source rows are decoded once into a ring, kRowBatch output rows
// are filtered vertically out of it (each load feeds all of them), and each is filtered horizontally while it is in
// cache. Per component 2R + 1 multiply-adds an axis. Every output sums its taps in the order of the kernel, wherever its tile lies.
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/pixel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/sep_fused.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include "backends/cpu/kernels/row_io-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

/// out[j][i] = sum_k w[k] * rows[j + k][i] for the kRowBatch rows j.
template <class T>
HWY_INLINE void vertical(const TapsOf<T>& taps, const T* const* rows, std::int64_t count, T* out, std::int64_t stride) {
  static_assert(kRowBatch == 4);
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const T* w = taps.weights.data();
  const std::int64_t n = taps.size();
  const auto weight = [&](std::int64_t k) HWY_ATTR { return hn::Set(d, w[k]); };
  for (std::int64_t i = 0; i < count; i += 2 * lanes) {
    V a0 = hn::Zero(d), a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
    // Row k feeds output j with tap k - j; the first and last rows do not reach all four outputs.
    const auto edge = [&](std::int64_t k) HWY_ATTR {
      const V a = hn::LoadU(d, rows[k] + i);
      const V b = hn::LoadU(d, rows[k] + i + lanes);
      if (k < n) a0 = hn::MulAdd(a, weight(k), a0), b0 = hn::MulAdd(b, weight(k), b0);
      if (k >= 1 && k - 1 < n) a1 = hn::MulAdd(a, weight(k - 1), a1), b1 = hn::MulAdd(b, weight(k - 1), b1);
      if (k >= 2 && k - 2 < n) a2 = hn::MulAdd(a, weight(k - 2), a2), b2 = hn::MulAdd(b, weight(k - 2), b2);
      if (k >= 3) a3 = hn::MulAdd(a, weight(k - 3), a3), b3 = hn::MulAdd(b, weight(k - 3), b3);
    };
    std::int64_t k = 0;
    for (; k < std::min<std::int64_t>(3, n); ++k) edge(k);
    for (; k < n; ++k) {
      const V a = hn::LoadU(d, rows[k] + i);
      const V b = hn::LoadU(d, rows[k] + i + lanes);
      const V w0 = weight(k), w1 = weight(k - 1), w2 = weight(k - 2), w3 = weight(k - 3);
      a0 = hn::MulAdd(a, w0, a0), b0 = hn::MulAdd(b, w0, b0);
      a1 = hn::MulAdd(a, w1, a1), b1 = hn::MulAdd(b, w1, b1);
      a2 = hn::MulAdd(a, w2, a2), b2 = hn::MulAdd(b, w2, b2);
      a3 = hn::MulAdd(a, w3, a3), b3 = hn::MulAdd(b, w3, b3);
    }
    for (; k < n + 3; ++k) edge(k);
    T* o = out + i;
    hn::StoreU(a0, d, o), hn::StoreU(b0, d, o + lanes), o += stride;
    hn::StoreU(a1, d, o), hn::StoreU(b1, d, o + lanes), o += stride;
    hn::StoreU(a2, d, o), hn::StoreU(b2, d, o + lanes), o += stride;
    hn::StoreU(a3, d, o), hn::StoreU(b3, d, o + lanes);
  }
}

/// out[i] = sum_k w[k] * row[i + k * channels]
template <class T>
HWY_INLINE void horizontal(const TapsOf<T>& taps, int channels, const T* row, std::int64_t count, T* out) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const T* w = taps.weights.data();
  const std::int64_t n = taps.size();
  std::int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    V a = hn::Zero(d), b = a, c = a, e = a;
    const T* p = row + i;
    for (std::int64_t k = 0; k < n; ++k, p += channels) {
      const V weight = hn::Set(d, w[k]);
      a = hn::MulAdd(hn::LoadU(d, p), weight, a);
      b = hn::MulAdd(hn::LoadU(d, p + lanes), weight, b);
      c = hn::MulAdd(hn::LoadU(d, p + 2 * lanes), weight, c);
      e = hn::MulAdd(hn::LoadU(d, p + 3 * lanes), weight, e);
    }
    hn::StoreU(a, d, out + i), hn::StoreU(b, d, out + i + lanes);
    hn::StoreU(c, d, out + i + 2 * lanes), hn::StoreU(e, d, out + i + 3 * lanes);
  }
  for (; i < count; i += lanes) {
    V a = hn::Zero(d);
    const T* p = row + i;
    for (std::int64_t k = 0; k < n; ++k, p += channels) a = hn::MulAdd(hn::LoadU(d, p), hn::Set(d, w[k]), a);
    hn::StoreU(a, d, out + i);
  }
}

template <class T>
HWY_INLINE void sep_fused(const SepFused<T>& k, const Tile& tile) {
  const int channels = k.rows.source.channels;
  const SepFusedScratch<T> s(tile.scratch, tile.out.width, k.x.size(), k.y.size(), channels);
  const std::int64_t columns = tile.out.width + k.x.size() - 1;
  const std::int64_t x = tile.origin_x + tile.out.x - k.x.before;
  const std::int64_t y = tile.origin_y + tile.out.y - k.y.before;  // source row of ring row 0
  const std::int64_t pixel_bytes = info(tile.dst.desc.format).pixel_bytes();

  std::int64_t loaded = 0;  // ring rows so far
  for (std::int64_t row = 0; row < tile.out.height; row += kRowBatch) {
    const std::int64_t batch = std::min<std::int64_t>(kRowBatch, tile.out.height - row);
    for (; loaded < row + batch + k.y.size() - 1; ++loaded) {
      load_row(k.rows, tile.src, y + loaded, x, columns, s.ring + loaded % s.ring_rows * s.stride);
    }
    // Rows past the last batch hold old pixels; what is made of them is not written.
    for (std::int64_t i = 0; i < s.ring_rows; ++i) s.rows[i] = s.ring + (row + i) % s.ring_rows * s.stride;
    vertical(k.y, s.rows, columns * channels, s.vertical, s.stride);
    for (std::int64_t j = 0; j < batch; ++j) {
      horizontal(k.x, channels, s.vertical + j * s.stride, std::int64_t{tile.out.width} * channels, s.out);
      encode_pixels(k.rows.destination, s.out, tile.out.width,
                    tile.dst.row(tile.out.y + row + j) + tile.out.x * pixel_bytes);
    }
  }
}

void sep_fused_f32(const SepFused<float>& k, const Tile& tile) { sep_fused(k, tile); }
void sep_fused_f64(const SepFused<double>& k, const Tile& tile) { sep_fused(k, tile); }
const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mollify::cpu {

HWY_EXPORT(sep_fused_f32);
HWY_EXPORT(sep_fused_f64);
HWY_EXPORT(target_name);

void sep_fused_f32(const SepFused<float>& k, const Tile& tile) { HWY_DYNAMIC_DISPATCH(sep_fused_f32)(k, tile); }
void sep_fused_f64(const SepFused<double>& k, const Tile& tile) { HWY_DYNAMIC_DISPATCH(sep_fused_f64)(k, tile); }

namespace scalar {
namespace {

template <class T>
void sep_fused(const SepFused<T>& k, const Tile& tile) {
  for_each_pixel<T>(k.rows, tile, [&](std::int64_t x, std::int64_t y) {
    std::array<T, 4> out{};
    for (std::int64_t i = 0; i < k.x.size(); ++i) {
      std::array<T, 4> column{};
      for (std::int64_t j = 0; j < k.y.size(); ++j) {
        const std::array<T, 4> in = read_pixel<T>(k.rows, tile.src, x - k.x.before + i, y - k.y.before + j);
        const T weight = k.y.weights[static_cast<std::size_t>(j)];
        for (std::size_t c = 0; c < 4; ++c) column[c] = std::fma(in[c], weight, column[c]);
      }
      const T weight = k.x.weights[static_cast<std::size_t>(i)];
      for (std::size_t c = 0; c < 4; ++c) out[c] = std::fma(column[c], weight, out[c]);
    }
    return out;
  });
}

}  // namespace

void sep_fused_f32(const SepFused<float>& k, const Tile& tile) { sep_fused(k, tile); }
void sep_fused_f64(const SepFused<double>& k, const Tile& tile) { sep_fused(k, tile); }

}  // namespace scalar

std::string_view simd_target() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

}  // namespace mollify::cpu
#endif  // HWY_ONCE
