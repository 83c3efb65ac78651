// A Gaussian of any sigma at nearly constant cost, in two passes (the mathematics: core/decimation.h).
//   gauss_decimate  reads the image once: each block of `factor` source rows is added to the cell rows it reaches, and a
//                   finished one is decimated horizontally into the coarse grid.
//   gauss_expand    blurs the coarse grid with a small kernel and expands each of its rows horizontally; each row of pixels
//                   is then mixed from a few of those: one write of the image.
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
  std::int64_t count = 0;  ///< of rows, at most kDecimateRows
  const float* weights = nullptr;
  std::int64_t factor = 1;
  bool begins = false;     ///< sums[0] is new
  float* sums[kMaxCells] = {};
};

template <int kCells>
constexpr int kVectorsAtOnce = HWY_TARGET <= HWY_AVX3 && kCells <= 6 ? 4 : 2;  // as many as leave all sums in registers

/// Elements [from, to) of a block. S is what rows hold. Touches whole groups of vectors: rows and sums have room for that.
template <int kCells, class S>
HWY_INLINE void add_rows(const RowBlock& block, const S* const* rows, std::int64_t from, std::int64_t to) {
  constexpr int kVectors = kVectorsAtOnce<kCells>;
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = from; i < to; i += kVectors * lanes) {
    VecF32 sum[kCells][kVectors];
    HWY_UNROLL(8)
    for (int t = 0; t < kCells; ++t) {
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) sum[t][v] = hn::Zero(d);
    }
    for (std::int64_t r = 0; r < block.count; ++r) {
      VecF32 pixels[kVectors];
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) pixels[v] = load_f32(d, rows[r] + i + v * lanes);
      HWY_UNROLL(8)
      for (int t = 0; t < kCells; ++t) {
        const VecF32 w = hn::Set(d, block.weights[t * block.factor + r]);
        HWY_UNROLL(8)
        for (int v = 0; v < kVectors; ++v) sum[t][v] = hn::MulAdd(pixels[v], w, sum[t][v]);
      }
    }
    HWY_UNROLL(8)
    for (int t = 0; t < kCells; ++t) {
      float* into = block.sums[t] + i;
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v, into += lanes) {
        hn::StoreU(t == 0 && block.begins ? sum[t][v] : hn::Add(sum[t][v], hn::LoadU(d, into)), d, into);
      }
    }
  }
}

#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
/// Adds up the lanes of each channel and stores the sums.
template <int kChannels, class D>
HWY_INLINE void store_channel_sums(D d, hn::Vec<D> v, float* out) {
  if constexpr (hn::MaxLanes(D()) > kChannels) {
    const hn::Half<D> half;
    store_channel_sums<kChannels>(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)), out);
  } else {
    hn::StoreU(v, d, out);
  }
}
#endif

