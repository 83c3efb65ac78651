// Which source rows tiles take that are made from top to bottom in the same scratch memory, whatever their heights.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backends/cpu/kernels/gauss_coarse.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/level_rows.h"

namespace mollify::cpu {

/// Rows as they go on beyond the image.
struct ColumnReads {
  std::int64_t until = 0;  ///< The rows made so far need none from here on.
  std::int64_t from = 0;   ///< Those that are made next need none before this one.
};

/// To make the rows that lie where source rows [first, end) do.
template <class T>
[[nodiscard]] ColumnReads column_reads(const SepFused<T>& k, std::int64_t /*first*/, std::int64_t end) {
  const std::int64_t until = end + k.y.size() - 1 - k.y.before;
  return {until, std::max(until, end - 1 + k.rows.step.y - k.y.before)};
}

[[nodiscard]] inline ColumnReads column_reads(const SepFusedU8& k, std::int64_t /*first*/, std::int64_t end) {
  const std::int64_t until = end + k.y.after();
  return {until, std::max(until, end - 1 + k.rows.step.y - k.y.radius())};
}

template <class T>
[[nodiscard]] ColumnReads column_reads(const NxnDirect<T>& k, std::int64_t /*first*/, std::int64_t end) {
  const std::int64_t until = end + k.height - 1 - k.before_y;
  return {until, until};
}

/// The row that has left the window is needed when the next enters.
[[nodiscard]] inline ColumnReads column_reads(const BoxAny& k, std::int64_t /*first*/, std::int64_t end) {
  return {end + k.y.reach_after(), end - 1 - k.y.before};
}

[[nodiscard]] inline ColumnReads column_reads(const GaussPyramid& k, std::int64_t first, std::int64_t end) {
  const PyramidAxis axis(first, end - first, k.levels, k.y.radius());
  const LevelRows rows(axis, k.levels, k.y.radius(), end);
  return {rows.source_until(), rows.source_from()};
}

/// The end of the source rows that are in the ring when the rows before `end` are made.
[[nodiscard]] inline std::int64_t cut_loads_until(const GaussCut& k, const PyramidAxis& axis, const LevelRows& rows, std::int64_t end) {
  return std::max(rows.source_until(), LevelRows::row_group_of(axis, end) + kRowGroup + k.y.radius);
}

[[nodiscard]] inline ColumnReads column_reads(const GaussCut& k, std::int64_t first, std::int64_t end) {
  const PyramidAxis axis(first, end - first, k.y.levels, k.y.reach());
  const std::int64_t until = cut_loads_until(k, axis, LevelRows(axis, k.y.levels, k.y.reach(), end), end);
  return {until, until};
}

/// What the coarse rows take that pixels are expanded from.
[[nodiscard]] inline ColumnReads column_reads(const GaussExpand& k, std::int64_t first, std::int64_t end) {
  const std::int64_t samples = k.grid.first.y + CoarseNeeds(k).y.of({first, end}).end;
  const DecimatedAxis& axis = k.axis.y;
  const std::int64_t until = (samples - 1 + axis.support - axis.added) * axis.factor - (axis.centre - axis.added);
  return {until, until};
}

[[nodiscard]] inline ColumnReads column_reads(const GaussOnePass& k, std::int64_t first, std::int64_t end) {
  return column_reads(k.expand, first, end);
}

[[nodiscard]] inline ColumnReads column_reads(const GaussCutTails& k, std::int64_t first, std::int64_t end) {
  ColumnReads all = column_reads(k.whole, first, end);
  if (k.down) {
    const ColumnReads reads = column_reads(*k.down, first, end);
    all = {std::max(all.until, reads.until), std::min(all.from, reads.from)};
  }
  return all;
}

}  // namespace mollify::cpu
