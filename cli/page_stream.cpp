#include "page_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "failure.h"
#include "message.h"

namespace mollify::cli {
namespace {

using files::RowRange;

/// More rows would only take memory. Strips of windows share their halos. Those of a stream share nothing, but they are decoded and encoded
/// by whole rows of tiles.
std::int64_t rows_that_suffice(const PageBlur& blur) {
  constexpr std::int64_t kWindowBytes = std::int64_t{32} << 20, kStreamBytes = std::int64_t{1} << 20, kHalos = 8;
  const std::int64_t row_bytes = std::max<std::int64_t>(blur.source().row_bytes(), 1);
  if (blur.is_stream()) {
    return std::max({kStreamBytes / row_bytes, std::int64_t{blur.source().tile_height}, blur.rows_at_once()});
  }
  return std::max(kHalos * (blur.most_source_rows(1) - 1), kWindowBytes / row_bytes);
}

/// So many rows, or somewhat fewer that are whole tiles.
std::int64_t whole_tiles(std::int64_t rows, std::int32_t tile_height) {
  return tile_height > 0 && rows > tile_height ? rows - rows % tile_height : rows;
}

}  // namespace

#ifdef MOLLIFY_TEST_HOOKS
// MOLLIFY_TEST_STRIP_ROWS=7, so that small pictures have many strips.
std::optional<std::int32_t> strip_rows_as_asked() {
  const char* rows = std::getenv("MOLLIFY_TEST_STRIP_ROWS");
  if (rows == nullptr) return std::nullopt;
  return std::max(std::atoi(rows), 0);
}
#else
std::optional<std::int32_t> strip_rows_as_asked() {
  return std::nullopt;
}
#endif

std::int64_t StripPlan::needed_bytes(const PageBlur& blur, const files::Page& result, const CodecNeeds& codecs, std::int64_t rows) {
  const std::vector<std::int64_t> buffers = blur.source_buffers(rows);
  const std::int64_t source_rows = std::accumulate(buffers.begin(), buffers.end(), std::int64_t{0});
  return codecs.bytes + source_rows * blur.source().row_bytes() + static_cast<std::int64_t>(kResultBuffers) * rows * result.row_bytes() +
         blur.strip_scratch_bytes(rows);
}

StripPlan::StripPlan(const std::string& path, PageBlur& blur, const files::Page& result, const CodecNeeds& codecs,
                     std::int64_t memory_bytes) {
  const auto bytes = [&](std::int64_t rows) { return needed_bytes(blur, result, codecs, rows); };
  const auto require = [&](std::int64_t needed) {
    if (needed <= memory_bytes) return;
    fail_for_memory(fmt::format("{}: needs {} of memory, {} of it for {}, more than the {} that it may use; --memory sets that", path,
                                bytes_text(needed), bytes_text(codecs.bytes), codecs.what, bytes_text(memory_bytes)));
  };
  if (bytes(1) > memory_bytes) blur.close_streams();
  require(bytes(1));
  std::int64_t fits = 1;
  for (std::int64_t above = std::min<std::int64_t>(rows_that_suffice(blur), result.height) + 1; above - fits > 1;) {
    const std::int64_t middle = (fits + above) / 2;
    (bytes(middle) <= memory_bytes ? fits : above) = middle;
  }
  fits = whole_tiles(fits, result.tile_height);
  const std::int32_t asked = strip_rows_as_asked().value_or(0);
  rows_ = asked > 0 ? std::min(asked, result.height) : static_cast<std::int32_t>(fits);
  source_buffers_ = blur.source_buffers(rows_);
  add_strips(blur, result.height);
}

void StripPlan::add_strips(const PageBlur& blur, std::int32_t height) {
  // Where the border mirrors, a window may need rows above those of the one before it, or fewer below. They are kept until then.
  std::int32_t last = 0;
  for (std::int32_t y = 0; y < height; y += rows_) {
    const RowRange strip{y, std::min(y + rows_, height)};
    RowRange source = blur.source_rows(strip);
    source.end = std::max(last, source.end);
    strips_.push_back({strip, source, source.end - (y == 0 ? source.begin : last)});
    last = source.end;
  }
  std::int32_t first = blur.source().height;
  for (std::size_t i = strips_.size(); i-- > 0;) {
    RowRange& source = strips_[i].source;
    source.begin = first = std::min(first, source.begin);
    std::int64_t& buffer = source_buffers_[i % source_buffers_.size()];
    buffer = std::max<std::int64_t>(buffer, source.count());
  }
}

SlidingRows::SlidingRows(files::Reader& reader, const files::PageWork& work, const files::Page& page, std::int64_t most_rows)
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
