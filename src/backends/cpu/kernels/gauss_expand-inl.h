// How a tile is made of coarse rows, for one instruction set: these are blurred and expanded across, and pixels are mixed of a few of them.

#if defined(MOLLIFY_GAUSS_EXPAND_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MOLLIFY_GAUSS_EXPAND_INL_H_
#undef MOLLIFY_GAUSS_EXPAND_INL_H_
#else
#define MOLLIFY_GAUSS_EXPAND_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/cpu/kernels/gauss_axis-inl.h"
#include "backends/cpu/kernels/gauss_coarse.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/row_io-inl.h"
#include "backends/cpu/kernels/row_mix-inl.h"
#include "backends/cpu/kernels/taps-inl.h"
#include "base/places.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

/// The coarse rows that a tile is expanded from, which it asks for from top to bottom: out of the grid, or made as they are
/// needed.
class CoarseRows {
 public:
  CoarseRows(const CoarseGrid& grid, const CoarseSamples& samples, int channels, float* padded)
      : samples_{samples.data, samples.stride, {samples.first.x, 0}, samples.rows},
        first_{grid.first.x, grid.first.y + samples.first.y},
        size_{grid.size.x, samples.rows},
        next_(first_.y + size_.y),
        channels_(channels),
        padded_(padded) {}

  CoarseRows(CoarseRowMaker& maker, float* row, float* padded)
      : maker_(&maker),
        samples_{row, 0, {}, 1},
        row_(row),
        first_{maker.first_column, maker.first},
        size_{maker.width, maker.last - maker.first},
        next_(maker.next()),
        channels_(maker.k.rows.source.channels),
        padded_(padded) {}

  /// Columns [x, x + count) of row y; beyond the grid the outermost coarse samples repeat.
  HWY_INLINE const float* at(std::int64_t y, std::int64_t x, std::int64_t count) {
    const std::int64_t row = std::clamp(y, first_.y, first_.y + size_.y - 1);
    is_new_ = next_ <= row;
    for (; next_ <= row; ++next_) make_coarse_row(*maker_, row_);
    const float* src = samples_.at(0, row - first_.y, channels_);
    const std::int64_t from = x - first_.x;
    if (from >= 0 && from + count <= size_.x) return src + from * channels_;
    const std::int64_t first = std::clamp<std::int64_t>(-from, 0, count);
    const std::int64_t last = std::clamp<std::int64_t>(size_.x - from, first, count);
    for (std::int64_t i = 0; i < first; ++i) std::copy_n(src, channels_, padded_ + i * channels_);
    std::copy_n(src + (from + first) * channels_, (last - first) * channels_, padded_ + first * channels_);
    for (std::int64_t i = last; i < count; ++i) {
      std::copy_n(src + (size_.x - 1) * channels_, channels_, padded_ + i * channels_);
    }
    return padded_;
  }

  /// Whether the row that was asked for last was made for that. If so, its maker has what it was made of: a row of sums.
  [[nodiscard]] bool is_new() const { return is_new_; }
  [[nodiscard]] const CoarseRowMaker& maker() const { return *maker_; }

 private:
  CoarseRowMaker* maker_ = nullptr;
  CoarseSamples samples_;  ///< counted from first_; rows that are made all lie in the same place
  float* row_ = nullptr;
  PerAxis<std::int64_t> first_, size_;
  std::int64_t next_;  ///< row to make
  bool is_new_ = false;
  int channels_;
  float* padded_;
};

/// Horizontal expansion repeats after `period` output components, which read `period * step / factor` coarse ones. Within a period,
/// each vector of outputs reads its coarse components within one vector's width of its base, through `indices`. The first output lies
/// `phase` pixels behind the first one of its coarse sample, the others `step` pixels apart.
struct Expansion {
  const GaussExpandScratch& s;
  const DecimatedAxis& axis;
  std::int64_t channels;
  std::int64_t phase, step;
  std::int64_t lanes;
  std::int64_t period;
  bool in_reach = true;  ///< every index lies within a vector

