// Box of any radius, fractional too, on floats, or any stored numbers as floats, at constant cost a pixel: vertical sums in
// f64 take in the row that enters and drop the one that leaves, begun anew every segment; their means go to groups, one
// pixel of each of several rows, along which windows are summed. What two windows have in common is the rest of one block
// and the start of the next, so nothing is ever subtracted along rows, and neither drift nor a NaN leaves its window.
// Segments and blocks are anchored to source coordinates, so bits do not depend on tiles. Included once for each
// instruction set.

#if defined(MOLLIFY_BOX_FLOAT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MOLLIFY_BOX_FLOAT_INL_H_
#undef MOLLIFY_BOX_FLOAT_INL_H_
#else
#define MOLLIFY_BOX_FLOAT_INL_H_
#endif

#include <algorithm>
#include <array>

#include "backends/cpu/kernels/box_columns.h"
#include "backends/cpu/kernels/box_float_sums-inl.h"
#include "backends/cpu/kernels/box_groups-inl.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/row_io-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

/// Windows along the groups of some rows and their way to the destination. Each begins at the first of its whole pixels.
///
/// Two windows share one sum in f64: the window that begins one group before a pair of groups, and the one that begins with the pair.
/// The sum is of the pairs that both cover, each pair added up in `P`. Every window has one or two more groups at one of its ends.
template <class P>
class FloatWindows {
 public:
  /// `rows` rows from row `y` of the destination on.
  FloatWindows(const BoxAny& box, const Tile& tile, BoxFloatSums<P>& sums, std::int64_t y, std::int64_t rows)
      : box_(box),
        tile_(tile),
        sums_(sums),
        s_(sums.scratch()),
        y_(y),
        rows_(rows),
        width_(box.windows_across(tile.out.width)),
        first_(box.x.reach_before() - box.x.before),
        covered_(box_pairs(box.x.size())),
        block_(std::max<std::int64_t>(covered_, 1)),
        stores_as_is_(std::is_same_v<P, float> && box.rows.destination.is_plain_f32()) {}

  void run() {
    const std::int64_t pixels = sums_.columns().pixels;
    if (!box_.fold_x.is_empty()) add_folded();
    const auto make = choose_make();
    begin();
    const std::int64_t end = (width_ - made_ + 1) / 2;  // of the pairs that windows begin before or with
    std::int64_t done = 0;
    for (std::int64_t j = 0; j < end;) {
      const std::int64_t to = std::min({end, j + block_ - in_block_, j + (kBoxChunk - made_ + 1) / 2});
      sums_.need(std::min(pair_ + 2 * (to + covered_) + 1, pixels));
      (this->*make)(j, to);
      made_ += 2 * (to - j), in_block_ += to - j, j = to;
      if (in_block_ == block_ && j < end) next_block(pair_ + 2 * j);
      while (made_ >= kBoxChunk || (j == end && done < width_)) {
        const std::int64_t count = std::min({made_, kBoxChunk, width_ - done});
        box_.rows.step.x > 1 ? store_picked(done, done + count) : store(done, done + count);
        std::copy_n(s_.windows + count * kGroup, kGroup, s_.windows);
        made_ -= count, done += count;
      }
    }
  }

 private:
  using Stored = hn::Rebind<P, SumTag>;
  using V = hn::Vec<Stored>;
  static constexpr std::int64_t kLanes = hn::MaxLanes(SumTag());
  static constexpr std::int64_t kAtOnce = std::min<std::int64_t>(kGroup / kLanes, 2);  ///< sums that do not wait for each other

  /// What all windows lack, see BoxFold. Whole periods are summed from the image's first pixel on, so that bits do not depend on tiles.
  void add_folded() {
    const BoxFold& fold = box_.fold_x;
    const std::int64_t pixels = sums_.columns().pixels;
    sums_.need(pixels);
    const auto add = [&](const auto* group, std::int64_t times) {
      if (times == 0) return;  // a NaN that no window covers would pass a weight of zero
      for (std::size_t i = 0; i < kGroup; ++i) folded_[i] += static_cast<double>(times) * static_cast<double>(group[i]);
    };
    if (fold.periods > 0) {
      const std::int64_t from = (fold.period - sums_.columns().x % fold.period) % fold.period;
      std::array<double, kGroup> period{};
      for (std::int64_t p = from; p < from + fold.period; ++p) {
        for (std::size_t i = 0; i < kGroup; ++i) period[i] += static_cast<double>(s_.groups[static_cast<std::size_t>(p) * kGroup + i]);
      }
      add(period.data(), fold.periods);
    }
    add(s_.groups, fold.before);
    add(s_.groups + (pixels - 1) * kGroup, fold.after);
  }

