#include "files/png_canvas.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace mollify::files::png {
namespace {

/// Blends a row of pixels with unassociated alpha, which is their last channel, over another.
template <typename T>
void blend_over(T* onto, const T* from, std::int64_t pixels, int channels) {
  constexpr std::uint64_t kOpaque = std::numeric_limits<T>::max();
  for (; pixels > 0; --pixels, onto += channels, from += channels) {
    const std::uint64_t alpha = from[channels - 1];
    if (alpha == 0) continue;
    const std::uint64_t above = alpha * kOpaque;
    const std::uint64_t below = (kOpaque - alpha) * onto[channels - 1];
    const std::uint64_t both = above + below;
    for (int c = 0; c < channels - 1; ++c) onto[c] = static_cast<T>((from[c] * above + onto[c] * below + both / 2) / both);
    onto[channels - 1] = static_cast<T>((both + kOpaque / 2) / kOpaque);
  }
}

}  // namespace

Canvas::Canvas(ByteSource& source, const Contents& contents, Messages& messages)
    : source_(source),
      contents_(contents),
      messages_(messages),
      page_(contents.document.pages.front()),
      pixel_bytes_(page_.pixel_bytes()),
      first_(contents.first_page_is_frame ? 0 : 1),
      next_(first_) {}

const std::uint8_t* Canvas::picture(std::size_t page, MemoryLimit& memory) {
  if (pixels_.empty()) start(memory);
  if (page + 1 < next_) {
    std::fill(pixels_.begin(), pixels_.end(), std::uint8_t{0});
    next_ = first_;
  }
  while (next_ <= page) show_next();
  return pixels_.data();
}

void Canvas::start(MemoryLimit& memory) {
  const bool saves = std::any_of(contents_.pictures.begin(), contents_.pictures.end(),
                                 [](const Picture& each) { return each.dispose == Dispose::previous; });
  const std::int64_t whole = page_.row_bytes() * page_.height;
  const std::int64_t wholes = 1 + (saves ? 1 : 0) + (contents_.header.interlaced ? 1 : 0);
  memory.take(wholes * whole + page_.row_bytes() + Decoder::memory_bytes(page_.row_bytes()), "an animation's picture");
  pixels_.resize(static_cast<std::size_t>(whole));
  row_.resize(static_cast<std::size_t>(page_.row_bytes()));
}

void Canvas::show_next() {
  if (next_ > first_) dispose(next_ - 1);
  const Picture& frame = contents_.pictures[next_];
  if (frame.dispose == Dispose::previous && next_ > first_) save(frame.rect);
  draw(frame, next_ == first_ ? Blend::source : frame.blend);  // both mean the same on an empty canvas
  ++next_;
}

void Canvas::dispose(std::size_t page) {
  const Picture& frame = contents_.pictures[page];
  if (frame.dispose == Dispose::none) return;
  const bool clears = frame.dispose == Dispose::background || page == first_;
  const std::size_t bytes = static_cast<std::size_t>(frame.rect.width * pixel_bytes_);
  for (std::int32_t y = 0; y < frame.rect.height; ++y) {
    if (clears) {
      std::memset(at(frame.rect, y), 0, bytes);
    } else {
      std::memcpy(at(frame.rect, y), saved_.data() + static_cast<std::size_t>(y) * bytes, bytes);
    }
  }
}

void Canvas::save(const Rect& rect) {
  const std::size_t bytes = static_cast<std::size_t>(rect.width * pixel_bytes_);
  saved_.resize(bytes * static_cast<std::size_t>(rect.height));
  for (std::int32_t y = 0; y < rect.height; ++y) std::memcpy(saved_.data() + static_cast<std::size_t>(y) * bytes, at(rect, y), bytes);
}

void Canvas::draw(const Picture& frame, Blend blend) {
  Decoder decoder(source_, contents_, frame, messages_);
  const std::int64_t row_bytes = frame.rect.width * pixel_bytes_;
  if (contents_.header.interlaced) {
    interlaced_.resize(static_cast<std::size_t>(row_bytes * frame.rect.height));
    decoder.read_all(interlaced_.data(), row_bytes);
  }
  for (std::int32_t y = 0; y < frame.rect.height; ++y) {
    if (!contents_.header.interlaced) decoder.read_row(row_.data());
    put_row(at(frame.rect, y), contents_.header.interlaced ? interlaced_.data() + y * row_bytes : row_.data(), frame.rect.width, blend);
  }
}

void Canvas::put_row(std::uint8_t* onto, const std::uint8_t* row, std::int32_t count, Blend blend) const {
  const int channels = static_cast<int>(page_.channels.size());
  if (blend == Blend::source || page_.alpha == AlphaKind::none) {
    std::memcpy(onto, row, static_cast<std::size_t>(count * pixel_bytes_));
  } else if (page_.channels.front().type == NumberType::u16) {
    blend_over(reinterpret_cast<std::uint16_t*>(onto), reinterpret_cast<const std::uint16_t*>(row), count, channels);
  } else {
    blend_over(onto, row, count, channels);
  }
}

std::uint8_t* Canvas::at(const Rect& rect, std::int32_t row) {
  return pixels_.data() + (rect.y + row) * page_.row_bytes() + rect.x * pixel_bytes_;
}

}  // namespace mollify::files::png
