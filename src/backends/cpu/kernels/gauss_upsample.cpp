// Second pass of a decimated Gaussian (math/decimation.h): blurs the coarse grid with a small kernel and expands each of its
// rows horizontally; each row of pixels is then mixed from a few of those: one write of the image. About `support`
// multiply-adds a component; the rest happens on a grid smaller by the factors.
#include "backends/cpu/kernels/gauss_coarse.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/pixel.h"
#include "base/places.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/gauss_upsample.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include "backends/cpu/kernels/gauss_axis-inl.h"
#include "backends/cpu/kernels/row_io-inl.h"
#include "backends/cpu/kernels/row_mix-inl.h"
#include "backends/cpu/kernels/taps-inl.h"

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

 private:
  CoarseRowMaker* maker_ = nullptr;
  CoarseSamples samples_;  ///< counted from first_; rows that are made all lie in the same place
  float* row_ = nullptr;
  PerAxis<std::int64_t> first_, size_;
  std::int64_t next_;  ///< row to make
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

/// The coarse kernel along a row.
HWY_NOINLINE void blur_columns(const GaussExpand& k, int channels, const float* row, std::int64_t count, const GaussExpandScratch& s,
                               float* out) {
  if (k.blocks_x.empty()) return filter_columns(k.x, channels, row, count, out);
  for (const TapBlock& block : k.blocks_x) {
    const bool is_first = &block == k.blocks_x.data();
    filter_columns(block.taps, channels, row + block.first * channels, count, is_first ? out : s.partial);
    if (!is_first) add(s.partial, count, out);
  }
}

/// The same down s.rows, into s.group.
HWY_NOINLINE void blur_rows(const GaussExpand& k, std::int64_t count, const GaussExpandScratch& s) {
  if (k.blocks_y.empty()) return filter_rows(k.y, s.rows, count, s.group, s.stride);
  for (const TapBlock& block : k.blocks_y) {
    const bool is_first = &block == k.blocks_y.data();
    filter_rows(block.taps, s.rows + block.first, count, is_first ? s.group : s.partial, s.stride);
    for (std::int64_t j = 0; !is_first && j < kRowGroup; ++j) add(s.partial + j * s.stride, count, s.group + j * s.stride);
  }
}

