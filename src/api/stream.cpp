#include "mollify/stream.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "backends/backend.h"
#include "base/source_region.h"
#include "base/views.h"

namespace mollify {
namespace {

Error invalid(std::string message) {
  return {ErrorCode::invalid_argument, std::move(message), {}};
}

std::string rows_text(std::int64_t rows) {
  return std::to_string(rows) + (rows == 1 ? " row" : " rows");
}

/// Rows of the source that are still needed when the caller has their memory back. A row lies at its number modulo the rows that there is
/// room for.
class KeptRows {
 public:
  KeptRows() = default;
  KeptRows(Span columns, PixelFormat format) : columns_(columns), format_(format) {}

  /// The windows that the rows lie in, at most two.
  struct Windows {
    std::array<ConstWindow, 2> list;
    std::size_t count = 0;
  };
  [[nodiscard]] Windows windows() const {
    Windows windows;
    for_pieces(ring_, rows_, [&](std::int64_t y, const Rect& piece) {
      windows.list.at(windows.count++) = {crop(ring_.view(), piece), static_cast<std::int32_t>(columns_.begin),
                                          static_cast<std::int32_t>(y)};
    });
    return windows;
  }

  /// From now on these rows. Each of them is kept already or lies in the strip, which follows those that are.
  [[nodiscard]] Status keep(Span rows, const ConstWindow& strip, StreamImpl& impl) {
    const std::int64_t known = std::clamp(rows_.end, rows.begin, rows.end);  // from here on they lie in the strip
    if (rows.size() > ring_.desc().height) {
      Result<Image> larger = Image::create({static_cast<std::int32_t>(columns_.size()), static_cast<std::int32_t>(rows.size()), format_});
      if (!larger) return larger.error();
      const Windows old = windows();
      for (std::size_t i = 0; i < old.count; ++i) copy(old.list.at(i), {rows.begin, known}, *larger, impl);
      ring_ = std::move(*larger);
    }
    copy(strip, {known, rows.end}, ring_, impl);
    rows_ = rows;
    return {};
  }

 private:
  /// Calls body(y, place in the ring) for the pieces of these rows that lie together, of which y is the first row.
  template <class Body>
  static void for_pieces(const Image& ring, Span rows, const Body& body) {
    const std::int64_t room = ring.desc().height;
    for (std::int64_t y = rows.begin; y < rows.end;) {
      const std::int64_t slot = y % room;
      const std::int64_t count = std::min(rows.end - y, room - slot);
      body(y, Rect{0, static_cast<std::int32_t>(slot), ring.desc().width, static_cast<std::int32_t>(count)});
      y += count;
    }
  }

  /// Those of the rows that lie in the window.
  void copy(const ConstWindow& from, Span rows, Image& ring, StreamImpl& impl) const {
    const std::int64_t first = from.y;
    rows = {std::max(rows.begin, first), std::min(rows.end, first + from.pixels.desc.height)};
    for_pieces(ring, rows, [&](std::int64_t y, const Rect& piece) {
      const Rect place{static_cast<std::int32_t>(columns_.begin - from.x), static_cast<std::int32_t>(y - first), piece.width, piece.height};
      impl.copy(crop(from.pixels, place), crop(ring.view(), piece));
    });
  }

  Span columns_;  ///< of the source
  PixelFormat format_ = PixelFormat::rgba8;
  Image ring_;
  Span rows_;
};

/// Why a plan that runs on windows cannot run on a stream.
Status check_order(const Plan& plan) {
  if (plan.spec.border.mode.y != BorderMode::wrap) return {};
  const std::int64_t top = plan.spec.roi ? plan.spec.roi->y : 0;
  const Span read = span_with_halo(plan.halo->y, {top, top + plan.dst.height});
  if (read.begin >= 0 && read.end <= plan.src.height) return {};
  return Error{
      ErrorCode::unsupported,
      "the border wraps down the image, so that the first rows need the last ones of the source, which a stream gets too late: run "
      "windows instead, see Plan::source_region()",
      {}};
}

}  // namespace

Result<std::unique_ptr<StreamImpl>> ExecutableImpl::make_stream() const {
  return Error{ErrorCode::internal, "the backend has no streams", {}};
}

class Stream::State {
 public:
  State(std::shared_ptr<const ExecutableImpl> executable, std::unique_ptr<StreamImpl> impl)
      : executable_(std::move(executable)), impl_(std::move(impl)) {
    const SourceNeeds needs = source_needs(plan(), {0, 0, plan().dst.width, plan().dst.height});
    first_ = needs.rows.begin()->begin;
    given_ = first_;
    kept_ = KeptRows({needs.columns.begin()->begin, (needs.columns.end() - 1)->end}, plan().src.format);
  }

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

  [[nodiscard]] Status advance(const ConstImageView& source, const ImageView& destination, const RunControl& control) {
    if (failed_) return *failed_;
    if (Status s = check(source, destination); !s) return s;
    const ConstWindow strip{source, 0, static_cast<std::int32_t>(given_)};
    Status status = make(strip, destination, control);
    if (status) {
      given_ += source.desc.height;
      made_ += destination.desc.height;
      status = keep(strip);
    }
    if (!status) failed_ = status.error();
    return status;
  }

 private:
  [[nodiscard]] std::int64_t reads_begin() const {
    const std::int64_t top = plan().spec.roi ? plan().spec.roi->y : 0;
    return span_with_halo(plan().halo->y, {top, top + 1}).begin;
  }

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
    if (destination.desc.height == 0) return {};
    const KeptRows::Windows kept = kept_.windows();
    std::array<ConstWindow, 3> windows;
    std::size_t count = 0;
    if (strip.pixels.desc.height > 0) windows.at(count++) = strip;
    for (std::size_t i = 0; i < kept.count; ++i) windows.at(count++) = kept.list.at(i);
    return impl_->run(std::span(windows).first(count), destination, control);
  }

  /// Of the rows that have been given, those that are needed again or have not been needed yet.
  [[nodiscard]] Status keep(const ConstWindow& strip) {
    const std::int64_t height = plan().src.height;
    const std::int64_t until = made_ < plan().dst.height ? impl_->reads(plan().dst.height).until : 0;
    const std::int64_t from = made_ > 0 ? impl_->reads(made_).from : reads_begin();
    if (from >= until) return {};
    const AxisSpans rows = stored_spans(plan().spec.border.mode.y, {from, until}, height);
    const std::int64_t begin = std::min(rows.begin()->begin, height - 1);
    return kept_.keep({std::min(begin, given_), given_}, strip, *impl_);
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
  return Stream(std::make_unique<State>(std::move(shared), std::move(*impl)));
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

Status Stream::advance(const ConstImageView& source, const ImageView& destination, const RunControl& control) {
  return state_->advance(source, destination, control);
}

}  // namespace mollify
