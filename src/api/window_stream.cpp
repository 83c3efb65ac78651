#include "api/window_stream.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "api/window_plans.h"
#include "base/border.h"
#include "base/gpu_images.h"
#include "base/places.h"
#include "base/source_region.h"
#include "planner/window_plan.h"

namespace mollify {
namespace {

// While the host copies the rows of one, the device transfers and blurs the other.
constexpr std::size_t kInFlight = 2;

/// A window as wide as the destination.
struct StripWindow {
  Span made;  ///< rows of the destination
  WindowImage image;
  Span given;         ///< rows of the source that come from the caller: the others of the image are not read
  std::int32_t kept;  ///< first rows of the image that the window above has got already
  std::size_t shape = 0;
};

/// Windows of one shape take turns with the same slots.
struct Shape {
  ImageDesc src;
  Rect region;
  PerAxis<Stride> stride;
  std::int32_t kept = 0;
  std::vector<std::unique_ptr<WindowSlot>> slots;
  std::int64_t slot_bytes = 0;

  [[nodiscard]] bool is_of(const StripWindow& window) const {
    return src.width == window.image.source.x.size() && src.height == window.image.source.y.size() && region == window.image.region &&
           stride == window.image.stride && kept == window.kept;
  }
};

/// What the larger image of a window has at least: as much as a piece that travels by itself. Windows of small images are smaller, so that
/// the first rows of the result are ready before the last ones of the source are there.
std::int64_t bytes_of_windows(const Plan& plan) {
  constexpr std::int64_t kMostBytes = 8 << 20, kWindows = 16;
  return std::min(std::max(plan.src.payload_bytes(), plan.dst.payload_bytes()) / kWindows, kMostBytes);
}

std::vector<StripWindow> windows_of(const Plan& plan, std::int64_t rows) {
  const Span needed = [&] {
    const SourceNeeds needs = source_needs(plan, {0, 0, plan.dst.width, plan.dst.height});
    return Span{needs.rows.begin()->begin, (needs.rows.end() - 1)->end};
  }();
  std::vector<StripWindow> windows;
  for (const Span& made : full_width_strips(plan, rows)) {
    StripWindow window;
    window.made = made;
    window.image = window_image(plan, {0, static_cast<std::int32_t>(made.begin), plan.dst.width, static_cast<std::int32_t>(made.size())});
    const Span& rows_of_image = window.image.source.y;
    window.given = {std::max(rows_of_image.begin, needed.begin), std::min(rows_of_image.end, needed.end)};
    const std::int64_t known = windows.empty() ? rows_of_image.begin : windows.back().given.end;
    window.kept = static_cast<std::int32_t>(std::clamp<std::int64_t>(known - rows_of_image.begin, 0, rows_of_image.size()));
    windows.push_back(window);
  }
  return windows;
}

/// Whether each window needs rows of the image that are neither above those of the one before it nor end before them.
bool go_down(const std::vector<StripWindow>& windows) {
  return std::ranges::adjacent_find(windows, [](const StripWindow& above, const StripWindow& below) {
           return below.image.source.y.begin < above.image.source.y.begin || below.given.end < above.given.end;
         }) == windows.end();
}

/// High enough that the halo of one lies in it and in the one above.
std::vector<StripWindow> windows_for_stream(const Plan& plan) {
  const std::int64_t step = places_of(plan.spec).y.step;
  const std::int64_t row_bytes = std::max(step * plan.src.row_payload_bytes(), plan.dst.row_payload_bytes());
  const std::int64_t reach = 2 * std::max(plan.halo->y.before.pixels, plan.halo->y.after.pixels) + 2;
  std::int64_t rows = std::max({bytes_of_windows(plan) / row_bytes, (reach + step - 1) / step, std::int64_t{1}});
  std::vector<StripWindow> windows = windows_of(plan, rows);
  while (windows.size() > 1 && !go_down(windows)) windows = windows_of(plan, rows *= 2);
  return windows;
}

/// Calls `part(of_row, x)` for the columns of whole rows that these come to, which may wrap.
template <class Part>
void for_columns(Span columns, std::int32_t width, const Part& part) {
  for (std::int64_t x = columns.begin; x < columns.end;) {
    const std::int64_t inside = map_index(BorderMode::wrap, x, width);
    const std::int64_t count = std::min<std::int64_t>(columns.end - x, width - inside);
    part(Span{inside, inside + count}, static_cast<std::int32_t>(x - columns.begin));
    x += count;
  }
}

class WindowStream final : public StreamImpl {
 public:
  explicit WindowStream(const ExecutableImpl& whole) : plan_(whole.plan()), windows_(windows_for_stream(plan_)) {}
  WindowStream(const WindowStream&) = delete;
  WindowStream& operator=(const WindowStream&) = delete;
  /// A window copies rows on the device from the one above, so all are waited for before any goes.
  ~WindowStream() override {
    for (; waited_ < started_; ++waited_) (void)slot(waited_).wait();
  }

