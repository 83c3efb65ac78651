// First pass of a decimated Gaussian (math/decimation.h): reads the image once. Blocks of source rows are added to the sums
// of the coarse rows that they reach; a finished row of sums is decimated horizontally into a coarse row. About `support`
// multiply-adds a component. Coarse samples are anchored to source coordinates, so bits do not depend on tiles.
#include "backends/cpu/kernels/gauss_coarse.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/pixel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/gauss_decimate.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include "backends/cpu/kernels/cell_ranges-inl.h"
#include "backends/cpu/kernels/gauss_axis-inl.h"
#include "backends/cpu/kernels/row_io-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

// ---- vertically: the functions that walk rows are not inlined, as each of their many forms is called from several places

template <int kSupport>
constexpr int kVectorsAtOnce = HWY_TARGET <= HWY_AVX3&& kSupport <= 6 ? 4 : 2;  // as many as leave all sums in registers

/// Asks the memory for what rows hold some way behind `p`, where kElements are read now: a hardware prefetcher knows neither
/// that many rows at once nor what follows on the next page.
template <int kElements, class S>
HWY_INLINE void fetch_ahead(const S* p) {
  constexpr std::int64_t kAhead = 512;  // bytes
  constexpr std::int64_t kLine = 64;
  const auto* bytes = reinterpret_cast<const std::byte*>(p) + kAhead;
  for (std::int64_t b = 0; b < kElements * static_cast<std::int64_t>(sizeof(S)); b += kLine) hwy::Prefetch(bytes + b);
}

/// Where a part of the rows that begin a coarse row goes: row i times weights[t * factor + i] is added to sums[t].
struct RowBlock {
  std::int64_t count = 0;  ///< of rows, at most kDecimateRows
  const float* weights = nullptr;
  std::int64_t factor = 1;
  bool begins = false;  ///< sums[0] is new
  float* const* sums = nullptr;
};

/// Elements [from, to) of a block, summed by themselves. S is what rows hold. Touches whole groups of vectors: rows and
/// sums have room for that.
template <int kSupport, class S>
HWY_NOINLINE void add_rows(const RowBlock& block, const S* const* rows, std::int64_t from, std::int64_t to) {
  constexpr int kVectors = kVectorsAtOnce<kSupport>;
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = from; i < to; i += kVectors * lanes) {
    VecF32 sum[kSupport][kVectors];
    HWY_UNROLL(8)
    for (int t = 0; t < kSupport; ++t) {
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) sum[t][v] = hn::Zero(d);
    }
    for (std::int64_t r = 0; r < block.count; ++r) {
      VecF32 pixels[kVectors];
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) pixels[v] = load_f32(d, rows[r] + i + v * lanes);
      fetch_ahead<kVectors* static_cast<int>(hn::MaxLanes(F32()))>(rows[r] + i);
      HWY_UNROLL(8)
      for (int t = 0; t < kSupport; ++t) {
        const VecF32 w = hn::Set(d, block.weights[t * block.factor + r]);
        HWY_UNROLL(8)
        for (int v = 0; v < kVectors; ++v) sum[t][v] = hn::MulAdd(pixels[v], w, sum[t][v]);
      }
    }
    HWY_UNROLL(8)
    for (int t = 0; t < kSupport; ++t) {
      float* into = block.sums[t] + i;
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v, into += lanes) {
        hn::StoreU(t == 0 && block.begins ? sum[t][v] : hn::Add(sum[t][v], hn::LoadU(d, into)), d, into);
      }
    }
  }
}