  /// `goes_on`: the scratch memory holds it already, of the rows above.
  Expansion(const GaussExpandScratch& scratch, const DecimatedAxis& a, int c, std::int64_t first_phase, std::int64_t step_of_pixels,
            bool goes_on)
      : s(scratch),
        axis(a),
        channels(c),
        phase(first_phase),
        step(step_of_pixels),
        lanes(static_cast<std::int64_t>(hn::Lanes(F32()))),
        period(scratch.pattern_lanes) {
    if (!goes_on) make_pattern();
    in_reach = lanes <= kExpandLanes && std::all_of(s.indices, s.indices + period, [&](std::int32_t i) { return i >= 0 && i < lanes; });
  }

  void make_pattern() const {
    for (std::int64_t i = 0; i < period; ++i) {
      const std::int64_t pixel = phase + i / channels * step;
      const std::int64_t sample = pixel / axis.factor * channels;
      if (i % lanes == 0) s.bases[i / lanes] = sample;
      s.indices[i] = static_cast<std::int32_t>(sample + i % channels - s.bases[i / lanes]);
      for (std::int64_t t = 0; t < axis.support; ++t) {
        weight_vectors(i)[t * lanes + i % lanes] = axis.expand_weight(pixel % axis.factor, t);
      }
    }
  }

  /// `support` vectors for the vector that output component i is in.
  [[nodiscard]] float* weight_vectors(std::int64_t i) const { return s.weights + i / lanes * lanes * axis.support; }

  template <int kSupport>
  HWY_INLINE void run(const float* coarse, std::int64_t count, float* out) const {
    const F32 d;
    const hn::RebindToSigned<F32> di;
    if (!in_reach) return run_plain(coarse, count, out);
    const std::int64_t read = period * step / axis.factor;
    for (std::int64_t begin = 0; begin < count; begin += period, coarse += read) {
      const std::int64_t end = std::min(period, count - begin);
      const float* w = s.weights;
      const std::int64_t* base = s.bases;
      for (std::int64_t i = 0; i < end; i += lanes, w += kSupport * lanes) {
        const auto indices = hn::IndicesFromVec(d, hn::LoadU(di, s.indices + i));
        const float* p = coarse + *base++;
        VecF32 sum = hn::Mul(hn::TableLookupLanes(hn::LoadU(d, p), indices), hn::LoadU(d, w));
        HWY_UNROLL(8)
        for (int t = 1; t < kSupport; ++t) {
          const VecF32 sample = hn::TableLookupLanes(hn::LoadU(d, p + t * channels), indices);
          sum = hn::MulAdd(sample, hn::LoadU(d, w + t * lanes), sum);
        }
        hn::StoreU(sum, d, out + begin + i);
      }
    }
  }

  /// For vectors too short to hold all coarse samples that one of them reads. The same bits: with a step, that depends on where a tile
  /// begins.
  HWY_INLINE void run_plain(const float* coarse, std::int64_t count, float* out) const {
    const hn::CappedTag<float, 1> d;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t pixel = phase + i / channels * step;
      const float* p = coarse + pixel / axis.factor * channels + i % channels;
      const auto weight = [&](std::int64_t t) HWY_ATTR { return hn::Set(d, axis.expand_weight(pixel % axis.factor, t)); };
      auto sum = hn::Mul(hn::Set(d, p[0]), weight(0));
      for (std::int64_t t = 1; t < axis.support; ++t) sum = hn::MulAdd(hn::Set(d, p[t * channels]), weight(t), sum);
      out[i] = hn::GetLane(sum);
    }
  }
};

/// The coarse samples that pixels [from, from + count) of the source are expanded from.
struct CoarseSpan {
  std::int64_t first, count;

  CoarseSpan(const DecimatedAxis& axis, std::int64_t from, std::int64_t pixels)
      : first(floor_div(from + axis.centre, axis.factor) - (axis.support - 1)),
        count(floor_div(from + pixels - 1 + axis.centre, axis.factor) - first + 1) {}
};

