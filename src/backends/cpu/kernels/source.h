// The source as kernels see it: an image of the whole's shape, of which only parts may lie in memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/source_needs.h"
#include "mollify/image.h"

namespace mollify::cpu {

/// Coordinates are those of the whole.
class Source {
 public:
  Source(const ConstImageView& whole) : desc(whole.desc), whole_(whole) {}  // NOLINT(google-explicit-constructor)
  /// Each row of `needs` lies in one of the windows as far as a span of its columns reaches.
  Source(const ImageDesc& whole, std::span<const ConstWindow> windows, const SourceNeeds& needs)
      : desc(whole), windows_(windows), columns_(needs.columns) {}

  /// Where column 0 of row y would be stored, if its other columns lay before and behind column x as they do in the whole. From there, all
  /// needed columns of one span can be read. Kernels read several rows at once, and some that no result depends on. Such a row may not be
  /// stored; the nearest that is stored stands in for it.
  [[nodiscard]] const std::byte* row(std::int64_t y, std::int64_t x) const {
    return windows_.empty() ? whole_.row(y) : row_in_windows(y, x);
  }

  ImageDesc desc;  ///< of the whole

 private:
  [[nodiscard]] const std::byte* row_in_windows(std::int64_t y, std::int64_t x) const;

  ConstImageView whole_;
  std::span<const ConstWindow> windows_;
  AxisSpans columns_;
};

}  // namespace mollify::cpu