/// Elements [from, to) of the rows that begin the next `groups` coarse rows, added to `sums` one after the other: as many coarse
/// rows are finished. Sums stay in registers meanwhile, and move on as one coarse row after another begins. Small factors
/// gain by that: their sums would be loaded and stored as often as rows are. Touches whole groups of vectors.
template <int kSupport, class S>
HWY_NOINLINE void slide_rows(const CoarseRowMaker& maker, std::int64_t groups, const S* const* rows, std::int64_t from, std::int64_t to) {
  constexpr int kVectors = kVectorsAtOnce<kSupport>;
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t factor = maker.k.axis.y.factor;
  const std::int64_t offset = maker.columns.first * maker.k.rows.source.channels;
  for (std::int64_t i = from; i < to; i += kVectors * lanes) {
    VecF32 sum[kSupport][kVectors];  // of the coarse row that begins, the one before, ...
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) sum[0][v] = hn::Zero(d);
    HWY_UNROLL(8)
    for (int t = 1; t < kSupport; ++t) {
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) sum[t][v] = hn::LoadU(d, maker.sums[t - 1] + offset + i + v * lanes);
    }
    const S* const* row = rows;
    for (std::int64_t g = 0; g < groups; ++g) {
      const float* weights = maker.k.axis.y.spline.data();
      for (std::int64_t r = 0; r < factor; ++r, ++row, ++weights) {
        VecF32 pixels[kVectors];
        HWY_UNROLL(8)
        for (int v = 0; v < kVectors; ++v) pixels[v] = load_f32(d, *row + i + v * lanes);
        fetch_ahead<kVectors* static_cast<int>(hn::MaxLanes(F32()))>(*row + i);
        HWY_UNROLL(8)
        for (int t = 0; t < kSupport; ++t) {
          const VecF32 w = hn::Set(d, weights[t * factor]);
          HWY_UNROLL(8)
          for (int v = 0; v < kVectors; ++v) sum[t][v] = hn::MulAdd(pixels[v], w, sum[t][v]);
        }
      }
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) {
        hn::StoreU(sum[kSupport - 1][v], d, maker.finished[g] + offset + i + v * lanes);
        HWY_UNROLL(8)
        for (int t = kSupport - 1; t > 0; --t) sum[t][v] = sum[t - 1][v];
        sum[0][v] = hn::Zero(d);
      }
    }
    HWY_UNROLL(8)
    for (int t = 1; t < kSupport; ++t) {
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[t][v], d, maker.sums[t - 1] + offset + i + v * lanes);
    }
  }
}

/// Source rows of a block: elements [0, whole) are read as they are stored, as S, those up to `elements` as numbers.
template <class S>
struct SourceRows {
  const S* stored[kDecimateRows] = {};
  const float* numbers[kDecimateRows] = {};
  std::int64_t whole = 0;
  std::int64_t elements = 0;

  /// What is loaded of `count` rows, of which y is the first. As stored are, where that is what is summed, whole groups of as many
  /// elements from where the image lies; the last ones of a row, behind which there may be nothing, are a copy. Not inlined: forms
  /// of what sums them are many.
  HWY_NOINLINE SourceRows(const CoarseRowMaker& maker, std::int64_t y, std::int64_t count, std::int64_t group) {
    const DecimateColumns& columns = maker.columns;
    const GaussDecimateScratch& s = maker.s;
    const RowPipeline& rows = columns.rows;
    const std::int64_t x = columns.x + columns.first;
    const std::int64_t pixels = columns.last - columns.first;
    elements = pixels * rows.source.channels;
    bool as_stored = columns.whole && rows.source.only_scaled() && rows.source.scale == 1.0;
    for (std::int64_t r = 0; r < count; ++r) {
      as_stored = as_stored && map_index(rows.border.mode.y, y + r, maker.src.desc.height) != kOutside;
      stored[r] = reinterpret_cast<const S*>(stored_row(rows, maker.src, y + r, x));
      numbers[r] = s.rows + r * s.stride;
    }
    if (as_stored) whole = elements / group * group;
    for (std::int64_t r = 0; r < count; ++r) {
      float* out = s.rows + r * s.stride;
      if (!as_stored) {
        load_row(rows, maker.src, y + r, x, pixels, out);
      } else if (whole < elements) {
        decode_components(stored[r] + whole, elements - whole, 1.0F, out + whole);
      }
    }
  }
};

