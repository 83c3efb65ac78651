// Box of any radius, fractional too, on floats, or any stored numbers as floats, at constant cost a pixel: vertical sums in
// f64 take in the row that enters and drop the one that leaves, begun anew every segment; their means go to groups, one
// pixel of each of several rows, along which windows are summed. A window is the rest of one block and the start of the
// next, so nothing is ever subtracted horizontally and neither drift nor a NaN leaves its window. Segments and blocks are
// anchored to source coordinates, so bits do not depend on tiles.
#include "backends/cpu/kernels/box_columns.h"
#include "backends/cpu/kernels/box_window.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/pixel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/box_any_float.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include "backends/cpu/kernels/box_float_sums-inl.h"
#include "backends/cpu/kernels/box_groups-inl.h"
#include "backends/cpu/kernels/row_io-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

/// Windows along the groups of some rows, summed in `Sum` and kept in `T`, and their way to the destination. Each begins at
/// the first of its whole pixels.
template <class Sum, class T, class P>
class FloatWindows {
 public:
  /// `rows` rows from row `y` of the destination on.
  FloatWindows(const BoxAny& box, const Tile& tile, BoxFloatSums<T, P>& sums, std::int64_t y, std::int64_t rows)
      : box_(box),
        tile_(tile),
        sums_(sums),
        s_(sums.scratch()),
        y_(y),
        rows_(rows),
        first_(box.x.reach_before() - box.x.before),
        last_(first_ + tile.out.width),
        stores_as_is_(std::is_same_v<P, float> && box.rows.destination.is_plain_f32()) {}

  HWY_INLINE void run() const {
    const std::int64_t n = box_.x.size();
    const std::int64_t x = sums_.columns().x;
    const std::int64_t pixels = sums_.columns().pixels;
    HWY_ALIGN Sum folded[kGroup] = {};
    if (!box_.fold_x.is_empty()) add_folded(folded);
    for (std::int64_t begin = -((x % n + n) % n);; begin += n) {
      HWY_ALIGN Sum start[kGroup];  // sum of the block's groups up to what a window of the block before reaches
      std::copy_n(folded, kGroup, start);
      const std::int64_t end = std::min(begin, last_);
      std::int64_t i = std::max(begin - n, first_);
      if (i < end) {
        sums_.need(i + n);
        add_groups(begin, i + n, start);
      }
      while (i < end) {
        const std::int64_t in_chunk = (i - first_) % kBoxChunk;
        const std::int64_t to = std::min(end, i - in_chunk + kBoxChunk);
        sums_.need(std::min(to + n, pixels));
        make(i, to, start);
        if (to == last_ || (to - first_) % kBoxChunk == 0) store(i - in_chunk - first_, to - first_);
        i = to;
      }
      if (begin >= last_) return;
      sums_.need(std::min(begin + n, pixels));
      sums_.release(begin + n);
      sum_to_end(std::max<std::int64_t>(begin, 0), std::min(begin + n, pixels));
    }
  }

 private:
  using D = hn::CappedTag<Sum, kVectorBytes / sizeof(Sum)>;

  /// What all windows lack, see BoxFold. Whole periods are summed from the image's first pixel on, so that bits do not depend on tiles.
  void add_folded(Sum* sums) const {
    const BoxFold& fold = box_.fold_x;
    const std::int64_t pixels = sums_.columns().pixels;
    sums_.need(pixels);
    HWY_ALIGN Sum period[kGroup] = {};
    if (fold.periods > 0) {
      const std::int64_t from = (fold.period - sums_.columns().x % fold.period) % fold.period;
      add_groups(from, from + fold.period, period);
    }
    const T* first = s_.groups;
    const T* last = s_.groups + (pixels - 1) * kGroup;
    for (std::int64_t i = 0; i < kGroup; ++i) {
      sums[i] = static_cast<Sum>(fold.periods) * period[i] + static_cast<Sum>(fold.before) * static_cast<Sum>(first[i]) +
                static_cast<Sum>(fold.after) * static_cast<Sum>(last[i]);
    }
  }

  HWY_INLINE void add_groups(std::int64_t from, std::int64_t to, Sum* sums) const {
    const D d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (std::int64_t part = 0; part < kGroup; part += lanes) {
      auto sum = hn::LoadU(d, sums + part);
      for (std::int64_t i = from; i < to; ++i) sum = hn::Add(sum, load_as(d, s_.groups + i * kGroup + part));
      hn::StoreU(sum, d, sums + part);
    }
  }

  /// For every group of pixels [from, to), the sum of those from it on.
  HWY_INLINE void sum_to_end(std::int64_t from, std::int64_t to) const {
    const D d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (std::int64_t part = 0; part < kGroup; part += lanes) {
      auto sum = hn::Zero(d);
      for (std::int64_t i = (to - 1) * kGroup + part; i >= from * kGroup; i -= kGroup) {
        sum = hn::Add(sum, load_as(d, s_.groups + i));
        store_as(d, sum, s_.rests + i);
      }
    }
  }

