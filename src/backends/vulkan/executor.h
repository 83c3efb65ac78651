// Runs plans on images in host memory: staging, transfers, submission.
#pragma once

#include <memory>
#include <vector>

#include "backends/backend.h"
#include "backends/vulkan/recorder.h"
#include "backends/workers.h"

namespace mollify::vulkan {

[[nodiscard]] Result<std::shared_ptr<const ExecutableImpl>> make_executable(const Plan& plan, std::shared_ptr<Context> context,
                                                                            std::shared_ptr<Workers> workers);

/// What a public Executable of this backend holds; null for other backends.
[[nodiscard]] std::shared_ptr<const Prepared> prepared_of(const ExecutableImpl& executable);

struct RowRange {
  std::int32_t first = 0;
  std::int32_t count = 0;
};

/// A source and a destination on the device, images or buffers as the plan wants them. Of a batch, which is for buffers
/// alone, sources follow each other without gaps, and so do destinations.
class DeviceImages {
 public:
  static Result<std::unique_ptr<DeviceImages>> create(const std::shared_ptr<const Prepared>& prepared, std::size_t count = 1);

  [[nodiscard]] std::vector<Target> targets() const;
  /// Commands that fill the sources from a buffer, each from `step` bytes after the one before, and that fetch the destinations,
  /// one after the other, into one. Rows follow each other without gaps in these buffers.
  void record_upload(VkCommandBuffer commands, VkBuffer from, VkDeviceSize offset, VkDeviceSize step) const;
  void record_download(VkCommandBuffer commands, VkBuffer to, VkDeviceSize offset) const;
  /// The same for some rows of a single image, which lie in the buffer as on the device, see own_row_bytes(); its first row
  /// would be at `offset`.
  void record_upload(VkCommandBuffer commands, VkBuffer from, VkDeviceSize offset, const RowRange& rows) const;
  void record_download(VkCommandBuffer commands, VkBuffer to, VkDeviceSize offset, const RowRange& rows) const;
  /// Rows of the source of an image that is as wide, from row `first` on, to the first ones of this source.
  void record_rows_from(VkCommandBuffer commands, const DeviceImages& other, std::int32_t first, std::int32_t count) const;
  /// Makes images ready to be written; their contents are lost.
  void record_begin(VkCommandBuffer commands) const;

 private:
  DeviceImages(std::shared_ptr<const Prepared> prepared, std::size_t count)
      : prepared_(std::move(prepared)), count_(count), arena_(prepared_->context()) {}

  [[nodiscard]] VkDeviceSize image_bytes(const ImageDesc& desc) const { return own_image_bytes(*prepared_, desc); }

  std::shared_ptr<const Prepared> prepared_;
  std::size_t count_;
  Arena arena_;  ///< source, destination
};

/// A command buffer of its own pool, and the fence that says when its commands have run.
class Commands {
 public:
  static Result<std::unique_ptr<Commands>> create(std::shared_ptr<const Context> context);
  ~Commands();
  Commands(const Commands&) = delete;
  Commands& operator=(const Commands&) = delete;

  /// Begin, record, end: once, for many submissions.
  template <class Record>
  [[nodiscard]] Status record(const Record& record_commands) {
    if (Status s = begin(); !s) return s;
    record_commands(buffer_);
    return end();
  }
  [[nodiscard]] Status submit() {
    Status status = context_->submit(buffer_, fence_);
    is_under_way_ = status.ok();
    return status;
  }
  [[nodiscard]] Status wait() {
    is_under_way_ = false;
    return context_->wait(fence_);
  }

 private:
  explicit Commands(std::shared_ptr<const Context> context) : context_(std::move(context)) {}
  [[nodiscard]] Status begin();
  [[nodiscard]] Status end();

  std::shared_ptr<const Context> context_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer buffer_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
  bool is_under_way_ = false;
};

}  // namespace mollify::vulkan