/// Includes `count` source rows, of which y is the first, in the ranges of their cells, and finishes those whose last row is among them.
template <class S>
HWY_NOINLINE void include_in_ranges(const CoarseRowMaker& maker, const SourceRows<S>& source, std::int64_t y, std::int64_t count) {
  const CellRangesScratch& s = *maker.ranges;
  const DecimatedAxis& axis = maker.k.axis.y;
  const std::int64_t offset = maker.columns.first * maker.k.rows.source.channels;
  float* least = s.least.columns + offset;
  float* largest = s.largest.columns + offset;
  for (std::int64_t row = 0; row < count;) {
    const std::int64_t cell = floor_div(y + row + axis.centre, axis.factor);
    const std::int64_t in_cell = y + row + axis.centre - cell * axis.factor;
    const std::int64_t rows = std::min(axis.factor - in_cell, count - row);
    include_rows(source.stored + row, rows, 0, source.whole, in_cell == 0, least, largest);
    include_rows(source.numbers + row, rows, source.whole, source.elements, in_cell == 0, least, largest);
    if (in_cell + rows == axis.factor) finish_cells(maker, cell);
    row += rows;
  }
}

/// Calls add(rows, from, to) for the elements that are loaded of `count` source rows, of which y is the first.
template <int kSupport, class S, class Add>
HWY_INLINE void with_source_rows(const CoarseRowMaker& maker, std::int64_t y, std::int64_t count, const Add& add) {
  const SourceRows<S> rows(maker, y, count, kVectorsAtOnce<kSupport> * static_cast<std::int64_t>(hn::Lanes(F32())));
  if (maker.ranges != nullptr) include_in_ranges(maker, rows, y, count);
  if (rows.whole > 0) add(rows.stored, 0, rows.whole);
  if (rows.whole < rows.elements) add(rows.numbers, rows.whole, rows.elements);
}

/// Calls body(support, component) with both as compile-time values.
template <class Body>
HWY_INLINE void with_types(const CoarseRowMaker& maker, const Body& body) {
  with_component(maker.k.rows.source.component, [&](auto component) HWY_ATTR {
    with_support(maker.k.axis.y.support, [&](auto count) HWY_ATTR { body(count, component); });
  });
}

/// The rows that begin the next `groups` coarse rows, all at once.
HWY_INLINE void slide(CoarseRowMaker& maker, std::int64_t groups) {
  const DecimatedAxis& axis = maker.k.axis.y;
  const std::int64_t y = maker.begins * axis.factor - axis.centre;
  with_types(maker, [&](auto count, auto component) HWY_ATTR {
    constexpr int kSupport = decltype(count)::value;
    with_source_rows<kSupport, decltype(component)>(maker, y, groups * axis.factor,
                                                    [&](const auto* const* rows, std::int64_t from, std::int64_t to)
                                                        HWY_ATTR { slide_rows<kSupport>(maker, groups, rows, from, to); });
  });
}

/// The rows that begin the next coarse row, a block at a time.
HWY_INLINE void add_blocks(CoarseRowMaker& maker) {
  const DecimatedAxis& axis = maker.k.axis.y;
  const std::int64_t offset = maker.columns.first * maker.k.rows.source.channels;
  float* sums[kMaxSupport];
  for (std::int64_t t = 0; t < axis.support; ++t) sums[t] = maker.sums[t] + offset;
  for (std::int64_t row = 0; row < axis.factor; row += kDecimateRows) {
    RowBlock block{std::min(kDecimateRows, axis.factor - row), axis.spline.data() + row, axis.factor, row == 0, sums};
    with_types(maker, [&](auto count, auto component) HWY_ATTR {
      constexpr int kSupport = decltype(count)::value;
      with_source_rows<kSupport, decltype(component)>(maker, maker.begins * axis.factor - axis.centre + row, block.count,
                                                      [&](const auto* const* rows, std::int64_t from, std::int64_t to)
                                                          HWY_ATTR { add_rows<kSupport>(block, rows, from, to); });
    });
  }
  maker.finished[0] = maker.sums[axis.support - 1];
  std::rotate(maker.sums, maker.sums + axis.support - 1, maker.sums + axis.support);  // the next row's sums take its place
}

