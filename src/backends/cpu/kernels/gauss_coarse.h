// How the coarse rows of a decimated Gaussian are made one after the other. Holds no vectors, so that a kernel compiled
// for one instruction set may ask another kernel for the next row.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/layout.h"
#include "base/border.h"
#include "base/source_needs.h"
#include "math/decimation.h"

namespace mollify::cpu {

/// The columns of a tile's source rows. What lies beyond the image sums up like the columns that stand for it, so that it
/// need not be made for every row: only `first` to `last` are loaded, and fill() copies their sums. A tile that does not
/// hold all that its border needs loads everything.
struct DecimateColumns {
  const RowPipeline& rows;
  double scale;    ///< the sums are so many times as large as pixels
  std::int64_t x;  ///< source column of column 0
  std::int64_t columns;
  std::int64_t width;  ///< of the source
  std::int64_t first, last;
  bool whole = true;  ///< what is loaded lies in the image

  DecimateColumns(const GaussDecimate& k, std::int64_t from, std::int64_t count, std::int64_t source_width)
      : rows(k.rows),
        scale(k.scale),
        x(from),
        columns(count),
        width(source_width),
        first(std::clamp<std::int64_t>(-from, 0, count)),
        last(std::clamp<std::int64_t>(source_width - from, first, count)) {
    const auto is_loaded = [&](std::int64_t i) {
      const std::int64_t inside = map_index(rows.border.mode.x, x + i, width);
      return inside == kOutside || (inside >= x + first && inside < x + last);
    };
    bool all = true;
    for (std::int64_t i = 0; i < first; ++i) all = all && is_loaded(i);
    for (std::int64_t i = last; i < columns; ++i) all = all && is_loaded(i);
    if (!all) first = 0, last = columns, whole = false;
  }

  /// Numbers of a row, which are so many times as large as pixels.
  void fill(float* sums, double times) const {
    const std::int64_t channels = rows.source.channels;
    std::fill_n(sums + columns * channels, kPadElements, 0.0F);     // read, with weights of zero
    if (rows.border.mode.x == BorderMode::clamp && last > first) {  // the same without looking up each column
      repeat(sums + first * channels, first, sums);
      repeat(sums + (last - 1) * channels, columns - last, sums + last * channels);
      return;
    }
    const auto range = [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t i = from; i < to; ++i) {
        const std::int64_t inside = map_index(rows.border.mode.x, x + i, width);
        for (std::int64_t c = 0; c < channels; ++c) {
          sums[i * channels + c] = inside == kOutside ? static_cast<float>(times * rows.outside[static_cast<std::size_t>(c)])
                                                      : sums[(inside - x) * channels + c];
        }
      }
    };
    range(0, first);
    range(last, columns);
  }

  /// A pixel so many times.
  void repeat(const float* pixel, std::int64_t count, float* out) const {
    const std::int64_t channels = rows.source.channels;
    if (channels == 1) {
      std::fill_n(out, count, *pixel);
      return;
    }
    for (std::int64_t i = 0; i < count; ++i) std::copy_n(pixel, channels, out + i * channels);
  }
};

/// Which coarse samples pixels are expanded from, on one axis.
struct CoarseAxis {
  std::int64_t factor, centre, support;
  std::int64_t taps_before, taps;  ///< of the grid's kernel
  std::int64_t first, size;        ///< of the grid

  CoarseAxis(const DecimatedAxis& axis, const TapsOf<float>& kernel, std::int64_t first_sample, std::int64_t grid_size)
      : factor(axis.factor),
        centre(axis.centre),
        support(axis.support),
        taps_before(kernel.before),
        taps(kernel.size()),
        first(first_sample),
        size(grid_size) {}

  /// Counted from the grid's first. A sample beyond the grid counts as the nearest one in it.
  [[nodiscard]] Span of(Span pixels) const {
    const auto counted = [&](std::int64_t sample) { return std::clamp<std::int64_t>(sample - first, 0, size - 1); };
    const std::int64_t begin = floor_div(pixels.begin + centre, factor) - (support - 1) - taps_before;
    const std::int64_t last = floor_div(pixels.end - 1 + centre, factor) + taps - 1 - taps_before;
    return {counted(begin), counted(last) + 1};
  }

  /// That so many pixels, wherever they lie, are expanded from.
  [[nodiscard]] std::int64_t most(std::int64_t pixels) const { return std::min((pixels + factor - 2) / factor + support + taps - 1, size); }
};

