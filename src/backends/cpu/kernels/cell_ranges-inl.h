// The range of a source image by cells: the least and the largest number of each, NaN left out. A cell is as many pixels as coarse samples
// lie apart, counted from the whole image's grid, so that what pixels are limited to does not depend on tiles.

#if defined(MOLLIFY_CELL_RANGES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MOLLIFY_CELL_RANGES_INL_H_
#undef MOLLIFY_CELL_RANGES_INL_H_
#else
#define MOLLIFY_CELL_RANGES_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "backends/cpu/kernels/gauss_coarse.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/row_io-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

/// The smaller of two numbers; the second where the first is NaN.
struct Smaller {
  HWY_INLINE VecF32 operator()(VecF32 a, VecF32 b) const { return hn::IfThenElse(hn::Lt(a, b), a, b); }
};
struct Larger {
  HWY_INLINE VecF32 operator()(VecF32 a, VecF32 b) const { return hn::IfThenElse(hn::Gt(a, b), a, b); }
};

/// Includes elements [from, to) of `count` rows in the range of each column, which the first rows of a cell begin. S is what rows hold.
/// Touches whole pairs of vectors.
template <class S>
HWY_NOINLINE void include_rows(const S* const* rows, std::int64_t count, std::int64_t from, std::int64_t to, bool begins, float* least,
                               float* largest) {
  constexpr int kVectors = 2;
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = from; i < to; i += kVectors * lanes) {
    VecF32 low[kVectors], high[kVectors];
    HWY_UNROLL(2)
    for (int v = 0; v < kVectors; ++v) {
      low[v] = begins ? hn::Set(d, std::numeric_limits<float>::infinity()) : hn::LoadU(d, least + i + v * lanes);
      high[v] = begins ? hn::Set(d, -std::numeric_limits<float>::infinity()) : hn::LoadU(d, largest + i + v * lanes);
    }
    for (std::int64_t r = 0; r < count; ++r) {
      HWY_UNROLL(2)
      for (int v = 0; v < kVectors; ++v) {
        const VecF32 pixels = load_f32(d, rows[r] + i + v * lanes);
        low[v] = Smaller()(pixels, low[v]);
        high[v] = Larger()(pixels, high[v]);
      }
    }
    HWY_UNROLL(2)
    for (int v = 0; v < kVectors; ++v) {
      hn::StoreU(low[v], d, least + i + v * lanes);
      hn::StoreU(high[v], d, largest + i + v * lanes);
    }
  }
}

/// Each of `count` numbers becomes the best of itself and the one `shift` further.
template <class Better>
HWY_INLINE void take_better(float* numbers, std::int64_t count, std::int64_t shift, Better better) {
  const F32 d;
  for (std::int64_t i = 0; i < count; i += static_cast<std::int64_t>(hn::Lanes(d))) {
    hn::StoreU(better(hn::LoadU(d, numbers + i + shift), hn::LoadU(d, numbers + i)), d, numbers + i);
  }
}

/// Each of `count` pixels becomes the best of itself and those behind it, `window` in all, by doubling. Reads as far behind them.
template <class Better>
HWY_INLINE void take_best_of_window(float* pixels, std::int64_t count, std::int64_t channels, std::int64_t window, Better better) {
  std::int64_t taken = 1;
  while (2 * taken <= window) {
    take_better(pixels, (count + window - 2 * taken) * channels, taken * channels, better);
    taken *= 2;
  }
  if (taken < window) take_better(pixels, count * channels, (window - taken) * channels, better);
}

[[nodiscard]] HWY_INLINE float* ring_row(const CellRangesScratch& s, const CellRangesScratch::Rows& rows, std::int64_t cell_row) {
  return rows.ring + (cell_row - floor_div(cell_row, s.ring_rows) * s.ring_rows) * s.stride;
}

/// The row of cells, all of whose source rows have been included, goes to the ring.
template <class Better>
HWY_NOINLINE void finish_cells(const CoarseRowMaker& maker, const CellRangesScratch::Rows& rows, std::int64_t cell_row, Better better) {
  const DecimatedAxis& axis = maker.k.axis.x;
  const std::int64_t channels = maker.k.rows.source.channels;
  const std::int64_t cells = maker.width + axis.support - 1;
  constexpr double kAsPixels = 1.0;
  maker.columns.fill(rows.columns, kAsPixels);
  take_best_of_window(rows.columns, (cells - 1) * axis.factor + 1, channels, axis.factor, better);
  float* out = ring_row(*maker.ranges, rows, cell_row);
  for (std::int64_t cell = 0; cell < cells; ++cell) {
    for (std::int64_t c = 0; c < channels; ++c) out[cell * channels + c] = rows.columns[cell * axis.factor * channels + c];
  }
}

