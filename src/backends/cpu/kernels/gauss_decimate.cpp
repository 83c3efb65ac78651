// A Gaussian of any sigma at nearly constant cost, in two passes (the mathematics: core/decimation.h).
//   gauss_decimate  reads the image once: each block of `factor` source rows is added to the cell rows it reaches, and a
//                   finished one is decimated horizontally into the coarse grid.
//   gauss_expand    blurs the coarse grid with a small kernel and expands it while it is in cache: one write of the image.
// Per component about `cells` multiply-adds vertically on the way in and horizontally on the way out; the rest happens on
// a grid smaller by the factors. Cells are anchored to source coordinates, so bits do not depend on tiles.
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/pixel.h"
#include "core/decimation.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/gauss_decimate.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include "backends/cpu/kernels/row_io-inl.h"
#include "backends/cpu/kernels/taps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

/// Calls body(integral_constant) with `value`, 1 to kMaxCells, as a compile-time number.
template <class Body>
HWY_INLINE void with_cells(std::int64_t value, Body body) {
  switch (value) {
    case 1: return body(std::integral_constant<int, 1>{});
    case 2: return body(std::integral_constant<int, 2>{});
    case 3: return body(std::integral_constant<int, 3>{});
    case 4: return body(std::integral_constant<int, 4>{});
    case 5: return body(std::integral_constant<int, 5>{});
    case 6: return body(std::integral_constant<int, 6>{});
    case 7: return body(std::integral_constant<int, 7>{});
    default: return body(std::integral_constant<int, kMaxCells>{});
  }
}

// ---- decimation

/// Where a block of source rows goes: for t = 0 .. cells - 1, row i times weights[t * factor + i] is added to sums[t].
struct RowBlock {
  const float* rows;
  std::int64_t stride;
  std::int64_t count;      ///< of rows, at most kDecimateRows
  const float* weights;
  std::int64_t factor;
  float* sums[kMaxCells];
  bool begins;             ///< sums[0] is new
};

template <int kCells>
HWY_INLINE void add_rows(const RowBlock& block, std::int64_t elements) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < elements; i += 2 * lanes) {
    VecF32 a[kCells], b[kCells];
    for (int t = 0; t < kCells; ++t) a[t] = b[t] = hn::Zero(d);
    const float* row = block.rows + i;
    for (std::int64_t r = 0; r < block.count; ++r, row += block.stride) {
      const VecF32 low = hn::LoadU(d, row);
      const VecF32 high = hn::LoadU(d, row + lanes);
      for (int t = 0; t < kCells; ++t) {
        const VecF32 w = hn::Set(d, block.weights[t * block.factor + r]);
        a[t] = hn::MulAdd(low, w, a[t]);
        b[t] = hn::MulAdd(high, w, b[t]);
      }
    }
    for (int t = 0; t < kCells; ++t) {
      float* sum = block.sums[t] + i;
      if (t > 0 || !block.begins) {
        a[t] = hn::Add(a[t], hn::LoadU(d, sum));
        b[t] = hn::Add(b[t], hn::LoadU(d, sum + lanes));
      }
      hn::StoreU(a[t], d, sum);
      hn::StoreU(b[t], d, sum + lanes);
    }
  }
}

/// out[m] = sum_i w[i] * row[m * factor + i] for whole pixels of kChannels components.
template <int kChannels>
HWY_INLINE void decimate_row(const std::vector<float>& w, std::int64_t factor, const float* row, std::int64_t cells,
                             float* out) {
  const auto taps = static_cast<std::int64_t>(w.size());
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kChannels > 1) {  // one cell a vector, four cells at once
    const hn::Simd<float, 4, 0> d;
    using V = hn::Vec<decltype(d)>;
    const std::int64_t step = factor * kChannels;
    for (std::int64_t m = 0; m < cells; m += kDecimateCells) {
      const float* p = row + m * step;
      V total[kDecimateCells], block[kDecimateCells];
      for (V& v : total) v = hn::Zero(d);
      for (std::int64_t from = 0; from < taps; from += kDecimateRows) {
        for (V& v : block) v = hn::Zero(d);
        for (std::int64_t i = from; i < std::min(from + kDecimateRows, taps); ++i) {
          const V weight = hn::Set(d, w[static_cast<std::size_t>(i)]);
          for (int k = 0; k < kDecimateCells; ++k) block[k] = hn::MulAdd(hn::LoadU(d, p + i * kChannels + k * step), weight, block[k]);
        }
        for (int k = 0; k < kDecimateCells; ++k) total[k] = hn::Add(total[k], block[k]);
      }
      for (int k = 0; k < kDecimateCells && m + k < cells; ++k) {
        float* cell = out + (m + k) * kChannels;
        if (kChannels == 4 || m + k + 1 < cells) {
          hn::StoreU(total[k], d, cell);
        } else {  // what follows is another tile's, perhaps already written
          HWY_ALIGN float lanes[4];
          hn::Store(total[k], d, lanes);
          std::copy_n(lanes, kChannels, cell);
        }
      }
    }
    return;
  }
