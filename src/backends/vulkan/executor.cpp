#include "backends/vulkan/executor.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "backends/gpu_executable.h"

namespace mollify::vulkan {
namespace {

constexpr VkDeviceSize kStagingAlignment = 768;  // whole pixels of any format, of 3 and 6 bytes too, for any device

/// Rows of an image that has them in a buffer without gaps, its first one at `offset`.
VkBufferImageCopy rows_of_image(const ImageDesc& desc, VkDeviceSize offset, const RowRange& rows) {
  VkBufferImageCopy copy{};
  copy.bufferOffset = offset + static_cast<VkDeviceSize>(rows.first) * static_cast<VkDeviceSize>(desc.row_payload_bytes());
  copy.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
  copy.imageOffset = {0, rows.first, 0};
  copy.imageExtent = {static_cast<std::uint32_t>(desc.width), static_cast<std::uint32_t>(rows.count), 1};
  return copy;
}

/// The same between two buffers whose rows are equally long.
VkBufferCopy rows_of_buffer(VkDeviceSize row_bytes, VkDeviceSize from, VkDeviceSize to, const RowRange& rows) {
  const VkDeviceSize skipped = row_bytes * static_cast<VkDeviceSize>(rows.first);
  return {from + skipped, to + skipped, row_bytes * static_cast<VkDeviceSize>(rows.count)};
}

ConstImageView rows_of(ConstImageView image, const RowRange& rows) {
  image.data = image.row(rows.first);
  image.desc.height = rows.count;
  return image;
}

ImageView rows_of(ImageView image, const RowRange& rows) {
  image.data = image.row(rows.first);
  image.desc.height = rows.count;
  return image;
}

/// Pieces of an image from a row on: the host copies one while another is on its way to or from the device. Submitting one takes some
/// 20 us.
std::vector<RowRange> pieces_of(const ImageDesc& desc, std::int32_t begin = 0) {
  constexpr std::int64_t kPieceBytes = 8 << 20;
  const std::int32_t height = desc.height - begin;
  const std::int64_t pieces = std::clamp<std::int64_t>(height * desc.row_payload_bytes() / kPieceBytes, 1, std::max(height, 1));
  const auto rows = static_cast<std::int32_t>((height + pieces - 1) / pieces);
  std::vector<RowRange> out;
  for (std::int32_t first = begin; first < desc.height; first += rows) out.push_back({first, std::min(rows, desc.height - first)});
  return out;
}

/// The parts of two buffers that hold the same image, whose rows are so many bytes apart in them.
std::vector<VkBufferCopy> parts(const ImageDesc& desc, VkDeviceSize from, VkDeviceSize from_row, VkDeviceSize to, VkDeviceSize to_row) {
  const auto height = static_cast<VkDeviceSize>(desc.height);
  if (from_row == to_row) return {{from, to, from_row * height}};
  std::vector<VkBufferCopy> rows;
  for (VkDeviceSize y = 0; y < height; ++y) {
    rows.push_back({from + y * from_row, to + y * to_row, static_cast<VkDeviceSize>(desc.row_payload_bytes())});
  }
  return rows;
}

/// One image in flight, or one window: everything is recorded once, so that a run only copies pixels and submits.
class Slot final : public WindowSlot {
 public:
  static Result<std::unique_ptr<Slot>> create(const std::shared_ptr<const Prepared>& prepared, const std::shared_ptr<Workers>& workers,
                                              std::int32_t kept) {
    std::unique_ptr<Slot> slot(new Slot(prepared, workers, kept));
    if (Status s = slot->allocate(); !s) return s.error();
    return slot;
  }

  /// After a failure nothing is under way any more.
  [[nodiscard]] Status start(const ConstImageView& src) {
    for (Step& step : steps_) {
      if (step.uploads) workers_->copy(rows_of(src, *step.uploads), rows_of(staged_source(), *step.uploads));
      if (Status s = submit(step); !s) return s;
    }
    return {};
  }

