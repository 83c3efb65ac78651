#include "backends/vulkan/timestamps.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace mollify::vulkan {
namespace {

std::size_t set_count(const Plan& plan, std::size_t batch) {
  return mollify::set_count(2 * plan.min_bytes * static_cast<std::int64_t>(batch), plan.device.gpu.is_software);
}

/// Copies `vectors` of 16 bytes from one buffer to another.
Plan copy_plan(const DeviceInfo& device, std::int64_t vectors) {
  constexpr std::int32_t kThreads = 256;
  constexpr std::int32_t kVectorsAcross = 4096 * kThreads;
  Plan plan;
  plan.device = device;
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
  return plan;
}

/// Noise into the sources; `more` records what else is to be done with it.
template <class More>
Status fill(Commands& commands, const DeviceImages& images, const DeviceNoise& noise, const More& more) {
  const Status recorded = commands.record([&](VkCommandBuffer out) {
    images.record_begin(out);
    images.record_upload(out, noise.buffer(), 0, noise.pixel_bytes());
    more(out);
  });
  if (!recorded) return recorded;
  if (Status s = commands.submit(); !s) return s;
  return commands.wait();
}

}  // namespace

Result<std::unique_ptr<Stopwatch>> Stopwatch::create(std::shared_ptr<const Context> context, std::uint32_t capacity) {
  if (context->timestamp_mask() == 0) return Error{ErrorCode::unsupported, "the device's queue has no timestamps", {}};
  std::unique_ptr<Stopwatch> stopwatch(new Stopwatch(std::move(context), capacity));
  const Context& c = *stopwatch->context_;
  VkQueryPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = stopwatch->count_;
  if (const VkResult r = c.vk().CreateQueryPool(c.device(), &info, nullptr, &stopwatch->queries_); r != VK_SUCCESS) {
    stopwatch->queries_ = VK_NULL_HANDLE;  // what a failed call leaves there is undefined
    return to_error(r, "making timestamps");
  }
  return stopwatch;
}

Stopwatch::~Stopwatch() {
  if (queries_ != VK_NULL_HANDLE) context_->vk().DestroyQueryPool(context_->device(), queries_, nullptr);
}

void Stopwatch::reset(VkCommandBuffer commands) {
  context_->vk().CmdResetQueryPool(commands, queries_, 0, count_);
  next_ = 0;
}

void Stopwatch::mark(VkCommandBuffer commands) {
  full_barrier(*context_, commands);
  context_->vk().CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries_, next_++);
}

