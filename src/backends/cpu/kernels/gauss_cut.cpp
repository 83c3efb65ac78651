// A Gaussian on 8-bit images that is cut at a radius, in 16-bit integers. Where it is cut it ends in a jump, which halved
// images cannot follow; a window of the same width can. So each axis is the sum of two: a window as high as the jump, by
// running sums that are exact, and what is left, which falls to nothing at the cut and is blurred on halved numbers as
// gauss_pyramid does. The first goes down, over all columns that the tile needs, the second along each row that comes out.
// Numbers are held as value * 256; along rows the window sums them rounded to 8 bits again, where its small share makes up
// for what that loses. What is left falls below nothing before the cut, by less than `undershoot`; so it is held that much larger, from its
// taps on until a window is added to it. Pixels are anchored to source coordinates and sums are of integers, so bits do not depend on
// tiles.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "backends/cpu/kernels/column_reads.h"
#include "backends/cpu/kernels/fixed_taps.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/level_rows.h"
#include "backends/cpu/kernels/pixel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/gauss_cut.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include "backends/cpu/kernels/fixed_taps-inl.h"
#include "backends/cpu/kernels/halving-inl.h"
#include "backends/cpu/kernels/row_io-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

/// The taps and the undershoot over rows[j], rows[j + 1], ... for kRowGroup rows j, and `undershoot` more.
HWY_NOINLINE void filter_level_rows(const CutAxis& axis, const std::uint16_t* const* rows, std::int64_t count, std::uint16_t* out,
                                    std::int64_t stride) {
  const U16 d;
  const VecU16 undershoot = hn::Set(d, axis.undershoot);
  const std::uint16_t* const* last = rows + 2 * axis.reach();
  for (std::int64_t i = 0; i < count; i += static_cast<std::int64_t>(hn::Lanes(d))) {
    VecU16 sum0, sum1, sum2, sum3;
    sum_rows(axis.taps, rows + 1, i, sum0, sum1, sum2, sum3);
    const auto put = [&](std::int64_t j, VecU16 sum) HWY_ATTR {
      const VecU16 pair = product_of_pair(hn::LoadU(d, rows[j] + i), hn::LoadU(d, last[j] + i), undershoot);
      hn::StoreU(hn::Sub(hn::Add(sum, undershoot), pair), d, out + j * stride + i);
    };
    put(0, sum0), put(1, sum1), put(2, sum2), put(3, sum3);
  }
}

/// The same over a row, which has 2 * reach pixels more than `out`; both have room for four vectors more.
HWY_NOINLINE void filter_level_columns(const CutAxis& axis, std::int64_t channels, const std::uint16_t* row, std::int64_t count,
                                       std::uint16_t* out) {
  const U16 d;
  const VecU16 undershoot = hn::Set(d, axis.undershoot);
  const std::uint16_t* last = row + 2 * axis.reach() * channels;
  filter_columns_u16(axis.taps, channels, row + channels, count, reinterpret_cast<const std::byte*>(row), out);
  for (std::int64_t i = 0; i < count; i += static_cast<std::int64_t>(hn::Lanes(d))) {
    const VecU16 pair = product_of_pair(hn::LoadU(d, row + i), hn::LoadU(d, last + i), undershoot);
    hn::StoreU(hn::Sub(hn::Add(hn::LoadU(d, out + i), undershoot), pair), d, out + i);
  }
}