/// to[i] += from[i]; touches whole vectors.
HWY_INLINE void add(const float* from, std::int64_t count, float* to) {
  const F32 d;
  for (std::int64_t i = 0; i < count; i += static_cast<std::int64_t>(hn::Lanes(d))) {
    hn::StoreU(hn::Add(hn::LoadU(d, to + i), hn::LoadU(d, from + i)), d, to + i);
  }
}

/// Taps along a row, in these blocks where there are any.
inline HWY_NOINLINE void filter_in_blocks(const TapsOf<float>& taps, const std::vector<TapBlock>& blocks, int channels, const float* row,
                                          std::int64_t count, float* partial, float* out) {
  if (blocks.empty()) return filter_columns(taps, channels, row, count, out);
  for (const TapBlock& block : blocks) {
    const bool is_first = &block == blocks.data();
    filter_columns(block.taps, channels, row + block.first * channels, count, is_first ? out : partial);
    if (!is_first) add(partial, count, out);
  }
}

/// The coarse kernel down s.rows, into s.group.
inline HWY_NOINLINE void blur_rows(const GaussExpand& k, std::int64_t count, const GaussExpandScratch& s) {
  if (k.blocks_y.empty()) return filter_rows(k.y, s.rows, count, s.group, s.stride);
  for (const TapBlock& block : k.blocks_y) {
    const bool is_first = &block == k.blocks_y.data();
    filter_rows(block.taps, s.rows + block.first, count, is_first ? s.group : s.partial, s.stride);
    for (std::int64_t j = 0; !is_first && j < kRowGroup; ++j) add(s.partial + j * s.stride, count, s.group + j * s.stride);
  }
}

/// What a decimated Gaussian makes of a tile, as a tile of coarse samples.
[[nodiscard]] HWY_INLINE Tile coarse_tile(const GaussExpand& k, const Tile& tile, std::byte* scratch) {
  const CoarseNeeds needs(k);
  Tile in = tile;
  in.scratch = scratch;
  const AxisPlaces across{tile.origin_x, k.rows.step.x}, down{tile.origin_y, k.rows.step.y};
  const std::int64_t top = tile.out.y;
  in.out = needs.of(across.of({tile.out.x, std::int64_t{tile.out.x} + tile.out.width}), down.of({top, top + tile.out.height}));
  if (const std::int64_t made = tile.rows_made(); made > 0) {
    const Span above = needs.y.of(down.of({top - made, top}));
    in.rows_above = above.size();
    in.out.height += in.out.y - static_cast<std::int32_t>(above.end);  // coarse rows that are new
    in.out.y = static_cast<std::int32_t>(above.end);
  }
  return in;
}

/// Rows of one tile that are kept, the newest of them.
struct RowRing {
  float* rows;
  std::int64_t stride;
  std::int64_t count;
};

/// What else is added to expanded rows: nothing.
struct NothingAcross {
  HWY_INLINE void load(const CoarseRows&, std::int64_t) const {}
  HWY_INLINE void blur(std::int64_t) const {}
  HWY_INLINE void add_to(std::int64_t, float*) const {}
};

/// The coarse rows that pixels are mixed from, blurred and expanded across, from top to bottom.
template <class Across = NothingAcross>
class ExpandedRows {
 public:
  ExpandedRows(const GaussExpand& k, const Tile& tile, const GaussExpandScratch& s, const RowRing& ring, CoarseRows& coarse_rows,
               Across across = {})
      : k_(k),
        s_(s),
        ring_(ring),
        coarse_rows_(coarse_rows),
        across_(std::move(across)),
        channels_(k.rows.destination.channels),
        count_(tile.out.width * channels_),
        columns_(k.axis.x, tile.origin_x + tile.out.x * k.rows.step.x, (tile.out.width - 1) * k.rows.step.x + 1),
        phase_(tile.origin_x + tile.out.x * k.rows.step.x - ((columns_.first + k.axis.x.support - 1) * k.axis.x.factor - k.axis.x.centre)),
        skip_(k.rows.step.x > 1 ? 0 : phase_ * channels_),
        expansion_(s, k.axis.x, channels_, k.rows.step.x > 1 ? phase_ : 0, k.rows.step.x, tile.rows_made() > 0) {
    const std::int64_t step = k.rows.step.y;
    const std::int64_t top = tile.origin_y + tile.out.y * step;
    const std::int64_t rows_above = std::max<std::int64_t>(tile.rows_made(), 1);
    const CoarseSpan above(k.axis.y, top - tile.rows_made() * step, (rows_above - 1) * step + 1);
    first_row_ = above.first;
    // What lies beyond those that the rows above need may not have been there yet.
    if (tile.rows_made() > 0) {
      expanded_ = above.count;
      blurred_ = expanded_ / kRowGroup * kRowGroup;
      loaded_ = expanded_ + k.y.size() - 1;
    }
  }

