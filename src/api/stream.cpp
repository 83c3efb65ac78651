#include "mollify/stream.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "backends/backend.h"
#include "base/places.h"
#include "base/source_region.h"
#include "base/views.h"

namespace mollify {
namespace {

std::string rows_text(std::int64_t rows) {
  return std::to_string(rows) + (rows == 1 ? " row" : " rows");
}

/// Rows of the source that are needed again when the caller has their memory back. They lie together, anywhere in an image that has room
/// for three times as many, so that there is a place for those of the next strip while these are still read.
class KeptRows {
 public:
  KeptRows() = default;
  KeptRows(Span columns, PixelFormat format) : columns_(columns), format_(format) {}

  [[nodiscard]] bool is_empty() const { return rows_.size() == 0; }
  [[nodiscard]] std::int64_t bytes() { return image_.view().row_bytes * image_.desc().height; }
  /// Makes room, so that it need not grow while it keeps no more rows.
  [[nodiscard]] Status reserve(std::int64_t rows) {
    if (rows == 0) return {};
    Result<Image> image = room_for(rows);
    if (!image) return image.error();
    image_ = std::move(*image);
    return {};
  }
  [[nodiscard]] ConstWindow window() {
    return {part(image_.view(), first_, rows_.size()), static_cast<std::int32_t>(columns_.begin), static_cast<std::int32_t>(rows_.begin)};
  }

  /// What is kept after the next strip, and what must be copied for that.
  struct Next {
    Span rows;
    std::int64_t first = 0;         ///< row of the image that they begin with
    std::optional<Image> larger{};  ///< that image, where it has to grow
    std::array<PixelCopy, 2> copies{};
    std::size_t count = 0;  ///< of copies
  };

  /// Each of these rows is kept already or lies in the strip, which follows those that are.
  [[nodiscard]] Result<Next> next(Span rows, const ConstWindow& strip) {
    const std::int64_t known = std::clamp(rows_.end, rows.begin, rows.end);  // from here on they lie in the strip
    const std::int64_t stay = known - rows.begin, enter = rows.end - known;
    const std::int64_t end = first_ + rows_.size();
    const bool fits_in_front = rows.size() <= first_;
    const bool fits_behind = end + enter <= image_.desc().height;
    Next next{.rows = rows};
    ImageView image = image_.view();
    if (fits_behind && (stay > 0 || !fits_in_front)) {
      next.first = end - stay;
    } else {
      if (!fits_in_front) {
        Result<Image> larger = room_for(rows.size());
        if (!larger) return larger.error();
        next.larger = std::move(*larger);
        image = next.larger->view();
      }
      if (stay > 0) next.copies.at(next.count++) = {part(image_.view(), end - stay, stay), part(image, 0, stay)};
    }
    if (enter > 0) {
      const Rect place{static_cast<std::int32_t>(columns_.begin - strip.x), static_cast<std::int32_t>(known - strip.y), width(),
                       static_cast<std::int32_t>(enter)};
      next.copies.at(next.count++) = {crop(strip.pixels, place), part(image, next.first + stay, enter)};
    }
    return next;
  }

  /// When the copies have been made.
  void become(Next next) {
    if (next.larger) image_ = std::move(*next.larger);
    rows_ = next.rows;
    first_ = next.first;
  }

 private:
  [[nodiscard]] Result<Image> room_for(std::int64_t rows) const {
    constexpr std::int64_t kRoom = 3;
    return Image::create({width(), static_cast<std::int32_t>(kRoom * rows), format_});
  }
  [[nodiscard]] std::int32_t width() const { return static_cast<std::int32_t>(columns_.size()); }
  [[nodiscard]] static ImageView part(const ImageView& image, std::int64_t first, std::int64_t rows) {
    return crop(image, {0, static_cast<std::int32_t>(first), image.desc.width, static_cast<std::int32_t>(rows)});
  }