/// The next finished row of sums.
HWY_INLINE float* next_sums(CoarseRowMaker& maker) {
  while (maker.taken == maker.ready) {
    const std::int64_t finishes = maker.begins - (maker.k.axis.y.support - 1);
    const std::int64_t groups = std::min(maker.s.groups, maker.last - finishes);
    if (maker.s.slides) {
      slide(maker, groups);
    } else {
      add_blocks(maker);
    }
    maker.begins += groups;
    maker.ready = groups;
    maker.taken = std::clamp<std::int64_t>(maker.first - finishes, 0, groups);  // rows before the first are not wanted
  }
  return maker.finished[maker.taken++];
}

// ---- horizontally

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

/// The lanes of each of four vectors added up, in the same order.
template <class D>
HWY_INLINE hn::Vec<hn::Simd<float, 4, 0>> four_sums(D d, const hn::Vec<D>* v) {
  if constexpr (hn::MaxLanes(D()) > 4) {
    const hn::Half<D> half;
    hn::Vec<hn::Half<D>> halves[4];
    for (int k = 0; k < 4; ++k) halves[k] = hn::Add(hn::LowerHalf(half, v[k]), hn::UpperHalf(half, v[k]));
    return four_sums(half, halves);
  } else {
    const auto ab = hn::InterleaveLower(d, v[0], v[1]), ab_upper = hn::InterleaveUpper(d, v[0], v[1]);
    const auto cd = hn::InterleaveLower(d, v[2], v[3]), cd_upper = hn::InterleaveUpper(d, v[2], v[3]);
    const auto ab_pairs = hn::Add(ab, ab_upper), cd_pairs = hn::Add(cd, cd_upper);  // lanes 0 and 2, then 1 and 3
    return hn::Add(hn::ConcatLowerLower(d, cd_pairs, ab_pairs), hn::ConcatUpperUpper(d, cd_pairs, ab_pairs));
  }
}
#endif

#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
/// Of four vectors the sums of each block of four lanes: those of the first blocks, then those of the second, and so on.
template <class D>
HWY_INLINE hn::Vec<D> block_sums(D d, const hn::Vec<D>* v) {
  const hn::Repartition<double, D> pairs;
  const auto two = [&](hn::Vec<D> a, hn::Vec<D> b) HWY_ATTR { return hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)); };
  const auto ab = hn::BitCast(pairs, two(v[0], v[1])), cd = hn::BitCast(pairs, two(v[2], v[3]));
  return hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, ab, cd)), hn::BitCast(d, hn::InterleaveUpper(pairs, ab, cd)));
}