/// kRowGroup rows: those that double_rows() makes, less the undershoot, and the height times the window's sums, which take in a row of
/// bytes and drop one for each. What rounding makes less than nothing is nothing.
HWY_NOINLINE void double_rows_and_slide(const std::uint16_t* const* rows, const std::uint8_t* const* entering,
                                        const std::uint8_t* const* leaving, const CutAxis& axis, std::uint16_t* sums, std::int64_t count,
                                        std::uint16_t* out, std::int64_t stride) {
  const U16 d;
  const hn::Rebind<std::uint8_t, U16> d8;
  const VecU16 weight = hn::Set(d, axis.height), undershoot = hn::Set(d, axis.undershoot);
  for (std::int64_t i = 0; i < count; i += static_cast<std::int64_t>(hn::Lanes(d))) {
    VecU16 sum = hn::LoadU(d, sums + i);
    const auto put = [&](std::int64_t j, VecU16 smooth) HWY_ATTR {
      sum = hn::Add(sum, hn::PromoteTo(d, hn::LoadU(d8, entering[j] + i)));
      sum = hn::Sub(sum, hn::PromoteTo(d, hn::LoadU(d8, leaving[j] + i)));
      const VecU16 above = hn::SaturatedSub(smooth, undershoot), below = hn::SaturatedSub(undershoot, smooth);
      hn::StoreU(hn::SaturatedSub(hn::Add(above, hn::MulHigh(sum, weight)), below), d, out + j * stride + i);
    };
    const VecU16 a = hn::LoadU(d, rows[0] + i), b = hn::LoadU(d, rows[1] + i);
    const VecU16 c = hn::LoadU(d, rows[2] + i), e = hn::LoadU(d, rows[3] + i);
    put(0, doubled_even(a, b, c)), put(1, doubled_odd(b, c)), put(2, doubled_even(b, c, e)), put(3, doubled_odd(c, e));
    hn::StoreU(sum, d, sums + i);
  }
}

HWY_NOINLINE void add_row(const std::uint8_t* row, std::int64_t count, std::uint16_t* sums) {
  for (std::int64_t i = 0; i < count; ++i) sums[i] = static_cast<std::uint16_t>(sums[i] + row[i]);
}

#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
/// Running sums of pixels T within each block of 128 bits.
template <class T, class D>
HWY_INLINE hn::Vec<D> sums_in_blocks(D d, hn::Vec<D> v) {
  if constexpr (sizeof(T) == 2) v = hn::Add(v, hn::ShiftLeftLanes<1>(d, v));
  if constexpr (sizeof(T) <= 4) v = hn::Add(v, hn::ShiftLeftLanes<2>(d, v));
  return hn::Add(v, hn::ShiftLeftLanes<4>(d, v));
}

/// The last pixel T of each block, twice or more.
template <class T, class D>
HWY_INLINE hn::Vec<D> last_of_blocks(D d, hn::Vec<D> v) {
  const hn::Repartition<T, D> pixel;
  return hn::BitCast(d, hn::Broadcast<16 / sizeof(T) - 1>(hn::BitCast(pixel, v)));
}
#endif

/// From each pixel on, the sum of all before it, of numbers rounded to 8 bits. It may overflow: only differences are used,
/// which do not. T is a whole pixel. Writes up to a vector more. Meanwhile as many bytes as there are components are fetched
/// from `ahead` on.
template <class T>
HWY_NOINLINE void sum_along(const std::uint16_t* row, std::int64_t pixels, HWY_MAYBE_UNUSED const std::byte* ahead, std::uint16_t* out) {
  constexpr std::int64_t kComponents = sizeof(T) / sizeof(std::uint16_t);
  constexpr std::uint16_t kHalf = 128;
  const std::int64_t count = pixels * kComponents;
  std::fill_n(out, kComponents, std::uint16_t{0});
  out += kComponents;
#if HWY_TARGET == HWY_SCALAR || HWY_HAVE_SCALABLE
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = static_cast<std::uint16_t>(out[i - kComponents] + ((row[i] + kHalf) >> 8));
  }
