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
#include "backends/cpu/kernels/taps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

template <class T>
HWY_INLINE void sep_fused(const SepFused<T>& k, const Tile& tile) {
  const int channels = k.rows.source.channels;
  const SepFusedScratch<T> s(tile.scratch, tile.out.width, k.x.size(), k.y.size(), channels);
  const std::int64_t columns = tile.out.width + k.x.size() - 1;
  const std::int64_t x = tile.origin_x + tile.out.x - k.x.before;
  const std::int64_t y = tile.origin_y + tile.out.y - k.y.before;  // source row of ring row 0

  std::int64_t loaded = 0;  // ring rows so far
  for (std::int64_t row = 0; row < tile.out.height; row += kRowBatch) {
    const std::int64_t batch = std::min<std::int64_t>(kRowBatch, tile.out.height - row);
    for (; loaded < row + batch + k.y.size() - 1; ++loaded) {
      load_row(k.rows, tile.src, y + loaded, x, columns, s.ring + loaded % s.ring_rows * s.stride);
    }
    // Rows past the last batch hold old pixels; what is made of them is not written.
    for (std::int64_t i = 0; i < s.ring_rows; ++i) s.rows[i] = s.ring + (row + i) % s.ring_rows * s.stride;
    filter_rows(k.y, s.rows, columns * channels, s.vertical, s.stride);
    for (std::int64_t j = 0; j < batch; ++j) {
      fetch_row(k.rows, tile.src, y + loaded + j, x, columns);
      filter_columns(k.x, channels, s.vertical + j * s.stride, std::int64_t{tile.out.width} * channels, s.out);
      store_pixels(k.rows.destination, tile, s.out, tile.out.width, tile.out.x, tile.out.y + row + j);
    }
  }
  finish_stores(tile);
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
