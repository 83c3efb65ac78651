#include "backends/vulkan/timestamps.h"

#include <algorithm>
#include <cstring>

namespace mollify::vulkan {
namespace {

constexpr int kKinds = 4;  // what DeviceSamples holds
constexpr std::uint32_t kQueries = 2 * kKinds * DeviceTimer::kMaxRuns;

/// Enough sets that together they are several times larger than any cache, within reason.
std::size_t set_count(std::int64_t bytes, bool is_software) {
  constexpr std::int64_t kTotal = 512 << 20;
  const std::int64_t wanted = (is_software ? kTotal / 8 : kTotal) / std::max<std::int64_t>(bytes, 1) + 1;
  return static_cast<std::size_t>(std::clamp<std::int64_t>(wanted, 2, 16));
}

}  // namespace

struct DeviceTimer::Set {
  explicit Set(const std::shared_ptr<const Prepared>& prepared) : buffers(prepared->context()) {}
  std::unique_ptr<DeviceImages> images;
  std::unique_ptr<RecorderImpl> blur;
  Arena buffers;  ///< from and to of the copies
  std::unique_ptr<RecorderImpl> copy;
};

DeviceTimer::DeviceTimer(std::shared_ptr<const Prepared> prepared) : prepared_(std::move(prepared)) {}

DeviceTimer::~DeviceTimer() {
  const Context& context = *prepared_->context();
  if (queries_ != VK_NULL_HANDLE) context.vk().DestroyQueryPool(context.device(), queries_, nullptr);
}

Result<std::unique_ptr<DeviceTimer>> DeviceTimer::create(std::shared_ptr<const Prepared> prepared,
                                                         const ConstImageView& noise) {
  const std::shared_ptr<Context> context = prepared->context();
  if (context->timestamp_mask() == 0) return Error{ErrorCode::unsupported, "the device's queue has no timestamps", {}};
  std::unique_ptr<DeviceTimer> timer(new DeviceTimer(std::move(prepared)));
  if (Status s = timer->make_copy_plan(); !s) return s.error();
  Result<std::unique_ptr<Commands>> commands = Commands::create(context);
  if (!commands) return commands.error();
  timer->commands_ = std::move(*commands);
  if (Status s = timer->make_sets(noise); !s) return s.error();

  VkQueryPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = kQueries;
  if (const VkResult r = context->vk().CreateQueryPool(context->device(), &info, nullptr, &timer->queries_); r != VK_SUCCESS) {
    return to_error(r, "making timestamps");
  }
  return timer;
}

Status DeviceTimer::make_copy_plan() {
  constexpr std::int32_t kThreads = 256;
  constexpr std::int32_t kVectorsAcross = 4096 * kThreads;
  copy_bytes_ = std::max<std::int64_t>(16, prepared_->plan().min_bytes / 2 / 16 * 16);
  const std::int64_t vectors = copy_bytes_ / 16;
  Plan plan;
  plan.device = prepared_->context()->info();
  Pass pass;
  pass.kernel = "copy";
  pass.size = {static_cast<std::int32_t>(std::min<std::int64_t>(vectors, kVectorsAcross)),
               static_cast<std::int32_t>((vectors + kVectorsAcross - 1) / kVectorsAcross)};
  pass.constants = {{"size_x", vectors}};
  pass.tile = {kThreads, 1};
  pass.group = {kThreads, 1};
  // Only the number of bytes counts; a row of pixels may be longer than an image can be.
  plan.src = plan.dst = {static_cast<std::int32_t>(std::min<std::int64_t>(vectors, 1 << 20)),
                         static_cast<std::int32_t>((vectors + (1 << 20) - 1) >> 20), PixelFormat::rgba32f};
  plan.passes = {pass};
  Result<std::shared_ptr<const Prepared>> copy = Prepared::create(plan, prepared_->context());
  if (!copy) return copy.error();
  copy_ = std::move(*copy);
  return {};
}

Status DeviceTimer::make_sets(const ConstImageView& noise) {
  const Plan& plan = prepared_->plan();
  const std::size_t count = set_count(2 * plan.min_bytes, plan.device.gpu.is_software);
  const auto bytes = static_cast<VkDeviceSize>(copy_->plan().src.payload_bytes());
  for (std::size_t i = 0; i < count; ++i) {
    auto set = std::make_unique<Set>(prepared_);
    Result<std::unique_ptr<DeviceImages>> images = DeviceImages::create(prepared_);
    if (!images) return images.error();
    set->images = std::move(*images);
    Result<std::unique_ptr<RecorderImpl>> blur =
        RecorderImpl::create(prepared_, set->images->source(), set->images->destination(), {});
    if (!blur) return blur.error();
    set->blur = std::move(*blur);
    for (int end = 0; end < 2; ++end) {
      const Result<std::size_t> buffer =
          set->buffers.add_buffer(bytes, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                             VK_BUFFER_USAGE_TRANSFER_DST_BIT);
      if (!buffer) return buffer.error();
    }
    if (Status s = set->buffers.allocate(0, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT); !s) return s;
    Result<std::unique_ptr<RecorderImpl>> copy = RecorderImpl::create(
        copy_, BufferResource{set->buffers.buffer(0), 0, 0}, BufferResource{set->buffers.buffer(1), 0, 0}, {});
    if (!copy) return copy.error();
    set->copy = std::move(*copy);
    if (Status s = fill(*set, noise); !s) return s;
    sets_.push_back(std::move(set));
  }
  return {};
}

/// Noise into the source, and as much of it as there is into what the copies read.
Status DeviceTimer::fill(Set& set, const ConstImageView& noise) {
  const std::shared_ptr<Context> context = prepared_->context();
  const std::int64_t bytes = noise.desc.payload_bytes();
  Arena staging(context);
  const Result<std::size_t> buffer = staging.add_buffer(static_cast<VkDeviceSize>(bytes), VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
  if (!buffer) return buffer.error();
  if (Status s = staging.allocate(VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, 0); !s) return s;
  for (std::int32_t y = 0; y < noise.desc.height; ++y) {
    std::memcpy(staging.data(0) + y * noise.desc.row_payload_bytes(), noise.row(y),
                static_cast<std::size_t>(noise.desc.row_payload_bytes()));
  }
  const Status recorded = commands_->record([&](VkCommandBuffer out) {
    set.images->record_begin(out);
    set.images->record_upload(out, staging.buffer(0), 0);
    const VkBufferCopy copy{0, 0, static_cast<VkDeviceSize>(std::min(bytes, copy_bytes_))};
    context->vk().CmdCopyBuffer(out, staging.buffer(0), set.buffers.buffer(0), 1, &copy);
  });
  if (!recorded) return recorded;
  if (Status s = commands_->submit(); !s) return s;
  return commands_->wait();
}

Result<DeviceSamples> DeviceTimer::measure(int runs) {
  const Context& context = *prepared_->context();
  const DeviceFunctions& vk = context.vk();
  runs = std::clamp(runs, 1, kMaxRuns);
  const Status recorded = commands_->record([&](VkCommandBuffer out) {
    vk.CmdResetQueryPool(out, queries_, 0, kQueries);
    std::uint32_t query = 0;
    const auto timed = [&](const auto& work) {
      full_barrier(context, out);
      vk.CmdWriteTimestamp(out, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries_, query++);
      work();
      full_barrier(context, out);
      vk.CmdWriteTimestamp(out, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries_, query++);
    };
    for (int run = 0; run < runs; ++run) {
      const Set& set = *sets_[next_++ % sets_.size()];
      timed([&] { set.blur->record(out); });
      timed([&] {
        const VkBufferCopy copy{0, 0, static_cast<VkDeviceSize>(copy_bytes_)};
        vk.CmdCopyBuffer(out, set.buffers.buffer(0), set.buffers.buffer(1), 1, &copy);
      });
      timed([&] { set.copy->record(out); });
      timed([] {});
    }
  });
  if (!recorded) return recorded.error();
  if (Status s = commands_->submit(); !s) return s.error();
  if (Status s = commands_->wait(); !s) return s.error();

  std::vector<std::uint64_t> ticks(static_cast<std::size_t>(2 * kKinds * runs));
  const VkResult r = vk.GetQueryPoolResults(context.device(), queries_, 0, static_cast<std::uint32_t>(ticks.size()),
                                            ticks.size() * sizeof(std::uint64_t), ticks.data(), sizeof(std::uint64_t),
                                            VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
  if (r != VK_SUCCESS) return to_error(r, "reading timestamps");
  DeviceSamples samples;
  std::vector<double>* const kinds[kKinds] = {&samples.blur, &samples.driver_copy, &samples.kernel_copy, &samples.nothing};
  for (std::size_t i = 0; i < ticks.size(); i += 2) {
    const std::uint64_t elapsed = (ticks[i + 1] - ticks[i]) & context.timestamp_mask();
    kinds[i / 2 % kKinds]->push_back(static_cast<double>(elapsed) * context.timestamp_period_ns());
  }
  return samples;
}

}  // namespace mollify::vulkan
