// Box of whole radius on float pixels of four channels at constant cost a pixel, four rows at a time: vertical sums in f64
// take in the row that enters and drop the one that leaves, begun anew every segment; their means go to groups, one pixel
// of each row, along which windows are summed without any exchange between lanes. A window is the rest of one block and
// the start of the next, so nothing is ever subtracted horizontally and neither drift nor a NaN leaves its window.
// Segments and blocks are anchored to source coordinates, so bits do not depend on tiles.
#include "backends/cpu/kernels/box_columns.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/layout.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/box_any_groups.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include "backends/cpu/kernels/box_windows-inl.h"
#include "backends/cpu/kernels/row_io-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

inline constexpr std::int64_t kChannels = 4;
inline constexpr std::int64_t kChunk = 16;  ///< pixels of each row that are made before they are stored
inline constexpr std::size_t kVectorBytes = HWY_HAVE_SCALABLE ? 16 : 64;  ///< at most; scalable ones have at least 16

template <class D>
HWY_INLINE hn::Vec<D> load_f64(D d, const float* p) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), p));
}

HWY_INLINE float narrowed(double v, float) { return static_cast<float>(v); }
HWY_INLINE double narrowed(double v, double) { return v; }

/// Stores lanes as floats. Highway's emulation makes infinities finite.
template <class D>
HWY_INLINE void store_narrow(HWY_MAYBE_UNUSED D d, hn::Vec<D> v, float* p) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  HWY_ALIGN double lanes[kMaxLanes];
  hn::Store(v, d, lanes);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) p[i] = static_cast<float>(lanes[i]);
#else
  const hn::Rebind<float, D> d32;
  hn::StoreU(hn::DemoteTo(d32, v), d32, p);
#endif
}
template <class D>
HWY_INLINE void store_narrow(D d, hn::Vec<D> v, double* p) {
  hn::StoreU(v, d, p);
}

/// Vertical sums of one tile's columns, and the groups that are made of them. `T`: what windows are summed in.
template <class T>
class GroupSums {
 public:
  GroupSums(const BoxAny& box, const Tile& tile)
      : box_(box),
        tile_(tile),
        columns_(box, tile),
        s_(tile.scratch, tile.out.width, box.x.size()),
        direct_(box.rows.source.component == Component::f32 && box.rows.source.alpha == AlphaMode::ignore &&
                box.rows.source.transfer == TransferFunction::none && box.rows.source.scale == 1.0 &&
                columns_.left_repeats && columns_.right_repeats),
        first_(direct_ ? columns_.first * kChannels : 0),
        last_((direct_ ? columns_.last : columns_.pixels) * kChannels) {
    for (std::int64_t i = 0; i < columns_.pixels * kChannels; ++i) {
      s_.outside[i] = static_cast<float>(box.rows.outside[static_cast<std::size_t>(i % kChannels)]);
    }
    std::fill_n(s_.zeros, columns_.pixels * kChannels, 0.0F);
  }

  [[nodiscard]] const BoxGroupScratch<T>& scratch() const { return s_; }
  [[nodiscard]] const BoxColumns& columns() const { return columns_; }
  [[nodiscard]] bool direct() const { return direct_; }

  /// The sums around row y, from scratch.
  HWY_INLINE void begin(std::int64_t y) { sum_anew(y, s_.sums); }

  /// Groups of rows y to y + rows - 1. The sums come from those around row y - 1, or around y if it `begins` a segment.
  HWY_INLINE void step(std::int64_t y, std::int64_t rows, bool begins) {
    const float* in[kBoxRows];
    const float* out[kBoxRows];
    for (std::int64_t k = 0; k < kBoxRows; ++k) {
      const bool moves = k < rows && !(begins && k == 0);
      in[k] = moves ? components(y + k + box_.y.after, 2 * k) : s_.zeros;
      out[k] = moves ? components(y + k - 1 - box_.y.before, 2 * k + 1) : s_.zeros;
    }
    std::int64_t i = first_;
    bool finite = step_vectors(hn::CappedTag<double, kVectorBytes / 8>(), in, out, i);
    finite = step_vectors(hn::CappedTag<double, 4>(), in, out, i) && finite;
    if (!finite) mend(y, in, out);
    if (!direct_) return;
    T outside[kGroup];
    for (std::size_t j = 0; j < kGroup; ++j) {
      outside[j] = narrowed(box_.rows.outside[j % kChannels] * static_cast<double>(box_.y.size()) * box_.scale, T{});
    }
    columns_.repeat<kGroup>(outside, s_.groups);
  }