HWY_INLINE void finish_cells(const CoarseRowMaker& maker, std::int64_t cell_row) {
  finish_cells(maker, maker.ranges->least, cell_row, Smaller());
  finish_cells(maker, maker.ranges->largest, cell_row, Larger());
}

/// What the pixels of a tile are limited to: the range of the cells around their own.
class PixelLimits {
 public:
  /// `scale`: of pixels as they are mixed.
  PixelLimits(const CoarseRowMaker& maker, const Tile& tile, PerAxis<std::int64_t> cells, float scale)
      : maker_(maker),
        s_(*maker.ranges),
        reach_(cells),
        scale_(scale),
        channels_(maker.k.rows.source.channels),
        cells_(maker.width + maker.k.axis.x.support - 1),
        first_(tile.origin_x + tile.out.x),
        width_(tile.out.width) {}

  /// Of the pixels of a row of cells.
  void make(std::int64_t cell_row) {
    if (cell_row == made_) return;
    made_ = cell_row;
    make(cell_row, s_.least, Smaller());
    make(cell_row, s_.largest, Larger());
  }
  /// A number for each component of a row.
  [[nodiscard]] const float* least() const { return s_.least.pixels; }
  [[nodiscard]] const float* largest() const { return s_.largest.pixels; }

 private:
  /// Cells beyond those that there are count as the outermost.
  template <class Better>
  HWY_NOINLINE void make(std::int64_t cell_row, const CellRangesScratch::Rows& rows, Better better) const {
    const F32 d;
    const std::int64_t last_row = maker_.last + maker_.k.axis.y.support - 2;
    const std::int64_t from = std::clamp(cell_row - reach_.y, maker_.first, last_row);
    const std::int64_t to = std::clamp(cell_row + reach_.y, maker_.first, last_row);
    float* const inside = rows.across + reach_.x * channels_;
    std::copy_n(ring_row(s_, rows, from), cells_ * channels_, inside);
    for (std::int64_t row = from + 1; row <= to; ++row) {
      const float* other = ring_row(s_, rows, row);
      for (std::int64_t i = 0; i < cells_ * channels_; i += static_cast<std::int64_t>(hn::Lanes(d))) {
        hn::StoreU(better(hn::LoadU(d, other + i), hn::LoadU(d, inside + i)), d, inside + i);
      }
    }
    for (std::int64_t i = 0; i < reach_.x; ++i) {
      std::copy_n(inside, channels_, rows.across + i * channels_);
      std::copy_n(inside + (cells_ - 1) * channels_, channels_, inside + (cells_ + i) * channels_);
    }
    take_best_of_window(rows.across, cells_, channels_, 2 * reach_.x + 1, better);
    expand(rows);
  }

  /// Cells to their pixels. Touches whole vectors.
  HWY_INLINE void expand(const CellRangesScratch::Rows& rows) const {
    const F32 d;
    const VecF32 scale = hn::Set(d, scale_);
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const DecimatedAxis& x = maker_.k.axis.x;
    const std::int64_t first_cell = floor_div(first_ + x.centre, x.factor);
    const std::int64_t begin = first_cell * x.factor - x.centre - first_;  // of the cell, among the pixels: zero or before
    for (std::int64_t cell = first_cell, at = begin; at < width_; ++cell, at += x.factor) {
      const float* best = rows.across + std::clamp<std::int64_t>(cell - maker_.first_column, 0, cells_ - 1) * channels_;
      const std::int64_t from = std::max<std::int64_t>(at, 0) * channels_, to = std::min(at + x.factor, width_) * channels_;
      if (channels_ == 1) {
        const VecF32 v = hn::Mul(hn::Set(d, *best), scale);
        for (std::int64_t i = from; i < to; i += lanes) hn::StoreU(v, d, rows.pixels + i);
#if HWY_TARGET != HWY_SCALAR
      } else if (channels_ == 4) {
        const VecF32 v = hn::Mul(hn::LoadDup128(d, best), scale);
        for (std::int64_t i = from; i < to; i += lanes) hn::StoreU(v, d, rows.pixels + i);
#endif
      } else {
        for (std::int64_t i = from; i < to; ++i) rows.pixels[i] = scale_ * best[(i - from) % channels_];
      }
    }
  }

  const CoarseRowMaker& maker_;
  const CellRangesScratch& s_;
  PerAxis<std::int64_t> reach_;
  float scale_;
  std::int64_t channels_;
  std::int64_t cells_;  ///< of a row
  std::int64_t first_, width_;
  std::int64_t made_ = std::numeric_limits<std::int64_t>::min();
};

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // MOLLIFY_CELL_RANGES_INL_H_
