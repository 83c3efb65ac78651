#include "api/divided_images.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/views.h"

namespace mollify {
namespace {

constexpr std::int64_t kLeastBytes = 1 << 20;  // windows of less would be all halo
// Copying and blurring take as long as in larger windows, and allocating takes less.
constexpr std::int64_t kEnoughBytes = 768 << 20;
constexpr std::int64_t kShapes = 3;  // of strips: the first, those in the middle, and the last

struct Division {
  std::vector<Rect> windows;
  std::int64_t shapes;  ///< that there is room for at the same time
};

/// The smallest windows of enough bytes that are strips as wide as the image, else the largest, else the largest one by one.
Result<Division> divided(const Plan& plan, std::int64_t most_bytes) {
  Result<std::vector<Rect>> rects = Error{};
  for (std::int64_t bytes = std::min(kEnoughBytes, most_bytes);; bytes = std::min(2 * bytes, most_bytes)) {
    rects = windows(plan, bytes / kShapes);
    if (bytes == most_bytes || (rects && rects->front().width == plan.dst.width)) break;
  }
  if (rects) return Division{std::move(*rects), kShapes};
  rects = windows(plan, most_bytes);
  if (!rects) return rects.error();
  return Division{std::move(*rects), 1};
}

}  // namespace

DividedImages::DividedImages(const ExecutableImpl& whole, std::vector<Rect> windows, std::size_t shapes)
    : plans_(whole, shapes), windows_(std::move(windows)) {}

Status DividedImages::reserve() {
  for (const Rect& window : {windows_.front(), windows_[windows_.size() / 2], windows_.back()}) {
    if (Status s = plans_.reserve(window); !s) return s;
  }
  return {};
}

Result<std::unique_ptr<WorkspaceImpl>> DividedImages::create(const ExecutableImpl& whole, std::int64_t most_bytes) {
  Error error{ErrorCode::out_of_memory, "there is no room for windows of the image", {}};
  for (; most_bytes >= kLeastBytes && error.code == ErrorCode::out_of_memory; most_bytes /= 2) {
    Result<Division> division = divided(whole.plan(), most_bytes);
    if (!division) break;
    std::unique_ptr<DividedImages> made(new DividedImages(whole, std::move(division->windows), static_cast<std::size_t>(division->shapes)));
    const Status status = made->reserve();
    if (status) return std::unique_ptr<WorkspaceImpl>(std::move(made));
    error = status.error();
  }
  return error;
}

Status DividedImages::run(const ConstImageView& src, const ImageView& dst) {
  Image copy;
  ConstImageView from = src;
  if (share_bytes(src, dst)) {
    Result<Image> made = Image::create(src.desc);
    if (!made) return made.error();
    copy = std::move(*made);
    for (std::int32_t y = 0; y < src.desc.height; ++y) {
      std::memcpy(copy.view().row(y), src.row(y), static_cast<std::size_t>(src.desc.row_payload_bytes()));
    }
    from = copy.view();
  }
  const ConstWindow source{from, 0, 0};
  for (const Rect& window : windows_) {
    if (Status s = plans_.run(std::span(&source, 1), {crop(dst, window), window.x, window.y}, {}); !s) return s;
  }
  return {};
}

}  // namespace mollify