  /// The pairs that the first windows cover. Pairs begin at even columns of the source, and blocks at multiples of their length, so
  /// that bits do not depend on tiles.
  void begin() {
    const std::int64_t x = sums_.columns().x + first_;
    const std::int64_t pair = (x + 1) >> 1;
    pair_ = 2 * pair - sums_.columns().x;
    made_ = 2 * pair - 1 - x;  // the first of the two windows may begin too early
    in_block_ = ((pair % block_) + block_) % block_;
    if (covered_ == 0) {
      std::fill_n(s_.rests, kGroup, 0.0);
      return;
    }
    sums_.need(pair_ + 2 * covered_);
    enter(pair_ + 2 * (block_ - in_block_), in_block_);
    sum_to_end(pair_, in_block_);
  }

  /// Calls body(first lane) for kAtOnce vectors of a group at a time.
  template <class Body>
  static HWY_INLINE void for_parts(const Body& body) {
    for (std::int64_t part = 0; part < kGroup; part += kAtOnce * kLanes) body(part);
  }

  /// Makes `count` pairs from this pixel on the start of the next block that windows cover.
  void enter(std::int64_t pixel, std::int64_t count) {
    const SumTag d;
    for_parts([&](std::int64_t part) HWY_ATTR {
      VecSum sum[kAtOnce];
      HWY_UNROLL(2)
      for (std::int64_t k = 0; k < kAtOnce; ++k) sum[k] = hn::LoadU(d, folded_ + part + k * kLanes);
      const P* group = s_.groups + pixel * kGroup + part;
      for (std::int64_t j = 0; j < count; ++j, group += 2 * kGroup) {
        HWY_UNROLL(2)
        for (std::int64_t k = 0; k < kAtOnce; ++k) sum[k] = hn::Add(sum[k], pair_at(group + k * kLanes));
      }
      HWY_UNROLL(2)
      for (std::int64_t k = 0; k < kAtOnce; ++k) hn::StoreU(sum[k], d, start_ + part + k * kLanes);
    });
  }

  static HWY_INLINE VecSum pair_at(const P* group) {
    const Stored stored;
    return widened(hn::Add(hn::LoadU(stored, group), hn::LoadU(stored, group + kGroup)));
  }

  /// Windows begin in the next block now, at this pixel.
  void next_block(std::int64_t pixel) {
    in_block_ = 0;
    if (covered_ > 0) sum_to_end(pixel, 0);
  }

  /// From each pair of a block on, the sum of those to its end. Its pair `from` begins at `pixel`.
  HWY_INLINE void sum_to_end(std::int64_t pixel, std::int64_t from) const {
    const SumTag d;
    for_parts([&](std::int64_t part) HWY_ATTR {
      VecSum sum[kAtOnce];
      HWY_UNROLL(2)
      for (std::int64_t k = 0; k < kAtOnce; ++k) sum[k] = hn::Zero(d);
      const P* group = s_.groups + (pixel + 2 * (block_ - 1 - from)) * kGroup + part;
      double* rest = s_.rests + (block_ - 1) * kGroup + part;
      for (std::int64_t j = block_; j > from; --j, group -= 2 * kGroup, rest -= kGroup) {
        HWY_UNROLL(2)
        for (std::int64_t k = 0; k < kAtOnce; ++k) {
          sum[k] = hn::Add(sum[k], pair_at(group + k * kLanes));
          hn::StoreU(sum[k], d, rest + k * kLanes);
        }
      }
    });
  }

  using Make = void (FloatWindows::*)(std::int64_t, std::int64_t);
  [[nodiscard]] Make choose_make() const {
    const bool fractional = box_.x.halo() >= box_.x.size();
    if (box_.x.size() % 2 == 0) return fractional ? &FloatWindows::make<true, true> : &FloatWindows::make<true, false>;
    return fractional ? &FloatWindows::make<false, true> : &FloatWindows::make<false, false>;
  }

  /// The windows that begin one group before pairs [from, to) and with them, all of one block.
  template <bool kEven, bool kFractional>
  void make(std::int64_t from, std::int64_t to) {
    const SumTag d;
    const Stored stored;
    const V before = hn::Set(stored, static_cast<P>(box_.x.before_fraction));
    const V after = hn::Set(stored, static_cast<P>(box_.x.after_fraction));
    const double* const start = in_block_ == 0 ? folded_ : start_;
    for_parts([&](std::int64_t part) HWY_ATTR {
      VecSum sum[kAtOnce];
      HWY_UNROLL(2)
      for (std::int64_t k = 0; k < kAtOnce; ++k) sum[k] = hn::LoadU(d, start + part + k * kLanes);
      const P* begins = s_.groups + (pair_ + 2 * from) * kGroup + part;
      const P* enters = begins + 2 * covered_ * kGroup;
      const double* rest = s_.rests + in_block_ * kGroup + part;
      P* out = s_.windows + made_ * kGroup + part;
      for (std::int64_t j = from; j < to; ++j) {
        HWY_UNROLL(2)
        for (std::int64_t k = 0; k < kAtOnce; ++k) {
          const auto group = [&](const P* p, std::int64_t i) HWY_ATTR { return hn::LoadU(stored, p + i * kGroup + k * kLanes); };
          const V enters0 = group(enters, 0), enters1 = group(enters, 1), pair = hn::Add(enters0, enters1);
          const V covered = narrowed(stored, hn::Add(hn::LoadU(d, rest + k * kLanes), sum[k]));
          V first = hn::Add(kEven ? hn::Add(group(begins, -1), enters0) : group(begins, -1), covered);
          V second = hn::Add(kEven ? pair : enters0, covered);
          if constexpr (kFractional) {
            if (box_.x.before_fraction > 0.0) {
              first = hn::MulAdd(before, group(begins, -2), first);
              second = hn::MulAdd(before, group(begins, -1), second);
            }
            if (box_.x.after_fraction > 0.0) {
              first = hn::MulAdd(after, kEven ? enters1 : enters0, first);
              second = hn::MulAdd(after, kEven ? group(enters, 2) : enters1, second);
            }
          }
          hn::StoreU(first, stored, out + k * kLanes), hn::StoreU(second, stored, out + kGroup + k * kLanes);
          sum[k] = hn::Add(sum[k], widened(pair));
        }
        begins += 2 * kGroup, enters += 2 * kGroup, rest += kGroup, out += 2 * kGroup;
      }
      HWY_UNROLL(2)
      for (std::int64_t k = 0; k < kAtOnce; ++k) hn::StoreU(sum[k], d, start_ + part + k * kLanes);
    });
  }