/// What decimate_row() makes of one channel where steps of a spline fill vectors, or halves of one: kPartials sums for each coarse sample
/// are products of whole vectors, for as many samples at once as a vector has lanes. Then these are added up, always in the same order.
/// kSteps: the spline's, of kPartials pixels; 0: as many as it has.
template <int kPartials, int kSteps>
HWY_NOINLINE void decimate_by_vectors(const float* weights, std::int64_t taps, std::int64_t factor, const float* row, std::int64_t samples,
                                      float* out) {
  const F32 d;
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(F32()));
  constexpr std::int64_t kTogether = kLanes / kPartials;  // samples that a vector has partial sums of
  constexpr std::int64_t kVectors = kPartials;            // that have those of as many samples as there are lanes
  constexpr std::int64_t kBlocks = kPartials / 4;         // of a sample
  static_assert(kTogether == 1 || kTogether == 2);
  HWY_ALIGN float spread[kTogether == 2 ? kLanes * kMaxSupport : 1];  // weights, for each sample of a vector
  for (std::int64_t i = 0; kTogether == 2 && i < taps * kTogether; ++i) spread[i] = weights[i / kLanes * kPartials + i % kPartials];
  const float* w = kTogether == 2 ? spread : weights;
  // Where two samples share a vector, all even ones of eight come before the odd ones: the place of each.
  HWY_ALIGN std::int32_t place[kLanes];
  for (std::int64_t i = 0; i < kLanes; ++i) place[i] = static_cast<std::int32_t>(i / 8 * 4 + i % 2 * 8 + i % 8 / 2);
  const auto places = hn::IndicesFromVec(d, hn::Load(hn::RebindToSigned<F32>(), place));
  const std::int64_t steps = kSteps > 0 ? kSteps : taps / kPartials;
  for (std::int64_t m = 0; m < samples; m += kLanes) {
    const std::int64_t count = std::min(kLanes, samples - m);
    VecF32 blocks[kVectors / 4];
    HWY_UNROLL(8)
    for (std::int64_t four = 0; four < kVectors / 4; ++four) {
      VecF32 partial[4];
      HWY_UNROLL(4)
      for (std::int64_t k = 0; k < 4; ++k) {
        partial[k] = hn::Zero(d);
        const std::int64_t sample = (four * 4 + k) * kTogether;
        if (sample >= count) continue;
        const float* p = row + (m + sample) * factor;
        HWY_UNROLL(8)
        for (std::int64_t i = 0; i < steps; ++i) {
          partial[k] = hn::MulAdd(hn::LoadU(d, p + i * kPartials), hn::Load(d, w + i * kLanes), partial[k]);
        }
      }
      blocks[four] = block_sums(d, partial);
    }
    VecF32 all;
    if constexpr (kBlocks == 2) {
      const auto both = [&](VecF32 v) HWY_ATTR { return hn::Add(v, hn::SwapAdjacentBlocks(v)); };
      all = hn::OddEvenBlocks(both(blocks[1]), both(blocks[0]));
      if constexpr (kTogether == 2) all = hn::TableLookupLanes(all, places);
    } else {
      static_assert(kBlocks == 4 && kTogether == 1);
      const VecF32 even = hn::ConcatLowerLower(d, blocks[2], blocks[0]), even_upper = hn::ConcatUpperUpper(d, blocks[2], blocks[0]);
      const VecF32 odd = hn::ConcatLowerLower(d, blocks[3], blocks[1]), odd_upper = hn::ConcatUpperUpper(d, blocks[3], blocks[1]);
      const VecF32 evens = hn::Add(even, even_upper), odds = hn::Add(odd, odd_upper);  // of two blocks each, two of each sample
      all = hn::Add(hn::OddEvenBlocks(odds, hn::SwapAdjacentBlocks(evens)), hn::OddEvenBlocks(hn::SwapAdjacentBlocks(odds), evens));
    }
    if (count == kLanes) {
      hn::StoreU(all, d, out + m);
    } else {
      HWY_ALIGN float sums[kLanes];
      hn::Store(all, d, sums);
      std::copy_n(sums, count, out + m);
    }
  }
}

/// The same by the number of steps.
template <int kPartials>
HWY_INLINE void decimate_by_vectors(const float* weights, std::int64_t taps, std::int64_t factor, const float* row, std::int64_t samples,
                                    float* out) {
  const auto by = [&](auto steps)
                      HWY_ATTR { decimate_by_vectors<kPartials, decltype(steps)::value>(weights, taps, factor, row, samples, out); };
  switch (taps / kPartials) {
    case 2:
      return by(std::integral_constant<int, 2>{});
    case 3:
      return by(std::integral_constant<int, 3>{});
    default:
      return by(std::integral_constant<int, 0>{});
  }
}
#endif