  /// Windows that begin at pixels [from, to) of one block, all of one chunk. `start` is for the first, afterwards for the
  /// next.
  HWY_INLINE void make(std::int64_t from, std::int64_t to, Sum* start) const {
    const D d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const bool whole = box_.x.halo() < box_.x.size();
    for (std::int64_t part = 0; part < kGroup; part += lanes) {
      auto sum = hn::LoadU(d, start + part);
      const T* rest = s_.rests + from * kGroup + part;
      const T* group = s_.groups + from * kGroup + part;
      const T* entering = group + box_.x.size() * kGroup;
      T* out = s_.windows + (from - first_) % kBoxChunk * kGroup + part;
      if (whole) {
        for (std::int64_t i = from; i < to; ++i, rest += kGroup, entering += kGroup, out += kGroup) {
          store_as(d, hn::Add(load_as(d, rest), sum), out);
          sum = hn::Add(sum, load_as(d, entering));
        }
      } else {
        const auto before = hn::Set(d, static_cast<Sum>(box_.x.before_fraction));
        const auto after = hn::Set(d, static_cast<Sum>(box_.x.after_fraction));
        for (std::int64_t i = from; i < to; ++i, rest += kGroup, group += kGroup, entering += kGroup, out += kGroup) {
          auto window = hn::Add(load_as(d, rest), sum);
          if (box_.x.before_fraction > 0.0) window = hn::MulAdd(before, load_as(d, group - kGroup), window);
          if (box_.x.after_fraction > 0.0) window = hn::MulAdd(after, load_as(d, entering), window);
          store_as(d, window, out);
          sum = hn::Add(sum, load_as(d, entering));
        }
      }
      hn::StoreU(sum, d, start + part);
    }
  }

  /// The chunk of pixels [from, to) of the destination.
  HWY_INLINE void store(std::int64_t from, std::int64_t to) const {
    const T* windows = s_.windows;
#if MOLLIFY_HAS_BLOCKS
    if constexpr (std::is_same_v<T, float> && std::is_same_v<P, float>) {
      if (stores_as_is_ && box_.rows.destination.channels == kQuad && rows_ == kBoxRows) {
        const Lines lines = whole_vectors(from, to);
        store_by_way_of_rows(windows, from, lines.first);
        std::byte* dst = tile_.dst.row(y_) + (tile_.out.x + lines.first) * kQuad * static_cast<std::int64_t>(sizeof(float));
        const auto write = tile_.streams ? groups_to_destination<true> : groups_to_destination<false>;
        write(windows + (lines.first - from) * kGroup, lines.last - lines.first, dst, tile_.dst.row_bytes);
        windows += (lines.last - from) * kGroup;
        from = lines.last;
      }
    }
#endif
    store_by_way_of_rows(windows, from, to);
  }

  /// Of pixels [from, to) of the destination, those that fill whole vectors, which streams must be whole lines in every row.
  struct Lines {
    std::int64_t first, last;
  };
  [[nodiscard]] Lines whole_vectors(std::int64_t from, std::int64_t to) const {
    constexpr std::int64_t kPixels = 4;  // of a line, and of the widest vector
    constexpr std::int64_t kPixelBytes = 16;
    const std::int64_t bytes = tile_.streams ? elements_to_line(tile_.dst.row(y_) + (tile_.out.x + from) * kPixelBytes) : 0;
    if (bytes % kPixelBytes != 0 || (tile_.streams && tile_.dst.row_bytes % kLineBytes != 0)) return {from, from};
    const std::int64_t first = std::min(from + bytes / kPixelBytes, to);
    return {first, first + (to - first) / kPixels * kPixels};
  }

  /// Windows of pixels [from, to) of the destination.
  HWY_INLINE void store_by_way_of_rows(const T* windows, std::int64_t from, std::int64_t to) const {
    if (from == to) return;
    const RowFormat& format = box_.rows.destination;
    with_channels(format.channels, [&](auto channels) HWY_ATTR {
      constexpr int kChannels = decltype(channels)::value;
      for (std::int64_t k = 0; k < rows_; k += kBoxRows) {
        groups_to_rows<kChannels>(windows, to - from, k * kRowLanes<kChannels>, s_.out + k * s_.chunk_stride,
                                  s_.chunk_stride);
      }
    });
    const std::int64_t pixel_bytes = info(tile_.dst.desc.format).pixel_bytes();
    for (std::int64_t k = 0; k < rows_; ++k) {
      P* row = s_.out + k * s_.chunk_stride;
      auto* bytes = reinterpret_cast<std::byte*>(row);
      if (!stores_as_is_) encode_pixels(format, row, to - from, bytes);
      store_bytes(tile_, bytes, (to - from) * pixel_bytes, tile_.dst.row(y_ + k) + (tile_.out.x + from) * pixel_bytes);
    }
  }