 private:
  /// Row y from component 0 on; where it has to be decoded, in the given row of scratch.
  HWY_INLINE const float* components(std::int64_t y, std::int64_t slot) const {
    if (!direct_) {
      float* row = s_.decoded + slot * s_.stride;
      load_row(box_.rows, tile_.src, y, columns_.x, columns_.pixels, row);
      return row;
    }
    const auto* stored = columns_.row<float>(y);
    return stored ? stored + columns_.x * kChannels : s_.outside;
  }

  HWY_INLINE void sum_anew(std::int64_t y, double* into) const {
    std::fill_n(into, columns_.pixels * kChannels, 0.0);
    for (std::int64_t r = y - box_.y.before; r <= y + box_.y.after; ++r) {
      const float* row = components(r, 2 * kBoxRows);
      const auto add = [&](auto d, std::int64_t from) HWY_ATTR {
        const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
        std::int64_t i = from;
        for (; i + lanes <= last_; i += lanes) {
          hn::StoreU(hn::Add(hn::LoadU(d, into + i), load_f64(d, row + i)), d, into + i);
        }
        return i;
      };
      add(hn::CappedTag<double, 4>(), add(hn::CappedTag<double, kVectorBytes / 8>(), first_));
    }
  }

  /// Four components or two pixels of row k, from component i on, to their groups.
  template <class D>
  HWY_INLINE void put(D d, hn::Vec<D> sum, std::int64_t i, std::int64_t k) const {
    T* to = s_.groups + i / kChannels * kGroup + k * kQuad + i % kChannels;
    const hn::Vec<D> mean = hn::Mul(sum, hn::Set(d, box_.scale));
    if constexpr (hn::MaxLanes(D()) <= kQuad) {
      store_narrow(d, mean, to);
    } else {
      const hn::Half<D> half;
      store_narrow(half, hn::LowerHalf(half, mean), to);
      store_narrow(half, upper_half(half, mean), to + kGroup);
    }
  }

  /// Whether all that leaves is finite.
  template <class D>
  HWY_INLINE bool step_vectors(D d, const float* const* in, const float* const* out, std::int64_t& i) const {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const float *const in0 = in[0], *const in1 = in[1], *const in2 = in[2], *const in3 = in[3];
    const float *const out0 = out[0], *const out1 = out[1], *const out2 = out[2], *const out3 = out[3];
    double* const sums = s_.sums;
    const std::int64_t end = last_;
    const auto zero = hn::Zero(d);
    auto poison = hn::Zero(d);  // NaN where a leaving value is not finite: no subtraction takes that back
    std::int64_t at = i;
    for (; at + lanes <= end; at += lanes) {
      const auto l0 = load_f64(d, out0 + at), l1 = load_f64(d, out1 + at);
      const auto l2 = load_f64(d, out2 + at), l3 = load_f64(d, out3 + at);
      const auto sum0 = hn::Add(hn::LoadU(d, sums + at), hn::Sub(load_f64(d, in0 + at), l0));
      const auto sum1 = hn::Add(sum0, hn::Sub(load_f64(d, in1 + at), l1));
      const auto sum2 = hn::Add(sum1, hn::Sub(load_f64(d, in2 + at), l2));
      const auto sum3 = hn::Add(sum2, hn::Sub(load_f64(d, in3 + at), l3));
      hn::StoreU(sum3, d, sums + at);
      put(d, sum0, at, 0), put(d, sum1, at, 1), put(d, sum2, at, 2), put(d, sum3, at, 3);
      poison = hn::MulAdd(hn::Add(hn::Add(l0, l1), hn::Add(l2, l3)), zero, poison);
    }
    i = at;
    return hn::AllTrue(d, hn::Eq(poison, zero));
  }