  Span columns_;  ///< of the source
  PixelFormat format_ = PixelFormat::rgba8;
  Image image_;
  std::int64_t first_ = 0;  ///< row of the image that they begin with
  Span rows_;               ///< of the source
};

/// Why a plan that runs on windows cannot run on a stream.
Status check_order(const Plan& plan) {
  if (plan.spec.border.mode.y != BorderMode::wrap) return {};
  const Span read = span_with_halo(plan.halo->y, places_of(plan.spec).y.of({0, plan.dst.height}));
  if (read.begin >= 0 && read.end <= plan.src.height) return {};
  return Error{
      ErrorCode::unsupported,
      "the border wraps down the image, so that the first rows need the last ones of the source, which a stream gets too late: run "
      "windows instead, see Plan::source_region()",
      {}};
}

}  // namespace

class Stream::State {
 public:
  State(std::shared_ptr<const ExecutableImpl> executable, std::unique_ptr<StreamImpl> impl)
      : executable_(std::move(executable)), impl_(std::move(impl)) {
    const SourceNeeds needs = source_needs(plan(), {0, 0, plan().dst.width, plan().dst.height});
    first_ = needs.rows.begin()->begin;
    given_ = first_;
    const Span needed{needs.columns.begin()->begin, (needs.columns.end() - 1)->end};
    kept_ = KeptRows(impl_->reads_ahead() ? Span{0, plan().src.width} : needed, plan().src.format);
  }

  /// Who reads ahead takes what the next strip needs.
  [[nodiscard]] Status allocate() { return impl_->reads_ahead() ? Status() : kept_.reserve(most_kept_rows()); }

  [[nodiscard]] const Plan& plan() const { return executable_->plan(); }
  [[nodiscard]] std::int64_t given() const { return given_; }
  [[nodiscard]] std::int32_t made() const { return made_; }

  /// The end of the source rows that must have been given to make all rows before `end`.
  [[nodiscard]] std::int64_t needed_until(std::int32_t end) const {
    if (end == 0) return first_;
    const AxisSpans rows = stored_spans(plan().spec.border.mode.y, {reads_begin(), impl_->reads(end).until}, plan().src.height);
    return (rows.end() - 1)->end;
  }

  /// The end of the rows that can be made when the source rows before this one have been given.
  [[nodiscard]] std::int32_t ready_until(std::int64_t given) const {
    std::int32_t ready = made_;
    for (std::int32_t too_many = plan().dst.height + 1; too_many - ready > 1;) {
      const std::int32_t middle = ready + (too_many - ready) / 2;
      (needed_until(middle) <= given ? ready : too_many) = middle;
    }
    return ready;
  }

  [[nodiscard]] std::int64_t memory_bytes(std::int32_t rows) {
    return impl_->scratch_bytes(std::clamp(rows, 1, plan().dst.height)) + kept_.bytes();
  }

  [[nodiscard]] Status advance(const ConstImageView& source, const ImageView& destination, const RunControl& control) {
    if (failed_) return *failed_;
    if (Status s = check(source, destination); !s) return s;
    const Status status = make({source, 0, static_cast<std::int32_t>(given_)}, destination, control);
    if (!status) failed_ = status.error();
    return status;
  }

 private:
  [[nodiscard]] std::int64_t reads_begin() const { return span_with_halo(plan().halo->y, places_of(plan().spec).y.of({0, 1})).begin; }

  [[nodiscard]] static Status check_strip(std::string_view what, const ConstImageView& strip, const ImageDesc& whole, std::int64_t first) {
    const std::int32_t rows = strip.desc.height;
    if (rows == 0) return {};
    if (rows > whole.height - first) {
      return invalid("a strip of the " + std::string(what) + " has " + rows_text(rows) + ", but only " + rows_text(whole.height - first) +
                     " are left");
    }
    return check_view(what, strip, {whole.width, rows, whole.format});
  }

  [[nodiscard]] Status check(const ConstImageView& source, const ImageView& destination) const {
    if (Status s = check_strip("source", source, plan().src, given_); !s) return s;
    if (Status s = check_strip("destination", destination, plan().dst, made_); !s) return s;
    if (destination.desc.height == 0) return {};
    const std::int64_t given = given_ + source.desc.height;
    if (const std::int64_t needed = needed_until(made_ + destination.desc.height); needed > given) {
      return invalid(rows_text(destination.desc.height) + " of the destination need the source up to its row " +
                     std::to_string(needed - 1) + ", but only the rows before row " + std::to_string(given) +
                     " are given: see Stream::ready_rows()");
    }
    if (source.desc.height > 0 && share_bytes(source, destination)) {
      return invalid("a strip of the source overlaps that of the destination, but the stream still needs rows of it");
    }
    return {};
  }

