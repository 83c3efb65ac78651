#include "backends/vulkan/recorder.h"

#include <algorithm>
#include <cstring>

#include "backends/vulkan/executor.h"
#include "backends/vulkan/formats.h"

namespace mollify::vulkan {
namespace {

constexpr VkDeviceSize kWeightsAlignment = 256;  // no device asks for more

/// The sampler's way past the edge that does what the border does. Planners ask for no other.
VkSamplerAddressMode address_mode(BorderMode mode) {
  switch (mode) {
    case BorderMode::reflect:
      return VK_SAMPLER_ADDRESS_MODE_MIRRORED_REPEAT;
    case BorderMode::wrap:
      return VK_SAMPLER_ADDRESS_MODE_REPEAT;
    case BorderMode::constant:
      return VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER;
    case BorderMode::clamp:
    case BorderMode::mirror:
      break;
  }
  return VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
}

Result<VkSampler> make_sampler(const Context& context, VkFilter filter, const Border& border) {
  VkSamplerCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO;
  info.magFilter = info.minFilter = filter;
  info.addressModeU = address_mode(border.mode.x);
  info.addressModeV = address_mode(border.mode.y);
  info.addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
  info.borderColor =
      border.value == std::array{1.0, 1.0, 1.0, 1.0} ? VK_BORDER_COLOR_FLOAT_OPAQUE_WHITE : VK_BORDER_COLOR_FLOAT_TRANSPARENT_BLACK;
  VkSampler sampler = VK_NULL_HANDLE;
  if (const VkResult r = context.vk().CreateSampler(context.device(), &info, nullptr, &sampler); r != VK_SUCCESS) {
    return to_error(r, "making a sampler");
  }
  return sampler;
}

}  // namespace

Result<std::shared_ptr<const Prepared>> Prepared::create(const Plan& plan, std::shared_ptr<Context> context) {
  const std::shared_ptr<Prepared> prepared(new Prepared(plan, std::move(context)));
  Result<std::vector<Pipeline>> pipelines = make_pipelines(prepared->plan_, Layers::one, *prepared->context_);
  if (!pipelines) return pipelines.error();
  prepared->pipelines_ = std::move(*pipelines);
  if (Status s = prepared->upload_weights(); !s) return s.error();
  if (Status s = prepared->make_samplers(); !s) return s.error();
  return std::shared_ptr<const Prepared>(prepared);
}

Prepared::~Prepared() {
  for (VkSampler sampler : {nearest_, linear_}) {
    if (sampler != VK_NULL_HANDLE) context_->vk().DestroySampler(context_->device(), sampler, nullptr);
  }
}

Status Prepared::upload_weights() {
  VkDeviceSize total = 0;
  for (const Pipeline& pass : passes()) {
    weights_offsets_.push_back(total);
    total = (total + pass.weights.size() + kWeightsAlignment - 1) / kWeightsAlignment * kWeightsAlignment;
  }
  // A kernel may see more of its block than it has weights for.
  total += static_cast<VkDeviceSize>(std::min<std::int64_t>(context_->info().gpu.max_uniform_bytes, 1 << 16));
  const Result<std::size_t> buffer = weights_.add_buffer(total, VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
  if (!buffer) return buffer.error();
  if (Status s = weights_.allocate(VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                                   VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
      !s) {
    return s;
  }
  for (std::size_t i = 0; i < passes().size(); ++i) {
    const std::vector<std::byte>& bytes = passes()[i].weights;
    std::memcpy(weights_.data(0) + weights_offsets_[i], bytes.data(), bytes.size());
  }
  return {};
}

Status Prepared::make_samplers() {
  const Result<VkSampler> nearest = make_sampler(*context_, VK_FILTER_NEAREST, {});
  if (!nearest) return nearest.error();
  nearest_ = *nearest;
  if (std::ranges::none_of(plan_.passes, &Pass::linear)) return {};
  const Result<VkSampler> linear = make_sampler(*context_, VK_FILTER_LINEAR, plan_.spec.border);
  if (!linear) return linear.error();
  linear_ = *linear;
  return {};
}

Status add_intermediates(const Prepared& prepared, std::size_t images, Arena& arena) {
  const std::size_t share = images_of_share(prepared);
  for (std::size_t first = 0; first < images; first += share) {
    const VkDeviceSize others = std::min(share, images - first) - 1;
    for (const ImageDesc& desc : prepared.plan().intermediates) {
      const VkDeviceSize bytes = others * stride_of_intermediate(desc) + payload(desc);
      const Result<std::size_t> index = prepared.uses_images()
                                            ? arena.add_image(desc, VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_STORAGE_BIT)
                                            : arena.add_buffer(bytes, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
      if (!index) return index.error();
    }
  }
  return {};
}

Result<std::unique_ptr<RecorderImpl>> RecorderImpl::create(std::shared_ptr<const Prepared> prepared, std::span<const Target> batch,
                                                           const Scratch& scratch) {
  std::unique_ptr<RecorderImpl> recorder(new RecorderImpl(std::move(prepared)));
  recorder->launches_ = launches_of(*recorder->prepared_, batch);
  if (Status s = recorder->make_intermediates(batch.size(), scratch); !s) return s.error();
  if (Status s = recorder->make_pipelines(); !s) return s.error();
  if (Status s = recorder->make_sets(); !s) return s.error();
  for (std::size_t launch = 0; launch < recorder->launches_.size(); ++launch) {
    const Target& first = batch[recorder->launches_[launch].first];
    for (std::size_t pass = 0; pass < recorder->passes().size(); ++pass) recorder->bind(pass, launch, first);
  }
  return recorder;
}

RecorderImpl::~RecorderImpl() {
  if (pool_ != VK_NULL_HANDLE) context().vk().DestroyDescriptorPool(context().device(), pool_, nullptr);
}

Status RecorderImpl::make_intermediates(std::size_t images, const Scratch& scratch) {
  if (Status s = add_intermediates(*prepared_, images, scratch_); !s) return s;
  const std::size_t count = prepared_->uses_images() ? images * prepared_->plan().intermediates.size() : 0;
  for (std::size_t i = 0; i < count; ++i) {
    images_begin_.push_back(beginning_of(scratch_.image(i), VK_ACCESS_SHADER_WRITE_BIT));
  }
  if (scratch.memory != VK_NULL_HANDLE) {
    if (scratch.offset % scratch_.needs().alignment != 0) {
      return Error{ErrorCode::invalid_argument,
                   "scratch begins at byte " + std::to_string(scratch.offset) + ", it needs a multiple of " +
                       std::to_string(scratch_.needs().alignment),
                   {}};
    }
    return scratch_.bind(scratch.memory, scratch.offset);
  }
  return scratch_.allocate(0, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
}

Status RecorderImpl::make_pipelines() {
  if (std::ranges::all_of(launches_, [](const Launch& launch) { return launch.count == 1; })) return {};
  Result<std::vector<Pipeline>> layered = vulkan::make_pipelines(prepared_->plan(), Layers::many, *prepared_->context());
  if (!layered) return layered.error();
  layered_ = std::move(*layered);
  return {};
}

Status RecorderImpl::make_sets() {
  const DeviceFunctions& vk = context().vk();
  const auto count = static_cast<std::uint32_t>(launches_.size() * passes().size());
  const std::array<VkDescriptorPoolSize, 4> sizes{{{VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, count},
                                                   {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, count},
                                                   {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, count},
                                                   {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 4 * count}}};
  VkDescriptorPoolCreateInfo pool{};
  pool.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  pool.maxSets = count;
  pool.poolSizeCount = static_cast<std::uint32_t>(sizes.size());
  pool.pPoolSizes = sizes.data();
  if (const VkResult r = vk.CreateDescriptorPool(context().device(), &pool, nullptr, &pool_); r != VK_SUCCESS) {
    pool_ = VK_NULL_HANDLE;  // what a failed call leaves there is undefined
    return to_error(r, "making a descriptor pool");
  }
  std::vector<VkDescriptorSetLayout> layouts;
  for (std::size_t i = 0; i < count; ++i) layouts.push_back(passes()[i % passes().size()].objects.set_layout);
  sets_.resize(count);
  parameters_.resize(count);
  VkDescriptorSetAllocateInfo allocate{};
  allocate.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  allocate.descriptorPool = pool_;
  allocate.descriptorSetCount = count;
  allocate.pSetLayouts = layouts.data();
  const VkResult r = vk.AllocateDescriptorSets(context().device(), &allocate, sets_.data());
  return r == VK_SUCCESS ? Status() : Status(to_error(r, "making descriptor sets"));
}

void RecorderImpl::bind(std::size_t pass_index, std::size_t launch_index, const Target& first) {
  const DeviceFunctions& vk = context().vk();
  const Plan& plan = prepared_->plan();
  const Launch& launch = launches_[launch_index];
  const Pipeline& pass = passes()[pass_index];
  const Pass& planned_pass = plan.passes[pass_index];
  const std::size_t index = set_index(pass_index, launch_index);
  parameters_[index] = pass.parameters;
  const auto write = [&](std::uint32_t number, BindingKind kind, const VkDescriptorImageInfo* image, const VkDescriptorBufferInfo* buffer) {
    VkWriteDescriptorSet set{};
    set.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    set.dstSet = sets_[index];
    set.dstBinding = number;
    set.descriptorCount = 1;
    set.descriptorType = descriptor_type(kind);
    set.pImageInfo = image;
    set.pBufferInfo = buffer;
    vk.UpdateDescriptorSets(context().device(), 1, &set, 0, nullptr);
  };
  const auto set_distance = [&](const std::string& name, VkDeviceSize bytes, const ImageDesc& desc) {
    pass.set_distance(parameters_[index], name, static_cast<std::uint32_t>(bytes / pixel_bytes(desc)));
  };
  const auto bind_pixels = [&](std::uint32_t number, const std::string& name, const Binding& planned) {
    VkDescriptorImageInfo image{prepared_->sampler(pass_index), VK_NULL_HANDLE, VK_IMAGE_LAYOUT_GENERAL};
    VkDescriptorBufferInfo buffer{};
    if (planned.kind == Binding::Kind::intermediate) {
      const auto which = static_cast<std::size_t>(planned.index);
      const ImageDesc& desc = plan.intermediates[which];
      const std::size_t share = images_of_share(*prepared_);
      const std::size_t own = launch.first / share * plan.intermediates.size() + which;
      const VkDeviceSize stride = stride_of_intermediate(desc);
      image.imageView = scratch_.view(own);
      buffer = {scratch_.buffer(own), launch.first % share * stride, (launch.count - 1) * stride + payload(desc)};
      set_distance(name + "_stride", stride, desc);
    } else {
      const bool is_source = planned.kind == Binding::Kind::source;
      const Resource& given = is_source ? first.source : first.destination;
      const ImageDesc& desc = is_source ? plan.src : plan.dst;
      if (const auto* lent = std::get_if<ImageResource>(&given)) {
        image.imageView = lent->view;
        if (is_source) image.imageLayout = lent->layout;
      } else {
        const auto& lent_buffer = std::get<BufferResource>(given);
        const VkDeviceSize stride = is_source ? launch.source_stride : launch.destination_stride;
        const VkDeviceSize range = (launch.count - 1) * stride + static_cast<VkDeviceSize>(extent(lent_buffer, desc));
        buffer = {lent_buffer.buffer, lent_buffer.offset, range};
        set_distance(name + "_pitch", static_cast<VkDeviceSize>(row_bytes(lent_buffer, desc)), desc);
        set_distance(name + "_stride", stride, desc);
      }
    }
    write(number, pass.binding(number).kind, &image, &buffer);
  };
  bind_pixels(kSourceBinding, "source", planned_pass.source);
  bind_pixels(kDestinationBinding, "destination", planned_pass.destination);
  if (planned_pass.auxiliary) bind_pixels(kAuxiliaryBinding, "auxiliary", *planned_pass.auxiliary);
  const auto weights = std::ranges::find(pass.variant->bindings, kWeightsBinding, &ShaderBinding::binding);
  if (weights == pass.variant->bindings.end()) return;
  const bool uniform = weights->kind == BindingKind::uniform_buffer;
  // A matrix of zeros has no weights at all, and no buffer is empty.
  const VkDeviceSize range = uniform ? std::min<VkDeviceSize>(1 << 16, context().info().gpu.max_uniform_bytes)
                                     : std::max<VkDeviceSize>(16, (pass.weights.size() + 15) / 16 * 16);
  const VkDescriptorBufferInfo buffer{prepared_->weights(), prepared_->weights_offset(pass_index), range};
  write(kWeightsBinding, weights->kind, nullptr, &buffer);
}

void RecorderImpl::record(VkCommandBuffer commands) const {
  const DeviceFunctions& vk = context().vk();
  // The last execution may still read what this one overwrites. Images are begun anew: nothing of them is kept.
  if (!prepared_->plan().intermediates.empty()) compute_barrier(commands, images_begin_);
  for (std::size_t i = 0; i < passes().size(); ++i) {
    if (i > 0) compute_barrier(commands, {});
    const Pipeline& pass = passes()[i];
    vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pass.objects.pipeline);
    for (std::size_t launch = 0; launch < launches_.size(); ++launch) {
      const std::size_t index = set_index(i, launch);
      vk.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pass.objects.layout, 0, 1, &sets_[index], 0, nullptr);
      vk.CmdPushConstants(commands, pass.objects.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                          static_cast<std::uint32_t>(parameters_[index].size()), parameters_[index].data());
      vk.CmdDispatch(commands, pass.groups.x, pass.groups.y, static_cast<std::uint32_t>(launches_[launch].count));
    }
  }
}

/// Everything that shaders wrote is visible to what shaders do next.
void RecorderImpl::compute_barrier(VkCommandBuffer commands, std::span<const VkImageMemoryBarrier> images) const {
  constexpr VkPipelineStageFlags kStage = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
  context().vk().CmdPipelineBarrier(commands, kStage, kStage, 0, 1, &barrier, 0, nullptr, static_cast<std::uint32_t>(images.size()),
                                    images.data());
}

void full_barrier(const Context& context, VkCommandBuffer commands) {
  constexpr VkPipelineStageFlags kStages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask =
      VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  context.vk().CmdPipelineBarrier(commands, kStages, kStages, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

void host_barrier(const Context& context, VkCommandBuffer commands) {
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
  context.vk().CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, nullptr, 0,
                                  nullptr);
}

VkImageMemoryBarrier beginning_of(VkImage image, VkAccessFlags written_by) {
  VkImageMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER;
  barrier.dstAccessMask = written_by;
  barrier.oldLayout = VK_IMAGE_LAYOUT_UNDEFINED;
  barrier.newLayout = VK_IMAGE_LAYOUT_GENERAL;
  barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  barrier.image = image;
  barrier.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
  return barrier;
}

void begin_image(const Context& context, VkCommandBuffer commands, VkImage image) {
  constexpr VkPipelineStageFlags kStages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
  const VkImageMemoryBarrier barrier = beginning_of(image, VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
  context.vk().CmdPipelineBarrier(commands, kStages, kStages, 0, 0, nullptr, 0, nullptr, 1, &barrier);
}

}  // namespace mollify::vulkan