#endif
  for (std::int64_t m = 0; m < cells; ++m) {
    const float* p = row + m * factor * kChannels;
    for (int c = 0; c < kChannels; ++c) {
      float total = 0.0F;
      for (std::int64_t from = 0; from < taps; from += kDecimateRows) {
        float block = 0.0F;
        for (std::int64_t i = from; i < std::min(from + kDecimateRows, taps); ++i) {
          block += w[static_cast<std::size_t>(i)] * p[i * kChannels + c];
        }
        total += block;
      }
      out[m * kChannels + c] = total;
    }
  }
}

HWY_INLINE void decimate_row(int channels, const DecimatedAxis& axis, const float* row, std::int64_t cells, float* out) {
  switch (channels) {
    case 1: return decimate_row<1>(axis.spline, axis.factor, row, cells, out);
    case 2: return decimate_row<2>(axis.spline, axis.factor, row, cells, out);
    case 3: return decimate_row<3>(axis.spline, axis.factor, row, cells, out);
    default: return decimate_row<4>(axis.spline, axis.factor, row, cells, out);
  }
}

/// The columns of a tile's source rows. What lies beyond the image sums up like the columns that stand for it, so that it
/// need not be made for every row: only `first` to `last` are loaded, and fill() copies their sums. A tile that does not
/// hold all that its border needs loads everything.
struct DecimateColumns {
  const RowPipeline& rows;
  std::int64_t x;        ///< source column of column 0
  std::int64_t columns;
  std::int64_t width;    ///< of the source
  std::int64_t first, last;

  DecimateColumns(const RowPipeline& pipeline, std::int64_t from, std::int64_t count, std::int64_t source_width)
      : rows(pipeline),
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
    if (!all) first = 0, last = columns;
  }

  void fill(float* sums) const {
    const std::int64_t channels = rows.source.channels;
    const auto range = [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t i = from; i < to; ++i) {
        const std::int64_t inside = map_index(rows.border.mode.x, x + i, width);
        for (std::int64_t c = 0; c < channels; ++c) {
          sums[i * channels + c] = inside == kOutside ? static_cast<float>(rows.outside[static_cast<std::size_t>(c)])
                                                      : sums[(inside - x) * channels + c];
        }
      }
    };
    range(0, first);
    range(last, columns);
  }
};

void gauss_decimate(const GaussDecimate& k, const Tile& tile) {
  const int channels = k.rows.source.channels;
  const DecimatedAxis& ax = k.axis.x;
  const DecimatedAxis& ay = k.axis.y;
  const auto taps = static_cast<std::int64_t>(ax.spline.size());
  const GaussDecimateScratch s(tile.scratch, tile.out.width, ax.factor, taps, ay.cells, channels);
  const std::int64_t x = (k.grid.first.x + tile.out.x) * ax.factor - ax.centre;
  const DecimateColumns columns(k.rows, x, (tile.out.width - 1) * ax.factor + taps, tile.src.desc.width);
  const std::int64_t loaded = columns.last - columns.first;
  const std::int64_t offset = columns.first * channels;
  const std::int64_t first = k.grid.first.y + tile.out.y;  // cell row

  // The rows [m * factor - centre, + factor) are the first that cell row m reaches, and the t-th that m - t does.
  for (std::int64_t m = first; m < first + tile.out.height + ay.cells - 1; ++m) {
    RowBlock block{s.rows, s.stride, 0, nullptr, ay.factor, {}, false};
    for (std::int64_t t = 0; t < ay.cells; ++t) {
      const std::int64_t slot = ((m - t) % ay.cells + ay.cells) % ay.cells;
      block.sums[t] = s.sums + slot * s.stride + offset;
    }
    for (std::int64_t row = 0; row < ay.factor; row += kDecimateRows) {
      block.count = std::min(kDecimateRows, ay.factor - row);
      block.weights = ay.spline.data() + row;
      block.begins = row == 0;
      for (std::int64_t r = 0; r < block.count; ++r) {
        const std::int64_t y = m * ay.factor - ay.centre + row + r;
        fetch_row(k.rows, tile.src, y + block.count, x + columns.first, loaded);
        load_row(k.rows, tile.src, y, x + columns.first, loaded, s.rows + r * s.stride);
      }
      with_cells(ay.cells, [&](auto cells) HWY_ATTR { add_rows<decltype(cells)::value>(block, loaded * channels); });
    }
    const std::int64_t finished = m - (ay.cells - 1);
    if (finished < first) continue;
    float* sums = block.sums[ay.cells - 1] - offset;
    columns.fill(sums);
    decimate_row(channels, ax, sums, tile.out.width,
                 tile.grid + (finished - k.grid.first.y) * k.grid.stride + tile.out.x * channels);
  }
}