/// One row of cells from a finished row of sums: out[m] = sum_i spline[i] * row[m * factor + i], for whole pixels.
template <int kChannels>
HWY_INLINE void decimate_row(HWY_MAYBE_UNUSED const GaussDecimateScratch& s, const DecimatedAxis& axis, const float* row,
                             std::int64_t cells, float* out) {
  const std::int64_t step = axis.factor * kChannels;
  const auto taps = static_cast<std::int64_t>(axis.spline.size());
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
  // Whole vectors of components times weights spread alike; what lies past the taps has weight zero.
  if constexpr (kChannels != 3 && hn::MaxLanes(F32()) >= kChannels) {
    const F32 d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (std::int64_t m = 0; m < cells; m += kDecimateCells) {
      VecF32 total[kDecimateCells], block[kDecimateCells];
      HWY_UNROLL(8)
      for (VecF32& v : total) v = hn::Zero(d);
      for (std::int64_t from = 0; from < taps * kChannels; from += kDecimateRows * lanes) {
        HWY_UNROLL(8)
        for (VecF32& v : block) v = hn::Zero(d);
        const float* p = row + m * step;
        for (std::int64_t i = from; i < std::min(from + kDecimateRows * lanes, taps * kChannels); i += lanes) {
          const VecF32 w = hn::Load(d, s.weights + i);
          HWY_UNROLL(8)
          for (int k = 0; k < kDecimateCells; ++k) block[k] = hn::MulAdd(hn::LoadU(d, p + i + k * step), w, block[k]);
        }
        HWY_UNROLL(8)
        for (int k = 0; k < kDecimateCells; ++k) total[k] = hn::Add(total[k], block[k]);
      }
      HWY_UNROLL(4)
      for (int k = 0; k < kDecimateCells; ++k) {
        if (m + k < cells) store_channel_sums<kChannels>(d, total[k], out + (m + k) * kChannels);
      }
    }
    return;
  }
  if constexpr (kChannels == 3) {  // one cell a vector
    const hn::Simd<float, 4, 0> d;
    using V = hn::Vec<decltype(d)>;
    for (std::int64_t m = 0; m < cells; m += kDecimateCells) {
      const float* p = row + m * step;
      V total[kDecimateCells], block[kDecimateCells];
      HWY_UNROLL(8)
      for (V& v : total) v = hn::Zero(d);
      for (std::int64_t from = 0; from < taps; from += kDecimateRows) {
        HWY_UNROLL(8)
        for (V& v : block) v = hn::Zero(d);
        for (std::int64_t i = from; i < std::min(from + kDecimateRows, taps); ++i) {
          const V weight = hn::Set(d, axis.spline[static_cast<std::size_t>(i)]);
          HWY_UNROLL(8)
          for (int k = 0; k < kDecimateCells; ++k) block[k] = hn::MulAdd(hn::LoadU(d, p + i * kChannels + k * step), weight, block[k]);
        }
        HWY_UNROLL(8)
        for (int k = 0; k < kDecimateCells; ++k) total[k] = hn::Add(total[k], block[k]);
      }
      HWY_UNROLL(4)
      for (int k = 0; k < kDecimateCells; ++k) {
        if (m + k >= cells) continue;
        HWY_ALIGN float lanes[4];
        hn::Store(total[k], d, lanes);
        std::copy_n(lanes, kChannels, out + (m + k) * kChannels);
      }
    }
    return;
  }
#endif
  for (std::int64_t m = 0; m < cells; ++m) {
    const float* p = row + m * step;
    for (int c = 0; c < kChannels; ++c) {
      float total = 0.0F;
      for (std::int64_t from = 0; from < taps; from += kDecimateRows) {
        float block = 0.0F;
        for (std::int64_t i = from; i < std::min(from + kDecimateRows, taps); ++i) {
          block += axis.spline[static_cast<std::size_t>(i)] * p[i * kChannels + c];
        }
        total += block;
      }
      out[m * kChannels + c] = total;
    }
  }
}

HWY_INLINE void decimate_row(int channels, const GaussDecimateScratch& s, const DecimatedAxis& axis, const float* row,
                             std::int64_t cells, float* out) {
  switch (channels) {
    case 1: return decimate_row<1>(s, axis, row, cells, out);
    case 2: return decimate_row<2>(s, axis, row, cells, out);
    case 3: return decimate_row<3>(s, axis, row, cells, out);
    default: return decimate_row<4>(s, axis, row, cells, out);
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
  bool whole = true;     ///< what is loaded lies in the image

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
    if (!all) first = 0, last = columns, whole = false;
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
    std::fill_n(sums + columns * channels, kMaxLanes, 0.0F);  // read, with weights of zero
  }
};