  /// Sums anew where something left that is not finite, from that row of the step on.
  void mend(std::int64_t y, const float* const* in, const float* const* out) const {
    for (std::int64_t k = 0; k < kBoxRows; ++k) {
      bool summed = false;
      for (std::int64_t i = first_; i < last_; ++i) {
        if (std::isfinite(out[k][i])) continue;
        if (!summed) sum_anew(y + k, s_.fresh);
        summed = true;
        double sum = s_.fresh[i];
        for (std::int64_t j = k; j < kBoxRows; ++j) {
          if (j > k) sum += static_cast<double>(in[j][i]) - static_cast<double>(out[j][i]);
          s_.groups[i / kChannels * kGroup + j * kQuad + i % kChannels] = narrowed(sum * box_.scale, T{});
        }
        s_.sums[i] = sum;
      }
    }
  }

  const BoxAny& box_;
  const Tile& tile_;
  BoxColumns columns_;
  BoxGroupScratch<T> s_;
  bool direct_;               ///< rows are read where they are stored
  std::int64_t first_, last_; ///< components that have sums of their own
};

/// Sums of windows along groups, and their way to the destination.
template <class T>
struct GroupBlocks {
  const BoxAny& box;
  const Tile& tile;
  const BoxGroupScratch<T>& s;
  std::int64_t y, rows;                  ///< of the destination
  const std::byte* ahead[2 * kBoxRows];  ///< source rows of the next step, null if they are not fetched

  using D = hn::CappedTag<T, kVectorBytes / sizeof(T)>;

  /// Every group of pixels [from, to) becomes the sum of those from it on.
  HWY_INLINE void sum_to_end(std::int64_t from, std::int64_t to) const {
    const D d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (std::int64_t part = 0; part < kGroup; part += lanes) {
      auto sum = hn::Zero(d);
      T* p = s.groups + to * kGroup + part;
      for (std::int64_t i = to; i > from; --i) {
        p -= kGroup;
        sum = hn::Add(sum, hn::LoadU(d, p));
        hn::StoreU(sum, d, p);
      }
    }
  }

  /// Windows that begin at pixels [from, to) of one block, in which groups are sums to its end. `start` are the sums of
  /// the next block's groups up to what the first window reaches.
  HWY_INLINE void make(std::int64_t from, std::int64_t to, T* start) const {
    const D d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const std::int64_t window = box.x.size() * kGroup;
    for (std::int64_t part = 0; part < kGroup; part += lanes) {
      auto sum = hn::LoadU(d, start + part);
      const T* p = s.groups + from * kGroup + part;
      float* out = s.out + part / kQuad * s.stride + from * kChannels + part % kQuad;
      for (std::int64_t i = from; i < to; ++i, p += kGroup, out += kChannels) {
        put(d, hn::Add(hn::LoadU(d, p), sum), out);
        sum = hn::Add(sum, hn::LoadU(d, p + window));
      }
      hn::StoreU(sum, d, start + part);
    }
  }

  /// Lanes to the rows they belong to.
  HWY_INLINE void put(D d, hn::Vec<D> v, float* out) const {
    if constexpr (hn::MaxLanes(D()) <= kQuad) {
      store_lanes_narrow(d, v, out);
    } else if constexpr (sizeof(T) == 4) {
      store_blocks(d, v, out, s.stride);
    } else {
      const hn::Rebind<float, D> d32;
      store_blocks(d32, hn::DemoteTo(d32, v), out, s.stride);
    }
  }

  /// Pixels [from, to) of the rows of `out` to the destination.
  HWY_INLINE void store(std::int64_t from, std::int64_t to) const {
    const RowFormat& format = box.rows.destination;
    const bool plain = format.component == Component::f32 && format.alpha == AlphaMode::ignore &&
                       format.transfer == TransferFunction::none && format.scale == 1.0;
    const std::int64_t pixel_bytes = info(tile.dst.desc.format).pixel_bytes();
    for (std::int64_t k = 0; k < rows; ++k) {
      float* made = s.out + k * s.stride + from * kChannels;
      auto* bytes = reinterpret_cast<std::byte*>(made);
      if (!plain) encode_pixels(format, made, to - from, bytes);
      store_bytes(tile, bytes, (to - from) * pixel_bytes, tile.dst.row(y + k) + (tile.out.x + from) * pixel_bytes);
    }
  }

