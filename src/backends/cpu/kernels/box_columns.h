// The columns that one tile of box.any sums over: which the image holds, and how the others follow from them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backends/cpu/kernels/kernels.h"
#include "base/border.h"

namespace mollify::cpu {

/// The columns of one tile with their halo. A column outside the image has the sum of the column that it repeats, so no
/// source pixel is read for it, unless that one belongs to another tile.
struct BoxColumns {
  const BoxAny& box;
  const Source& src;
  std::int64_t x;  ///< source column of pixel 0
  std::int64_t pixels;
  std::int64_t first, last;          ///< [first, last) lie inside the image
  bool left_repeats, right_repeats;  ///< columns before `first`, from `last` on: follow from others of this tile

  BoxColumns(const BoxAny& b, const Tile& tile)
      : box(b),
        src(tile.src),
        x(tile.origin_x + tile.out.x * b.rows.step.x - b.x.reach_before()),
        pixels(b.windows_across(tile.out.width) + b.x.reach_before() + b.x.reach_after()),
        first(std::clamp<std::int64_t>(-x, 0, pixels)),
        last(std::clamp<std::int64_t>(src.desc.width - x, first, pixels)),
        left_repeats(repeats(0, first)),
        right_repeats(repeats(last, pixels)) {}

  /// The stored row that stands for row y, or null for the border's constant: column 0, see Source::row(). It is read at the tile's own
  /// columns, or at this one.
  template <class S>
  [[nodiscard]] const S* row(std::int64_t y, std::int64_t column) const {
    const std::int64_t inside = map_index(box.rows.border.mode.y, y, src.desc.height);
    return inside == kOutside ? nullptr : reinterpret_cast<const S*>(src.row(inside, column));
  }
  template <class S>
  [[nodiscard]] const S* row(std::int64_t y) const {
    return row<S>(y, x + first);
  }

  /// Of pixel i, which lies outside the image: the source column that it repeats, or kOutside.
  [[nodiscard]] std::int64_t inside(std::int64_t i) const { return map_index(box.rows.border.mode.x, x + i, src.desc.width); }

  /// Calls stray(i, source column) for pixels outside the image that repeat columns of other tiles.
  template <class Stray>
  void for_strays(const Stray& stray) const {
    const auto range = [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t i = from; i < to; ++i) stray(i, inside(i));
    };
    if (!left_repeats) range(0, first);
    if (!right_repeats) range(last, pixels);
  }

  /// Fills the pixels outside the image but the strays; `elements` numbers make a pixel, `outside` is one beyond a
  /// constant border.
  template <int kElements, class T>
  void repeat(const T* outside, T* row) const {
    repeat_left<kElements>(outside, row);
    repeat_right<kElements>(outside, row);
  }

  template <int kElements, class T>
  void repeat_left(const T* outside, T* row) const {
    if (left_repeats) fill<kElements>(0, first, outside, row);
  }

  template <int kElements, class T>
  void repeat_right(const T* outside, T* row) const {
    if (right_repeats) fill<kElements>(last, pixels, outside, row);
  }

  /// Those before this pixel are all that repeat_left() needs.
  [[nodiscard]] std::int64_t left_end() const {
    std::int64_t end = first;
    for (std::int64_t i = 0; left_repeats && i < first; ++i) end = std::max(end, inside(i) - x + 1);
    return end;
  }

 private:
  template <int kElements, class T>
  void fill(std::int64_t from, std::int64_t to, const T* outside, T* row) const {
    const auto put = [&](const T* pixel, std::int64_t i) { std::copy_n(pixel, kElements, row + i * kElements); };
    if (box.rows.border.mode.x == BorderMode::clamp) {  // quickly
      const T* edge = row + (from < first ? first : last - 1) * kElements;
      for (std::int64_t i = from; i < to; ++i) put(edge, i);
      return;
    }
    for (std::int64_t i = from; i < to; ++i) {
      const std::int64_t column = inside(i);
      put(column == kOutside ? outside : row + (column - x) * kElements, i);
    }
  }

  [[nodiscard]] bool repeats(std::int64_t from, std::int64_t to) const {
    for (std::int64_t i = from; i < to; ++i) {
      const std::int64_t column = inside(i);
      if (column != kOutside && (column < x + first || column >= x + last)) return false;
    }
    return true;
  }
};

}  // namespace mollify::cpu