/// Adds a block of source rows, of which y is the first, to the sums; S is what the image holds.
template <int kCells, class S>
HWY_INLINE void add_block(const DecimateColumns& columns, const GaussDecimateScratch& s, const ConstImageView& src,
                          RowBlock& block, std::int64_t y) {
  const RowPipeline& rows = columns.rows;
  const std::int64_t x = columns.x + columns.first;
  const std::int64_t pixels = columns.last - columns.first;
  const std::int64_t count = pixels * rows.source.channels;
  const S* stored[kDecimateRows];
  const float* numbers[kDecimateRows];
  bool as_stored = columns.whole && rows.source.only_scaled() && rows.source.scale == 1.0;
  for (std::int64_t r = 0; r < block.count; ++r) {
    as_stored = as_stored && map_index(rows.border.mode.y, y + r, src.desc.height) != kOutside;
    stored[r] = reinterpret_cast<const S*>(stored_row(rows, src, y + r, x));
    numbers[r] = s.rows + r * s.stride;
  }
  if (!as_stored) {
    for (std::int64_t r = 0; r < block.count; ++r) load_row(rows, src, y + r, x, pixels, s.rows + r * s.stride);
    return add_rows<kCells>(block, numbers, 0, count);
  }
  // Whole vectors from where the image lies; the last elements of a row, behind which there may be nothing, from a copy.
  const std::int64_t group = kVectorsAtOnce<kCells> * static_cast<std::int64_t>(hn::Lanes(F32()));
  const std::int64_t whole = count / group * group;
  add_rows<kCells>(block, stored, 0, whole);
  if (whole == count) return;
  for (std::int64_t r = 0; r < block.count; ++r) {
    decode_components(stored[r] + whole, count - whole, 1.0F, s.rows + r * s.stride + whole);
  }
  add_rows<kCells>(block, numbers, whole, count);
}

void gauss_decimate(const GaussDecimate& k, const Tile& tile) {
  const int channels = k.rows.source.channels;
  const DecimatedAxis& ax = k.axis.x;
  const DecimatedAxis& ay = k.axis.y;
  const auto taps = static_cast<std::int64_t>(ax.spline.size());
  const GaussDecimateScratch s(tile.scratch, tile.out.width, ax.factor, taps, ay.cells, channels);
  for (std::int64_t i = 0; i < taps * channels + kMaxLanes; ++i) {
    s.weights[i] = i < taps * channels ? ax.spline[static_cast<std::size_t>(i / channels)] : 0.0F;
  }
  const std::int64_t x = (k.grid.first.x + tile.out.x) * ax.factor - ax.centre;
  const DecimateColumns columns(k.rows, x, (tile.out.width - 1) * ax.factor + taps, tile.src.desc.width);
  const std::int64_t offset = columns.first * channels;
  const std::int64_t first = k.grid.first.y + tile.out.y;  // cell row

  // The rows [m * factor - centre, + factor) are the first that cell row m reaches, and the t-th that m - t does.
  for (std::int64_t m = first; m < first + tile.out.height + ay.cells - 1; ++m) {
    RowBlock block;
    block.factor = ay.factor;
    for (std::int64_t t = 0; t < ay.cells; ++t) {
      const std::int64_t slot = ((m - t) % ay.cells + ay.cells) % ay.cells;
      block.sums[t] = s.sums + slot * s.stride + offset;
    }
    for (std::int64_t row = 0; row < ay.factor; row += kDecimateRows) {
      block.count = std::min(kDecimateRows, ay.factor - row);
      block.weights = ay.spline.data() + row;
      block.begins = row == 0;
      with_component(k.rows.source.component, [&](auto component) HWY_ATTR {
        with_cells(ay.cells, [&](auto cells) HWY_ATTR {
          add_block<decltype(cells)::value, decltype(component)>(columns, s, tile.src, block, m * ay.factor - ay.centre + row);
        });
      });
    }
    const std::int64_t finished = m - (ay.cells - 1);
    if (finished < first) continue;
    float* sums = block.sums[ay.cells - 1] - offset;
    columns.fill(sums);
    decimate_row(channels, s, ax, sums, tile.out.width,
                 tile.grid + (finished - k.grid.first.y) * k.grid.stride + tile.out.x * channels);
  }
}

