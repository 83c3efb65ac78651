// A Gaussian on 8-bit images in 16-bit integers: the image is halved a few times, blurred where it is small, and doubled as
// often. Numbers are held as value * 256. Halving filters with [1 4 6 4 1] / 16 and doubling with the same, [1 6 1] / 8 and
// [4 4] / 8, both made of rounded means alone, which cannot overflow and cost one instruction each: four rows of a level are
// made at once. Cubic B-splines of factor 2 nest, so the whole is one decimated Gaussian (math/decimation.h) of factor
// 2^levels, of which most rows never leave the cache. The means round up by a known amount, half of which is taken back at
// the end. Pixels are anchored to source coordinates and sums are of integers, so bits do not depend on tiles.
#include "backends/cpu/kernels/fixed_taps.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/level_rows.h"
#include "backends/cpu/kernels/pixel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/gauss_pyramid.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include "backends/cpu/kernels/fixed_taps-inl.h"
#include "backends/cpu/kernels/halving-inl.h"
#include "backends/cpu/kernels/row_io-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

/// double_rows() to components [first, last) of rows of bytes, and up to two vectors more.
template <Store kStore>
HWY_NOINLINE void double_rows_to_bytes(const std::uint16_t* const* rows, std::uint16_t rounding, std::int64_t first, std::int64_t last,
                                       std::uint8_t* out, std::int64_t stride) {
  const U16 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const VecU16 half = hn::Set(d, rounding);
  for (std::int64_t i = first; i < last; i += 2 * lanes) {
    const auto row = [&](std::int64_t r, std::int64_t at) HWY_ATTR { return hn::LoadU(d, rows[r] + i + at); };
    const VecU16 a0 = row(0, 0), b0 = row(1, 0), c0 = row(2, 0), e0 = row(3, 0);
    const VecU16 a1 = row(0, lanes), b1 = row(1, lanes), c1 = row(2, lanes), e1 = row(3, lanes);
    store_sums<kStore>(half, doubled_even(a0, b0, c0), doubled_even(a1, b1, c1), out + i);
    store_sums<kStore>(half, doubled_odd(b0, c0), doubled_odd(b1, c1), out + stride + i);
    store_sums<kStore>(half, doubled_even(b0, c0, e0), doubled_even(b1, c1, e1), out + 2 * stride + i);
    store_sums<kStore>(half, doubled_odd(c0, e0), doubled_odd(c1, e1), out + 3 * stride + i);
  }
}

/// The levels of one tile, whose rows are made as they are asked for, kRowGroup at a time from top to bottom.
class Pyramid {
 public:
  Pyramid(const GaussPyramid& k, const Tile& tile, const GaussPyramidScratch& s)
      : k_(k),
        src_(tile.src),
        s_(s),
        x_(tile.origin_x + tile.out.x, tile.out.width, k.levels, k.x.radius()),
        y_(tile.origin_y + tile.out.y - tile.rows_made(), tile.rows_made() + tile.out.height, k.levels, k.y.radius()),
        next_(y_, k.levels),
        top_(static_cast<std::size_t>(k.levels)),
        skip_((tile.origin_x + tile.out.x - x_.up[0].first) * k.rows.source.channels),
        half_(s.half + to_line(std::max<std::int64_t>(-x_.down[0].first, 0) * k.rows.source.channels)) {
    const int channels = k.rows.source.channels;
    for (std::int64_t i = 0; i < x_.down[0].count * channels; ++i) {
      s_.outside[i] = static_cast<std::uint8_t>(k.rows.outside[static_cast<std::size_t>(i % channels)]);
    }
    if (tile.rows_made() > 0) next_ = LevelRows(y_, k.levels, k.y.radius(), tile.origin_y + tile.out.y);
  }

  [[nodiscard]] const PyramidAxis& y() const { return y_; }

  /// Components of rows of level 1, doubled, before those of the tile.
  [[nodiscard]] std::int64_t skip() const { return skip_; }

  /// The kRowGroup rows of a level, doubled horizontally, from which rows 2 * (first + 1) and on of the level below are made.
  HWY_INLINE void up_rows(std::size_t level, std::int64_t first, const std::uint16_t** rows) {
    while (next_.up[level] < first + kRowGroup) make_up(level);
    for (std::int64_t i = 0; i < kRowGroup; ++i) rows[i] = up_row(level, first + i);
  }

