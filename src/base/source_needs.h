// The source pixels that a rectangle of the destination is made from: spans of columns and of rows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "mollify/image.h"
#include "mollify/spec.h"

namespace mollify {

/// Pixels [begin, end) of one axis.
struct Span {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
  [[nodiscard]] bool holds(std::int64_t i) const { return i >= begin && i < end; }
  bool operator==(const Span&) const = default;
};

/// One span of an axis, or two where its border wraps.
class AxisSpans {
 public:
  AxisSpans() = default;
  explicit AxisSpans(Span only) : spans_{only, {}}, count_(1) {}
  /// Spans in any order; they become one where they meet.
  AxisSpans(Span first, Span second);
  [[nodiscard]] const Span* begin() const { return spans_.data(); }
  [[nodiscard]] const Span* end() const { return spans_.data() + count_; }

 private:
  std::array<Span, 2> spans_;
  std::ptrdiff_t count_ = 0;
};

/// The pixels that `read` comes to on an axis of `length` pixels. Some or all may lie outside, but they do not all lie before pixel 0.
[[nodiscard]] AxisSpans stored_spans(BorderMode mode, Span read, std::int64_t length);

/// Every pair of a column span and a row span is a rectangle.
struct SourceNeeds {
  AxisSpans columns;
  AxisSpans rows;
};

/// Whether rows of the window hold all of these columns of the whole.
[[nodiscard]] inline bool holds_columns(const ConstWindow& window, Span columns) {
  return window.x <= columns.begin && columns.end <= std::int64_t{window.x} + window.pixels.desc.width;
}

}  // namespace mollify