// ---- expansion

/// Columns [x, x + count) of coarse row y: where they lie, or a copy in `own` where some lie beyond the grid.
HWY_INLINE const float* grid_row(const CoarseGrid& grid, const float* cells, int channels, std::int64_t y, std::int64_t x,
                                 std::int64_t count, float* own) {
  const std::int64_t row = std::clamp(y, grid.first.y, grid.first.y + grid.size.y - 1) - grid.first.y;
  const float* src = cells + row * grid.stride;
  const std::int64_t from = x - grid.first.x;
  if (from >= 0 && from + count <= grid.size.x) return src + from * channels;
  const std::int64_t first = std::clamp<std::int64_t>(-from, 0, count);
  const std::int64_t last = std::clamp<std::int64_t>(grid.size.x - from, first, count);
  for (std::int64_t i = 0; i < first; ++i) std::copy_n(src, channels, own + i * channels);
  std::copy_n(src + (from + first) * channels, (last - first) * channels, own + first * channels);
  for (std::int64_t i = last; i < count; ++i) std::copy_n(src + (grid.size.x - 1) * channels, channels, own + i * channels);
  return own;
}

/// filter_columns() that loads less: what is one tap's input to a vector of outputs is another tap's to the next one.
HWY_INLINE void filter_cells(const TapsOf<float>& taps, int channels, const float* row, std::int64_t count, float* out) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t shift = lanes / channels;  // taps from one vector to the next
  const std::int64_t n = taps.size();
  std::int64_t i = 0;
  if (lanes % channels == 0 && n >= 3 * shift) {
    for (; i + 4 * lanes <= count; i += 4 * lanes) {
      VecF32 a = hn::Zero(d), b = a, c = a, e = a;
      // Inputs [from, to), which reach the outputs from `first` to `last` of the four.
      const auto add = [&](std::int64_t from, std::int64_t to, auto first, auto last) HWY_ATTR {
        const float* p = row + i + from * channels;
        const float* w = taps.weights.data() + from;
        for (; from < to; ++from, ++w, p += channels) {
          const VecF32 v = hn::LoadU(d, p);
          if (first <= 0) a = hn::MulAdd(v, hn::Set(d, w[0]), a);
          if (first <= 1 && last >= 1) b = hn::MulAdd(v, hn::Set(d, w[-shift]), b);
          if (first <= 2 && last >= 2) c = hn::MulAdd(v, hn::Set(d, w[-2 * shift]), c);
          if (last >= 3) e = hn::MulAdd(v, hn::Set(d, w[-3 * shift]), e);
        }
      };
      constexpr std::integral_constant<int, 0> kA;
      constexpr std::integral_constant<int, 1> kB;
      constexpr std::integral_constant<int, 2> kC;
      constexpr std::integral_constant<int, 3> kE;
      add(0, shift, kA, kA), add(shift, 2 * shift, kA, kB), add(2 * shift, 3 * shift, kA, kC);
      add(3 * shift, n, kA, kE);
      add(n, n + shift, kB, kE), add(n + shift, n + 2 * shift, kC, kE), add(n + 2 * shift, n + 3 * shift, kE, kE);
      hn::StoreU(a, d, out + i), hn::StoreU(b, d, out + i + lanes);
      hn::StoreU(c, d, out + i + 2 * lanes), hn::StoreU(e, d, out + i + 3 * lanes);
    }
  }
  filter_columns(taps, channels, row + i, count - i, out + i);
}

/// The sum of `kCells` rows, each times its weight.
template <int kCells>
struct RowMix {
  VecF32 weights[kCells];
  const float* rows[kCells];