// ---- expansion

/// Columns [x, x + count) of coarse row y.
HWY_INLINE void load_cells(const CoarseGrid& grid, const float* cells, int channels, std::int64_t y, std::int64_t x,
                           std::int64_t count, float* dst) {
  const std::int64_t row = std::clamp(y, grid.first.y, grid.first.y + grid.size.y - 1) - grid.first.y;
  const float* src = cells + row * grid.stride;
  const std::int64_t from = x - grid.first.x;
  const std::int64_t first = std::clamp<std::int64_t>(-from, 0, count);
  const std::int64_t last = std::clamp<std::int64_t>(grid.size.x - from, first, count);
  for (std::int64_t i = 0; i < first; ++i) std::copy_n(src, channels, dst + i * channels);
  std::copy_n(src + (from + first) * channels, (last - first) * channels, dst + first * channels);
  for (std::int64_t i = last; i < count; ++i) std::copy_n(src + (grid.size.x - 1) * channels, channels, dst + i * channels);
}

/// mixed = the sum of `cells` rows, each times its weight.
template <int kCells>
HWY_INLINE void mix_rows(const float* const* rows, const float* weights, std::int64_t elements, float* mixed) {
  const F32 d;
  VecF32 w[kCells];
  for (int t = 0; t < kCells; ++t) w[t] = hn::Set(d, weights[t]);
  for (std::int64_t i = 0; i < elements; i += static_cast<std::int64_t>(hn::Lanes(d))) {
    VecF32 sum = hn::Mul(hn::LoadU(d, rows[0] + i), w[0]);
    for (int t = 1; t < kCells; ++t) sum = hn::MulAdd(hn::LoadU(d, rows[t] + i), w[t], sum);
    hn::StoreU(sum, d, mixed + i);
  }
}

/// Horizontal expansion repeats after `period` output components, which read `period / factor` coarse ones. Within a period,
/// each vector of outputs reads its coarse components within one vector's width of its base, through `indices`.
struct Expansion {
  const GaussExpandScratch& s;
  const DecimatedAxis& axis;
  std::int64_t channels;
  std::int64_t lanes;
  std::int64_t period;
  bool in_reach = true;  ///< every index lies within a vector

  Expansion(const GaussExpandScratch& scratch, const DecimatedAxis& a, int c)
      : s(scratch), axis(a), channels(c), lanes(static_cast<std::int64_t>(hn::Lanes(F32()))), period(scratch.pattern_lanes) {
    in_reach = lanes <= kExpandLanes;
    for (std::int64_t i = 0; i < period; ++i) {
      const std::int64_t pixel = i / channels;
      const std::int64_t cell = pixel / axis.factor * channels;
      if (i % lanes == 0) s.bases[i / lanes] = cell;
      const std::int64_t index = cell + i % channels - s.bases[i / lanes];
      in_reach = in_reach && index >= 0 && index < lanes;
      s.indices[i] = static_cast<std::int32_t>(index);
      for (std::int64_t t = 0; t < axis.cells; ++t) {
        weight_vectors(i)[t * lanes + i % lanes] = axis.expand_weight(pixel % axis.factor, t);
      }
    }
  }

  /// `cells` vectors for the vector that output component i is in.
  [[nodiscard]] float* weight_vectors(std::int64_t i) const { return s.weights + i / lanes * lanes * axis.cells; }