  HWY_INLINE void fetch(std::int64_t from, std::int64_t to) const {
    if (ahead[0] == nullptr) return;
    for (const std::byte* row : ahead) {
      for (std::int64_t i = from; i < to; i += 64 / static_cast<std::int64_t>(kChannels * sizeof(float))) {
        fetch_far(row + i * static_cast<std::int64_t>(kChannels * sizeof(float)));
      }
    }
  }

  /// All windows of the tile's rows; pixel 0 is source column x, `pixels` have groups.
  HWY_INLINE void run(std::int64_t x, std::int64_t pixels) const {
    const std::int64_t n = box.x.size();
    const std::int64_t width = tile.out.width;
    std::int64_t stored = 0;
    for (std::int64_t begin = -((x % n + n) % n); begin <= pixels; begin += n) {
      HWY_ALIGN T start[kGroup] = {};
      const std::int64_t before = std::max<std::int64_t>(begin - n, 0);
      if (begin > 0) {
        for (std::int64_t i = begin; i < before + n; ++i) {  // of windows that would begin left of the tile
          for (std::int64_t j = 0; j < kGroup; ++j) start[j] += s.groups[i * kGroup + j];
        }
        const std::int64_t end = std::min(begin, width);
        for (std::int64_t i = before; i < end; i += kChunk) {
          const std::int64_t to = std::min(i + kChunk, end);
          fetch(i, to);
          make(i, to, start);
          const std::int64_t whole = to == width ? to : to / kChunk * kChunk;
          if (whole > stored) store(stored, whole);
          stored = std::max(stored, whole);
        }
      }
      sum_to_end(std::max<std::int64_t>(begin, 0), std::min(begin + n, pixels));
    }
  }

 private:
  HWY_INLINE static void store_lanes_narrow(D d, hn::Vec<D> v, float* out) {
    if constexpr (sizeof(T) == 4) {
      hn::StoreU(v, d, out);
    } else {
      store_narrow(d, v, out);
    }
  }
};

template <class T>
HWY_INLINE void box_groups(const BoxAny& box, const Tile& tile) {
  GroupSums<T> sums(box, tile);
  const std::int64_t top = tile.origin_y + tile.out.y;
  const std::int64_t bottom = top + tile.out.height;
  for (std::int64_t y = top - top % box.segment_rows; y < bottom;) {
    const bool begins = y % box.segment_rows == 0;
    const std::int64_t segment_end = y - y % box.segment_rows + box.segment_rows;
    const std::int64_t end = y < top ? std::min(top, segment_end) : std::min(bottom, segment_end);
    const std::int64_t rows = std::min(kBoxRows, end - y);
    if (begins) sums.begin(y);
    sums.step(y, rows, begins);
    if (y >= top) {
      GroupBlocks<T> blocks{box, tile, sums.scratch(), y - tile.origin_y, rows, {}};
      if (sums.direct()) {
        for (std::int64_t k = 0; k < kBoxRows; ++k) {
          const std::int64_t next = y + rows + k;
          blocks.ahead[2 * k] = stored_row(box.rows, tile.src, next + box.y.after, sums.columns().x);
          blocks.ahead[2 * k + 1] = stored_row(box.rows, tile.src, next - 1 - box.y.before, sums.columns().x);
        }
      }
      blocks.run(sums.columns().x, sums.columns().pixels);
    }
    y += rows;
  }
  finish_stores(tile);
}

void box_groups_f32(const BoxAny& box, const Tile& tile) { box_groups<float>(box, tile); }
void box_groups_f64(const BoxAny& box, const Tile& tile) { box_groups<double>(box, tile); }

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mollify::cpu {

HWY_EXPORT(box_groups_f32);
HWY_EXPORT(box_groups_f64);

void box_groups_f32(const BoxAny& box, const Tile& tile) { HWY_DYNAMIC_DISPATCH(box_groups_f32)(box, tile); }
void box_groups_f64(const BoxAny& box, const Tile& tile) { HWY_DYNAMIC_DISPATCH(box_groups_f64)(box, tile); }

}  // namespace mollify::cpu
#endif  // HWY_ONCE
