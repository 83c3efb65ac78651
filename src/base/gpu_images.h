// The images that a workspace of a GPU backend holds, how many and how they lie: what the plan promises and what the backend
// allocates.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "mollify/plan.h"

namespace mollify {

/// Where the pixels of sources, destinations and intermediates lie on a GPU.
enum class Storage : std::uint8_t { buffer, image };
/// The constant of a pass that says so.
inline constexpr std::string_view kStorageConstant = "storage";

/// The image that a pass of the plan reads or writes there.
[[nodiscard]] const ImageDesc& desc_of(const Plan& plan, const Binding& binding);

/// Whether an image of these passes is larger than what one binding of a buffer can see. Then the passes run on windows.
[[nodiscard]] bool exceed_bindings(std::span<const Pass> passes, const ImageDesc& src, const ImageDesc& dst,
                                   std::span<const ImageDesc> intermediates, const GpuInfo& gpu);

/// Bytes of the images that passes of a plan for a GPU leave for later ones, for one image in flight.
[[nodiscard]] std::int64_t gpu_intermediate_bytes(const Plan& plan);
/// Bytes of one Workspace of a plan for a GPU, whose min_bytes and passes are set. For each image in flight, the source and the destination
/// lie on the device and once more in memory that the host sees; there they may overlap. Windows take as many bytes as one binding sees.
[[nodiscard]] std::int64_t gpu_workspace_bytes(const Plan& plan);

/// In a batch, the host copies one image while another is on the device. Large images are not worth two slots.
[[nodiscard]] constexpr std::int64_t images_in_flight(std::int64_t min_bytes) {
  constexpr std::int64_t kLarge = 256 << 20;
  return min_bytes < kLarge ? 2 : 1;
}

/// From one row to the next of a source or a destination in a buffer. Rows begin at multiples of 16 pixels, which kernels read
/// and write by whole words, unless images are so narrow that they would be gaps to a large part, or so large that a binding,
/// which sees `most_bytes`, could not see them.
[[nodiscard]] inline std::int64_t buffer_row_bytes(const ImageDesc& desc, std::int64_t most_bytes) {
  constexpr std::int64_t kStep = 16;
  constexpr std::int32_t kWide = 128;  // pixels: from here on gaps are an eighth at most
  if (desc.width < kWide) return desc.row_payload_bytes();
  const std::int64_t row = (std::int64_t{desc.width} + kStep - 1) / kStep * kStep * info(desc.format).pixel_bytes();
  return row * desc.height <= most_bytes ? row : desc.row_payload_bytes();
}

}  // namespace mollify
