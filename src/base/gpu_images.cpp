#include "base/gpu_images.h"

namespace mollify {
namespace {

/// The first pass reads the source, so it says how the caller's images lie. Later passes may keep theirs otherwise.
bool lies_in_buffers(const Plan& plan) {
  const Pass& first = plan.passes.front();
  const auto storage = first.constants.find("storage");
  return storage != first.constants.end() && storage->second == static_cast<std::int64_t>(Storage::buffer);
}

}  // namespace

std::int64_t gpu_intermediate_bytes(const Plan& plan) {
  std::int64_t bytes = 0;
  for (const ImageDesc& desc : plan.intermediates) bytes += desc.payload_bytes();
  return bytes;
}

std::int64_t gpu_workspace_bytes(const Plan& plan) {
  const bool in_buffers = lies_in_buffers(plan);
  const auto bytes = [&](const ImageDesc& desc) {
    return in_buffers ? desc.height * buffer_row_bytes(desc, plan.device.gpu.max_buffer_bytes) : desc.payload_bytes();
  };
  const std::int64_t image = 2 * (bytes(plan.src) + bytes(plan.dst)) + gpu_intermediate_bytes(plan);
  return images_in_flight(plan.min_bytes) * image;
}

}  // namespace mollify