Result<std::vector<double>> Stopwatch::read() const {
  std::vector<std::uint64_t> ticks(next_);
  const VkResult r =
      context_->vk().GetQueryPoolResults(context_->device(), queries_, 0, next_, ticks.size() * sizeof(std::uint64_t), ticks.data(),
                                         sizeof(std::uint64_t), VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
  if (r != VK_SUCCESS) return to_error(r, "reading timestamps");
  std::vector<double> times;
  for (std::size_t i = 0; i < ticks.size(); i += 2) {
    const std::uint64_t elapsed = (ticks[i + 1] - ticks[i]) & context_->timestamp_mask();
    times.push_back(static_cast<double>(elapsed) * context_->timestamp_period_ns());
  }
  return times;
}

std::int64_t timer_bytes(const Plan& plan, std::size_t batch) {
  const std::int64_t image = plan.src.payload_bytes() + plan.dst.payload_bytes() + plan.scratch_bytes;
  return static_cast<std::int64_t>(set_count(plan, batch) * batch) * (image + plan.min_bytes);
}

std::int64_t timer_budget(const Context& context) {
  return context.device_memory_bytes() / 2;
}

Result<std::unique_ptr<DeviceNoise>> DeviceNoise::create(const std::shared_ptr<const Context>& context, const ConstImageView& noise) {
  std::unique_ptr<DeviceNoise> made(new DeviceNoise(context, noise.desc));
  Arena& staging = made->staging_;
  const Result<std::size_t> buffer = staging.add_buffer(static_cast<VkDeviceSize>(made->bytes()), VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
  if (!buffer) return buffer.error();
  if (Status s = staging.allocate(VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, 0); !s) {
    return s.error();
  }
  const std::int64_t row_bytes = noise.desc.row_payload_bytes();
  for (std::int32_t y = 0; y < noise.desc.height; ++y) {
    std::memcpy(staging.data(0) + y * row_bytes, noise.row(y), static_cast<std::size_t>(row_bytes));
  }
  return made;
}

struct DeviceTimer::Set {
  explicit Set(const std::shared_ptr<const Prepared>& prepared) : buffers(prepared->context()) {}
  std::unique_ptr<DeviceImages> images;
  std::unique_ptr<RecorderImpl> blur;
  Arena buffers;  ///< from and to of the copies
  std::unique_ptr<RecorderImpl> copy;
  std::unique_ptr<RecorderImpl> empty;
};

DeviceTimer::DeviceTimer(std::shared_ptr<const Prepared> prepared, std::size_t batch) : prepared_(std::move(prepared)), batch_(batch) {}

DeviceTimer::~DeviceTimer() = default;

Result<std::unique_ptr<DeviceTimer>> DeviceTimer::create(std::shared_ptr<const Prepared> prepared, const DeviceNoise& noise,
                                                         std::size_t batch) {
  const std::shared_ptr<Context> context = prepared->context();
  if (const std::size_t most = std::max<std::size_t>(most_of_launch(*prepared), 1); batch > most) {
    return Error{ErrorCode::unsupported,
                 "a batch of " + std::to_string(batch) + ": one dispatch makes at most " + std::to_string(most) + " of these images" +
                     (prepared->uses_images() ? ", which are no buffers" : ""),
                 {}};
  }
  std::unique_ptr<DeviceTimer> timer(new DeviceTimer(std::move(prepared), batch));
  Result<std::unique_ptr<Stopwatch>> stopwatch = Stopwatch::create(context, kKindsOfSamples * kMaxRuns);
  if (!stopwatch) return stopwatch.error();
  timer->stopwatch_ = std::move(*stopwatch);
  if (Status s = timer->make_copy_plans(); !s) return s.error();
  Result<std::unique_ptr<Commands>> commands = Commands::create(context);
  if (!commands) return commands.error();
  timer->commands_ = std::move(*commands);
  if (Status s = timer->make_sets(noise); !s) return s.error();
  return timer;
}

Status DeviceTimer::make_copy_plans() {
  copy_bytes_ = std::max<std::int64_t>(16, static_cast<std::int64_t>(batch_) * prepared_->plan().min_bytes / 2 / 16 * 16);
  const std::shared_ptr<Context> context = prepared_->context();
  Result<std::shared_ptr<const Prepared>> copy = Prepared::create(copy_plan(context->info(), copy_bytes_ / 16), context);
  if (!copy) return copy.error();
  copy_ = std::move(*copy);
  Result<std::shared_ptr<const Prepared>> empty = Prepared::create(copy_plan(context->info(), 1), context);
  if (!empty) return empty.error();
  empty_ = std::move(*empty);
  return {};
}

Status DeviceTimer::make_sets(const DeviceNoise& noise) {
  const Plan& plan = prepared_->plan();
  const std::shared_ptr<const Context> context = prepared_->context();
  const std::size_t count = set_count(plan, batch_);
  const auto bytes = static_cast<VkDeviceSize>(copy_->plan().src.payload_bytes());
  for (std::size_t i = 0; i < count; ++i) {
    auto set = std::make_unique<Set>(prepared_);
    Result<std::unique_ptr<DeviceImages>> images = DeviceImages::create(prepared_, batch_);
    if (!images) return images.error();
    set->images = std::move(*images);
    Result<std::unique_ptr<RecorderImpl>> blur = RecorderImpl::create(prepared_, set->images->targets(), {});
    if (!blur) return blur.error();
    set->blur = std::move(*blur);
    for (int end = 0; end < 2; ++end) {
      const Result<std::size_t> buffer = set->buffers.add_buffer(
          bytes, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT);
      if (!buffer) return buffer.error();
    }
    if (Status s = set->buffers.allocate(0, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT); !s) return s;
    const BufferResource from{set->buffers.buffer(0), 0, 0};
    const BufferResource to{set->buffers.buffer(1), 0, 0};
    Result<std::unique_ptr<RecorderImpl>> copy = RecorderImpl::create(copy_, {from, to});
    if (!copy) return copy.error();
    set->copy = std::move(*copy);
    Result<std::unique_ptr<RecorderImpl>> empty = RecorderImpl::create(empty_, {from, to});
    if (!empty) return empty.error();
    set->empty = std::move(*empty);
    // As much of the noise as there is into what the copies read.
    const Status filled = fill(*commands_, *set->images, noise, [&](VkCommandBuffer out) {
      const VkBufferCopy part{0, 0, static_cast<VkDeviceSize>(std::min(noise.bytes(), copy_bytes_))};
      context->vk().CmdCopyBuffer(out, noise.buffer(), set->buffers.buffer(0), 1, &part);
    });
    if (!filled) return filled;
    sets_.push_back(std::move(set));
  }
  return {};
}

Result<DeviceSamples> DeviceTimer::measure(int runs) {
  const DeviceFunctions& vk = prepared_->context()->vk();
  runs = std::clamp(runs, 1, kMaxRuns);
  const Status recorded = commands_->record([&](VkCommandBuffer out) {
    stopwatch_->reset(out);
    for (int run = 0; run < runs; ++run) {
      const Set& set = *sets_[next_++ % sets_.size()];
      stopwatch_->time(out, [&] { set.blur->record(out); });
      stopwatch_->time(out, [&] {
        const VkBufferCopy copy{0, 0, static_cast<VkDeviceSize>(copy_bytes_)};
        vk.CmdCopyBuffer(out, set.buffers.buffer(0), set.buffers.buffer(1), 1, &copy);
      });
      stopwatch_->time(out, [&] { set.copy->record(out); });
      stopwatch_->time(out, [&] { set.empty->record(out); });
      stopwatch_->time(out, [] {});
    }
  });
  if (!recorded) return recorded.error();
  if (Status s = commands_->submit(); !s) return s.error();
  if (Status s = commands_->wait(); !s) return s.error();
  const Result<std::vector<double>> times = stopwatch_->read();
  if (!times) return times.error();
  DeviceSamples samples;
  sort_into(samples, *times);
  return samples;
}

Result<std::vector<std::byte>> DeviceTimer::blurred() {
  const Set& set = *sets_.front();
  const auto bytes = batch_ * static_cast<std::size_t>(prepared_->plan().dst.payload_bytes());
  Arena staging(prepared_->context());
  const Result<std::size_t> buffer = staging.add_buffer(bytes, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  if (!buffer) return buffer.error();
  constexpr auto kHost = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  if (Status s = staging.allocate(kHost, VK_MEMORY_PROPERTY_HOST_CACHED_BIT); !s) return s.error();
  const Status recorded = commands_->record([&](VkCommandBuffer out) {
    set.blur->record(out);
    full_barrier(*prepared_->context(), out);
    set.images->record_download(out, staging.buffer(0), 0);
    host_barrier(*prepared_->context(), out);
  });
  if (!recorded) return recorded.error();
  if (Status s = commands_->submit(); !s) return s.error();
  if (Status s = commands_->wait(); !s) return s.error();
  return std::vector<std::byte>(staging.data(0), staging.data(0) + bytes);
}

Result<std::vector<double>> DeviceTimer::measure_submissions(int runs) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> samples;
  for (int run = 0; run < runs; ++run) {
    const Set& set = *sets_[next_++ % sets_.size()];
    if (Status s = commands_->record([&](VkCommandBuffer out) { set.blur->record(out); }); !s) return s.error();
    const auto start = Clock::now();
    if (Status s = commands_->submit(); !s) return s.error();
    if (Status s = commands_->wait(); !s) return s.error();
    samples.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count());
  }
  return samples;
}

DeviceContest::~DeviceContest() = default;

Result<std::unique_ptr<DeviceContest>> DeviceContest::create(const std::shared_ptr<const Prepared>& prepared, const DeviceNoise& noise) {
  const std::shared_ptr<const Context> context = prepared->context();
  std::unique_ptr<DeviceContest> contest(new DeviceContest(context));
  Result<std::unique_ptr<Stopwatch>> stopwatch = Stopwatch::create(context, kMaxExecutables);
  if (!stopwatch) return stopwatch.error();
  contest->stopwatch_ = std::move(*stopwatch);
  Result<std::unique_ptr<Commands>> commands = Commands::create(context);
  if (!commands) return commands.error();
  contest->commands_ = std::move(*commands);
  const Plan& plan = prepared->plan();
  for (std::size_t i = mollify::set_count(plan.min_bytes, plan.device.gpu.is_software); i > 0; --i) {
    Result<std::unique_ptr<DeviceImages>> images = DeviceImages::create(prepared);
    if (!images) return images.error();
    if (Status s = fill(*contest->commands_, **images, noise, [](VkCommandBuffer) {}); !s) return s.error();
    contest->images_.push_back(std::move(*images));
  }
  return contest;
}

Status DeviceContest::enter(std::span<const std::shared_ptr<const Prepared>> executables) {
  if (executables.size() > kMaxExecutables) {
    return Error{ErrorCode::unsupported,
                 "a contest times " + std::to_string(kMaxExecutables) + " executables at most, not " + std::to_string(executables.size()),
                 {}};
  }
  recorders_.clear();
  // One set of images each, in turn: by the time a set comes up again, others have taken its place in the caches.
  for (const auto& prepared : executables) {
    const DeviceImages& images = *images_[recorders_.size() % images_.size()];
    Result<std::unique_ptr<RecorderImpl>> recorder = RecorderImpl::create(prepared, images.targets(), {});
    if (!recorder) return recorder.error();
    recorders_.push_back(std::move(*recorder));
  }
  return {};
}

Result<std::vector<double>> DeviceContest::round() {
  const Status recorded = commands_->record([&](VkCommandBuffer out) {
    stopwatch_->reset(out);
    // What comes first in a submission takes longer, so that is one which nobody times. On an H200 the same plan took 138 us first and
    // 134 second, 118 and 117 since; of shorter ones 4 us of 65 have remained, and it is not known why.
    if (recorders_.size() > 1) recorders_.back()->record(out);
    for (const auto& recorder : recorders_) stopwatch_->time(out, [&] { recorder->record(out); });
  });
  if (!recorded) return recorded.error();
  if (Status s = commands_->submit(); !s) return s.error();
  if (Status s = commands_->wait(); !s) return s.error();
  return stopwatch_->read();
}

}  // namespace mollify::vulkan
