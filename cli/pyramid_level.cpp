#include "pyramid_level.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "failure.h"

namespace mollify::cli {
namespace {

using files::Page;
using files::PagePixels;
using files::RowRange;

/// Where the pixels that are made have their centres, on one axis of a level.
struct Centres {
  std::int32_t first;   ///< pixel of the page that the region begins with
  std::int32_t pixels;  ///< of the region
  std::int32_t count;   ///< of the pixels that are made
};

// The centre of a block of `block` pixels is also that of the `step` pixels in its middle.
Centres centres_of(std::int32_t blocks, std::int32_t block, std::int32_t step) {
  const std::int32_t pixels = (blocks - 1) * block + step;
  return {(block - step) / 2, pixels, pixels / step};
}

BlurRequest request_of(double sigma, std::int32_t step) {
  BlurRequest request;
  request.spec.kernel = Gaussian{.sigma = {sigma, sigma}};
  request.spec.stride = {Stride::of_blocks(step), Stride::of_blocks(step)};
  return request;
}

}  // namespace

double sigma_of_level(int level, double sigma) {
  return sigma * std::sqrt((std::pow(4.0, level) - 1.0) / 3.0);
}

PyramidLevel::PyramidLevel(const std::string& path, const Device& device, int level, double sigma, const files::PageWork& page,
                           const Page& padded, BlurReport& report)
    : step_(std::min(1 << level, Stride::max_step)),
      pick_((1 << level) / step_),
      page_(page.result),
      work_(page),
      request_(request_of(sigma_of_level(level, sigma), step_)),
      blurrer_(device, request_.spec, request_.plan) {
  page_.width = (page.from.width + (1 << level) - 1) >> level;
  page_.height = (page.from.height + (1 << level) - 1) >> level;
  const Centres x = centres_of(page_.width, 1 << level, step_), y = centres_of(page_.height, 1 << level, step_);
  work_.from = padded;
  work_.region = Rect{x.first, y.first, x.pixels, y.pixels};
  work_.blurred.width = x.count;
  work_.blurred.height = y.count;
  work_.result = work_.blurred;
  blur_ = std::make_unique<PageBlur>(path, blurrer_, request_, work_, report);
  if (const Status ready = blur_->prepare_strips(); !ready) fail(fmt::format("{}: {}", path, one_line(ready.error())));
  if (!blur_->is_stream()) fail(fmt::format("{}: pyramids are made on CPUs, and of pictures whose channels are all blurred alike", path));
}

std::int64_t PyramidLevel::memory_bytes(std::int32_t source_rows) const {
  // The last strip makes also what waited for rows below it.
  const std::int64_t rows = std::min<std::int64_t>((source_rows + blur_->most_source_rows(1)) / step_ + 2, work_.blurred.height);
  const std::int64_t unpicked = pick_ > 1 ? rows * work_.blurred.row_bytes() : 0;
  return blur_->strip_scratch_bytes(rows) + unpicked + static_cast<std::int64_t>(kBuffers) * (rows / pick_ + 1) * page_.row_bytes();
}

void PyramidLevel::advance(const PagePixels& strip, std::size_t buffer) {
  const std::int32_t made = blur_->stream().next_row();
  const std::int32_t first = std::clamp(blur_->stream().next_source_row(), strip.rows.begin, strip.rows.end);
  const RowRange given{first, strip.rows.end};
  const RowRange ready{made, made + (made < work_.blurred.height ? blur_->stream().ready_rows(given.count()) : 0)};
  const PagePixels result = rows_in(pick_ > 1 ? unpicked_ : buffers_[buffer], work_.blurred, ready);
  if (made < work_.blurred.height)
    blur_->run({strip.page, strip.data + (first - strip.rows.begin) * strip.row_bytes, strip.row_bytes, given}, result);
  made_[buffer] = result;
  if (pick_ > 1) pick(result, buffer);
}

PagePixels PyramidLevel::rows_in(files::Bytes& bytes, const Page& page, RowRange rows) const {
  const auto needed = static_cast<std::size_t>(rows.count() * page.row_bytes());
  if (bytes.size() < needed) bytes.resize(needed);
  return {&page, bytes.data(), static_cast<std::ptrdiff_t>(page.row_bytes()), rows};
}

void PyramidLevel::pick(const PagePixels& from, std::size_t buffer) {
  const auto rounded_up = [&](std::int32_t row) { return (row + pick_ - 1) / pick_; };
  const PagePixels to = rows_in(buffers_[buffer], page_, {rounded_up(from.rows.begin), rounded_up(from.rows.end)});
  const auto bytes = static_cast<std::ptrdiff_t>(page_.pixel_bytes());
  for (std::int32_t y = to.rows.begin; y < to.rows.end; ++y) {
    const std::uint8_t* in = from.data + (y * pick_ - from.rows.begin) * from.row_bytes;
    std::uint8_t* out = to.data + (y - to.rows.begin) * to.row_bytes;
    for (std::int32_t x = 0; x < page_.width; ++x) std::memcpy(out + x * bytes, in + x * pick_ * bytes, static_cast<std::size_t>(bytes));
  }
  made_[buffer] = to;
}

}  // namespace mollify::cli