  [[nodiscard]] Status allocate(const ExecutableImpl& whole) {
    const auto width = static_cast<std::int32_t>(windows_.front().image.source.x.size());
    Result<Image> zeros = Image::create({width, 1, plan_.src.format});
    if (!zeros) return zeros.error();
    zeros_ = std::move(*zeros);
    std::memset(zeros_.view().row(0), 0, static_cast<std::size_t>(zeros_.desc().row_payload_bytes()));
    for (StripWindow& window : windows_) {
      const auto known = std::ranges::find_if(shapes_, [&](const Shape& shape) { return shape.is_of(window); });
      window.shape = static_cast<std::size_t>(known - shapes_.begin());
      if (known == shapes_.end()) {
        if (Status s = add_shape(whole, window); !s) return s;
      }
      Shape& shape = shapes_[window.shape];
      if (shape.slots.size() == kInFlight) continue;
      Result<std::unique_ptr<WindowSlot>> slot = executables_[window.shape]->make_window_slot(window.kept);
      if (!slot) return slot.error();
      shape.slots.push_back(std::move(*slot));
    }
    return {};
  }

  /// The rows of a window are ready when the source of the one below has been given as well: then that is under way meanwhile.
  [[nodiscard]] Reads reads(std::int32_t end) const override {
    const std::size_t made = end > 0 ? window_of(end - 1) : 0, next = window_of(end);
    return {windows_[std::min(made + 1, windows_.size() - 1)].given.end,
            windows_[std::min(next + kInFlight - 1, windows_.size() - 1)].given.end};
  }
  [[nodiscard]] bool reads_ahead() const override { return true; }

  [[nodiscard]] std::int64_t scratch_bytes(std::int32_t /*rows*/) const override {
    std::int64_t bytes = 0;
    for (const Shape& shape : shapes_) bytes += static_cast<std::int64_t>(shape.slots.size()) * shape.slot_bytes;
    return bytes;
  }

  [[nodiscard]] Status run(std::span<const ConstWindow> src, const ImageView& dst, std::span<const PixelCopy> copies,
                           const RunControl& control) override {
    for (std::int32_t done = 0;;) {
      if (control.stop != nullptr && control.stop->load()) return Error{ErrorCode::stopped, "the run was stopped", {}};
      if (Status s = start_windows(src); !s) return s;
      if (done == dst.desc.height) break;
      const StripWindow& window = windows_[taking_];
      if (waited_ == taking_) {
        if (Status s = slot(waited_++).wait(); !s) return s;
      }
      const auto rows = static_cast<std::int32_t>(std::min<std::int64_t>(window.made.end - made_, dst.desc.height - done));
      slot(taking_).take(static_cast<std::int32_t>(made_ - window.made.begin), crop(dst, {0, done, dst.desc.width, rows}));
      made_ += rows;
      done += rows;
      if (made_ == window.made.end) ++taking_;
      if (control.finished_pixels != nullptr) {
        control.finished_pixels->fetch_add(std::int64_t{dst.desc.width} * rows, std::memory_order_relaxed);
      }
    }
    copy(copies);
    return {};
  }

  void copy(std::span<const PixelCopy> copies) override {
    for (const auto& [from, to] : copies) {
      for (std::int32_t y = 0; y < from.desc.height; ++y) {
        std::memcpy(to.row(y), from.row(y), static_cast<std::size_t>(from.desc.row_payload_bytes()));
      }
    }
  }

 private:
  [[nodiscard]] Status add_shape(const ExecutableImpl& whole, const StripWindow& window) {
    const Result<Plan> plan = window_plan_of(whole.plan(), window.image);
    if (!plan) return plan.error();
    if (exceed_bindings(plan->passes, plan->src, plan->dst, plan->intermediates, plan->device.gpu)) {
      return Error{ErrorCode::unsupported,
                   "a strip of " + std::to_string(plan->dst.height) + " rows, which the kernel needs, is larger than the " +
                       std::to_string(plan->device.gpu.max_buffer_bytes) + " bytes that one binding of the device sees",
                   {}};
    }
    Result<std::shared_ptr<const ExecutableImpl>> executable = whole.prepare_window(*plan);
    if (!executable) return executable.error();
    executables_.push_back(std::move(*executable));
    // The source and the destination lie on the device and in memory that the host sees.
    const std::int64_t bytes = 2 * (plan->src.payload_bytes() + plan->dst.payload_bytes()) + gpu_intermediate_bytes(*plan);
    shapes_.push_back({plan->src, window.image.region, window.image.stride, window.kept, {}, bytes});
    return {};
  }