 private:
  /// What brings element i of a row to the begin of a cache line: vectors that straddle lines take twice as long.
  [[nodiscard]] static std::int64_t to_line(std::int64_t i) {
    constexpr std::int64_t kElements = kLineBytes / 2;
    return (kElements - i % kElements) % kElements;
  }

  [[nodiscard]] std::uint16_t* up_row(std::size_t level, std::int64_t y) const {
    return s_.up[level] + (y - y_.up[level].first) % kUpRows * s_.up_stride[level] + (level == 1 ? to_line(skip_) : 0);
  }
  [[nodiscard]] std::uint16_t* down_row(std::size_t level, std::int64_t y) const {
    return s_.down[level] + (y - y_.down[level].first) % kDownRows * s_.down_stride[level];
  }

  /// Where the i-th of the source rows lies that the next row group of the first level reads first: they are fetched while rows of
  /// that level are made, half of them on the way down and half on the way up, so that memory is never waited for alone.
  [[nodiscard]] const std::byte* ahead(std::size_t level, std::int64_t i, const std::uint16_t* nothing) const {
    if (level > 1) return reinterpret_cast<const std::byte*>(nothing);
    return stored_row(k_.rows, src_, 2 * next_.down[1] - 2 + kHalvedRows - 2 * kRowGroup + i, x_.down[0].first);
  }

  /// Rows of the source, halved vertically: `half_`.
  HWY_INLINE void halve_source(std::int64_t y) {
    const std::int64_t channels = k_.rows.source.channels;
    const std::int64_t x = x_.down[0].first, pixels = x_.down[0].count, width = src_.desc.width;
    const std::int64_t first = std::clamp<std::int64_t>(-x, 0, pixels);
    const std::int64_t last = std::clamp<std::int64_t>(width - x, first, pixels);
    const std::uint8_t* rows[kHalvedRows];
    const auto find = [&](std::int64_t column) {
      for (std::int64_t i = 0; i < kHalvedRows; ++i) {
        const std::int64_t row = map_index(k_.rows.border.mode.y, y + i, src_.desc.height);
        rows[i] = row == kOutside ? s_.outside : reinterpret_cast<const std::uint8_t*>(src_.row(row, column)) + column * channels;
      }
    };
    find(x + first);
    if (last > first) halve_rows(rows, (last - first) * channels, half_ + first * channels, s_.half_stride);
    const auto fill = [&](std::int64_t from, std::int64_t to) HWY_ATTR {
      for (std::int64_t i = from; i < to; ++i) {
        const std::int64_t inside = map_index(k_.rows.border.mode.x, x + i, width);
        std::uint16_t* pixel = half_ + i * channels;
        if (inside == kOutside) {
          for (std::int64_t j = 0; j < kRowGroup; ++j) {
            for (std::int64_t c = 0; c < channels; ++c) {
              pixel[j * s_.half_stride + c] = static_cast<std::uint16_t>(s_.outside[c] << 8);
            }
          }
        } else if (inside >= x + first && inside < x + last) {
          const std::uint16_t* from_pixel = half_ + (inside - x) * channels;
          for (std::int64_t j = 0; j < kRowGroup; ++j) {
            copy_pixel(channels, from_pixel + j * s_.half_stride, pixel + j * s_.half_stride);
          }
        } else {
          find(inside);
          std::uint16_t made[kRowGroup * kMaxLanes];
          halve_rows(rows, channels, made, kMaxLanes);
          for (std::int64_t j = 0; j < kRowGroup; ++j) std::copy_n(made + j * kMaxLanes, channels, pixel + j * s_.half_stride);
        }
      }
    };
    fill(0, first);
    fill(last, pixels);
  }

