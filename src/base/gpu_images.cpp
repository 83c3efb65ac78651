#include "base/gpu_images.h"

#include <algorithm>

namespace mollify {
namespace {

/// The first pass reads the source, so it says how the caller's images lie. Later passes may keep theirs otherwise.
bool lie_in_buffers(std::span<const Pass> passes) {
  const Pass& first = passes.front();
  const auto storage = first.constants.find(kStorageConstant);
  return storage != first.constants.end() && storage->second == static_cast<std::int64_t>(Storage::buffer);
}

}  // namespace

const ImageDesc& desc_of(const Plan& plan, const Binding& binding) {
  switch (binding.kind) {
    case Binding::Kind::source:
      return plan.src;
    case Binding::Kind::destination:
      return plan.dst;
    case Binding::Kind::intermediate:
      break;
  }
  return plan.intermediates[static_cast<std::size_t>(binding.index)];
}

bool exceed_bindings(std::span<const Pass> passes, const ImageDesc& src, const ImageDesc& dst, std::span<const ImageDesc> intermediates,
                     const GpuInfo& gpu) {
  const auto exceeds = [&](const ImageDesc& desc) { return desc.payload_bytes() > gpu.max_buffer_bytes; };
  return lie_in_buffers(passes) && (exceeds(src) || exceeds(dst) || std::ranges::any_of(intermediates, exceeds));
}

std::int64_t gpu_intermediate_bytes(const Plan& plan) {
  std::int64_t bytes = 0;
  for (const ImageDesc& desc : plan.intermediates) bytes += desc.payload_bytes();
  return bytes;
}

std::int64_t gpu_workspace_bytes(const Plan& plan) {
  const GpuInfo& gpu = plan.device.gpu;
  if (exceed_bindings(plan.passes, plan.src, plan.dst, plan.intermediates, gpu)) return gpu.max_buffer_bytes;
  const bool in_buffers = lie_in_buffers(plan.passes);
  const auto bytes = [&](const ImageDesc& desc) {
    return in_buffers ? desc.height * buffer_row_bytes(desc, gpu.max_buffer_bytes) : desc.payload_bytes();
  };
  const std::int64_t image = 2 * (bytes(plan.src) + bytes(plan.dst)) + gpu_intermediate_bytes(plan);
  return images_in_flight(plan.min_bytes) * image;
}

}  // namespace mollify
