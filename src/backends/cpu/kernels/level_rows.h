// How far the levels of a pyramid are made when a tile has made its rows down to some row. Kernels make rows of a level when others ask for
// them, kRowGroup at a time, so this follows from the rows alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/layout.h"

namespace mollify::cpu {

/// The next row of each level to be made, on the way down and on the way up. Rows are counted as PyramidAxis counts them.
struct LevelRows {
  std::array<std::int64_t, kMaxPyramidLevels + 1> down{}, up{};

  /// Nothing is made yet.
  LevelRows(const PyramidAxis& axis, int levels) {
    for (std::size_t level = 1; level <= static_cast<std::size_t>(levels); ++level) {
      down[level] = axis.down[level].first;
      up[level] = axis.up[level].first;
    }
  }

  /// All rows of the image before `end` are made, at least one. `radius` is how far the last level is blurred.
  LevelRows(const PyramidAxis& axis, int levels, std::int64_t radius, std::int64_t end) : LevelRows(axis, levels) {
    const auto top = static_cast<std::size_t>(levels);
    std::int64_t asks = row_group_of(axis, end);  // where the last row group begins that asks for rows of the level above
    for (std::size_t level = 1; level <= top; ++level) {
      make(up[level], asks / 2 - 1 + kRowGroup);
      asks = up[level] - kRowGroup;
    }
    make(down[top], asks + kRowGroup + radius);
    for (std::size_t level = top; level > 1; --level) make(down[level - 1], below(level) + kHalvedRows);
  }

  /// Where the row group of image rows begins that holds the last row before `end`.
  [[nodiscard]] static std::int64_t row_group_of(const PyramidAxis& axis, std::int64_t end) {
    return axis.up[0].first + (end - 1 - axis.up[0].first) / kRowGroup * kRowGroup;
  }

  /// The end of the source rows that the first level is made from so far, and the first row that its next row group is made from.
  [[nodiscard]] std::int64_t source_until() const { return below(1) + kHalvedRows; }
  [[nodiscard]] std::int64_t source_from() const { return 2 * down[1] - 2; }

 private:
  /// The first row below a level that its last row group is made from.
  [[nodiscard]] std::int64_t below(std::size_t level) const { return 2 * (down[level] - kRowGroup) - 2; }

  /// Whole row groups, until rows before `end` are made.
  static void make(std::int64_t& next, std::int64_t end) {
    if (next < end) next += (end - next + kRowGroup - 1) / kRowGroup * kRowGroup;
  }
};

}  // namespace mollify::cpu