#else
#if HWY_TARGET <= HWY_AVX3
  const U16 d;
  const hn::Repartition<std::uint64_t, U16> d64;
  const auto table = [&](const std::uint64_t* indices) HWY_ATTR { return hn::SetTableIndices(d64, indices); };
  HWY_ALIGN static constexpr std::uint64_t kSecond[8] = {1, 1, 1, 1, 5, 5, 5, 5};
  HWY_ALIGN static constexpr std::uint64_t kFourth[8] = {3, 3, 3, 3, 3, 3, 3, 3};
  HWY_ALIGN static constexpr std::uint64_t kLast[8] = {7, 7, 7, 7, 7, 7, 7, 7};
  HWY_ALIGN static constexpr std::uint64_t kIsOdd[8] = {0, 0, 1, 1, 0, 0, 1, 1};
  // From each even block to the odd one after it, then from the first two to the last two.
  const auto first = table(kSecond), middle = table(kFourth), last = table(kLast);
  const auto odd = hn::Ne(hn::Load(d64, kIsOdd), hn::Zero(d64)), upper = hn::Not(hn::FirstN(d64, 4));
#else
  const hn::CappedTag<std::uint16_t, 8> d;  // a block, so that nothing has to cross from one to the next
#endif
  const auto half = hn::Set(d, kHalf);
  auto before = hn::Zero(d);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < count; i += lanes) {
    hwy::Prefetch(ahead + i);
    auto sum = sums_in_blocks<T>(d, hn::ShiftRight<8>(hn::Add(hn::LoadU(d, row + i), half)));
#if HWY_TARGET <= HWY_AVX3
    const auto of = [&](auto index) HWY_ATTR { return hn::TableLookupLanes(hn::BitCast(d64, last_of_blocks<T>(d, sum)), index); };
    sum = hn::Add(sum, hn::BitCast(d, hn::IfThenElseZero(odd, of(first))));
    sum = hn::Add(sum, hn::BitCast(d, hn::IfThenElseZero(upper, of(middle))));
    const auto whole = hn::BitCast(d, of(last));
#else
    const auto whole = last_of_blocks<T>(d, sum);
#endif
    hn::StoreU(hn::Add(sum, before), d, out + i);
    before = hn::Add(before, whole);
  }
#endif
}

/// Components [first, last) of a row of bytes, and up to two vectors more: `smooth` and `height` times the difference of
/// the sums behind the window and before it.
template <Store kStore>
HWY_NOINLINE void add_window(const std::uint16_t* smooth, const std::uint16_t* behind, const std::uint16_t* before, std::uint16_t height,
                             std::uint16_t rounding, std::int64_t first, std::int64_t last, std::uint8_t* out) {
  const U16 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const VecU16 weight = hn::Set(d, height), half = hn::Set(d, rounding);
  const auto at = [&](std::int64_t i) HWY_ATTR {
    const VecU16 window = hn::Sub(hn::LoadU(d, behind + i), hn::LoadU(d, before + i));
    return hn::Add(hn::LoadU(d, smooth + i), hn::MulHigh(window, weight));
  };
  for (std::int64_t i = first; i < last; i += 2 * lanes) store_sums<kStore>(half, at(i), at(i + lanes), out + i);
}

/// One tile, from top to bottom. Rows of a level are made when something asks for them, kRowGroup at a time.
class Cut {
 public:
  Cut(const GaussCut& k, const Tile& tile, const GaussCutScratch& s)
      : k_(k),
        tile_(tile),
        s_(s),
        channels_(k.rows.source.channels),
        x_(tile.origin_x + tile.out.x, tile.out.width, k.x.levels, k.x.reach(), k.x.radius),
        y_(tile.origin_y + tile.out.y - tile.rows_made(), tile.rows_made() + tile.out.height, k.y.levels, k.y.reach()),
        next_(y_, k.y.levels),
        top_(static_cast<std::size_t>(k.y.levels)),
        stored_from_(std::clamp<std::int64_t>(-x_.first, 0, x_.count)),
        stored_to_(std::clamp<std::int64_t>(tile.src.desc.width - x_.first, stored_from_, x_.count)),
        loaded_(std::min(y_.up[0].first - 1 - k.y.radius, y_.down[0].first)) {
    for (std::int64_t i = 0; i < x_.count; ++i) {
      s_.mapped[i] = map_index(k.rows.border.mode.x, x_.first + i, tile.src.desc.width);
      for (std::int64_t c = 0; c < channels_; ++c) {
        s_.outside[i * channels_ + c] = static_cast<std::uint8_t>(k.rows.outside[static_cast<std::size_t>(c)]);
      }
    }
    if (tile.rows_made() == 0) return;
    const std::int64_t end = tile.origin_y + tile.out.y;
    next_ = LevelRows(y_, k.y.levels, k.y.reach(), end);
    loaded_ = cut_loads_until(k, y_, next_, end);
  }

