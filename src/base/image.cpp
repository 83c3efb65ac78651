#include "mollify/image.h"

#include <new>

namespace mollify {
namespace {

constexpr std::size_t kRowAlignment = 64;

}  // namespace

ConstImageView crop(const ConstImageView& view, const Rect& rect) {
  const std::ptrdiff_t offset = std::ptrdiff_t{rect.x} * info(view.desc.format).pixel_bytes();
  return {{rect.width, rect.height, view.desc.format}, view.row(rect.y) + offset, view.row_bytes};
}

ImageView crop(const ImageView& view, const Rect& rect) {
  const std::ptrdiff_t offset = std::ptrdiff_t{rect.x} * info(view.desc.format).pixel_bytes();
  return {{rect.width, rect.height, view.desc.format}, view.row(rect.y) + offset, view.row_bytes};
}

Result<Image> Image::create(const ImageDesc& desc) {
  if (desc.width < 1 || desc.height < 1) {
    return Error{ErrorCode::invalid_argument,
                 "an image needs at least one pixel, not " + std::to_string(desc.width) + "x" + std::to_string(desc.height),
                 {}};
  }
  if (desc.row_payload_bytes() > kMostImageBytes / desc.height) {
    return Error{ErrorCode::out_of_memory, "no memory for an image of more than 2^56 bytes", {}};
  }
  Image image;
  image.desc_ = desc;
  const auto alignment = static_cast<std::ptrdiff_t>(kRowAlignment);
  image.row_bytes_ = (desc.row_payload_bytes() + alignment - 1) / alignment * alignment;
  const auto bytes = static_cast<std::size_t>(image.row_bytes_) * static_cast<std::size_t>(desc.height);
  image.data_.reset(static_cast<std::byte*>(::operator new (bytes, std::align_val_t{kRowAlignment}, std::nothrow)));
  if (!image.data_) {
    return Error{ErrorCode::out_of_memory, "no memory for an image of " + std::to_string(bytes) + " bytes", {}};
  }
  return image;
}

void Image::Free::operator()(std::byte* data) const {
  ::operator delete (data, std::align_val_t{kRowAlignment});
}

}  // namespace mollify