  /// Waits for all of it, also after a failure: the device would go on writing.
  [[nodiscard]] Status finish(const ImageView& dst) {
    Status status;
    for (const Step& step : steps_) {
      const Status done = step.commands->wait();
      if (status && !done) status = done;
      if (status && step.downloads) workers_->copy(rows_of(staged_result(), *step.downloads), rows_of(dst, *step.downloads));
    }
    return status;
  }

  void put(const ConstImageView& rows, std::int32_t x, std::int32_t y) override {
    workers_->copy(rows, crop(staged_source(), {x, y, rows.desc.width, rows.desc.height}));
  }

  [[nodiscard]] Status start(const WindowSlot* above, std::int32_t first) override {
    if (above != nullptr) {
      const Above from{static_cast<const Slot*>(above), first};
      if (Status s = record_kept(from); !s) return s;
      if (Status s = fetch_->submit(); !s) return s;
    }
    for (Step& step : steps_) {
      if (Status s = submit(step); !s) {
        if (above != nullptr) (void)fetch_->wait();
        return s;
      }
    }
    fetches_ = above != nullptr;
    return {};
  }

  [[nodiscard]] Status wait() override {
    Status status = fetches_ ? fetch_->wait() : Status();
    for (const Step& step : steps_) {
      const Status done = step.commands->wait();
      if (status && !done) status = done;
    }
    return status;
  }

  void take(std::int32_t y, const ImageView& rows) const override {
    const ConstImageView made = staged_result();
    workers_->copy(crop(made, {0, y, made.desc.width, rows.desc.height}), rows);
  }

 private:
  /// Where the first rows of a window's source are.
  struct Above {
    const Slot* slot = nullptr;
    std::int32_t first = 0;
    bool operator==(const Above&) const = default;
  };

  /// What is submitted at once: the upload of a piece of the source, which the host copies before, the download of one of the
  /// result, which the host copies after, and, behind the last upload, the blur.
  struct Step {
    std::optional<RowRange> uploads{};
    bool blurs = false;
    std::optional<RowRange> downloads{};
    std::unique_ptr<Commands> commands{};
  };

  Slot(std::shared_ptr<const Prepared> prepared, std::shared_ptr<Workers> workers, std::int32_t kept)
      : prepared_(std::move(prepared)), workers_(std::move(workers)), kept_(kept), staging_(prepared_->context()) {}

  [[nodiscard]] ImageView staged(const ImageDesc& desc, VkDeviceSize offset) const {
    return {desc, staging_.data(0) + offset, static_cast<std::ptrdiff_t>(own_row_bytes(*prepared_, desc))};
  }
  [[nodiscard]] ImageView staged_source() const { return staged(prepared_->plan().src, 0); }
  [[nodiscard]] ConstImageView staged_result() const { return staged(prepared_->plan().dst, download_); }

  void divide_into_steps() {
    for (const RowRange& piece : pieces_of(prepared_->plan().src, kept_)) steps_.push_back({.uploads = piece});
    if (steps_.empty()) steps_.emplace_back();  // all rows of a window are those of the one above
    steps_.back().blurs = true;
    for (const RowRange& piece : pieces_of(prepared_->plan().dst)) {
      if (steps_.back().downloads) steps_.emplace_back();
      steps_.back().downloads = piece;
    }
  }