  void run() {
    const std::int64_t top = tile_.origin_y + tile_.out.y;
    const std::int64_t count = tile_.out.width * channels_;
    const WholeLines lines = whole_lines(tile_, count);
    const bool goes_on = tile_.rows_made() > 0;
    const std::int64_t made = goes_on ? LevelRows::row_group_of(y_, top) + kRowGroup : y_.up[0].first;  // `vertical` before this row
    if (!goes_on) begin_sums(made);
    for (std::int64_t y = top < made ? made - kRowGroup : made; y < top + tile_.out.height; y += kRowGroup) {
      if (y >= made) blur_down(y);
      const std::int64_t from = std::max<std::int64_t>(top - y, 0);
      const std::int64_t to = std::min(top + tile_.out.height - y, kRowGroup);
      for (std::int64_t j = from; j < to; ++j) blur_along(j);
      if (from >= to) continue;
      write_rows(tile_, lines, y + from - top, from, to, count, s_.out, s_.stride,
                 [&](auto store, std::int64_t begin, std::int64_t end, std::uint8_t* out, std::int64_t stride) HWY_ATTR {
                   for (std::int64_t j = from; j < to; ++j) {
                     const std::uint16_t* before = s_.running + j * s_.stride;
                     const std::uint16_t* behind = before + (2 * k_.x.radius + 1) * channels_;
                     const auto rounding = static_cast<std::uint16_t>(k_.rounding - k_.x.undershoot);  // sums are so much larger
                     add_window<decltype(store)::value>(s_.smooth + j * s_.stride + skip(), behind, before, k_.x.height, rounding, begin,
                                                        end, out + j * stride);
                   }
                 });
    }
    finish_stores(tile_);
  }

 private:
  /// Components of `smooth` before those of the tile.
  [[nodiscard]] std::int64_t skip() const { return (tile_.origin_x + tile_.out.x - x_.levels.up[0].first) * channels_; }

  [[nodiscard]] std::uint16_t* down_row(std::size_t level, std::int64_t y) const {
    return s_.down[level] + (y - y_.down[level].first) % kDownRows * s_.stride;
  }
  [[nodiscard]] std::uint16_t* ring_row(std::int64_t y) const { return s_.ring + (y - y_.down[top_].first) % s_.ring_rows * s_.stride; }
  [[nodiscard]] std::uint16_t* up_row(std::size_t level, std::int64_t y) const {
    return s_.up[level] + (y - y_.up[level].first) % kUpRows * s_.stride;
  }

  [[nodiscard]] std::uint8_t* byte_row(std::int64_t y) const {
    const std::int64_t row = y % s_.byte_rows;
    return s_.bytes_ring + (row < 0 ? row + s_.byte_rows : row) * s_.byte_stride;
  }

  /// Source rows up to `end` to the ring, as they go on beyond the image. In the image itself rows may lie at distances that
  /// few lines of a cache can hold at once, and the window drops them long after it took them in.
  void load_until(std::int64_t end) {
    for (; loaded_ < end; ++loaded_) {
      std::uint8_t* out = byte_row(loaded_);
      const std::int64_t row = map_index(k_.rows.border.mode.y, loaded_, tile_.src.desc.height);
      if (row == kOutside) {
        std::memcpy(out, s_.outside, static_cast<std::size_t>(x_.count * channels_));
        continue;
      }
      const auto stored = [&](std::int64_t column) {
        return reinterpret_cast<const std::uint8_t*>(tile_.src.row(row, column)) + column * channels_;
      };
      std::memcpy(out + stored_from_ * channels_, stored(x_.first + stored_from_),
                  static_cast<std::size_t>((stored_to_ - stored_from_) * channels_));
      const auto beyond = [&](std::int64_t from, std::int64_t to) {
        for (std::int64_t i = from; i < to; ++i) {
          const std::int64_t column = s_.mapped[i];
          copy_pixel(channels_, column == kOutside ? s_.outside : stored(column), out + i * channels_);
        }
      };
      beyond(0, stored_from_);
      beyond(stored_to_, x_.count);
    }
  }