/// One coarse row from a finished row of sums: out[m] = sum_i spline[i] * row[m * factor + i], for whole pixels.
template <int kChannels>
HWY_INLINE void decimate_row(HWY_MAYBE_UNUSED const GaussDecimateScratch& s, const DecimatedAxis& axis, const float* row,
                             std::int64_t samples, float* out) {
  const std::int64_t step = axis.factor * kChannels;
  const auto taps = static_cast<std::int64_t>(axis.spline.size());
  if (taps == 1) {  // pixels as they are
    std::copy_n(row, samples * kChannels, out);
    return;
  }
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
  if constexpr (kChannels == 1 && (hn::MaxLanes(F32()) == 8 || hn::MaxLanes(F32()) == 16)) {
    constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(F32()));
    const bool is_one_block = taps <= kDecimateRows * kLanes;
    if (axis.factor == 8) return decimate_by_vectors<8>(s.weights, taps, axis.factor, row, samples, out);
    if (is_one_block && axis.factor % kLanes == 0) return decimate_by_vectors<kLanes>(s.weights, taps, axis.factor, row, samples, out);
  }
  // Vectors of components times weights spread alike. Of the last one what lies past the taps counts as zero, whatever it is: nothing
  // times its weight would be NaN where it is infinite.
  if constexpr (kChannels != 3 && hn::MaxLanes(F32()) >= kChannels) {
    const F32 d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const std::int64_t count = taps * kChannels;
    const std::int64_t whole = count / lanes * lanes;
    const auto in_taps = hn::FirstN(d, static_cast<std::size_t>(count - whole));
    for (std::int64_t m = 0; m < samples; m += kDecimatedAtOnce) {
      VecF32 total[kDecimatedAtOnce], block[kDecimatedAtOnce];
      HWY_UNROLL(8)
      for (VecF32& v : total) v = hn::Zero(d);
      for (std::int64_t from = 0; from < count; from += kDecimateRows * lanes) {
        HWY_UNROLL(8)
        for (VecF32& v : block) v = hn::Zero(d);
        const float* p = row + m * step;
        const std::int64_t to = from + kDecimateRows * lanes;
        for (std::int64_t i = from; i < std::min(to, whole); i += lanes) {
          const VecF32 w = hn::Load(d, s.weights + i);
          HWY_UNROLL(8)
          for (int k = 0; k < kDecimatedAtOnce; ++k) block[k] = hn::MulAdd(hn::LoadU(d, p + i + k * step), w, block[k]);
        }
        if (whole < count && whole < to) {
          const VecF32 w = hn::Load(d, s.weights + whole);
          HWY_UNROLL(8)
          for (int k = 0; k < kDecimatedAtOnce; ++k) {
            block[k] = hn::MulAdd(hn::IfThenElseZero(in_taps, hn::LoadU(d, p + whole + k * step)), w, block[k]);
          }
        }
        HWY_UNROLL(8)
        for (int k = 0; k < kDecimatedAtOnce; ++k) total[k] = hn::Add(total[k], block[k]);
      }
      if constexpr (kChannels == 1 && hn::MaxLanes(F32()) >= 4) {
        if (m + kDecimatedAtOnce <= samples) {
          static_assert(kDecimatedAtOnce == 4);
          hn::StoreU(four_sums(d, total), hn::Simd<float, 4, 0>(), out + m);
          continue;
        }
      }
      HWY_UNROLL(4)
      for (int k = 0; k < kDecimatedAtOnce; ++k) {
        if (m + k < samples) store_channel_sums<kChannels>(d, total[k], out + (m + k) * kChannels);
      }
    }
    return;
  }
  if constexpr (kChannels == 3) {  // one coarse sample a vector
    const hn::Simd<float, 4, 0> d;
    using V = hn::Vec<decltype(d)>;
    for (std::int64_t m = 0; m < samples; m += kDecimatedAtOnce) {
      const float* p = row + m * step;
      V total[kDecimatedAtOnce], block[kDecimatedAtOnce];
      HWY_UNROLL(8)
      for (V& v : total) v = hn::Zero(d);
      for (std::int64_t from = 0; from < taps; from += kDecimateRows) {
        HWY_UNROLL(8)
        for (V& v : block) v = hn::Zero(d);
        for (std::int64_t i = from; i < std::min(from + kDecimateRows, taps); ++i) {
          const V weight = hn::Set(d, axis.spline[static_cast<std::size_t>(i)]);
          HWY_UNROLL(8)
          for (int k = 0; k < kDecimatedAtOnce; ++k) block[k] = hn::MulAdd(hn::LoadU(d, p + i * kChannels + k * step), weight, block[k]);
        }
        HWY_UNROLL(8)
        for (int k = 0; k < kDecimatedAtOnce; ++k) total[k] = hn::Add(total[k], block[k]);
      }
      HWY_UNROLL(4)
      for (int k = 0; k < kDecimatedAtOnce; ++k) {
        if (m + k >= samples) continue;
        HWY_ALIGN float lanes[4];
        hn::Store(total[k], d, lanes);
        std::copy_n(lanes, kChannels, out + (m + k) * kChannels);
      }
    }
    return;
  }