/// What divides the scratch memory.
[[nodiscard]] inline PerAxis<ExpandShape> expand_shape(const GaussExpand& k) {
  const auto shape = [](const DecimatedAxis& axis, const TapsOf<float>& coarse, std::int64_t step) {
    return ExpandShape{axis.factor, axis.support, coarse.size(), step, has_gap(coarse.weights)};
  };
  return {shape(k.axis.x, k.x, k.rows.step.x), shape(k.axis.y, k.y, k.rows.step.y)};
}

/// Which coarse samples a rectangle of pixels is expanded from.
struct CoarseNeeds {
  CoarseAxis x, y;

  explicit CoarseNeeds(const GaussExpand& k)
      : x(k.axis.x, k.x, k.grid.first.x, k.grid.size.x), y(k.axis.y, k.y, k.grid.first.y, k.grid.size.y) {}

  /// Of pixels of the source.
  [[nodiscard]] Rect of(Span pixels_across, Span pixels_down) const {
    const Span columns = x.of(pixels_across);
    const Span rows = y.of(pixels_down);
    return {static_cast<std::int32_t>(columns.begin), static_cast<std::int32_t>(rows.begin), static_cast<std::int32_t>(columns.size()),
            static_cast<std::int32_t>(rows.size())};
  }
};

/// The coarse rows of one tile, from top to bottom: make_coarse_row() makes the next. Source rows [m * factor - centre,
/// + factor) are the first that coarse row m reaches, and the t-th that m - t does: m begins as m - support + 1 is finished.
struct CoarseRowMaker {
  const GaussDecimate& k;
  Source src;
  std::int64_t first_column, width;  ///< coarse samples
  GaussDecimateScratch s;
  DecimateColumns columns;
  std::int64_t first, last;                   ///< coarse rows wanted, [first, last)
  std::int64_t begins;                        ///< the coarse row that the next source rows begin
  float* sums[kMaxSupport];                   ///< of coarse row begins - 1 - t, as far as it is summed
  float* finished[kDecimateRows];             ///< finished sums
  std::int64_t ready = 0, taken = 0;          ///< of them
  const CellRangesScratch* ranges = nullptr;  ///< where they are wanted

  /// Tile::out in coarse samples of the grid. The scratch has room for as many.
  CoarseRowMaker(const GaussDecimate& kernel, const Tile& tile)
      : k(kernel),
        src(tile.src),
        first_column(k.grid.first.x + tile.out.x),
        width(tile.out.width),
        s(tile.scratch, width, k.axis.x.factor, taps(), {k.axis.y.factor, k.axis.y.support}, k.rows.source.channels),
        columns(k, first_column * k.axis.x.factor - k.axis.x.centre, (width - 1) * k.axis.x.factor + taps(), src.desc.width),
        first(k.grid.first.y + tile.out.y - tile.rows_made()),
        last(k.grid.first.y + tile.out.y + tile.out.height),
        begins(tile.rows_made() > 0 ? k.grid.first.y + tile.out.y + k.axis.y.support - 1 : first) {
    const std::int64_t channels = k.rows.source.channels;
    for (std::int64_t i = 0; tile.rows_made() == 0 && i < taps() * channels + kPadElements; ++i) {
      s.weights[i] = i < taps() * channels ? k.axis.x.spline[static_cast<std::size_t>(i / channels)] : 0.0F;
    }
    const std::int64_t turns = s.slides ? 0 : begins - first;  // of the sums, one for each coarse row that began
    for (std::int64_t i = 0; i < k.axis.y.support; ++i) sums[(i + turns) % k.axis.y.support] = s.sums + i * s.stride;
    if (tile.rows_made() == 0) std::fill_n(s.sums, k.axis.y.support * s.stride, 0.0F);
    for (std::int64_t i = 0; i < s.groups; ++i) finished[i] = s.finished + i * s.stride;
  }

  [[nodiscard]] std::int64_t taps() const { return static_cast<std::int64_t>(k.axis.x.spline.size()); }
  /// The next coarse row to be made.
  [[nodiscard]] std::int64_t next() const { return std::max(first, begins - (k.axis.y.support - 1)); }
};

/// Makes the next coarse row.
void make_coarse_row(CoarseRowMaker& rows, float* out);

}  // namespace mollify::cpu
