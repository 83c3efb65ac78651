// mollify/vulkan.h: devices of the caller, and blurs recorded into the caller's command buffers. What the caller gets
// wrong and a driver would not report is refused here.
#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "backends/vulkan/executor.h"
#include "mollify/vulkan.h"

namespace mollify::vulkan {
namespace {

Error invalid(std::string message) {
  return {ErrorCode::invalid_argument, std::move(message), {}};
}

Error not_vulkan(const char* what) {
  return invalid(std::string(what) + " is not one of the Vulkan backend");
}

Result<std::shared_ptr<const Prepared>> prepared(const Executable& executable) {
  std::shared_ptr<const Prepared> prepared = prepared_of(Access::impl(executable));
  if (!prepared) return not_vulkan("the executable");
  return prepared;
}

Status check(std::string_view what, const ImageResource& image, bool is_source) {
  if (image.view == VK_NULL_HANDLE) return invalid("the " + std::string(what) + " has no view");
  if (image.layout == VK_IMAGE_LAYOUT_GENERAL) return {};
  if (is_source && image.layout == VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL) return {};
  return invalid("the " + std::string(what) + " must be in VK_IMAGE_LAYOUT_GENERAL" +
                 (is_source ? " or VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL" : ""));
}

Status check(std::string_view what, const BufferResource& buffer, const ImageDesc& desc, const Context& context) {
  if (buffer.buffer == VK_NULL_HANDLE) return invalid("the " + std::string(what) + " has no buffer");
  const std::int64_t row = row_bytes(buffer, desc);
  if (row < desc.row_payload_bytes() || row % info(desc.format).pixel_bytes() != 0) {
    return invalid("rows of the " + std::string(what) + " are " + std::to_string(row) +
                   " bytes apart: it must be whole pixels, as many as a row has at least");
  }
  const std::int64_t most = context.info().gpu.max_buffer_bytes;
  if (row > most || extent(buffer, desc) > most) {
    return invalid("the " + std::string(what) + " is larger than the " + std::to_string(most) +
                   " bytes that one binding of the device can see");
  }
  return {};
}

Status check(std::string_view what, const Resource& resource, const ImageDesc& desc, const Prepared& prepared) {
  if (std::holds_alternative<ImageResource>(resource) != prepared.uses_images()) {
    return invalid("the " + std::string(what) + " is " + (prepared.uses_images() ? "a buffer" : "an image") + ", the plan works on " +
                   (prepared.uses_images() ? "images" : "buffers"));
  }
  if (const auto* image = std::get_if<ImageResource>(&resource)) return check(what, *image, what == "source");
  return check(what, std::get<BufferResource>(resource), desc, *prepared.context());
}

/// The first image of a launch, whose place is where buffers are bound.
Status check_beginning(std::string_view what, const Resource& resource, const Context& context) {
  const auto* buffer = std::get_if<BufferResource>(&resource);
  if (!buffer || buffer->offset % context.buffer_alignment() == 0) return {};
  return invalid("the " + std::string(what) + " begins at byte " + std::to_string(buffer->offset) +
                 ", which is no multiple of the device's " + std::to_string(context.buffer_alignment()));
}

/// What an image takes of a buffer; of a view, all.
struct Place {
  std::uint64_t handle;
  VkDeviceSize begin;
  VkDeviceSize end;
  bool is_written;
};

Place place_of(const Resource& resource, const ImageDesc& desc, bool is_written) {
  if (const auto* image = std::get_if<ImageResource>(&resource)) {
    return {std::bit_cast<std::uint64_t>(image->view), 0, 1, is_written};
  }
  const auto& buffer = std::get<BufferResource>(resource);
  return {std::bit_cast<std::uint64_t>(buffer.buffer), buffer.offset, buffer.offset + static_cast<VkDeviceSize>(extent(buffer, desc)),
          is_written};
}

/// Nothing that is written overlaps anything else.
Status check_overlaps(std::span<const Target> batch, const Plan& plan) {
  std::vector<Place> places;
  for (const Target& target : batch) {
    places.push_back(place_of(target.source, plan.src, false));
    places.push_back(place_of(target.destination, plan.dst, true));
  }
  std::ranges::sort(places, {}, [](const Place& p) { return std::pair(p.handle, p.begin); });
  VkDeviceSize read = 0;  // up to here, by those before
  VkDeviceSize written = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Place& place = places[i];
    if (i == 0 || places[i - 1].handle != place.handle) read = written = 0;
    if (place.is_written && place.begin < written) return invalid("two destinations of a batch overlap");
    if (place.begin < (place.is_written ? read : written)) {
      return invalid("source and destination overlap; a recorder copies neither");
    }
    VkDeviceSize& end = place.is_written ? written : read;
    end = std::max(end, place.end);
  }
  return {};
}

}  // namespace

