// A Gaussian that is cut at a radius as the sum of decimated kernels (math/gaussian_tail.h). Each part makes a strip of a few rows, which
// stays in the cache until the strips are added up; then all parts go on with the next strip.
#include "backends/cpu/kernels/gauss_coarse.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/pixel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/gauss_cut_tails.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include "backends/cpu/kernels/row_io-inl.h"
#include "backends/cpu/kernels/row_mix-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

/// The tile's rows [row, row + rows) of one part, to `strip`.
void make_strip(const GaussOnePass& part, const Tile& tile, std::int64_t row, std::int64_t rows, std::byte* scratch, float* strip,
                std::int64_t stride) {
  const ImageDesc desc{tile.out.width, static_cast<std::int32_t>(rows),
                       *find_format(ComponentClass::floating, 32, part.expand.rows.destination.channels)};
  Tile in = tile;
  in.dst = {desc, reinterpret_cast<std::byte*>(strip), stride * static_cast<std::int64_t>(sizeof(float))};
  in.out = {0, 0, desc.width, desc.height};
  in.origin_x = tile.origin_x + tile.out.x;
  in.origin_y = tile.origin_y + tile.out.y + row;
  in.scratch = scratch;
  in.streams = false;
  in.rows_above = tile.rows_made() + row;
  gauss_one_pass(part, in);
}

/// Stores the sums of `kParts` strips as the tile's rows [row, row + rows).
template <int kParts>
void store_sums(const GaussCutTails& k, const Tile& tile, const GaussCutTailsScratch& s, std::int64_t row, std::int64_t rows) {
  const RowFormat& format = k.rows.destination;
  const std::int64_t count = tile.out.width * format.channels;
  const bool plain = format.only_scaled();
  RowMix<kParts> mix;
  std::fill_n(mix.weights, kParts, static_cast<float>((plain ? format.scale : 1.0) / kCutPartScale));
  for (std::int64_t r = 0; r < rows; ++r) {
    for (int i = 0; i < kParts; ++i) mix.rows[i] = s.strips[static_cast<std::size_t>(i)] + r * s.stride;
    if (!plain) {
      mix.template store<false, false>(0, 1, 0, count, s.sums, 0);
      store_pixels(format, tile, s.sums, tile.out.width, tile.out.x, tile.out.y + row + r);
      continue;
    }
    with_component(format.component, [&](auto component) HWY_ATTR {
      using S = decltype(component);
      auto* dst = reinterpret_cast<S*>(tile.dst.row(tile.out.y + row + r)) + tile.out.x * format.channels;
      store_mix<kParts, false>(mix, 0, 1, 0, count, tile, reinterpret_cast<S*>(s.sums), dst, 0);
    });
  }
}

void gauss_cut_tails(const GaussCutTails& k, const Tile& tile) {
  const int channels = k.rows.destination.channels;
  CutTailsShape shape;
  for (const GaussOnePass& part : k.parts) {
    const PerAxis<ExpandShape> axes = expand_shape(part.expand);
    shape.parts[shape.count++] = {axes.x, axes.y};
  }
  const GaussCutTailsScratch s(tile.scratch, tile.out.width, shape, channels);
  for (std::int64_t row = 0; row < tile.out.height; row += kCutStripRows) {
    const std::int64_t rows = std::min(kCutStripRows, tile.out.height - row);
    for (std::size_t i = 0; i < shape.count; ++i) make_strip(k.parts[i], tile, row, rows, s.parts[i], s.strips[i], s.stride);
    if (shape.count == 3) {
      store_sums<3>(k, tile, s, row, rows);
    } else {
      store_sums<2>(k, tile, s, row, rows);
    }
  }
  finish_stores(tile);
}

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mollify::cpu {

HWY_EXPORT(gauss_cut_tails);

void gauss_cut_tails(const GaussCutTails& k, const Tile& tile) {
  HWY_DYNAMIC_DISPATCH(gauss_cut_tails)(k, tile);
}

}  // namespace mollify::cpu
#endif  // HWY_ONCE