  /// Makes those that pixels within `sample` are mixed from.
  HWY_INLINE void make(std::int64_t sample) {
    const std::int64_t from = sample - (k_.axis.y.support - 1) - first_row_;
    for (; expanded_ < from + k_.axis.y.support; ++expanded_) {
      if (expanded_ >= blurred_) blur_row_group();
      if (expanded_ < from) continue;  // between the rows of two outputs
      const float* coarse = s_.group + expanded_ % kRowGroup * s_.stride;
      with_support(k_.axis.x.support, [&](auto support) HWY_ATTR {
        expansion_.template run<decltype(support)::value>(coarse, skip_ + count_, row(expanded_));
      });
      across_.add_to(expanded_, row(expanded_) + skip_);
    }
  }

  /// Pixel 0 of the tile.
  [[nodiscard]] HWY_INLINE const float* at(std::int64_t sample) const { return row(sample - first_row_) + skip_; }

 private:
  void blur_row_group() {
    for (; loaded_ < blurred_ + kRowGroup + k_.y.size() - 1; ++loaded_) {
      const float* coarse =
          coarse_rows_.at(first_row_ - k_.y.before + loaded_, columns_.first - k_.x.before, columns_.count + k_.x.size() - 1);
      filter_in_blocks(k_.x, k_.blocks_x, channels_, coarse, columns_.count * channels_, s_.partial,
                       s_.ring + loaded_ % s_.ring_rows * s_.stride);
      across_.load(coarse_rows_, loaded_);
    }
    std::int64_t slot = blurred_ % s_.ring_rows;
    for (std::int64_t i = 0; i < s_.ring_rows; ++i) {
      s_.rows[i] = s_.ring + slot * s_.stride;
      if (++slot == s_.ring_rows) slot = 0;
    }
    blur_rows(k_, columns_.count * channels_, s_);
    across_.blur(blurred_);
    blurred_ += kRowGroup;
  }

  /// Pixel 0 of the tile begins a cache line.
  [[nodiscard]] HWY_INLINE float* row(std::int64_t i) const {
    constexpr std::int64_t kLine = 16;
    return ring_.rows + i % ring_.count * ring_.stride + (kLine - skip_ % kLine) % kLine;
  }

  const GaussExpand& k_;
  const GaussExpandScratch& s_;
  RowRing ring_;
  CoarseRows& coarse_rows_;
  Across across_;
  int channels_;
  std::int64_t count_;  ///< of components of a row
  CoarseSpan columns_;
  // Without a step, columns are expanded from the start of the coarse sample that the tile begins in.
  std::int64_t phase_, skip_;
  Expansion expansion_;
  std::int64_t first_row_ = 0;
  // Coarse rows in the ring of expanded ones, counted from first_row; those in `group`; those in `ring`, counted from first_row -
  // k.y.before.
  std::int64_t expanded_ = 0, blurred_ = 0, loaded_ = 0;
};

/// What else pixel rows are made of: nothing.
struct NothingOwn {
  static constexpr bool kIsAny = false;
};