  /// The next rows of a level on the way down; those of the last are filtered horizontally.
  void make_down(std::size_t level) {
    const std::int64_t y = next_.down[level];
    next_.down[level] += kRowGroup;
    const std::int64_t below = 2 * y - 2;  // the first row that they are made from
    if (level == 1) {
      halve_source(below);
    } else {
      while (next_.down[level - 1] < below + kHalvedRows) make_down(level - 1);
      const std::uint16_t* rows[kHalvedRows];
      for (std::int64_t i = 0; i < kHalvedRows; ++i) rows[i] = down_row(level - 1, below + i);
      halve_rows(rows, x_.down[level - 1].count * s_.channels, half_, s_.half_stride);
    }
    for (std::int64_t j = 0; j < kRowGroup; ++j) {
      const std::uint16_t* half = half_ + j * s_.half_stride;
      if (level == 1 && k_.rows.source.channels != s_.channels) {
        move_pixels<kToFour>(half, x_.down[0].count, s_.spread);
        half = s_.spread;
      }
      std::uint16_t* row = level == top_ ? s_.top : down_row(level, y + j);
      with_pixel(s_.channels,
                 [&](auto pixel) HWY_ATTR { halve_columns<decltype(pixel)>(half, x_.down[level].count, ahead(level, j, half), row); });
      if (level == top_) {
        filter_columns_u16(k_.x, s_.channels, row, x_.up[level].count * s_.channels, ahead(level + 1, 0, row),
                           s_.ring + (y + j - y_.down[level].first) % s_.ring_rows * s_.ring_stride);
      }
    }
  }

  /// The next rows of a level on the way up.
  void make_up(std::size_t level) {
    const std::int64_t y = next_.up[level];
    next_.up[level] += kRowGroup;
    const std::int64_t count = x_.up[level].count * s_.channels;
    if (level == top_) {
      const std::int64_t radius = k_.y.radius();
      while (next_.down[level] < y + kRowGroup + radius) make_down(level);
      for (std::int64_t i = 0; i < 2 * radius + kRowGroup; ++i) {
        s_.rows[i] = s_.ring + (y - radius + i - y_.down[level].first) % s_.ring_rows * s_.ring_stride;
      }
      const U16 d;
      for (std::int64_t i = 0; i < count; i += static_cast<std::int64_t>(hn::Lanes(d))) {
        VecU16 sum0, sum1, sum2, sum3;
        sum_rows(k_.y, s_.rows, i, sum0, sum1, sum2, sum3);
        hn::StoreU(sum0, d, s_.group + i), hn::StoreU(sum1, d, s_.group + s_.group_stride + i);
        hn::StoreU(sum2, d, s_.group + 2 * s_.group_stride + i), hn::StoreU(sum3, d, s_.group + 3 * s_.group_stride + i);
      }
    } else {
      const std::uint16_t* rows[kRowGroup];
      up_rows(level + 1, y / 2 - 1, rows);
      double_rows(rows, count, s_.group, s_.group_stride);
    }
    for (std::int64_t j = 0; j < kRowGroup; ++j) {
      const std::uint16_t* row = s_.group + j * s_.group_stride;
      const bool packs = level == 1 && k_.rows.source.channels != s_.channels;
      std::uint16_t* out = packs ? s_.spread : up_row(level, y + j);
      with_pixel(s_.channels, [&](auto pixel) HWY_ATTR {
        double_columns<decltype(pixel)>(row, x_.up[level].count, ahead(level, kRowGroup + j, row), out);
      });
      if (packs) move_pixels<kToThree>(s_.spread, x_.up[0].count, up_row(level, y + j));
    }
  }

  const GaussPyramid& k_;
  const Source src_;
  const GaussPyramidScratch& s_;
  const PyramidAxis x_, y_;
  LevelRows next_;  ///< to make
  const std::size_t top_;
  const std::int64_t skip_;
  std::uint16_t* const half_;
};

