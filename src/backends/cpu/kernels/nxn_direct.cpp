// Any matrix, directly: width * height multiply-adds a component, out of a ring of decoded rows. Each matrix row is
// summed by itself first, so that rounding errors grow with width + height and not with their product.
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/pixel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/nxn_direct.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include "backends/cpu/kernels/row_io-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

/// out[i] = sum_j sum_k w[j][k] * rows[j][i + k * channels]
template <class T>
HWY_INLINE void matrix_row(const NxnDirect<T>& m, int channels, const T* const* rows, std::int64_t count, T* out) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < count; i += 4 * lanes) {
    V a = hn::Zero(d), b = a, c = a, e = a;
    const T* w = m.weights.data();
    for (std::int64_t j = 0; j < m.height; ++j) {
      V row_a = hn::Zero(d), row_b = row_a, row_c = row_a, row_e = row_a;
      const T* p = rows[j] + i;
      for (std::int64_t k = 0; k < m.width; ++k, p += channels) {
        const V weight = hn::Set(d, *w++);
        row_a = hn::MulAdd(hn::LoadU(d, p), weight, row_a);
        row_b = hn::MulAdd(hn::LoadU(d, p + lanes), weight, row_b);
        row_c = hn::MulAdd(hn::LoadU(d, p + 2 * lanes), weight, row_c);
        row_e = hn::MulAdd(hn::LoadU(d, p + 3 * lanes), weight, row_e);
      }
      a = hn::Add(a, row_a), b = hn::Add(b, row_b), c = hn::Add(c, row_c), e = hn::Add(e, row_e);
    }
    hn::StoreU(a, d, out + i), hn::StoreU(b, d, out + i + lanes);
    hn::StoreU(c, d, out + i + 2 * lanes), hn::StoreU(e, d, out + i + 3 * lanes);
  }
}

template <class T>
HWY_INLINE void nxn_direct(const NxnDirect<T>& m, const Tile& tile) {
  const int channels = m.rows.source.channels;
  const NxnDirectScratch<T> s(tile.scratch, tile.out.width, m.width, m.height, channels);
  const std::int64_t columns = tile.out.width + m.width - 1;
  const std::int64_t x = tile.origin_x + tile.out.x - m.before_x;
  const std::int64_t made = tile.rows_made();
  const std::int64_t y = tile.origin_y + tile.out.y - made - m.before_y;
  const std::int64_t pixel_bytes = info(tile.dst.desc.format).pixel_bytes();

  std::int64_t loaded = made > 0 ? made + m.height - 1 : 0;
  for (std::int64_t row = made; row < made + tile.out.height; ++row) {
    for (; loaded < row + m.height; ++loaded) {
      load_row(m.rows, tile.src, y + loaded, x, columns, s.ring + loaded % m.height * s.stride);
    }
    for (std::int64_t j = 0; j < m.height; ++j) s.rows[j] = s.ring + (row + j) % m.height * s.stride;
    matrix_row(m, channels, s.rows, std::int64_t{tile.out.width} * channels, s.out);
    encode_pixels(m.rows.destination, s.out, tile.out.width, tile.dst.row(tile.out.y + row - made) + tile.out.x * pixel_bytes);
  }
}

void nxn_direct_f32(const NxnDirect<float>& m, const Tile& tile) {
  nxn_direct(m, tile);
}
void nxn_direct_f64(const NxnDirect<double>& m, const Tile& tile) {
  nxn_direct(m, tile);
}

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mollify::cpu {

HWY_EXPORT(nxn_direct_f32);
HWY_EXPORT(nxn_direct_f64);

void nxn_direct_f32(const NxnDirect<float>& m, const Tile& tile) {
  HWY_DYNAMIC_DISPATCH(nxn_direct_f32)(m, tile);
}
void nxn_direct_f64(const NxnDirect<double>& m, const Tile& tile) {
  HWY_DYNAMIC_DISPATCH(nxn_direct_f64)(m, tile);
}

namespace scalar {
namespace {

template <class T>
void nxn_direct(const NxnDirect<T>& m, const Tile& tile) {
  for_each_pixel<T>(m.rows, tile, [&](std::int64_t x, std::int64_t y) {
    std::array<T, 4> out{};
    const T* weight = m.weights.data();
    for (std::int64_t j = 0; j < m.height; ++j) {
      std::array<T, 4> row{};
      for (std::int64_t i = 0; i < m.width; ++i, ++weight) {
        const std::array<T, 4> in = read_pixel<T>(m.rows, tile.src, x - m.before_x + i, y - m.before_y + j);
        for (std::size_t c = 0; c < 4; ++c) row[c] = std::fma(in[c], *weight, row[c]);
      }
      for (std::size_t c = 0; c < 4; ++c) out[c] += row[c];
    }
    return out;
  });
}

}  // namespace

void nxn_direct_f32(const NxnDirect<float>& m, const Tile& tile) {
  nxn_direct(m, tile);
}
void nxn_direct_f64(const NxnDirect<double>& m, const Tile& tile) {
  nxn_direct(m, tile);
}

}  // namespace scalar

}  // namespace mollify::cpu
#endif  // HWY_ONCE