Result<Device> adopt(const LentDevice& lent) {
  Result<std::shared_ptr<Context>> context = Context::borrow(lent);
  if (!context) return context.error();
  return Access::device(make_device(std::move(*context)));
}

Result<Handles> handles(const Device& device) {
  const std::shared_ptr<Context> context = context_of(Access::impl(device));
  if (!context) return not_vulkan("the device");
  return context->handles();
}

Result<ScratchNeeds> scratch_needs(const Executable& executable, std::int32_t images) {
  const Result<std::shared_ptr<const Prepared>> ready = prepared(executable);
  if (!ready) return ready.error();
  if (images < 1) return invalid("a recorder has one image at least, not " + std::to_string(images));
  Arena arena((*ready)->context());
  if (Status s = add_intermediates(**ready, static_cast<std::size_t>(images), arena); !s) return s.error();
  const VkMemoryRequirements& needs = arena.needs();
  return ScratchNeeds{needs.size, needs.alignment, needs.memoryTypeBits};
}

Recorder::Recorder(std::unique_ptr<RecorderImpl> impl) : impl_(std::move(impl)) {}
Recorder::Recorder(Recorder&&) noexcept = default;
Recorder& Recorder::operator=(Recorder&&) noexcept = default;
Recorder::~Recorder() = default;

Result<Recorder> Recorder::create(const Executable& executable, const Resource& source, const Resource& destination,
                                  const Scratch& scratch) {
  const std::array<Target, 1> one{{{source, destination}}};
  return create(executable, one, scratch);
}

Result<Recorder> Recorder::create(const Executable& executable, std::span<const Target> batch, const Scratch& scratch) {
  const Result<std::shared_ptr<const Prepared>> ready = prepared(executable);
  if (!ready) return ready.error();
  if (batch.empty()) return invalid("a batch has one image at least");
  const Plan& plan = (*ready)->plan();
  for (const Target& target : batch) {
    if (Status s = check("source", target.source, plan.src, **ready); !s) return s.error();
    if (Status s = check("destination", target.destination, plan.dst, **ready); !s) return s.error();
  }
  if (Status s = check_overlaps(batch, plan); !s) return s.error();
  for (const Launch& launch : launches_of(**ready, batch)) {
    const Target& first = batch[launch.first];
    if (Status s = check_beginning("source", first.source, *(*ready)->context()); !s) return s.error();
    if (Status s = check_beginning("destination", first.destination, *(*ready)->context()); !s) return s.error();
  }
  Result<std::unique_ptr<RecorderImpl>> impl = RecorderImpl::create(*ready, batch, scratch);
  if (!impl) return impl.error();
  return Recorder(std::move(*impl));
}

void Recorder::record(VkCommandBuffer commands) const {
  impl_->record(commands);
}

void Recorder::record(VkCommandBuffer commands, VkQueryPool queries, std::uint32_t first_query) const {
  const DeviceFunctions& vk = impl_->context().vk();
  // Each is written when everything before it is done, so that the first does not count what the caller does earlier.
  vk.CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, first_query);
  impl_->record(commands);
  vk.CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, first_query + 1);
}

}  // namespace mollify::vulkan
