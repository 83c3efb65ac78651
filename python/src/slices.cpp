#include "slices.h"

#include <algorithm>
#include <set>
#include <utility>

namespace mollify::python {
namespace {

/// The rows of the source that these rectangles have, in order.
SliceRanges rows_of(std::vector<Rect> rects) {
  std::ranges::sort(rects, std::less<>(), &Rect::y);
  SliceRanges out;
  for (const Rect& rect : rects) {
    const std::int64_t end = std::int64_t{rect.y} + rect.height;
    if (!out.empty() && rect.y <= out.back().first + out.back().second) {
      out.back().second = std::max(out.back().second, end - out.back().first);
    } else {
      out.emplace_back(rect.y, rect.height);
    }
  }
  return out;
}

std::int64_t count_of(const SliceRanges& ranges) {
  std::int64_t out = 0;
  for (const auto& [first, count] : ranges) out += count;
  return out;
}

template <class Body>
void for_each_slice(const SliceRanges& ranges, const Body& body) {
  for (const auto& [first, count] : ranges) {
    for (std::int64_t slice = first; slice < first + count; ++slice) body(slice);
  }
}

bool contains(const SliceRanges& ranges, std::int64_t slice) {
  return std::ranges::any_of(ranges, [&](const auto& range) { return slice >= range.first && slice < range.first + range.second; });
}

/// Whether no slice is dropped and needed again.
bool makes_each_once(const std::vector<SliceRanges>& needs) {
  std::set<std::int64_t> made;
  const SliceRanges* before = nullptr;
  for (const SliceRanges& needed : needs) {
    bool is_new = true;
    for_each_slice(needed, [&](std::int64_t slice) {
      if (before != nullptr && contains(*before, slice)) return;
      is_new = made.insert(slice).second && is_new;
    });
    if (!is_new) return false;
    before = &needed;
  }
  return true;
}

}  // namespace

std::optional<SliceBlocks> SliceBlocks::make(const Plan& across, std::int64_t slice_bytes, bool may_repeat) {
  constexpr std::int64_t kLeastBytes = std::int64_t{64} << 20;  // that the whole array has
  constexpr std::int64_t kRoughBytes = std::int64_t{16} << 20;  // that slices take
  constexpr std::int64_t kLeastSliceBytes = std::int64_t{64} << 10;
  constexpr std::int64_t kLeastOfReach = 4;  // rows of a block, in what it needs besides; these are read again
  SliceBlocks out;
  out.height_ = across.dst.height;
  if (slice_bytes < kLeastSliceBytes || !across.halo || across.src.height != across.dst.height || out.height_ * slice_bytes < kLeastBytes)
    return std::nullopt;
  const std::int64_t reach = across.halo->y.before.pixels + across.halo->y.after.pixels;
  out.rows_ = std::max<std::int64_t>({kRoughBytes / slice_bytes - reach, kLeastOfReach * reach, 1});
  for (std::int64_t y = 0; y < out.height_; y += out.rows_) {
    const std::int64_t rows = std::min(out.rows_, out.height_ - y);
    Result<std::vector<Rect>> source =
        across.source_region({0, static_cast<std::int32_t>(y), across.dst.width, static_cast<std::int32_t>(rows)});
    if (!source) return std::nullopt;
    out.needs_.push_back(rows_of(std::move(*source)));
    out.capacity_ = std::max(out.capacity_, count_of(out.needs_.back()));
  }
  if (2 * out.capacity_ > out.height_ || (!may_repeat && !makes_each_once(out.needs_))) return std::nullopt;
  return out;
}

std::vector<SliceRing::Made> SliceRing::take_in(const SliceRanges& needed) {
  for (std::int64_t& slice : slices_) {
    if (slice == kNone || contains(needed, slice)) continue;
    slot_of(slice) = kNone;
    slice = kNone;
  }
  std::vector<Made> out;
  for_each_slice(needed, [&](std::int64_t slice) {
    if (slot_of(slice) != kNone) return;
    while (slices_[next_] != kNone) next_ = (next_ + 1) % slices_.size();
    slices_[next_] = slice;
    slot_of(slice) = static_cast<std::int64_t>(next_);
    out.push_back({slice, slot_of(slice)});
  });
  return out;
}

std::vector<SliceRing::Part> SliceRing::parts(const SliceRanges& needed) {
  std::vector<Part> out;
  for_each_slice(needed, [&](std::int64_t slice) {
    const std::int64_t slot = slot_of(slice);
    if (!out.empty() && out.back().slice + out.back().count == slice && out.back().slot + out.back().count == slot) {
      ++out.back().count;
    } else {
      out.push_back({slice, slot, 1});
    }
  });
  return out;
}

std::optional<SliceAxes> slice_axes(const ImageLayout& first, const ImageLayout& second) {
  if (!second.y_axis || second.x_axis) return std::nullopt;
  SliceAxes out;
  bool is_found = false;
  for (const RunAxis& axis : first.images) {
    if (axis.dst_stride == second.src_row_bytes && axis.extent == second.height) {
      out.across = axis;
      is_found = true;
      continue;
    }
    const auto of_second = std::ranges::find(second.images, axis.dst_stride, &RunAxis::src_stride);
    if (of_second == second.images.end()) {
      out.inside.push_back(axis);
    } else {
      out.outside.push_back({axis.extent, axis.src_stride, of_second->dst_stride, false});
    }
  }
  if (!is_found || out.outside.size() != second.images.size()) return std::nullopt;
  return out;
}

}  // namespace mollify::python