  /// The window's sums as they are before row y enters.
  void begin_sums(std::int64_t y) {
    load_until(y + k_.y.radius);
    std::fill_n(s_.sums, x_.count * channels_, std::uint16_t{0});
    for (std::int64_t row = y - 1 - k_.y.radius; row < y + k_.y.radius; ++row) {
      add_row(byte_row(row), x_.count * channels_, s_.sums);
    }
  }

  /// The next rows of a level on the way down.
  void make_down(std::size_t level) {
    const std::int64_t y = next_.down[level];
    next_.down[level] += kRowGroup;
    std::uint16_t* out = level == top_ ? ring_row(y) : down_row(level, y);
    const std::int64_t below = 2 * y - 2;  // the first row that they are made from
    if (level == 1) {
      load_until(below + kHalvedRows);
      const std::uint8_t* rows[kHalvedRows];
      for (std::int64_t i = 0; i < kHalvedRows; ++i) rows[i] = byte_row(below + i);
      halve_rows(rows, x_.count * channels_, out, s_.stride);
    } else {
      while (next_.down[level - 1] < below + kHalvedRows) make_down(level - 1);
      const std::uint16_t* rows[kHalvedRows];
      for (std::int64_t i = 0; i < kHalvedRows; ++i) rows[i] = down_row(level - 1, below + i);
      halve_rows(rows, x_.count * channels_, out, s_.stride);
    }
  }

  /// The kRowGroup rows of a level on the way up from which rows 2 * (first + 1) and on of the level below are made.
  void up_rows(std::size_t level, std::int64_t first, const std::uint16_t** rows) {
    while (next_.up[level] < first + kRowGroup) make_up(level);
    for (std::int64_t i = 0; i < kRowGroup; ++i) rows[i] = up_row(level, first + i);
  }

  void make_up(std::size_t level) {
    const std::int64_t y = next_.up[level];
    next_.up[level] += kRowGroup;
    std::uint16_t* out = up_row(level, y);
    if (level < top_) {
      const std::uint16_t* rows[kRowGroup];
      up_rows(level + 1, y / 2 - 1, rows);
      double_rows(rows, x_.count * channels_, out, s_.stride);
      return;
    }
    const std::int64_t reach = k_.y.reach();
    while (next_.down[top_] < y + kRowGroup + reach) make_down(top_);
    for (std::int64_t i = 0; i < 2 * reach + kRowGroup; ++i) s_.rows[i] = ring_row(y - reach + i);
    filter_level_rows(k_.y, s_.rows, x_.count * channels_, out, s_.stride);
  }

  /// The kRowGroup rows of `vertical` that lie where source rows y, y + 1, ... do.
  void blur_down(std::int64_t y) {
    const std::uint16_t* smooth[kRowGroup];
    up_rows(1, y / 2 - 1, smooth);
    load_until(y + kRowGroup + k_.y.radius);
    const std::uint8_t* entering[kRowGroup];
    const std::uint8_t* leaving[kRowGroup];
    for (std::int64_t j = 0; j < kRowGroup; ++j) {
      entering[j] = byte_row(y + j + k_.y.radius);
      leaving[j] = byte_row(y + j - k_.y.radius - 1);
    }
    double_rows_and_slide(smooth, entering, leaving, k_.y, s_.sums, x_.count * channels_, s_.vertical, s_.stride);
    ahead_ = std::max(ahead_, loaded_);
  }

