#include "page_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "failure.h"
#include "message.h"

namespace mollify::cli {
namespace {

using files::RowRange;

/// Strips this high share little with each other; more rows would only take memory.
std::int64_t rows_that_suffice(const PageBlur& blur) {
  constexpr std::int64_t kBytes = std::int64_t{32} << 20, kHalos = 8;
  const std::int64_t halo = blur.most_source_rows(1) - 1;
  return std::max(kHalos * halo, kBytes / std::max<std::int64_t>(blur.source().row_bytes(), 1));
}

#ifdef MOLLIFY_TEST_HOOKS
/// MOLLIFY_TEST_STRIP_ROWS=7: pages are streamed in strips of so many rows, so that small pictures have many of them. 0: not set.
std::int32_t rows_as_asked() {
  const char* rows = std::getenv("MOLLIFY_TEST_STRIP_ROWS");
  return rows == nullptr ? 0 : std::max(std::atoi(rows), 1);
}
#else
constexpr std::int32_t rows_as_asked() {
  return 0;
}
#endif

}  // namespace

bool must_stream() {
  return rows_as_asked() > 0;
}

StripPlan::StripPlan(const std::string& path, const PageBlur& blur, const files::Page& result, const CodecNeeds& codecs,
                     std::int64_t memory_bytes) {
  const auto bytes = [&](std::int64_t rows, std::int64_t source_rows) {
    return codecs.bytes + source_rows * blur.source().row_bytes() + rows * result.row_bytes() + blur.strip_scratch_bytes(rows);
  };
  const auto require = [&](std::int64_t needed) {
    if (needed <= memory_bytes) return;
    fail_for_memory(fmt::format("{}: needs {} of memory, {} of it for {}, more than the {} that it may use; --memory sets that", path,
                                bytes_text(needed), bytes_text(codecs.bytes), codecs.what, bytes_text(memory_bytes)));
  };
  require(bytes(1, blur.most_source_rows(1)));
  std::int64_t fits = 1;
  for (std::int64_t above = std::min<std::int64_t>(rows_that_suffice(blur), result.height) + 1; above - fits > 1;) {
    const std::int64_t middle = (fits + above) / 2;
    (bytes(middle, blur.most_source_rows(middle)) <= memory_bytes ? fits : above) = middle;
  }
  rows_ = rows_as_asked() > 0 ? std::min(rows_as_asked(), result.height) : static_cast<std::int32_t>(fits);

  // Where the border mirrors, a strip may need rows above those of the strip before it, or fewer below. They are kept until then.
  std::int32_t last = 0;
  for (std::int32_t y = 0; y < result.height; y += rows_) {
    const RowRange strip{y, std::min(y + rows_, result.height)};
    RowRange source = blur.source_rows(strip);
    source.end = last = std::max(last, source.end);
    strips_.push_back({strip, source});
  }
  std::int32_t first = blur.source().height;
  for (auto strip = strips_.rbegin(); strip != strips_.rend(); ++strip) {
    first = std::min(first, strip->source.begin);
    strip->source.begin = first;
    source_rows_ = std::max(source_rows_, strip->source.count());
  }
  require(bytes(rows_, source_rows_));
}

SlidingRows::SlidingRows(files::Reader& reader, const files::PageWork& work, const files::Page& page, std::int32_t most_rows)
    : reader_(reader), work_(work), page_(page), row_bytes_(page.row_bytes()), pixels_(static_cast<std::size_t>(row_bytes_ * most_rows)) {}

files::PagePixels SlidingRows::rows(RowRange wanted) {
  const RowRange kept{std::max(wanted.begin, held_.begin), std::min(wanted.end, held_.end)};
  if (kept.count() > 0) {
    std::memmove(pixels_.data() + (kept.begin - wanted.begin) * row_bytes_, row(kept.begin),
                 static_cast<std::size_t>(kept.count() * row_bytes_));
  }
  const RowRange missing{kept.count() > 0 ? kept.end : wanted.begin, wanted.end};
  held_ = wanted;
  if (missing.count() > 0) read(missing);
  return {&page_, pixels_.data(), row_bytes_, held_};
}

std::int64_t SlidingRows::bytes_to_read(RowRange wanted) const {
  return std::max<std::int64_t>(wanted.end - std::max(wanted.begin, held_.end), 0) * row_bytes_;
}

// Columns of zeros are never written.
void SlidingRows::read(RowRange rows) {
  const std::int32_t top = work_.grow.y.before;
  const RowRange stored{std::clamp(rows.begin, top, top + work_.from.height), std::clamp(rows.end, top, top + work_.from.height)};
  for (const RowRange zeros :
       {RowRange{rows.begin, std::min(stored.begin, rows.end)}, RowRange{std::max(stored.end, rows.begin), rows.end}}) {
    if (zeros.count() > 0) std::memset(row(zeros.begin), 0, static_cast<std::size_t>(zeros.count() * row_bytes_));
  }
  if (stored.count() <= 0) return;
  std::uint8_t* into = row(stored.begin) + work_.grow.x.before * page_.pixel_bytes();
  reader_.read_rows(work_.source, stored.begin - top, stored.count(), into, row_bytes_);
}

}  // namespace mollify::cli