  [[nodiscard]] Status make(const ConstWindow& strip, const ImageView& destination, const RunControl& control) {
    const std::int64_t given = given_ + strip.pixels.desc.height;
    const std::int32_t made = made_ + destination.desc.height;
    Result<KeptRows::Next> next = kept_.next(needed_again(given, made), strip);
    if (!next) return next.error();
    const std::span<const PixelCopy> copies = std::span(next->copies).first(next->count);
    if (made > made_ || impl_->reads_ahead()) {
      std::array<ConstWindow, 2> windows;
      std::size_t count = 0;
      if (given > given_) windows.at(count++) = strip;
      if (!kept_.is_empty()) windows.at(count++) = kept_.window();
      if (Status s = impl_->run(std::span(windows).first(count), destination, copies, control); !s) return s;
    } else {
      impl_->copy(copies);
    }
    kept_.become(std::move(*next));
    given_ = given;
    made_ = made;
    return {};
  }

  /// Of the source rows before `given`, those that the destination rows from `made` on need.
  [[nodiscard]] Span needed_again(std::int64_t given, std::int32_t made) const {
    const std::int64_t until = made < plan().dst.height ? impl_->reads(plan().dst.height).until : 0;
    const std::int64_t from = made > 0 || impl_->reads_ahead() ? impl_->reads(made).from : reads_begin();
    if (from >= until) return {given, given};
    const AxisSpans rows = stored_spans(plan().spec.border.mode.y, {from, until}, plan().src.height);
    return {std::min({rows.begin()->begin, std::int64_t{plan().src.height} - 1, given}), given};
  }

  /// While no more is given than is needed. It looks at some thousand places down the image, and both ends of what is kept only move down.
  [[nodiscard]] std::int64_t most_kept_rows() const {
    constexpr std::int32_t kPlaces = 4096;
    const std::int32_t height = plan().dst.height;
    const std::int32_t step = std::max(height / kPlaces, 1);
    std::int64_t most = 0;
    for (std::int32_t made = 0, end = 0; made < height; made = end) {
      end = std::min(height - made, step) + made;
      most = std::max(most, needed_again(needed_until(end), made).size());
    }
    return most;
  }

  std::shared_ptr<const ExecutableImpl> executable_;
  std::unique_ptr<StreamImpl> impl_;
  KeptRows kept_;
  std::int64_t first_ = 0;  ///< row of the source that is needed
  std::int64_t given_ = 0;  ///< source rows before this one, from the first that is needed on
  std::int32_t made_ = 0;   ///< rows of the destination
  std::optional<Error> failed_;
};

Stream::Stream(std::unique_ptr<State> state) : state_(std::move(state)) {}
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;
Stream::~Stream() = default;

Result<Stream> Stream::create(const Executable& executable) {
  const Plan& plan = executable.plan();
  if (Status s = check_destination(plan, {0, 0, plan.dst.width, plan.dst.height}); !s) return s.error();
  if (Status s = check_order(plan); !s) return s.error();
  std::shared_ptr<const ExecutableImpl> shared = Access::share(executable);
  Result<std::unique_ptr<StreamImpl>> impl = shared->make_stream();
  if (!impl) return impl.error();
  auto state = std::make_unique<State>(std::move(shared), std::move(*impl));
  if (Status s = state->allocate(); !s) return s.error();
  return Stream(std::move(state));
}

std::int32_t Stream::next_source_row() const {
  return static_cast<std::int32_t>(state_->given());
}

std::int32_t Stream::next_row() const {
  return state_->made();
}

std::int32_t Stream::ready_rows(std::int32_t source_rows) const {
  return state_->ready_until(state_->given() + source_rows) - state_->made();
}

std::int32_t Stream::needed_source_rows(std::int32_t rows) const {
  const std::int32_t end = state_->made() + std::clamp(rows, 0, state_->plan().dst.height - state_->made());
  return static_cast<std::int32_t>(std::max<std::int64_t>(state_->needed_until(end) - state_->given(), 0));
}

std::int64_t Stream::memory_bytes(std::int32_t rows) const {
  return state_->memory_bytes(rows);
}

Status Stream::advance(const ConstImageView& source, const ImageView& destination, const RunControl& control) {
  return state_->advance(source, destination, control);
}

}  // namespace mollify