  template <int kCells>
  HWY_INLINE void run(const float* coarse, std::int64_t count, float* out) const {
    const F32 d;
    const hn::RebindToSigned<F32> di;
    if (!in_reach) return run_plain(coarse, count, out);
    const std::int64_t step = period / axis.factor;
    for (std::int64_t begin = 0; begin < count; begin += period, coarse += step) {
      const std::int64_t end = std::min(period, count - begin);
      const float* w = s.weights;
      const std::int64_t* base = s.bases;
      for (std::int64_t i = 0; i < end; i += lanes, w += kCells * lanes) {
        const auto indices = hn::IndicesFromVec(d, hn::LoadU(di, s.indices + i));
        const float* p = coarse + *base++;
        VecF32 sum = hn::Mul(hn::TableLookupLanes(hn::LoadU(d, p), indices), hn::LoadU(d, w));
        for (int t = 1; t < kCells; ++t) {
          const VecF32 cell = hn::TableLookupLanes(hn::LoadU(d, p + t * channels), indices);
          sum = hn::MulAdd(cell, hn::LoadU(d, w + t * lanes), sum);
        }
        hn::StoreU(sum, d, out + begin + i);
      }
    }
  }

  /// For vectors too short to hold all cells that one of them reads.
  HWY_INLINE void run_plain(const float* coarse, std::int64_t count, float* out) const {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t pixel = i / channels;
      const float* p = coarse + pixel / axis.factor * channels + i % channels;
      float sum = 0.0F;
      for (std::int64_t t = 0; t < axis.cells; ++t) {
        sum += p[t * channels] * axis.expand_weight(pixel % axis.factor, t);
      }
      out[i] = sum;
    }
  }
};

