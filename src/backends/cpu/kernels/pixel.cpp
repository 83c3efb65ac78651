#include "backends/cpu/kernels/pixel.h"

namespace mollify::cpu {

std::array<double, 4> decode_pixel(const RowFormat& format, const std::array<double, 4>& value, double unit) {
  std::array<std::byte, 4 * sizeof(double)> bytes{};
  for (std::size_t c = 0; c < static_cast<std::size_t>(format.channels); ++c) {
    scalar::write_component(format.component, value[c] * unit,
                            bytes.data() + static_cast<std::ptrdiff_t>(c) * scalar::component_bytes(format.component));
  }
  // An image of this one pixel; its format matters only to those who look at the description.
  const ConstImageView image{{1, 1, PixelFormat::r8}, bytes.data(), 0};
  RowPipeline rows;
  rows.source = format;
  return scalar::read_pixel<double>(rows, image, 0, 0);
}

}  // namespace mollify::cpu
