#include "base/source_region.h"

#include <algorithm>
#include <string>

#include "base/places.h"

namespace mollify {
namespace {

/// Where the block that holds pixel i begins.
std::int64_t block_begin(const HaloEdge& edge, std::int64_t i) {
  const std::int64_t within = (i - edge.offset) % edge.block;
  return i - (within < 0 ? within + edge.block : within);
}

/// What mirrored pixels come to lies next to the end of the image that they are beyond: this far from it, counted from `distance` pixels
/// beyond it, of which the first is at distance 1.
std::int64_t mirrored_depth(BorderMode mode, std::int64_t distance) {
  return mode == BorderMode::mirror ? distance + 1 : distance;
}

/// The first row from y on that no window holds these columns of.
std::int64_t held_until(std::span<const ConstWindow> windows, Span columns, std::int64_t y) {
  for (const ConstWindow& window : windows) {
    const Span rows{window.y, std::int64_t{window.y} + window.pixels.desc.height};
    if (holds_columns(window, columns) && rows.holds(y)) return held_until(windows, columns, rows.end);
  }
  return y;
}

Error lacks(Span columns, Span rows) {
  const auto text = [](Span span) { return std::to_string(span.begin) + " to " + std::to_string(span.end - 1); };
  return {ErrorCode::invalid_argument,
          "no window of the source has row " + std::to_string(rows.begin) + " with its columns " + text(columns) + "; rows up to " +
              std::to_string(rows.end - 1) + " are needed: see Plan::source_region()",
          {}};
}

}  // namespace

AxisSpans::AxisSpans(Span first, Span second) : AxisSpans(first) {
  if (second.begin < first.begin) std::swap(first, second);
  if (second.begin <= first.end) {
    spans_[0] = {first.begin, std::max(first.end, second.end)};
    return;
  }
  spans_ = {first, second};
  count_ = 2;
}

AxisSpans stored_spans(BorderMode mode, Span read, std::int64_t length) {
  read.begin = std::min(read.begin, length - 1);  // the places of a stride may lie behind the last pixel
  const Span inside{std::max<std::int64_t>(read.begin, 0), std::min(read.end, length)};
  const std::int64_t before = std::max<std::int64_t>(-read.begin, 0);
  const std::int64_t after = std::max<std::int64_t>(read.end - length, 0);
  const Span whole{0, length};
  switch (mode) {
    case BorderMode::clamp:
    case BorderMode::constant:
      return AxisSpans(inside);
    case BorderMode::mirror:
    case BorderMode::reflect: {
      const std::int64_t end = before > 0 ? std::max(inside.end, mirrored_depth(mode, before)) : inside.end;
      const std::int64_t begin = after > 0 ? std::min(inside.begin, length - mirrored_depth(mode, after)) : inside.begin;
      return AxisSpans({std::max<std::int64_t>(begin, 0), std::min(end, length)});
    }
    case BorderMode::wrap:
      if (read.size() >= length) return AxisSpans(whole);
      if (before > 0) return {inside, {length - before, length}};
      if (after > 0) return {inside, {0, after}};
      return AxisSpans(inside);
  }
  return AxisSpans(whole);
}

Span span_with_halo(const Halo& halo, Span made) {
  return {block_begin(halo.before, made.begin) - halo.before.pixels, block_begin(halo.after, made.end - 1) + halo.after.pixels + 1};
}

SourceNeeds source_needs(const Plan& plan, const Rect& destination) {
  const PerAxis<AxisPlaces> places = places_of(plan.spec);
  const PerAxis<BorderMode>& mode = plan.spec.border.mode;
  const Span columns = span_with_halo(plan.halo->x, places.x.of({destination.x, std::int64_t{destination.x} + destination.width}));
  const Span rows = span_with_halo(plan.halo->y, places.y.of({destination.y, std::int64_t{destination.y} + destination.height}));
  return {stored_spans(mode.x, columns, plan.src.width), stored_spans(mode.y, rows, plan.src.height)};
}

Status check_windows_hold(std::span<const ConstWindow> windows, const SourceNeeds& needs) {
  for (const Span& columns : needs.columns) {
    for (const Span& rows : needs.rows) {
      const std::int64_t missing = held_until(windows, columns, rows.begin);
      if (missing < rows.end) return lacks(columns, {missing, rows.end});
    }
  }
  return {};
}

Status check_within(std::string_view what, const Rect& window, const ImageDesc& whole) {
  const auto is_within = [](std::int64_t first, std::int64_t length, std::int64_t all) {
    return first >= 0 && length > 0 && first + length <= all;
  };
  if (is_within(window.x, window.width, whole.width) && is_within(window.y, window.height, whole.height)) return {};
  return Error{ErrorCode::invalid_argument,
               "the window " + to_text(window) + " does not lie in the " + std::string(what) + ", which is " + std::to_string(whole.width) +
                   "x" + std::to_string(whole.height),
               {}};
}

Status check_destination(const Plan& plan, const Rect& destination) {
  if (Status s = check_within("destination", destination, plan.dst); !s) return s;
  if (!plan.halo) {
    return Error{ErrorCode::unsupported,
                 plan.algorithm.id + " does not run on windows on the " + std::string(name(plan.device.backend)) + " backend",
                 {}};
  }
  return {};
}

std::string to_text(const Rect& rect) {
  return std::to_string(rect.width) + "x" + std::to_string(rect.height) + "+" + std::to_string(rect.x) + "+" + std::to_string(rect.y);
}

Result<std::vector<Rect>> Plan::source_region(const Rect& destination) const {
  if (Status s = check_destination(*this, destination); !s) return s.error();
  const SourceNeeds needs = source_needs(*this, destination);
  std::vector<Rect> region;
  for (const Span& rows : needs.rows) {
    for (const Span& columns : needs.columns) {
      region.push_back({static_cast<std::int32_t>(columns.begin), static_cast<std::int32_t>(rows.begin),
                        static_cast<std::int32_t>(columns.size()), static_cast<std::int32_t>(rows.size())});
    }
  }
  return region;
}

}  // namespace mollify