void expand(const GaussExpand& k, const Tile& tile, const GaussExpandScratch& s, CoarseRows& coarse_rows) {
  const RowFormat& format = k.rows.destination;
  const int channels = format.channels;
  const DecimatedAxis& ax = k.axis.x;
  const DecimatedAxis& ay = k.axis.y;
  const PerAxis<std::int64_t> step = k.rows.step;

  // Without a step, columns are expanded from the start of the coarse sample that the tile begins in.
  const std::int64_t x = tile.origin_x + tile.out.x * step.x;
  const auto [first_column, columns] = CoarseSpan(ax, x, (tile.out.width - 1) * step.x + 1);
  const std::int64_t phase_x = x - ((first_column + ax.support - 1) * ax.factor - ax.centre);
  const std::int64_t skip = step.x > 1 ? 0 : phase_x * channels;
  const std::int64_t count = tile.out.width * channels;
  const Expansion expansion(s, ax, channels, step.x > 1 ? phase_x : 0, step.x, tile.rows_made() > 0);

  const std::int64_t top = tile.origin_y + tile.out.y * step.y;
  const bool goes_on = tile.rows_made() > 0;
  const std::int64_t rows_above = std::max<std::int64_t>(tile.rows_made(), 1);
  const CoarseSpan above(ay, top - tile.rows_made() * step.y, (rows_above - 1) * step.y + 1);
  const std::int64_t first_row = above.first;
  // Coarse rows in `expanded`, counted from first_row; those in `group`; those in `ring`, counted from first_row - k.y.before. What
  // lies beyond those that the rows above need may not have been there yet.
  std::int64_t expanded = goes_on ? above.count : 0;
  std::int64_t blurred = expanded / kRowGroup * kRowGroup;
  std::int64_t loaded = goes_on ? expanded + k.y.size() - 1 : 0;
  const auto blur_row_group = [&]() HWY_ATTR {
    for (; loaded < blurred + kRowGroup + k.y.size() - 1; ++loaded) {
      const float* row = coarse_rows.at(first_row - k.y.before + loaded, first_column - k.x.before, columns + k.x.size() - 1);
      blur_columns(k, channels, row, columns * channels, s, s.ring + loaded % s.ring_rows * s.stride);
    }
    for (std::int64_t i = 0; i < s.ring_rows; ++i) s.rows[i] = s.ring + (blurred + i) % s.ring_rows * s.stride;
    blur_rows(k, columns * channels, s);
    blurred += kRowGroup;
  };
  // Where pixel 0 of the tile begins a cache line.
  const auto expanded_row = [&](std::int64_t row) {
    constexpr std::int64_t kLine = 16;
    return s.expanded + row % ay.support * s.expanded_stride + (kLine - skip % kLine) % kLine;
  };

  const bool plain = format.only_scaled();
  const bool bounded = info(tile.src.desc.format).is_unorm() && format.scale <= 1.0;
  const std::int64_t pixel_bytes = info(tile.dst.desc.format).pixel_bytes();
  const auto dst_row = [&](std::int64_t row) { return tile.dst.row(tile.out.y + row) + tile.out.x * pixel_bytes; };
  std::int64_t rows = 0;
  for (std::int64_t row = 0; row < tile.out.height; row += rows) {  // rows that are mixed from the same coarse samples
    const std::int64_t pixel = top + row * step.y + ay.centre;
    const std::int64_t sample = floor_div(pixel, ay.factor);
    const std::int64_t phase = pixel - sample * ay.factor;
    const std::int64_t from = sample - (ay.support - 1) - first_row;
    rows = std::min({(ay.factor - phase + step.y - 1) / step.y, tile.out.height - row, kMixRows});
    for (; expanded < from + ay.support; ++expanded) {
      if (expanded >= blurred) blur_row_group();
      if (expanded < from) continue;  // between the rows of two outputs
      const float* coarse = s.group + expanded % kRowGroup * s.stride;
      with_support(ax.support, [&](auto support) HWY_ATTR {
        expansion.template run<decltype(support)::value>(coarse, skip + count, expanded_row(expanded));
      });
    }
    with_support(ay.support, [&](auto support) HWY_ATTR {
      constexpr int kSupport = decltype(support)::value;
      const float scale = plain ? static_cast<float>(format.scale) : 1.0F;
      RowMix<kSupport> mix;
      for (int t = 0; t < kSupport; ++t) mix.rows[t] = expanded_row(from + t) + skip;
      for (std::int64_t r = 0; r < rows; ++r) {
        for (int t = 0; t < kSupport; ++t) mix.weights[r * kSupport + t] = ay.expand_weight(phase + r * step.y, t) * scale;
      }
      if (!plain) {
        for (std::int64_t r = 0; r < rows; ++r) {
          mix.template store<false, false>(r, r + 1, 0, count, s.out, 0);
          store_pixels(format, tile, s.out, tile.out.width, tile.out.x, tile.out.y + row + r);
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
            auto* made = reinterpret_cast<S*>(s.out);
            const std::int64_t shift = elements_to_line(dst);
            const std::int64_t begin = piece == 0 ? 0 : std::min(piece + shift, count);
            const std::int64_t end = std::min(piece + kMixElements + shift, count);
            constexpr bool kGainsByBounds = std::is_same_v<S, std::uint8_t>;
            if (kGainsByBounds && bounded) {
              store_mix<kSupport, kGainsByBounds>(mix, r, r + at_once, begin, end, tile, made, dst, stride);
            } else {
              store_mix<kSupport, false>(mix, r, r + at_once, begin, end, tile, made, dst, stride);
            }
          }
        }
      });
    });
  }
  finish_stores(tile);
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
  const CoarseNeeds needs(out);
  Tile in = tile;
  in.scratch = s.decimate;
  const AxisPlaces across{tile.origin_x, out.rows.step.x}, down{tile.origin_y, out.rows.step.y};
  const std::int64_t top = tile.out.y;
  in.out = needs.of(across.of({tile.out.x, std::int64_t{tile.out.x} + tile.out.width}), down.of({top, top + tile.out.height}));
  if (const std::int64_t made = tile.rows_made(); made > 0) {
    const Span above = needs.y.of(down.of({top - made, top}));
    in.rows_above = above.size();
    in.out.height += in.out.y - static_cast<std::int32_t>(above.end);  // coarse rows that are new
    in.out.y = static_cast<std::int32_t>(above.end);
  }
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
