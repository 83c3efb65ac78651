// A Gaussian that is cut at a radius as the sum of decimated kernels (math/gaussian_tail.h). The tails along rows are made of the rows of
// sums that the endless Gaussian decimates, and added to its expanded rows; those down columns go to each row of pixels as it is mixed.
#include "backends/cpu/kernels/gauss_coarse.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/pixel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/gauss_cut_tails.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include "backends/cpu/kernels/cell_ranges-inl.h"
#include "backends/cpu/kernels/gauss_expand-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

/// The tails along rows, for ExpandedRows of the endless Gaussian.
class AcrossRows {
 public:
  AcrossRows(const GaussCutTails& k, const Tile& tile, const GaussCutTailsScratch& s, std::int64_t first_tap)
      : tails_(k.across ? &*k.across : nullptr),
        s_(s),
        channels_(k.whole.expand.rows.destination.channels),
        first_tap_(first_tap),
        columns_(tile.out.width),
        first_column_(tile.origin_x + tile.out.x) {}

  /// Row i of those that the endless Gaussian's coarse taps sum.
  void load(const CoarseRows& coarse, std::int64_t i) {
    if (tails_ == nullptr) return;
    float* out = ring_row(i);
    if (!coarse.is_new()) {  // the one before stands for it
      std::copy_n(ring_row(i - 1), columns_ * channels_, out);
      return;
    }
    const CoarseRowMaker& maker = coarse.maker();
    filter_in_blocks(tails_->x, tails_->blocks_x, channels_, reached_sums(maker.columns, maker.finished[maker.taken - 1]),
                     columns_ * channels_, s_.partial, out);
  }

  /// The row group from `row` on.
  void blur(std::int64_t row) {
    if (tails_ == nullptr) return;
    for (std::int64_t i = 0; i < tails_->y.size() + kRowGroup - 1; ++i) s_.rows[i] = ring_row(row + first_tap_ + i);
    filter_rows(tails_->y, s_.rows, columns_ * channels_, s_.group, s_.stride);
  }

  void add_to(std::int64_t row, float* expanded) const {
    if (tails_ != nullptr) add(s_.group + row % kRowGroup * s_.stride, columns_ * channels_, expanded);
  }

 private:
  [[nodiscard]] float* ring_row(std::int64_t i) const { return s_.ring + i % s_.ring_rows * s_.stride; }

  /// From the first column that the tails reach on. Columns beyond those that are summed are like the outermost.
  const float* reached_sums(const DecimateColumns& summed, const float* sums) const {
    const std::int64_t first = first_column_ - tails_->x.before - summed.x;
    const std::int64_t count = columns_ + tails_->x.size() - 1;
    if (first >= 0 && first + count <= summed.columns) return sums + first * channels_;
    const std::int64_t inside = std::clamp<std::int64_t>(-first, 0, count);
    const std::int64_t behind = std::clamp<std::int64_t>(summed.columns - first, inside, count);
    summed.repeat(sums, inside, s_.sums);
    std::copy_n(sums + (first + inside) * channels_, (behind - inside) * channels_, s_.sums + inside * channels_);
    summed.repeat(sums + (summed.columns - 1) * channels_, count - behind, s_.sums + behind * channels_);
    return s_.sums;
  }

  const TailsAcross* tails_;
  const GaussCutTailsScratch& s_;
  int channels_;
  std::int64_t first_tap_;
  std::int64_t columns_, first_column_;
};

/// Without tails down columns, zeros.
struct NoRows {
  static constexpr bool kIsAny = true;
  const float* zeros;
  PixelLimits& limits;

  [[nodiscard]] float weight() const { return 0.0F; }
  [[nodiscard]] const float* at(std::int64_t /*y*/) const { return zeros; }
};

/// The tails down columns, a row for each of pixels.
struct DownRows {
  static constexpr bool kIsAny = true;
  const DecimatedAxis& axis;
  ExpandedRows<>& rows;
  PixelLimits& limits;

  /// By which a row is expanded down, as it stands for each of its pixels.
  [[nodiscard]] float weight() const { return axis.expand_weight(0, 0); }
  [[nodiscard]] const float* at(std::int64_t y) const {
    const std::int64_t sample = floor_div(y + axis.centre, axis.factor);
    rows.make(sample);
    return rows.at(sample);
  }
};

[[nodiscard]] CutTailsShape shape_of(const GaussCutTails& k) {
  const auto part = [](const GaussOnePass& pass) {
    const PerAxis<ExpandShape> axes = expand_shape(pass.expand);
    return CutTailsShape::Part{axes.x, axes.y};
  };
  CutTailsShape shape{part(k.whole), k.cells};
  if (k.across) shape.across = {k.across->x.size(), k.across->y.size(), k.whole.expand.y.before - k.across->y.before};
  if (k.down) shape.down = part(*k.down);
  return shape;
}

void gauss_cut_tails(const GaussCutTails& k, const Tile& tile) {
  const GaussExpand& whole = k.whole.expand;
  const int channels = whole.rows.destination.channels;
  const CutTailsShape shape = shape_of(k);
  const GaussCutTailsScratch s(tile.scratch, tile.out.width, shape, channels);
  const GaussOnePassScratch whole_s(s.whole, tile.out.width, shape.whole.x, shape.whole.y, channels);
  const CellRangesScratch ranges(s.ranges, tile.out.width, shape, channels);
  CoarseRowMaker maker(k.whole.decimate, coarse_tile(whole, tile, whole_s.decimate));
  maker.ranges = &ranges;
  CoarseRows coarse_rows(maker, whole_s.coarse_row, whole_s.expand.loaded);
  ExpandedRows<AcrossRows> rows(whole, tile, whole_s.expand,
                                {whole_s.expand.expanded, whole_s.expand.expanded_stride, whole.axis.y.support}, coarse_rows,
                                AcrossRows(k, tile, s, shape.across ? shape.across->first_y : 0));
  const RowFormat& format = whole.rows.destination;
  PixelLimits limits(maker, tile, k.cells, static_cast<float>(format.only_scaled() ? format.scale : 1.0));
  if (!k.down) {
    std::fill_n(s.zeros, tile.out.width * channels + kPadElements, 0.0F);
    return mix_pixels(whole, tile, kCutPartScale, whole_s.expand.out, rows, NoRows{s.zeros, limits});
  }
  const GaussExpand& down = k.down->expand;
  const GaussOnePassScratch down_s(s.down, tile.out.width, shape.down->x, shape.down->y, channels);
  CoarseRowMaker down_maker(k.down->decimate, coarse_tile(down, tile, down_s.decimate));
  CoarseRows down_coarse(down_maker, down_s.coarse_row, down_s.expand.loaded);
  ExpandedRows<> down_rows(down, tile, down_s.expand, {s.down_rows, s.down_stride, kMixRows}, down_coarse);
  mix_pixels(whole, tile, kCutPartScale, whole_s.expand.out, rows, DownRows{down.axis.y, down_rows, limits});
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
