// A blur in memory of the caller, on the stand-in for CUDA.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mollify/cuda.h"
#include "mollify/mollify.h"

namespace mollify::test {

/// A blur in memory of the caller, where images begin `first` bytes behind a multiple of 256, and whose rows are that much longer.
inline std::vector<std::byte> blurred_in_memory(const Executable& blur, const ImageDesc& image, std::size_t first) {
  const std::size_t row = static_cast<std::size_t>(image.row_payload_bytes()) + first;
  const auto rows = static_cast<std::size_t>(image.height);
  std::vector<std::byte> memory(2 * (first + row * rows + 256), std::byte{0xA5});
  const auto aligned = [](std::byte* at) { return at + (256 - reinterpret_cast<std::uintptr_t>(at) % 256) % 256; };
  std::byte* const source = aligned(memory.data()) + first;
  std::byte* const result = aligned(source + row * rows) + first;
  const std::size_t payload = row - first;
  for (std::size_t y = 0; y < rows; ++y) {
    // Of halves or floats between 1 and 2, or of any bytes.
    for (std::size_t i = 0; i < payload; ++i) {
      std::byte& byte = source[y * row + i] = static_cast<std::byte>((y * payload + i) * 2654435761U >> 13);
      if (!info(image.format).is_floating()) continue;
      if (info(image.format).bits == 16 && i % 2 == 1) byte = std::byte{0x3C} | (byte & std::byte{3});
      if (info(image.format).bits == 32 && i % 4 == 2) byte |= std::byte{0x80};
      if (info(image.format).bits == 32 && i % 4 == 3) byte = std::byte{0x3F};
    }
  }
  const cuda::ScratchNeeds needs = *cuda::scratch_needs(blur, 1);
  std::vector<std::byte> scratch(static_cast<std::size_t>(needs.size + needs.alignment), std::byte{0xA5});
  const auto row_bytes = static_cast<std::int64_t>(row);
  EXPECT_TRUE(cuda::enqueue(blur, {source, row_bytes}, {result, row_bytes}, 1,
                            {needs.size > 0 ? aligned(scratch.data()) : nullptr, needs.size}, nullptr));
  std::vector<std::byte> out;
  for (std::size_t y = 0; y < rows; ++y) out.insert(out.end(), result + y * row, result + y * row + payload);
  return out;
}

}  // namespace mollify::test