  /// Row j of `vertical` to those of `smooth` and `running`. Meanwhile the next source row is fetched.
  void blur_along(std::int64_t j) {
    const auto top = static_cast<std::size_t>(k_.x.levels);
    const bool spreads = s_.channels != channels_;
    const std::int64_t window = tile_.out.width + 2 * k_.x.radius;
    const std::uint16_t* row = s_.vertical + j * s_.stride;
    std::uint16_t* smooth = s_.smooth + j * s_.stride;
    std::uint16_t* running = s_.running + j * s_.stride;
    if (spreads) {
      move_pixels<kToFour>(row, x_.count, s_.spread);
      row = s_.spread;
    }
    with_pixel(s_.channels, [&](auto pixel) HWY_ATTR {
      using Pixel = decltype(pixel);
      const auto from = [&](std::int64_t column) { return row + (column - x_.first) * s_.channels; };
      const std::byte* ahead = stored_row(k_.rows, tile_.src, ahead_++, x_.first);
      const std::uint16_t* begin = from(tile_.origin_x + tile_.out.x - k_.x.radius);
      sum_along<Pixel>(begin, window, ahead, spreads ? s_.spread_sums : running);
      const std::uint16_t* in = from(x_.levels.down[0].first);
      for (std::size_t level = 1; level <= top; ++level) {
        halve_columns<Pixel>(in, x_.levels.down[level].count, reinterpret_cast<const std::byte*>(in), s_.halved[level]);
        in = s_.halved[level];
      }
      const auto nothing = reinterpret_cast<const std::byte*>(in);
      filter_level_columns(k_.x, s_.channels, in, x_.levels.up[top].count * s_.channels, s_.doubled[top]);
      for (std::size_t level = top; level > 0; --level) {
        std::uint16_t* out = level > 1 ? s_.doubled[level - 1] : spreads ? s_.spread : smooth;
        double_columns<Pixel>(s_.doubled[level], x_.levels.up[level].count, nothing, out);
      }
    });
    if (spreads) {
      move_pixels<kToThree>(s_.spread, x_.levels.up[0].count, smooth);
      move_pixels<kToThree>(s_.spread_sums, window + 1, running);
    }
  }

  const GaussCut& k_;
  const Tile& tile_;
  const GaussCutScratch& s_;
  const std::int64_t channels_;
  const CutSpan x_;
  const PyramidAxis y_;
  LevelRows next_;  ///< to make
  const std::size_t top_;
  const std::int64_t stored_from_, stored_to_;  ///< columns of x_ that lie in the image
  std::int64_t loaded_;                         ///< source row to load
  std::int64_t ahead_ = 0;                      ///< and to fetch
};