#endif
  for (std::int64_t m = 0; m < samples; ++m) {
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

HWY_INLINE void decimate_row(int channels, const GaussDecimateScratch& s, const DecimatedAxis& axis, const float* row, std::int64_t samples,
                             float* out) {
  switch (channels) {
    case 1:
      return decimate_row<1>(s, axis, row, samples, out);
    case 2:
      return decimate_row<2>(s, axis, row, samples, out);
    case 3:
      return decimate_row<3>(s, axis, row, samples, out);
    default:
      return decimate_row<4>(s, axis, row, samples, out);
  }
}

void make_coarse_row(CoarseRowMaker& maker, float* out) {
  float* sums = next_sums(maker);
  maker.columns.fill(sums, maker.columns.scale);
  decimate_row(maker.k.rows.source.channels, maker.s, maker.k.axis.x, sums, maker.width, out);
}

void gauss_decimate(const GaussDecimate& k, const Tile& tile) {
  CoarseRowMaker rows(k, tile);
  const CoarseSamples& samples = tile.coarse;
  float* out = samples.at(tile.out.x, tile.out.y, k.rows.source.channels);
  for (std::int64_t y = 0; y < tile.out.height; ++y, out += samples.stride) HWY_NAMESPACE::make_coarse_row(rows, out);
}

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mollify::cpu {

HWY_EXPORT(gauss_decimate);
HWY_EXPORT(make_coarse_row);

void gauss_decimate(const GaussDecimate& k, const Tile& tile) {
  HWY_DYNAMIC_DISPATCH(gauss_decimate)(k, tile);
}
void make_coarse_row(CoarseRowMaker& rows, float* out) {
  HWY_DYNAMIC_DISPATCH(make_coarse_row)(rows, out);
}

namespace scalar {

void gauss_decimate(const GaussDecimate& k, const Tile& tile) {
  const auto channels = static_cast<std::size_t>(k.rows.source.channels);
  const auto first = [](const DecimatedAxis& axis, std::int64_t sample) { return sample * axis.factor - axis.centre; };
  for (std::int64_t sample_y = tile.out.y; sample_y < tile.out.y + tile.out.height; ++sample_y) {
    for (std::int64_t sample_x = tile.out.x; sample_x < tile.out.x + tile.out.width; ++sample_x) {
      std::array<float, 4> sum{};
      for (std::size_t i = 0; i < k.axis.y.spline.size(); ++i) {
        for (std::size_t j = 0; j < k.axis.x.spline.size(); ++j) {
          const std::array<float, 4> in =
              read_pixel<float>(k.rows, tile.src, first(k.axis.x, k.grid.first.x + sample_x) + static_cast<std::int64_t>(j),
                                first(k.axis.y, k.grid.first.y + sample_y) + static_cast<std::int64_t>(i));
          for (std::size_t c = 0; c < channels; ++c) sum[c] += k.axis.y.spline[i] * k.axis.x.spline[j] * in[c];
        }
      }
      std::copy_n(sum.begin(), channels, tile.coarse.at(sample_x, sample_y, k.rows.source.channels));
    }
  }
}

}  // namespace scalar
}  // namespace mollify::cpu
#endif  // HWY_ONCE
