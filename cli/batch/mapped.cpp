#include "batch/mapped.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <new>
#include <stdexcept>

namespace mollify::cli {

Mapped::Mapped(const Descriptor& file, int protection) {
  struct stat status {};
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  const bool keeps_size = seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
  if (!keeps_size || ::fstat(file.get(), &status) != 0 || status.st_size <= 0) throw std::invalid_argument("no shared memory");
  bytes_ = status.st_size;
  void* memory = ::mmap(nullptr, static_cast<std::size_t>(bytes_), protection, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  begin_ = static_cast<std::uint8_t*>(memory);
}

Mapped::~Mapped() {
  ::munmap(begin_, static_cast<std::size_t>(bytes_));
}

ImageView Mapped::view(const SharedImage& image) const {
  const auto [desc, row_bytes, offset] = image;
  const bool has_size = desc.width > 0 && desc.height > 0 && offset >= 0 && offset < bytes_;
  const bool fits =
      has_size && row_bytes >= std::int64_t{desc.width} * info(desc.format).pixel_bytes() && row_bytes <= (bytes_ - offset) / desc.height;
  if (!fits) throw std::invalid_argument("an image that does not fit into its memory");
  return {desc, begin_ + offset, row_bytes};
}

}  // namespace mollify::cli