  [[nodiscard]] WindowSlot& slot(std::size_t window) const {
    const std::vector<std::unique_ptr<WindowSlot>>& slots = shapes_[windows_[window].shape].slots;
    return *slots[window % slots.size()];
  }

  /// That makes this row; the last one where none does.
  [[nodiscard]] std::size_t window_of(std::int64_t row) const {
    const auto found = std::ranges::upper_bound(windows_, row, {}, [](const StripWindow& window) { return window.made.end; });
    return std::min(static_cast<std::size_t>(found - windows_.begin()), windows_.size() - 1);
  }

  /// Copies rows to the windows that have a slot, as far as they have been given, and starts those that have all of them.
  [[nodiscard]] Status start_windows(std::span<const ConstWindow> src) {
    for (; started_ < std::min(taking_ + kInFlight, windows_.size()); ++started_) {
      const StripWindow& window = windows_[started_];
      if (!put_rows(src, window)) return {};
      const bool has_kept = window.kept > 0;
      const std::int64_t first = has_kept ? window.image.source.y.begin - windows_[started_ - 1].image.source.y.begin : 0;
      if (Status s = slot(started_).start(has_kept ? &slot(started_ - 1) : nullptr, static_cast<std::int32_t>(first)); !s) return s;
    }
    return {};
  }

  /// Whether the window has all of its rows now.
  [[nodiscard]] bool put_rows(std::span<const ConstWindow> src, const StripWindow& window) {
    const std::int64_t begin = window.image.source.y.begin + window.kept;
    given_ = std::max({given_, begin, window.given.begin});
    while (given_ < window.given.end) {
      const auto holds = [&](const ConstWindow& one) { return Span{one.y, std::int64_t{one.y} + one.pixels.desc.height}.holds(given_); };
      const auto found = std::ranges::find_if(src, holds);
      if (found == src.end()) return false;
      const auto rows = static_cast<std::int32_t>(std::min(window.given.end, std::int64_t{found->y} + found->pixels.desc.height) - given_);
      for_columns(window.image.source.x, plan_.src.width, [&](const Span& columns, std::int32_t x) {
        const Rect place{static_cast<std::int32_t>(columns.begin - found->x), static_cast<std::int32_t>(given_ - found->y),
                         static_cast<std::int32_t>(columns.size()), rows};
        slot(started_).put(crop(found->pixels, place), x, static_cast<std::int32_t>(given_ - window.image.source.y.begin));
      });
      given_ += rows;
    }
    put_zeros(window, {begin, window.given.begin});
    put_zeros(window, {window.given.end, window.image.source.y.end});
    return true;
  }

  /// Rows of the image that nothing depends on and nobody gives.
  void put_zeros(const StripWindow& window, const Span& rows) {
    for (std::int64_t y = rows.begin; y < rows.end; ++y) {
      slot(started_).put(zeros_.view(), 0, static_cast<std::int32_t>(y - window.image.source.y.begin));
    }
  }

  const Plan& plan_;
  std::vector<StripWindow> windows_;  ///< from top to bottom
  std::vector<Shape> shapes_;
  std::vector<std::shared_ptr<const ExecutableImpl>> executables_;  ///< of each shape
  Image zeros_;                                                     ///< a row
  std::size_t started_ = 0;                                         ///< windows
  std::size_t waited_ = 0;                                          ///< windows whose results are there
  std::size_t taking_ = 0;                                          ///< the window whose rows come next
  std::int64_t given_ = 0;                                          ///< the row of the source that comes next
  std::int64_t made_ = 0;                                           ///< rows of the destination
};

}  // namespace

Result<std::unique_ptr<StreamImpl>> make_window_stream(const ExecutableImpl& whole) {
  auto stream = std::make_unique<WindowStream>(whole);
  if (Status s = stream->allocate(whole); !s) return s.error();
  return std::unique_ptr<StreamImpl>(std::move(stream));
}

}  // namespace mollify
