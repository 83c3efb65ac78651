#include "api/divided_images.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/views.h"

namespace mollify {
namespace {

constexpr std::int64_t kLeastBytes = 1 << 20;  // windows of less would be all halo

}  // namespace

Result<std::unique_ptr<WorkspaceImpl>> DividedImages::create(const ExecutableImpl& whole, std::int64_t bytes) {
  Status status;
  for (; bytes >= kLeastBytes; bytes /= 2) {
    Result<std::vector<Rect>> rects = windows(whole.plan(), bytes);
    if (!rects) return status ? rects.error() : status.error();
    const auto area = [](const Rect& r) { return std::int64_t{r.width} * r.height; };
    const Rect largest = *std::ranges::max_element(*rects, {}, area);
    std::unique_ptr<DividedImages> divided(new DividedImages(whole, std::move(*rects)));
    status = divided->plans_.reserve(largest);
    if (status) return std::unique_ptr<WorkspaceImpl>(std::move(divided));
    if (status.error().code != ErrorCode::out_of_memory) break;
  }
  return status.error();
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
