// Memory around the images of a case, so that a write in the wrong place is seen.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "mollify/image.h"

namespace mollify::cases {

/// Bytes left free around an image. All are multiples of the component size.
struct Margins {
  std::int32_t left_pixels = 0;
  std::int32_t right_pixels = 0;
  std::int32_t rows_above = 0;
  std::int32_t rows_below = 0;
};

/// An image somewhere inside a block of memory.
class Canvas {
 public:
  /// `row_payload_bytes` of 0 stands for what `desc` needs.
  Canvas(const ImageDesc& desc, const Margins& margins, std::byte poison, std::int64_t row_payload_bytes = 0);

  [[nodiscard]] ImageView view();
  [[nodiscard]] ConstImageView view() const;
  [[nodiscard]] std::vector<std::byte>& bytes() { return bytes_; }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  ImageDesc desc_;
  std::ptrdiff_t row_bytes_ = 0;
  std::ptrdiff_t offset_ = 0;
  std::vector<std::byte> bytes_;
};

/// Where `after` differs from `before` outside the pixels of `image`, which lies in `after`; nothing if nowhere.
[[nodiscard]] std::optional<std::string> changed_outside(const std::vector<std::byte>& before, const std::vector<std::byte>& after,
                                                         const ImageView& image);

}  // namespace mollify::cases
