// Second pass of a decimated Gaussian (math/decimation.h): blurs the coarse grid with a small kernel and expands each of its
// rows horizontally; each row of pixels is then mixed from a few of those: one write of the image. About `support`
// multiply-adds a component; the rest happens on a grid smaller by the factors.
#include "backends/cpu/kernels/gauss_coarse.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/pixel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/gauss_upsample.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include "backends/cpu/kernels/gauss_expand-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

void expand(const GaussExpand& k, const Tile& tile, const GaussExpandScratch& s, CoarseRows& coarse_rows) {
  ExpandedRows<> rows(k, tile, s, {s.expanded, s.expanded_stride, k.axis.y.support}, coarse_rows);
  mix_pixels(k, tile, 1.0, s.out, rows, NothingOwn{});
}

void gauss_upsample(const GaussExpand& k, const Tile& tile) {
  const PerAxis<ExpandShape> shape = expand_shape(k);
  const GaussExpandScratch s(tile.scratch, tile.out.width, shape.x, shape.y, k.rows.destination.channels);
  CoarseRows coarse_rows(k.grid, tile.coarse, k.rows.destination.channels, s.loaded);
  expand(k, tile, s, coarse_rows);
}

void gauss_one_pass(const GaussOnePass& k, const Tile& tile) {
  const GaussExpand& out = k.expand;
  const PerAxis<ExpandShape> shape = expand_shape(out);
  const GaussOnePassScratch s(tile.scratch, tile.out.width, shape.x, shape.y, out.rows.destination.channels);
  const Tile in = coarse_tile(out, tile, s.decimate);
  CoarseRowMaker maker(k.decimate, in);
  CoarseRows coarse_rows(maker, s.coarse_row, s.expand.loaded);
  expand(out, tile, s.expand, coarse_rows);
}

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mollify::cpu {

HWY_EXPORT(gauss_upsample);
HWY_EXPORT(gauss_one_pass);

void gauss_upsample(const GaussExpand& k, const Tile& tile) {
  HWY_DYNAMIC_DISPATCH(gauss_upsample)(k, tile);
}
void gauss_one_pass(const GaussOnePass& k, const Tile& tile) {
  HWY_DYNAMIC_DISPATCH(gauss_one_pass)(k, tile);
}

namespace scalar {

void gauss_upsample(const GaussExpand& k, const Tile& tile) {
  const std::int64_t channels = k.rows.destination.channels;
  /// The coarse sample at (x, y) of the grid, blurred.
  const auto blurred = [&](std::int64_t x, std::int64_t y) {
    std::array<float, 4> sum{};
    for (std::int64_t i = 0; i < k.y.size(); ++i) {
      const std::int64_t row = std::clamp<std::int64_t>(y - k.y.before + i - k.grid.first.y, 0, k.grid.size.y - 1);
      for (std::int64_t j = 0; j < k.x.size(); ++j) {
        const std::int64_t column = std::clamp<std::int64_t>(x - k.x.before + j - k.grid.first.x, 0, k.grid.size.x - 1);
        const float weight = k.y.weights[static_cast<std::size_t>(i)] * k.x.weights[static_cast<std::size_t>(j)];
        const float* sample = tile.coarse.at(column, row, k.rows.source.channels);
        for (std::int64_t c = 0; c < channels; ++c) sum[static_cast<std::size_t>(c)] += weight * sample[c];
      }
    }
    return sum;
  };
  for_each_pixel<float>(k.rows, tile, [&](std::int64_t x, std::int64_t y) {
    const auto sample_of = [](const DecimatedAxis& axis, std::int64_t p) { return floor_div(p + axis.centre, axis.factor); };
    const PerAxis<std::int64_t> sample{sample_of(k.axis.x, x), sample_of(k.axis.y, y)};
    const PerAxis<std::int64_t> phase{x + k.axis.x.centre - sample.x * k.axis.x.factor, y + k.axis.y.centre - sample.y * k.axis.y.factor};
    std::array<float, 4> out{};
    for (std::int64_t s = 0; s < k.axis.y.support; ++s) {
      for (std::int64_t t = 0; t < k.axis.x.support; ++t) {
        const std::array<float, 4> in = blurred(sample.x - (k.axis.x.support - 1) + t, sample.y - (k.axis.y.support - 1) + s);
        const float weight = k.axis.y.expand_weight(phase.y, s) * k.axis.x.expand_weight(phase.x, t);
        for (std::size_t c = 0; c < 4; ++c) out[c] += weight * in[c];
      }
    }
    return out;
  });
}

}  // namespace scalar
}  // namespace mollify::cpu
#endif  // HWY_ONCE
