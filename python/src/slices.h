// Two runs of which the second goes across the images that the first makes: a volume by slices, of which only those are kept that are
// still needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "layout.h"
#include "mollify/plan.h"

namespace mollify::python {

/// Slices that a block of slices of the result is made of, by their numbers: ranges of the first and the number of them, in order.
using SliceRanges = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// How the images of the first run are counted.
struct SliceAxes {
  RunAxis across;                ///< the axis that the second run blurs: one step along it is one slice
  std::vector<RunAxis> inside;   ///< images of one slice
  std::vector<RunAxis> outside;  ///< arrays of slices; their strides in the destination are those of the second run
};

/// The blocks in which an axis of slices is made, and how many slices have to be there at a time.
class SliceBlocks {
 public:
  /// Nothing where they would save no memory to speak of, or where the second run cannot make a part of its result. `may_repeat`: whether a
  /// slice that is needed again later, as where a border wraps, may be made again then.
  [[nodiscard]] static std::optional<SliceBlocks> make(const Plan& across, std::int64_t slice_bytes, bool may_repeat);

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t height() const { return height_; }
  [[nodiscard]] std::int64_t capacity() const { return capacity_; }
  [[nodiscard]] const SliceRanges& needs(std::int64_t block) const { return needs_[static_cast<std::size_t>(block)]; }
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(needs_.size()); }

 private:
  std::int64_t rows_ = 0;  ///< slices of a block
  std::int64_t height_ = 0;
  std::int64_t capacity_ = 0;
  std::vector<SliceRanges> needs_;
};

/// The slices that are there, in a memory with room for some of them.
class SliceRing {
 public:
  explicit SliceRing(const SliceBlocks& blocks)
      : slices_(static_cast<std::size_t>(blocks.capacity()), kNone), slots_(static_cast<std::size_t>(blocks.height()), kNone) {}

  struct Made {
    std::int64_t slice;
    std::int64_t slot;
  };
  /// Makes room for what is needed and not there: which slices have to be made, and where.
  [[nodiscard]] std::vector<Made> take_in(const SliceRanges& needed);
  /// Where slices lie one after the other.
  struct Part {
    std::int64_t slice;
    std::int64_t slot;
    std::int64_t count;
  };
  [[nodiscard]] std::vector<Part> parts(const SliceRanges& needed);

 private:
  static constexpr std::int64_t kNone = -1;
  [[nodiscard]] std::int64_t& slot_of(std::int64_t slice) { return slots_[static_cast<std::size_t>(slice)]; }

  std::vector<std::int64_t> slices_;  ///< by slot
  std::vector<std::int64_t> slots_;   ///< by slice
  std::size_t next_ = 0;              ///< the slot where to look for room first, so that neighbours lie together
};

/// The axes of the images of `first`, seen from `second`, which goes across them. Nothing where it does not.
[[nodiscard]] std::optional<SliceAxes> slice_axes(const ImageLayout& first, const ImageLayout& second);

}  // namespace mollify::python