/// Rows of pixels that are mixed, each with what `own` has for it alone and within its limits, all of which is so many times as large as
/// it should be.
template <class Rows, class Own>
void mix_pixels(const GaussExpand& k, const Tile& tile, double scale_of_rows, float* made_row, Rows& rows_to_mix, Own&& own) {
  constexpr bool kHasOwn = std::remove_reference_t<Own>::kIsAny;
  const RowFormat& format = k.rows.destination;
  const DecimatedAxis& ay = k.axis.y;
  const std::int64_t step = k.rows.step.y;
  const std::int64_t top = tile.origin_y + tile.out.y * step;
  const std::int64_t count = tile.out.width * format.channels;
  const bool plain = format.only_scaled();
  const float scale = static_cast<float>((plain ? format.scale : 1.0) / scale_of_rows);
  const bool bounded = info(tile.src.desc.format).is_unorm() && format.scale <= 1.0 && scale_of_rows == 1.0;
  const std::int64_t pixel_bytes = info(tile.dst.desc.format).pixel_bytes();
  const auto dst_row = [&](std::int64_t row) { return tile.dst.row(tile.out.y + row) + tile.out.x * pixel_bytes; };
  std::int64_t rows = 0;
  for (std::int64_t row = 0; row < tile.out.height; row += rows) {  // rows that are mixed from the same coarse samples
    const std::int64_t pixel = top + row * step + ay.centre;
    const std::int64_t sample = floor_div(pixel, ay.factor);
    const std::int64_t phase = pixel - sample * ay.factor;
    rows = std::min({(ay.factor - phase + step - 1) / step, tile.out.height - row, kMixRows});
    rows_to_mix.make(sample);
    with_support(ay.support, [&](auto support) HWY_ATTR {
      constexpr int kSupport = decltype(support)::value;
      RowMix<kSupport, kHasOwn> mix;
      for (int t = 0; t < kSupport; ++t) mix.rows[t] = rows_to_mix.at(sample - (kSupport - 1) + t);
      for (std::int64_t r = 0; r < rows; ++r) {
        for (int t = 0; t < kSupport; ++t) mix.weights[r * kSupport + t] = ay.expand_weight(phase + r * step, t) * scale;
      }
      if constexpr (kHasOwn) {
        own.limits.make(sample);
        mix.least = own.limits.least();
        mix.largest = own.limits.largest();
        mix.own_weight = own.weight() * scale;
        for (std::int64_t r = 0; r < rows; ++r) mix.own[r] = own.at(top + row + r);
      }
      if (!plain) {
        for (std::int64_t r = 0; r < rows; ++r) {
          mix.template store<false, false>(r, r + 1, 0, count, made_row, 0);
          store_pixels(format, tile, made_row, tile.out.width, tile.out.x, tile.out.y + row + r);
        }
        return;
      }
      with_component(format.component, [&](auto component) HWY_ATTR {
        using S = decltype(component);
        // A piece at a time, so that what its rows are mixed from is read from the nearest cache. Pieces meet where a cache
        // line begins; rows whose lines begin elsewhere are streamed one by one.
        const bool alike = !tile.streams || tile.dst.row_bytes % kLineBytes == 0;
        const auto stride = tile.dst.row_bytes / static_cast<std::int64_t>(sizeof(S));
        const std::int64_t at_once = alike ? rows : 1;
        for (std::int64_t piece = 0; piece < count; piece += kMixElements) {
          for (std::int64_t r = 0; r < rows; r += at_once) {
            auto* dst = reinterpret_cast<S*>(dst_row(row + r));
            auto* made = reinterpret_cast<S*>(made_row);
            const std::int64_t shift = elements_to_line(dst);
            const std::int64_t begin = piece == 0 ? 0 : std::min(piece + shift, count);
            const std::int64_t end = std::min(piece + kMixElements + shift, count);
            constexpr bool kGainsByBounds = std::is_same_v<S, std::uint8_t> && !kHasOwn;
            if (kGainsByBounds && bounded) {
              store_mix<kGainsByBounds>(mix, r, r + at_once, begin, end, tile, made, dst, stride);
            } else {
              store_mix<false>(mix, r, r + at_once, begin, end, tile, made, dst, stride);
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

#endif  // MOLLIFY_GAUSS_EXPAND_INL_H_