void gauss_expand(const GaussExpand& k, const Tile& tile) {
  const int channels = k.rows.destination.channels;
  const DecimatedAxis& ax = k.axis.x;
  const DecimatedAxis& ay = k.axis.y;
  const GaussExpandScratch s(tile.scratch, tile.out.width, {ax.factor, ax.cells, k.x.size()},
                             {ay.factor, ay.cells, k.y.size()}, channels);
  const Expansion expansion(s, ax, channels);

  // Columns are expanded from the start of the cell that the tile begins in.
  const std::int64_t x = tile.origin_x + tile.out.x;
  const std::int64_t cell_x = floor_div(x + ax.centre, ax.factor);
  const std::int64_t skip = x - (cell_x * ax.factor - ax.centre);
  const std::int64_t first_column = cell_x - (ax.cells - 1);
  const std::int64_t last_column = floor_div(x + tile.out.width - 1 + ax.centre, ax.factor);
  const std::int64_t columns = last_column - first_column + 1;

  const std::int64_t top = tile.origin_y + tile.out.y;
  const std::int64_t first_row = floor_div(top + ay.centre, ay.factor) - (ay.cells - 1);
  std::int64_t loaded = 0;   // coarse rows in `ring`, counted from first_row - k.y.before
  std::int64_t blurred = 0;  // coarse rows in `blurred`, counted from first_row
  const auto blur_up_to = [&](std::int64_t wanted) HWY_ATTR {
    while (blurred < wanted) {
      for (; loaded < blurred + kRowBatch + k.y.size() - 1; ++loaded) {
        load_cells(k.grid, tile.grid, channels, first_row - k.y.before + loaded, first_column - k.x.before,
                   columns + k.x.size() - 1, s.loaded);
        filter_columns(k.x, channels, s.loaded, columns * channels, s.ring + loaded % s.ring_rows * s.stride);
      }
      for (std::int64_t i = 0; i < s.ring_rows; ++i) s.rows[i] = s.ring + (blurred + i) % s.ring_rows * s.stride;
      filter_rows(k.y, s.rows, columns * channels, s.batch, s.stride);
      for (std::int64_t j = 0; j < kRowBatch; ++j) {
        std::copy_n(s.batch + j * s.stride, columns * channels, s.blurred + (blurred + j) % s.blurred_rows * s.stride);
      }
      blurred += kRowBatch;
    }
  };

  for (std::int64_t row = 0; row < tile.out.height; ++row) {
    const std::int64_t cell = floor_div(top + row + ay.centre, ay.factor);
    const std::int64_t phase = top + row + ay.centre - cell * ay.factor;
    const std::int64_t from = cell - (ay.cells - 1) - first_row;
    blur_up_to(from + ay.cells);
    const float* rows[kMaxCells];
    float weights[kMaxCells];
    for (std::int64_t t = 0; t < ay.cells; ++t) {
      rows[t] = s.blurred + (from + t) % s.blurred_rows * s.stride;
      weights[t] = ay.expand_weight(phase, t);
    }
    with_cells(ay.cells, [&](auto cells) HWY_ATTR {
      mix_rows<decltype(cells)::value>(rows, weights, columns * channels, s.mixed);
    });
    with_cells(ax.cells, [&](auto cells) HWY_ATTR {
      expansion.template run<decltype(cells)::value>(s.mixed, (skip + tile.out.width) * channels, s.out);
    });
    store_pixels(k.rows.destination, tile, s.out + skip * channels, tile.out.width, tile.out.x, tile.out.y + row);
  }
  finish_stores(tile);
}

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mollify::cpu {

HWY_EXPORT(gauss_decimate);
HWY_EXPORT(gauss_expand);

void gauss_decimate(const GaussDecimate& k, const Tile& tile) { HWY_DYNAMIC_DISPATCH(gauss_decimate)(k, tile); }
void gauss_expand(const GaussExpand& k, const Tile& tile) { HWY_DYNAMIC_DISPATCH(gauss_expand)(k, tile); }

namespace scalar {

void gauss_decimate(const GaussDecimate& k, const Tile& tile) {
  const auto channels = static_cast<std::size_t>(k.rows.source.channels);
  const auto first = [](const DecimatedAxis& axis, std::int64_t cell) { return cell * axis.factor - axis.centre; };
  for (std::int64_t cell_y = tile.out.y; cell_y < tile.out.y + tile.out.height; ++cell_y) {
    for (std::int64_t cell_x = tile.out.x; cell_x < tile.out.x + tile.out.width; ++cell_x) {
      std::array<float, 4> sum{};
      for (std::size_t i = 0; i < k.axis.y.spline.size(); ++i) {
        for (std::size_t j = 0; j < k.axis.x.spline.size(); ++j) {
          const std::array<float, 4> in = read_pixel<float>(
              k.rows, tile.src, first(k.axis.x, k.grid.first.x + cell_x) + static_cast<std::int64_t>(j),
              first(k.axis.y, k.grid.first.y + cell_y) + static_cast<std::int64_t>(i));
          for (std::size_t c = 0; c < channels; ++c) sum[c] += k.axis.y.spline[i] * k.axis.x.spline[j] * in[c];
        }
      }
      std::copy_n(sum.begin(), channels, tile.grid + cell_y * k.grid.stride + cell_x * static_cast<std::int64_t>(channels));
    }
  }
}

void gauss_expand(const GaussExpand& k, const Tile& tile) {
  const std::int64_t channels = k.rows.destination.channels;
  /// The cell at (x, y) of the grid, blurred.
  const auto blurred = [&](std::int64_t x, std::int64_t y) {
    std::array<float, 4> sum{};
    for (std::int64_t i = 0; i < k.y.size(); ++i) {
      const std::int64_t row = std::clamp<std::int64_t>(y - k.y.before + i - k.grid.first.y, 0, k.grid.size.y - 1);
      for (std::int64_t j = 0; j < k.x.size(); ++j) {
        const std::int64_t column = std::clamp<std::int64_t>(x - k.x.before + j - k.grid.first.x, 0, k.grid.size.x - 1);
        const float weight = k.y.weights[static_cast<std::size_t>(i)] * k.x.weights[static_cast<std::size_t>(j)];
        const float* cell = tile.grid + row * k.grid.stride + column * channels;
        for (std::int64_t c = 0; c < channels; ++c) sum[static_cast<std::size_t>(c)] += weight * cell[c];
      }
    }
    return sum;
  };
  for_each_pixel<float>(k.rows, tile, [&](std::int64_t x, std::int64_t y) {
    const auto cell_of = [](const DecimatedAxis& axis, std::int64_t p) { return floor_div(p + axis.centre, axis.factor); };
    const PerAxis<std::int64_t> cell{cell_of(k.axis.x, x), cell_of(k.axis.y, y)};
    const PerAxis<std::int64_t> phase{x + k.axis.x.centre - cell.x * k.axis.x.factor,
                                      y + k.axis.y.centre - cell.y * k.axis.y.factor};
    std::array<float, 4> out{};
    for (std::int64_t s = 0; s < k.axis.y.cells; ++s) {
      for (std::int64_t t = 0; t < k.axis.x.cells; ++t) {
        const std::array<float, 4> in = blurred(cell.x - (k.axis.x.cells - 1) + t, cell.y - (k.axis.y.cells - 1) + s);
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