void gauss_pyramid(const GaussPyramid& k, const Tile& tile) {
  const std::int64_t channels = k.rows.source.channels;
  const GaussPyramidScratch s(tile.scratch, tile.out.width, k.levels, k.x.radius(), k.y.radius(), static_cast<int>(channels));
  Pyramid pyramid(k, tile, s);
  const std::int64_t top = tile.origin_y + tile.out.y;
  const std::int64_t count = tile.out.width * channels;
  const WholeLines lines = whole_lines(tile, count);
  const std::int64_t begin = tile.rows_made() > 0 ? LevelRows::row_group_of(pyramid.y(), top + 1) : pyramid.y().up[0].first;
  for (std::int64_t y = begin; y < top + tile.out.height; y += kRowGroup) {
    const std::uint16_t* rows[kRowGroup];
    pyramid.up_rows(1, y / 2 - 1, rows);
    for (const std::uint16_t*& row : rows) row += pyramid.skip();
    const std::int64_t from = std::max<std::int64_t>(top - y, 0);
    const std::int64_t to = std::min(top + tile.out.height - y, kRowGroup);
    if (from >= to) continue;
    write_rows(tile, lines, y + from - top, from, to, count, s.out, s.out_stride,
               [&](auto store, std::int64_t first, std::int64_t last, std::uint8_t* out, std::int64_t stride)
                   HWY_ATTR { double_rows_to_bytes<decltype(store)::value>(rows, k.rounding, first, last, out, stride); });
  }
  finish_stores(tile);
}

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mollify::cpu {

HWY_EXPORT(gauss_pyramid);

void gauss_pyramid(const GaussPyramid& k, const Tile& tile) {
  HWY_DYNAMIC_DISPATCH(gauss_pyramid)(k, tile);
}

namespace scalar {

/// Level by level.
void gauss_pyramid(const GaussPyramid& k, const Tile& tile) {
  const auto channels = static_cast<std::size_t>(k.rows.source.channels);
  const PyramidAxis x(tile.origin_x + tile.out.x, tile.out.width, k.levels, k.x.radius());
  const PyramidAxis y(tile.origin_y + tile.out.y, tile.out.height, k.levels, k.y.radius());
  const auto mean = [](std::uint32_t a, std::uint32_t b) { return (a + b + 1) / 2; };
  using Pixel = std::array<std::uint32_t, 4>;
  struct Level {
    PyramidAxis::Span x, y;
    std::vector<Pixel> pixels;
    Level(PyramidAxis::Span columns, PyramidAxis::Span rows)
        : x(columns), y(rows), pixels(static_cast<std::size_t>(columns.count * rows.count)) {}
    Pixel& at(std::int64_t column, std::int64_t row) {
      return pixels[static_cast<std::size_t>((row - y.first) * x.count + column - x.first)];
    }
  };
  /// Every component of every pixel of a level: make(column, row, component).
  const auto fill = [&](Level& level, const auto& make) {
    for (std::int64_t row = level.y.first; row < level.y.first + level.y.count; ++row) {
      for (std::int64_t column = level.x.first; column < level.x.first + level.x.count; ++column) {
        for (std::size_t c = 0; c < channels; ++c) level.at(column, row)[c] = make(column, row, c);
      }
    }
  };
  const auto halve = [&](const auto& at) { return mean(mean(at(-1), at(1)), mean(mean(mean(at(-2), at(2)), at(0)), at(0))); };
  /// A pixel between those that at() gives, of which number 0 lies at half its coordinate.
  const auto twice = [&](std::int64_t p, const auto& at) {
    return p % 2 == 0 ? mean(mean(mean(at(-1), at(1)), at(0)), at(0)) : mean(at(0), at(1));
  };

  Level level(x.down[0], y.down[0]);
  fill(level, [&](std::int64_t column, std::int64_t row, std::size_t c) {
    return static_cast<std::uint32_t>(read_pixel<float>(k.rows, tile.src, column, row)[c]) << 8;
  });
  for (std::size_t l = 1; l <= static_cast<std::size_t>(k.levels); ++l) {
    Level next(x.down[l], y.down[l]);
    fill(next, [&](std::int64_t column, std::int64_t row, std::size_t c) {
      return halve([&](std::int64_t i) { return halve([&](std::int64_t j) { return level.at(2 * column + i, 2 * row + j)[c]; }); });
    });
    level = std::move(next);
  }
  const auto top = static_cast<std::size_t>(k.levels);
  Level blurred(x.up[top], y.up[top]);
  fill(blurred, [&](std::int64_t column, std::int64_t row, std::size_t c) {
    return filtered_fixed(
        k.y, [&](std::int64_t j) { return filtered_fixed(k.x, [&](std::int64_t i) { return level.at(column + i, row + j)[c]; }); });
  });
  for (std::size_t l = top; l > 0; --l) {
    Level next(x.up[l - 1], y.up[l - 1]);
    fill(next, [&](std::int64_t column, std::int64_t row, std::size_t c) {
      return twice(row, [&](std::int64_t j) {
        return twice(column, [&](std::int64_t i) { return blurred.at((column - (column & 1)) / 2 + i, (row - (row & 1)) / 2 + j)[c]; });
      });
    });
    blurred = std::move(next);
  }
  for_each_pixel<float>(k.rows, tile, [&](std::int64_t column, std::int64_t row) {
    std::array<float, 4> out{};
    for (std::size_t c = 0; c < channels; ++c) out[c] = static_cast<float>((blurred.at(column, row)[c] + k.rounding) >> 8);
    return out;
  });
}

}  // namespace scalar
}  // namespace mollify::cpu
#endif  // HWY_ONCE