  const BoxAny& box_;
  const Tile& tile_;
  BoxFloatSums<T, P>& sums_;
  const BoxFloatScratch<T, P>& s_;
  std::int64_t y_, rows_;
  std::int64_t first_, last_;  ///< windows begin at these pixels
  bool stores_as_is_;          ///< windows are the bytes of the destination
};

template <class Sum, class T, class P>
HWY_INLINE void box_float(const BoxAny& box, const Tile& tile) {
  BoxFloatSums<T, P> sums(box, tile);
  const std::int64_t top = tile.origin_y + tile.out.y;
  const std::int64_t bottom = top + tile.out.height;
  for (std::int64_t y = top - top % box.segment_rows; y < bottom;) {
    const bool begins = y % box.segment_rows == 0;
    const std::int64_t segment_end = y - y % box.segment_rows + box.segment_rows;
    const std::int64_t end = y < top ? std::min(top, segment_end) : std::min(bottom, segment_end);
    const std::int64_t rows = std::min(box_float_rows(box.rows.source.channels), end - y);
    if (begins) sums.begin(y);
    sums.aim(y, rows, begins);
    if (y < top) {
      sums.need(sums.columns().pixels);
    } else {
      FloatWindows<Sum, T, P>(box, tile, sums, y - tile.origin_y, rows).run();
    }
    y += rows;
  }
  finish_stores(tile);
}

void box_any_f32(const BoxAny& box, const Tile& tile) { box_float<float, float, float>(box, tile); }
void box_any_f64(const BoxAny& box, const Tile& tile) { box_float<double, float, float>(box, tile); }
void box_any_wide(const BoxAny& box, const Tile& tile) { box_float<double, double, double>(box, tile); }

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mollify::cpu {

HWY_EXPORT(box_any_f32);
HWY_EXPORT(box_any_f64);
HWY_EXPORT(box_any_wide);

void box_any_f32(const BoxAny& box, const Tile& tile) { HWY_DYNAMIC_DISPATCH(box_any_f32)(box, tile); }
void box_any_f64(const BoxAny& box, const Tile& tile) { HWY_DYNAMIC_DISPATCH(box_any_f64)(box, tile); }
void box_any_wide(const BoxAny& box, const Tile& tile) { HWY_DYNAMIC_DISPATCH(box_any_wide)(box, tile); }

namespace scalar {
namespace {

template <class T>
void box_float(const BoxAny& box, const Tile& tile) {
  for_each_pixel<T>(box.rows, tile, [&](std::int64_t x, std::int64_t y) {
    std::array<T, 4> out;
    const std::array<double, 4> sum = window_sum<T, double>(box, tile.src, x, y);
    std::transform(sum.begin(), sum.end(), out.begin(), [&](double v) { return static_cast<T>(v * box.scale); });
    return out;
  });
}

}  // namespace

void box_any_f64(const BoxAny& box, const Tile& tile) { box_float<float>(box, tile); }
void box_any_wide(const BoxAny& box, const Tile& tile) { box_float<double>(box, tile); }

}  // namespace scalar

BoxWindow box_window(const BoxExtent& extent) {
  BoxWindow window;
  window.before = static_cast<std::int64_t>(extent.before);
  window.after = static_cast<std::int64_t>(extent.after);
  window.before_fraction = extent.before - static_cast<double>(window.before);
  window.after_fraction = extent.after - static_cast<double>(window.after);
  return window;
}

FoldedWindow fold_window(const BoxWindow& window, BorderMode mode, std::int64_t length) {
  FoldedWindow out{window, {}};
  if (mode == BorderMode::clamp || mode == BorderMode::constant) {
    out.window.before = std::min(window.before, length);
    out.window.after = std::min(window.after, length);
    out.fold.before = window.before - out.window.before;
    out.fold.after = window.after - out.window.after;
    return out;
  }
  const std::int64_t period = mode == BorderMode::wrap      ? length
                              : mode == BorderMode::reflect ? 2 * length
                                                            : std::max<std::int64_t>(2 * (length - 1), 1);
  // Two periods are left, so that one from any pixel on is among the columns of each tile.
  const auto whole = [&](std::int64_t reach) { return std::max<std::int64_t>(reach / period - 2, 0); };
  out.fold = {0, 0, whole(window.before) + whole(window.after), period};
  out.window.before -= whole(window.before) * period;
  out.window.after -= whole(window.after) * period;
  return out;
}

}  // namespace mollify::cpu
#endif  // HWY_ONCE