void gauss_cut(const GaussCut& k, const Tile& tile) {
  const GaussCutScratch s(tile.scratch, tile.out.width, {k.x.levels, k.x.reach(), k.x.radius}, {k.y.levels, k.y.reach(), k.y.radius},
                          k.rows.source.channels);
  Cut(k, tile, s).run();
}

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mollify::cpu {

HWY_EXPORT(gauss_cut);

void gauss_cut(const GaussCut& k, const Tile& tile) {
  HWY_DYNAMIC_DISPATCH(gauss_cut)(k, tile);
}

namespace scalar {
namespace {

/// `count` numbers of a line from `first` on; at(i) is what lies there before. Rounding may make them a little less than nothing.
template <class At>
std::vector<std::int32_t> blurred_line(const CutAxis& axis, std::int64_t first, std::int64_t count, const At& at) {
  const PyramidAxis levels(first, count, axis.levels, axis.reach());
  const auto top = static_cast<std::size_t>(axis.levels);
  const auto mean = [](std::uint32_t a, std::uint32_t b) { return (a + b + 1) / 2; };
  std::vector<std::uint32_t> line;
  /// Those of a span: make(i).
  const auto make_line = [&](PyramidAxis::Span span, const auto& make) {
    std::vector<std::uint32_t> made;
    for (std::int64_t i = span.first; i < span.first + span.count; ++i) made.push_back(make(i));
    line = std::move(made);
  };
  make_line(levels.down[0], at);
  for (std::size_t level = 1; level <= top; ++level) {
    make_line(levels.down[level], [&](std::int64_t i) {
      const auto below = [&](std::int64_t k) { return line[static_cast<std::size_t>(2 * i + k - levels.down[level - 1].first)]; };
      return mean(mean(below(-1), below(1)), mean(mean(mean(below(-2), below(2)), below(0)), below(0)));
    });
  }
  make_line(levels.up[top], [&](std::int64_t i) {
    const auto at_level = [&](std::int64_t k) { return line[static_cast<std::size_t>(i + k - levels.down[top].first)]; };
    const std::uint32_t pair = (at_level(-axis.reach()) + at_level(axis.reach()) + 1) / 2;
    return filtered_fixed(axis.taps, at_level) + axis.undershoot - (pair * axis.undershoot >> 16);
  });
  for (std::size_t level = top; level > 0; --level) {
    make_line(levels.up[level - 1], [&](std::int64_t i) {
      const auto above = [&](std::int64_t k) { return line[static_cast<std::size_t>((i - (i & 1)) / 2 + k - levels.up[level].first)]; };
      return i % 2 == 0 ? mean(mean(mean(above(-1), above(1)), above(0)), above(0)) : mean(above(0), above(1));
    });
  }
  std::vector<std::int32_t> out;
  for (std::int64_t i = first; i < first + count; ++i) {
    std::uint32_t window = 0;
    for (std::int64_t k = i - axis.radius; k <= i + axis.radius; ++k) window += (at(k) + 128) >> 8;
    const std::uint32_t sum = line[static_cast<std::size_t>(i - levels.up[0].first)] + (window * axis.height >> 16);
    out.push_back(static_cast<std::int32_t>(sum) - axis.undershoot);
  }
  return out;
}

}  // namespace

/// Each component by itself: its columns, then its rows.
void gauss_cut(const GaussCut& k, const Tile& tile) {
  const std::int64_t left = tile.origin_x + tile.out.x, top = tile.origin_y + tile.out.y;
  const CutSpan columns(left, tile.out.width, k.x.levels, k.x.reach(), k.x.radius);
  const auto channels = static_cast<std::size_t>(k.rows.source.channels);
  std::vector<std::array<float, 4>> pixels(static_cast<std::size_t>(tile.out.width) * tile.out.height);
  for (std::size_t c = 0; c < channels; ++c) {
    std::vector<std::vector<std::int32_t>> down;
    for (std::int64_t x = columns.first; x < columns.first + columns.count; ++x) {
      down.push_back(blurred_line(k.y, top, tile.out.height, [&](std::int64_t y) {
        return static_cast<std::uint32_t>(read_pixel<float>(k.rows, tile.src, x, y)[c]) << 8;
      }));
    }
    for (std::int64_t y = 0; y < tile.out.height; ++y) {
      const std::vector<std::int32_t> row = blurred_line(k.x, left, tile.out.width, [&](std::int64_t x) {
        return static_cast<std::uint32_t>(std::max(down[static_cast<std::size_t>(x - columns.first)][static_cast<std::size_t>(y)], 0));
      });
      for (std::int64_t x = 0; x < tile.out.width; ++x) {
        pixels[static_cast<std::size_t>(y * tile.out.width + x)][c] =
            static_cast<float>(static_cast<std::uint16_t>(row[static_cast<std::size_t>(x)] + k.rounding) >> 8);
      }
    }
  }
  for_each_pixel<float>(k.rows, tile, [&](std::int64_t x, std::int64_t y) {
    return pixels[static_cast<std::size_t>((y - top) * tile.out.width + x - left)];
  });
}

}  // namespace scalar
}  // namespace mollify::cpu
#endif  // HWY_ONCE