  /// Of the chunk of windows [from, to), those of the destination.
  HWY_NOINLINE void store_picked(std::int64_t from, std::int64_t to) const {
    const std::int64_t apart = box_.rows.step.x;
    const std::int64_t begin = (from + apart - 1) / apart, end = (to + apart - 1) / apart;
    for (std::int64_t i = begin; i < end; ++i) {
      const P* group = s_.windows + (i * apart - from) * kGroup;
      std::copy_n(group, kGroup, s_.windows + (i - begin) * kGroup);
    }
    store(begin, end);
  }

  /// The chunk of pixels [from, to) of the destination.
  HWY_INLINE void store(std::int64_t from, std::int64_t to) const {
    const P* windows = s_.windows;
#if MOLLIFY_HAS_BLOCKS
    if constexpr (std::is_same_v<P, float>) {
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
  HWY_INLINE void store_by_way_of_rows(const P* windows, std::int64_t from, std::int64_t to) const {
    if (from == to) return;
    const RowFormat& format = box_.rows.destination;
    with_channels(format.channels, [&](auto channels) HWY_ATTR {
      constexpr int kChannels = decltype(channels)::value;
      for (std::int64_t k = 0; k < rows_; k += kBoxRows) {
        groups_to_rows<kChannels>(windows, to - from, k * kRowLanes<kChannels>, s_.out + k * s_.chunk_stride, s_.chunk_stride);
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
  BoxFloatSums<P>& sums_;
  const BoxFloatScratch<P>& s_;
  std::int64_t y_, rows_;
  std::int64_t width_;    ///< windows from the first that is stored to the last
  std::int64_t first_;    ///< pixel that the first window begins at
  std::int64_t covered_;  ///< pairs that both of two windows cover
  std::int64_t block_;    ///< pairs of a block
  bool stores_as_is_;     ///< windows are the bytes of the destination

  std::int64_t pair_ = 0;      ///< pixel that pair 0 begins at
  std::int64_t in_block_ = 0;  ///< where in its block the next pair lies
  std::int64_t made_ = 0;      ///< windows that wait to be stored
  HWY_ALIGN double folded_[kGroup] = {};
  HWY_ALIGN double start_[kGroup];  ///< sum of the next block's pairs up to the last that the next windows cover
};

template <class P>
HWY_INLINE void box_float(const BoxAny& box, const Tile& tile) {
  BoxFloatSums<P> sums(box, tile);
  const std::int64_t apart = box.rows.step.y;
  const std::int64_t top = tile.origin_y + tile.out.y * apart;
  const std::int64_t bottom = top + (tile.out.height - 1) * apart + 1;
  const std::int64_t most = box_stepped_rows(box.rows.source.channels, apart);
  for (std::int64_t y = tile.rows_made() > 0 ? top - apart + 1 : top - top % box.segment_rows; y < bottom;) {
    const bool begins = y % box.segment_rows == 0;
    const std::int64_t segment_end = y - y % box.segment_rows + box.segment_rows;
    const std::int64_t end = y < top ? std::min(top, segment_end) : std::min(bottom, segment_end);
    const std::int64_t rows = std::min(most, end - y);
    const std::int64_t kept = (apart - (y - top) % apart) % apart;  // from y to the next row of the destination
    if (begins) sums.begin(y);
    sums.aim(y, rows, y < top ? rows : kept, begins);
    if (y < top || kept >= rows) {
      sums.need(sums.columns().pixels);
    } else {
      const std::int64_t row = tile.out.y + (y + kept - top) / apart;
      FloatWindows<P>(box, tile, sums, row, (rows - kept + apart - 1) / apart).run();
    }
    y += rows;
  }
  finish_stores(tile);
}

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // MOLLIFY_BOX_FLOAT_INL_H_
