#include "backends/vulkan/launches.h"

#include <algorithm>

#include "backends/vulkan/recorder.h"
#include "base/gpu_images.h"

namespace mollify::vulkan {
namespace {

constexpr VkDeviceSize kStrideAlignment = 256;  // pixels, which begin at as many bytes as any device asks for

/// Images that lie at equal distances in one buffer, as many as one binding sees.
struct Series {
  std::size_t count = 1;
  VkDeviceSize stride = 0;
};

/// From the first image on; `side` is the source or the destination.
Series series_of(std::span<const Target> batch, Resource Target::*side, const ImageDesc& desc, VkDeviceSize most_bytes) {
  const auto buffer = [&](std::size_t i) -> const BufferResource& { return std::get<BufferResource>(batch[i].*side); };
  Series series;
  if (batch.size() < 2 || buffer(1).offset < buffer(0).offset) return series;
  series.stride = buffer(1).offset - buffer(0).offset;
  if (series.stride % pixel_bytes(desc) != 0) return {};
  const auto follows = [&](std::size_t i) {
    return buffer(i).buffer == buffer(0).buffer && buffer(i).offset == buffer(0).offset + i * series.stride &&
           row_bytes(buffer(i), desc) == row_bytes(buffer(0), desc) &&
           i * series.stride + static_cast<VkDeviceSize>(extent(buffer(0), desc)) <= most_bytes;
  };
  while (series.count < batch.size() && follows(series.count)) ++series.count;
  return series;
}

bool can_begin_launch(const Target& target, const Context& context) {
  const auto is_aligned = [&](const Resource& resource) {
    return std::get<BufferResource>(resource).offset % context.buffer_alignment() == 0;
  };
  return is_aligned(target.source) && is_aligned(target.destination);
}

}  // namespace

std::int64_t row_bytes(const BufferResource& buffer, const ImageDesc& desc) {
  return buffer.row_bytes == 0 ? desc.row_payload_bytes() : buffer.row_bytes;
}

std::int64_t extent(const BufferResource& buffer, const ImageDesc& desc) {
  return row_bytes(buffer, desc) * (desc.height - 1) + desc.row_payload_bytes();
}

VkDeviceSize payload(const ImageDesc& desc) {
  return static_cast<VkDeviceSize>(desc.payload_bytes());
}

VkDeviceSize pixel_bytes(const ImageDesc& desc) {
  return static_cast<VkDeviceSize>(mollify::info(desc.format).pixel_bytes());
}

VkDeviceSize own_row_bytes(const Prepared& prepared, const ImageDesc& desc) {
  const bool is_image = prepared.uses_images();
  const std::int64_t most_bytes = prepared.context()->info().gpu.max_buffer_bytes;
  return static_cast<VkDeviceSize>(is_image ? desc.row_payload_bytes() : buffer_row_bytes(desc, most_bytes));
}

VkDeviceSize own_image_bytes(const Prepared& prepared, const ImageDesc& desc) {
  return own_row_bytes(prepared, desc) * static_cast<VkDeviceSize>(desc.height);
}

VkDeviceSize stride_of_intermediate(const ImageDesc& desc) {
  const VkDeviceSize step = kStrideAlignment * pixel_bytes(desc);
  return (payload(desc) + step - 1) / step * step;
}

std::size_t images_of_share(const Prepared& prepared) {
  if (prepared.uses_images()) return 1;
  std::size_t images = prepared.context()->max_layers();
  const auto most_bytes = static_cast<VkDeviceSize>(prepared.context()->info().gpu.max_buffer_bytes);
  for (const ImageDesc& desc : prepared.plan().intermediates) {
    images = std::min<std::size_t>(images, 1 + (most_bytes - payload(desc)) / stride_of_intermediate(desc));
  }
  // As many images further on, any stride comes to a multiple of what a launch must begin at.
  const std::size_t step = prepared.context()->buffer_alignment();
  return images > step ? images / step * step : images;
}

std::size_t most_of_launch(const Prepared& prepared) {
  const auto most_bytes = static_cast<VkDeviceSize>(prepared.context()->info().gpu.max_buffer_bytes);
  const VkDeviceSize larger = std::max(own_image_bytes(prepared, prepared.plan().src), own_image_bytes(prepared, prepared.plan().dst));
  return std::min<std::size_t>(images_of_share(prepared), most_bytes / larger);
}

std::vector<Launch> launches_of(const Prepared& prepared, std::span<const Target> batch) {
  const Plan& plan = prepared.plan();
  const Context& context = *prepared.context();
  const auto most_bytes = static_cast<VkDeviceSize>(context.info().gpu.max_buffer_bytes);
  const std::size_t share = images_of_share(prepared);
  std::vector<Launch> launches;
  for (std::size_t first = 0; first < batch.size(); first += launches.back().count) {
    Launch& launch = launches.emplace_back(Launch{.first = first});
    if (share == 1) continue;
    const std::span<const Target> rest = batch.subspan(first, std::min(batch.size() - first, share - first % share));
    const Series sources = series_of(rest, &Target::source, plan.src, most_bytes);
    const Series destinations = series_of(rest, &Target::destination, plan.dst, most_bytes);
    launch = {first, std::min(sources.count, destinations.count), sources.stride, destinations.stride};
    // What is left over must be able to begin a launch.
    const auto is_cut_well = [&] {
      const std::size_t next = first + launch.count;
      return next == batch.size() || can_begin_launch(batch[next], context);
    };
    while (launch.count > 1 && !is_cut_well()) --launch.count;
  }
  return launches;
}

}  // namespace mollify::vulkan