  Status allocate() {
    const Plan& plan = prepared_->plan();
    download_ = (own_image_bytes(*prepared_, plan.src) + kStagingAlignment - 1) / kStagingAlignment * kStagingAlignment;
    const Result<std::size_t> buffer = staging_.add_buffer(download_ + own_image_bytes(*prepared_, plan.dst),
                                                           VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    if (!buffer) return buffer.error();
    constexpr auto kHost = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    // Reading back from memory that the host does not cache is ten times slower.
    if (Status s = staging_.allocate(kHost, VK_MEMORY_PROPERTY_HOST_CACHED_BIT); !s) return s;

    Result<std::unique_ptr<DeviceImages>> images = DeviceImages::create(prepared_);
    if (!images) return images.error();
    images_ = std::move(*images);
    Result<std::unique_ptr<RecorderImpl>> recorder = RecorderImpl::create(prepared_, images_->targets(), {});
    if (!recorder) return recorder.error();
    recorder_ = std::move(*recorder);
    divide_into_steps();
    for (Step& step : steps_) {
      if (Status s = record(step); !s) return s;
    }
    if (kept_ == 0) return {};
    Result<std::unique_ptr<Commands>> fetch = Commands::create(prepared_->context());
    if (!fetch) return fetch.error();
    fetch_ = std::move(*fetch);
    return {};
  }

  /// If it fails, none of the steps is under way any more.
  [[nodiscard]] Status submit(const Step& step) {
    Status status = step.commands->submit();
    if (status) return status;
    for (const Step* begun = steps_.data(); begun != &step; ++begun) (void)begun->commands->wait();
    return status;
  }

  /// The rows that are on the device already. Windows mostly take turns with the same slots, so it is recorded a few times only.
  [[nodiscard]] Status record_kept(const Above& above) {
    if (above == above_) return {};
    above_ = {};
    const Status status = fetch_->record([&](VkCommandBuffer out) {
      images_->record_begin(out);
      full_barrier(*prepared_->context(), out);
      images_->record_rows_from(out, *above.slot->images_, above.first, kept_);
      full_barrier(*prepared_->context(), out);  // also for those who write to the other image next
    });
    if (status) above_ = above;
    return status;
  }

  Status record(Step& step) {
    Result<std::unique_ptr<Commands>> commands = Commands::create(prepared_->context());
    if (!commands) return commands.error();
    step.commands = std::move(*commands);
    const Context& context = *prepared_->context();
    return step.commands->record([&](VkCommandBuffer out) {
      if (&step == steps_.data() && kept_ == 0) images_->record_begin(out);
      if (step.uploads) images_->record_upload(out, staging_.buffer(0), 0, *step.uploads);
      if (step.blurs) {
        full_barrier(context, out);  // behind all uploads, those of other steps as well
        recorder_->record(out);
        full_barrier(context, out);
      }
      if (step.downloads) images_->record_download(out, staging_.buffer(0), download_, *step.downloads);
      host_barrier(context, out);
    });
  }

  std::shared_ptr<const Prepared> prepared_;
  std::shared_ptr<Workers> workers_;
  std::int32_t kept_;  ///< rows of the source that come from the window above
  Arena staging_;      ///< one buffer: source, then destination
  VkDeviceSize download_ = 0;
  std::unique_ptr<DeviceImages> images_;
  std::unique_ptr<RecorderImpl> recorder_;
  Above above_;  ///< that the next line fetches from
  std::unique_ptr<Commands> fetch_;
  bool fetches_ = false;     ///< since the last start
  std::vector<Step> steps_;  ///< last: what is under way is waited for before what it works on goes
};

using VulkanExecutable = GpuExecutable<Slot, Prepared>;

}  // namespace

Result<std::shared_ptr<const ExecutableImpl>> make_executable(const Plan& plan, std::shared_ptr<Context> context,
                                                              std::shared_ptr<Workers> workers) {
  Result<std::shared_ptr<const Prepared>> prepared = Prepared::create(plan, std::move(context));
  if (!prepared) return prepared.error();
  return std::shared_ptr<const ExecutableImpl>(std::make_shared<VulkanExecutable>(std::move(*prepared), std::move(workers)));
}

std::shared_ptr<const Prepared> prepared_of(const ExecutableImpl& executable) {
  const auto* vulkan = dynamic_cast<const VulkanExecutable*>(&executable);
  return vulkan ? vulkan->prepared() : nullptr;
}

Result<std::unique_ptr<DeviceImages>> DeviceImages::create(const std::shared_ptr<const Prepared>& prepared, std::size_t count) {
  std::unique_ptr<DeviceImages> images(new DeviceImages(prepared, count));
  const auto add = [&](const ImageDesc& desc, VkImageUsageFlags image_usage) {
    if (prepared->uses_images()) {
      return images->arena_.add_image(desc, image_usage | VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    }
    return images->arena_.add_buffer(count * images->image_bytes(desc), VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                                                            VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                                                            VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  };
  if (const auto source = add(prepared->plan().src, VK_IMAGE_USAGE_SAMPLED_BIT); !source) return source.error();
  if (const auto destination = add(prepared->plan().dst, VK_IMAGE_USAGE_STORAGE_BIT); !destination) {
    return destination.error();
  }
  if (Status s = images->arena_.allocate(0, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT); !s) return s.error();
  return images;
}

std::vector<Target> DeviceImages::targets() const {
  if (prepared_->uses_images()) return {{ImageResource{arena_.view(0)}, ImageResource{arena_.view(1)}}};
  const auto buffer = [&](std::size_t side, const ImageDesc& desc, std::size_t i) {
    return BufferResource{arena_.buffer(side), i * image_bytes(desc), static_cast<std::int64_t>(own_row_bytes(*prepared_, desc))};
  };
  std::vector<Target> targets;
  for (std::size_t i = 0; i < count_; ++i) {
    targets.push_back({buffer(0, prepared_->plan().src, i), buffer(1, prepared_->plan().dst, i)});
  }
  return targets;
}

void DeviceImages::record_begin(VkCommandBuffer commands) const {
  if (!prepared_->uses_images()) return;
  for (const std::size_t index : {0, 1}) begin_image(*prepared_->context(), commands, arena_.image(index));
}

void DeviceImages::record_upload(VkCommandBuffer commands, VkBuffer from, VkDeviceSize offset, VkDeviceSize step) const {
  const ImageDesc& desc = prepared_->plan().src;
  if (prepared_->uses_images()) return record_upload(commands, from, offset, {0, desc.height});
  const VkDeviceSize own = own_row_bytes(*prepared_, desc);
  const auto packed = static_cast<VkDeviceSize>(desc.row_payload_bytes());
  for (std::size_t i = 0; i < count_; ++i) {
    const std::vector<VkBufferCopy> copies = parts(desc, offset + i * step, packed, i * image_bytes(desc), own);
    prepared_->context()->vk().CmdCopyBuffer(commands, from, arena_.buffer(0), static_cast<std::uint32_t>(copies.size()), copies.data());
  }
}

void DeviceImages::record_download(VkCommandBuffer commands, VkBuffer to, VkDeviceSize offset) const {
  const ImageDesc& desc = prepared_->plan().dst;
  if (prepared_->uses_images()) return record_download(commands, to, offset, {0, desc.height});
  const VkDeviceSize own = own_row_bytes(*prepared_, desc);
  const auto packed = static_cast<VkDeviceSize>(desc.row_payload_bytes());
  for (std::size_t i = 0; i < count_; ++i) {
    const std::vector<VkBufferCopy> copies =
        parts(desc, i * image_bytes(desc), own, offset + i * packed * static_cast<VkDeviceSize>(desc.height), packed);
    prepared_->context()->vk().CmdCopyBuffer(commands, arena_.buffer(1), to, static_cast<std::uint32_t>(copies.size()), copies.data());
  }
}

void DeviceImages::record_upload(VkCommandBuffer commands, VkBuffer from, VkDeviceSize offset, const RowRange& rows) const {
  const DeviceFunctions& vk = prepared_->context()->vk();
  const ImageDesc& desc = prepared_->plan().src;
  if (prepared_->uses_images()) {
    const VkBufferImageCopy copy = rows_of_image(desc, offset, rows);
    vk.CmdCopyBufferToImage(commands, from, arena_.image(0), VK_IMAGE_LAYOUT_GENERAL, 1, &copy);
    return;
  }
  const VkBufferCopy copy = rows_of_buffer(own_row_bytes(*prepared_, desc), offset, 0, rows);
  vk.CmdCopyBuffer(commands, from, arena_.buffer(0), 1, &copy);
}

void DeviceImages::record_download(VkCommandBuffer commands, VkBuffer to, VkDeviceSize offset, const RowRange& rows) const {
  const DeviceFunctions& vk = prepared_->context()->vk();
  const ImageDesc& desc = prepared_->plan().dst;
  if (prepared_->uses_images()) {
    const VkBufferImageCopy copy = rows_of_image(desc, offset, rows);
    vk.CmdCopyImageToBuffer(commands, arena_.image(1), VK_IMAGE_LAYOUT_GENERAL, to, 1, &copy);
    return;
  }
  const VkBufferCopy copy = rows_of_buffer(own_row_bytes(*prepared_, desc), 0, offset, rows);
  vk.CmdCopyBuffer(commands, arena_.buffer(1), to, 1, &copy);
}

void DeviceImages::record_rows_from(VkCommandBuffer commands, const DeviceImages& other, std::int32_t first, std::int32_t count) const {
  const DeviceFunctions& vk = prepared_->context()->vk();
  const ImageDesc& desc = prepared_->plan().src;
  if (prepared_->uses_images()) {
    VkImageCopy copy{};
    copy.srcSubresource = copy.dstSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    copy.srcOffset = {0, first, 0};
    copy.extent = {static_cast<std::uint32_t>(desc.width), static_cast<std::uint32_t>(count), 1};
    vk.CmdCopyImage(commands, other.arena_.image(0), VK_IMAGE_LAYOUT_GENERAL, arena_.image(0), VK_IMAGE_LAYOUT_GENERAL, 1, &copy);
    return;
  }
  const VkDeviceSize theirs = own_row_bytes(*other.prepared_, other.prepared_->plan().src), own = own_row_bytes(*prepared_, desc);
  const std::vector<VkBufferCopy> copies =
      parts({desc.width, count, desc.format}, static_cast<VkDeviceSize>(first) * theirs, theirs, 0, own);
  vk.CmdCopyBuffer(commands, other.arena_.buffer(0), arena_.buffer(0), static_cast<std::uint32_t>(copies.size()), copies.data());
}

Result<std::unique_ptr<Commands>> Commands::create(std::shared_ptr<const Context> context) {
  std::unique_ptr<Commands> commands(new Commands(std::move(context)));
  const Context& c = *commands->context_;
  VkCommandPoolCreateInfo pool{};
  pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = c.queue_family();
  if (const VkResult r = c.vk().CreateCommandPool(c.device(), &pool, nullptr, &commands->pool_); r != VK_SUCCESS) {
    commands->pool_ = VK_NULL_HANDLE;  // what a failed call leaves there is undefined
    return to_error(r, "making a command pool");
  }
  VkCommandBufferAllocateInfo buffer{};
  buffer.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  buffer.commandPool = commands->pool_;
  buffer.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  buffer.commandBufferCount = 1;
  if (const VkResult r = c.vk().AllocateCommandBuffers(c.device(), &buffer, &commands->buffer_); r != VK_SUCCESS) {
    return to_error(r, "making a command buffer");
  }
  VkFenceCreateInfo fence{};
  fence.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
  if (const VkResult r = c.vk().CreateFence(c.device(), &fence, nullptr, &commands->fence_); r != VK_SUCCESS) {
    commands->fence_ = VK_NULL_HANDLE;
    return to_error(r, "making a fence");
  }
  return commands;
}

Commands::~Commands() {
  if (is_under_way_) (void)wait();
  if (fence_ != VK_NULL_HANDLE) context_->vk().DestroyFence(context_->device(), fence_, nullptr);
  if (pool_ != VK_NULL_HANDLE) context_->vk().DestroyCommandPool(context_->device(), pool_, nullptr);
}

Status Commands::begin() {
  VkCommandBufferBeginInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  const VkResult r = context_->vk().BeginCommandBuffer(buffer_, &info);
  return r == VK_SUCCESS ? Status() : Status(to_error(r, "recording commands"));
}

Status Commands::end() {
  const VkResult r = context_->vk().EndCommandBuffer(buffer_);
  return r == VK_SUCCESS ? Status() : Status(to_error(r, "recording commands"));
}

}  // namespace mollify::vulkan