  HWY_INLINE VecF32 at(std::int64_t i) const {
    const F32 d;
    VecF32 sum = hn::Mul(hn::LoadU(d, rows[0] + i), weights[0]);
    HWY_UNROLL(8)
    for (int t = 1; t < kCells; ++t) sum = hn::MulAdd(hn::LoadU(d, rows[t] + i), weights[t], sum);
    return sum;
  }

  /// Elements [from, to), stored as S from `out` on. Touches whole groups of four vectors.
  template <bool kBounded, bool kStream, class S>
  HWY_INLINE void store(std::int64_t from, std::int64_t to, S* out) const {
    const F32 d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (std::int64_t i = from; i < to; i += 4 * lanes, out += 4 * lanes) {
      store_four<kBounded, kStream>(d, at(i), at(i + lanes), at(i + 2 * lanes), at(i + 3 * lanes), out);
    }
  }
};

/// Elements [from, to) of a mixed row to the row of stored S at `dst`, past the cache if the tile says so: whole vectors at
/// once where they fill cache lines, the rest by way of `made`.
template <int kCells, bool kBounded, class S>
HWY_INLINE void store_mix(const RowMix<kCells>& mix, std::int64_t from, std::int64_t to, const Tile& tile, S* made, S* dst) {
  const auto group = 4 * static_cast<std::int64_t>(hn::Lanes(F32()));
  const auto put = [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
    mix.template store<kBounded, false>(begin, end, made);
    std::memcpy(dst + begin, made, static_cast<std::size_t>(end - begin) * sizeof(S));
  };
  if (!tile.streams) {
    const std::int64_t last = from + (to - from) / group * group;
    mix.template store<kBounded, false>(from, last, dst + from);
    return put(last, to);
  }
  const std::int64_t first = from + elements_to_line(dst + from);
  if constexpr (kMakesWholeVectors<kBounded, S>) {
    if (first + group <= to) {
      const std::int64_t last = first + (to - first) / group * group;
      put(from, first);
      mix.template store<kBounded, true>(first, last, dst + first);
      return put(last, to);
    }
  }
  mix.template store<kBounded, false>(from, to, made);
  store_bytes(tile, reinterpret_cast<const std::byte*>(made), (to - from) * static_cast<std::int64_t>(sizeof(S)),
              reinterpret_cast<std::byte*>(dst + from));
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
        HWY_UNROLL(8)
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
  const RowFormat& format = k.rows.destination;
  const int channels = format.channels;
  const DecimatedAxis& ax = k.axis.x;
  const DecimatedAxis& ay = k.axis.y;
  const GaussExpandScratch s(tile.scratch, tile.out.width, {ax.factor, ax.cells, k.x.size()},
                             {ay.factor, ay.cells, k.y.size()}, channels);
  const Expansion expansion(s, ax, channels);

  // Columns are expanded from the start of the cell that the tile begins in.
  const std::int64_t x = tile.origin_x + tile.out.x;
  const std::int64_t cell_x = floor_div(x + ax.centre, ax.factor);
  const std::int64_t skip = (x - (cell_x * ax.factor - ax.centre)) * channels;
  const std::int64_t first_column = cell_x - (ax.cells - 1);
  const std::int64_t last_column = floor_div(x + tile.out.width - 1 + ax.centre, ax.factor);
  const std::int64_t columns = last_column - first_column + 1;
  const std::int64_t count = tile.out.width * channels;

  const std::int64_t top = tile.origin_y + tile.out.y;
  const std::int64_t first_row = floor_div(top + ay.centre, ay.factor) - (ay.cells - 1);
  std::int64_t loaded = 0;    // coarse rows in `ring`, counted from first_row - k.y.before
  std::int64_t blurred = 0;   // coarse rows in `batch`, counted from first_row
  std::int64_t expanded = 0;  // coarse rows in `expanded`, counted from first_row
  const auto blur_batch = [&]() HWY_ATTR {
    for (; loaded < blurred + kRowBatch + k.y.size() - 1; ++loaded) {
      const float* cells = grid_row(k.grid, tile.grid, channels, first_row - k.y.before + loaded, first_column - k.x.before,
                                    columns + k.x.size() - 1, s.loaded);
      filter_cells(k.x, channels, cells, columns * channels, s.ring + loaded % s.ring_rows * s.stride);
    }
    for (std::int64_t i = 0; i < s.ring_rows; ++i) s.rows[i] = s.ring + (blurred + i) % s.ring_rows * s.stride;
    filter_rows(k.y, s.rows, columns * channels, s.batch, s.stride);
    blurred += kRowBatch;
  };
  // Where pixel 0 of the tile begins a cache line.
  const auto expanded_row = [&](std::int64_t row) {
    constexpr std::int64_t kLine = 16;
    return s.expanded + row % ay.cells * s.expanded_stride + (kLine - skip % kLine) % kLine;
  };

  const bool plain = format.only_scaled();
  const bool bounded = info(tile.src.desc.format).is_unorm() && format.scale <= 1.0;
  const std::int64_t pixel_bytes = info(tile.dst.desc.format).pixel_bytes();
  const auto dst_row = [&](std::int64_t row) { return tile.dst.row(tile.out.y + row) + tile.out.x * pixel_bytes; };
  std::int64_t rows = 0;
  for (std::int64_t row = 0; row < tile.out.height; row += rows) {  // rows that are mixed from the same cells
    const std::int64_t cell = floor_div(top + row + ay.centre, ay.factor);
    const std::int64_t phase = top + row + ay.centre - cell * ay.factor;
    const std::int64_t from = cell - (ay.cells - 1) - first_row;
    rows = std::min({ay.factor - phase, tile.out.height - row, kMixRows});
    for (; expanded < from + ay.cells; ++expanded) {
      if (expanded == blurred) blur_batch();
      const float* coarse = s.batch + expanded % kRowBatch * s.stride;
      with_cells(ax.cells, [&](auto cells) HWY_ATTR {
        expansion.template run<decltype(cells)::value>(coarse, skip + count, expanded_row(expanded));
      });
    }
    with_cells(ay.cells, [&](auto cells) HWY_ATTR {
      constexpr int kCells = decltype(cells)::value;
      const auto mix_of = [&](std::int64_t r) HWY_ATTR {
        RowMix<kCells> mix;
        const float scale = plain ? static_cast<float>(format.scale) : 1.0F;
        HWY_UNROLL(8)
        for (int t = 0; t < kCells; ++t) {
          mix.rows[t] = expanded_row(from + t) + skip;
          mix.weights[t] = hn::Set(F32(), ay.expand_weight(phase + r, t) * scale);
        }
        return mix;
      };
      if (!plain) {
        for (std::int64_t r = 0; r < rows; ++r) {
          mix_of(r).template store<false, false>(0, count, s.out);
          store_pixels(format, tile, s.out, tile.out.width, tile.out.x, tile.out.y + row + r);
        }
        return;
      }
      with_component(format.component, [&](auto component) HWY_ATTR {
        using S = decltype(component);
        // A piece at a time, so that what its rows are mixed from is read from the nearest cache.
        for (std::int64_t piece = 0; piece < count; piece += kMixElements) {
          for (std::int64_t r = 0; r < rows; ++r) {
            auto* dst = reinterpret_cast<S*>(dst_row(row + r));
            auto* made = reinterpret_cast<S*>(s.out);
            // Pieces meet where a cache line begins.
            const std::int64_t shift = elements_to_line(dst);
            const std::int64_t begin = piece == 0 ? 0 : std::min(piece + shift, count);
            const std::int64_t end = std::min(piece + kMixElements + shift, count);
            if (bounded) {
              store_mix<kCells, true>(mix_of(r), begin, end, tile, made, dst);
            } else {
              store_mix<kCells, false>(mix_of(r), begin, end, tile, made, dst);
            }
          }
        }
      });
    });
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
