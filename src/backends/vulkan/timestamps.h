// Time on the device alone, images resident, by its own clock: what an engine sees of a blur.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backends/device_samples.h"
#include "backends/vulkan/executor.h"

namespace mollify::vulkan {

/// Pairs of timestamps in a command buffer, and the nanoseconds between them.
class Stopwatch {
 public:
  /// For at most `capacity` works in one command buffer. The error says that the device has no clock.
  static Result<std::unique_ptr<Stopwatch>> create(std::shared_ptr<const Context> context, std::uint32_t capacity);
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  /// At the start of each command buffer.
  void reset(VkCommandBuffer commands);
  /// All work before has ended when this one starts.
  template <class Work>
  void time(VkCommandBuffer commands, const Work& work) {
    mark(commands);
    work();
    mark(commands);
  }
  /// Nanoseconds of each work, in order, once the commands have run.
  [[nodiscard]] Result<std::vector<double>> read() const;

 private:
  Stopwatch(std::shared_ptr<const Context> context, std::uint32_t capacity) : context_(std::move(context)), count_(2 * capacity) {}
  void mark(VkCommandBuffer commands);

  std::shared_ptr<const Context> context_;
  std::uint32_t count_;
  std::uint32_t next_ = 0;
  VkQueryPool queries_ = VK_NULL_HANDLE;
};

/// The memory on the device that a DeviceTimer of this plan takes, about, for batches of so many images.
[[nodiscard]] std::int64_t timer_bytes(const Plan& plan, std::size_t batch);
/// Half of the device's own memory: timers that take more together are better used one after another.
[[nodiscard]] std::int64_t timer_budget(const Context& context);

/// Packed rows of a source in memory that the device reads, for any number of timers. Image i of a batch begins i pixels into
/// it: so many more it must have.
class DeviceNoise {
 public:
  static Result<std::unique_ptr<DeviceNoise>> create(const std::shared_ptr<const Context>& context, const ConstImageView& noise);
  [[nodiscard]] VkBuffer buffer() const { return staging_.buffer(0); }
  [[nodiscard]] std::int64_t bytes() const { return desc_.payload_bytes(); }
  [[nodiscard]] VkDeviceSize pixel_bytes() const { return vulkan::pixel_bytes(desc_); }

 private:
  DeviceNoise(const std::shared_ptr<const Context>& context, const ImageDesc& desc) : staging_(context), desc_(desc) {}
  Arena staging_;
  ImageDesc desc_;
};

/// Images and buffers to time an executable on, several sets in turn so that no cache holds the next one.
class DeviceTimer {
 public:
  /// `noise` fills the sources; it has the shape of the plan's source, or more rows. A blur is of a whole batch, in one
  /// dispatch a pass; the error says if that cannot be.
  static Result<std::unique_ptr<DeviceTimer>> create(std::shared_ptr<const Prepared> prepared, const DeviceNoise& noise, std::size_t batch);
  ~DeviceTimer();
  DeviceTimer(const DeviceTimer&) = delete;
  DeviceTimer& operator=(const DeviceTimer&) = delete;

  /// One submission; `runs` times a blur, both copies, an empty dispatch and nothing. At most kMaxRuns.
  [[nodiscard]] Result<DeviceSamples> measure(int runs);
  /// What a blur makes: the images of the batch, packed.
  [[nodiscard]] Result<std::vector<std::byte>> blurred();
  /// Nanoseconds, by the host's clock, from the submission of one blur to its fence; each of `runs`.
  [[nodiscard]] Result<std::vector<double>> measure_submissions(int runs);
  static constexpr int kMaxRuns = 64;

 private:
  struct Set;
  DeviceTimer(std::shared_ptr<const Prepared> prepared, std::size_t batch);
  [[nodiscard]] Status make_sets(const DeviceNoise& noise);
  [[nodiscard]] Status make_copy_plans();

  std::shared_ptr<const Prepared> prepared_;
  std::size_t batch_;
  std::shared_ptr<const Prepared> copy_;   ///< the copy kernel, on buffers
  std::shared_ptr<const Prepared> empty_;  ///< the same on one vector of them
  std::vector<std::unique_ptr<Set>> sets_;
  std::unique_ptr<Commands> commands_;
  std::unique_ptr<Stopwatch> stopwatch_;
  std::int64_t copy_bytes_ = 0;
  std::size_t next_ = 0;
};

/// Times executables of the same shapes and storage on the same images, taking turns.
class DeviceContest {
 public:
  /// `noise` fills the sources. The executables to come have the shapes and the storage of this one.
  static Result<std::unique_ptr<DeviceContest>> create(const std::shared_ptr<const Prepared>& prepared, const DeviceNoise& noise);
  ~DeviceContest();
  DeviceContest(const DeviceContest&) = delete;
  DeviceContest& operator=(const DeviceContest&) = delete;

  /// Binds these to the images, instead of those before.
  [[nodiscard]] Status enter(std::span<const std::shared_ptr<const Prepared>> executables);
  /// Nanoseconds of one run of each, in one submission.
  [[nodiscard]] Result<std::vector<double>> round();
  static constexpr std::size_t kMaxExecutables = 256;

 private:
  explicit DeviceContest(std::shared_ptr<const Context> context) : context_(std::move(context)) {}

  std::shared_ptr<const Context> context_;
  std::vector<std::unique_ptr<DeviceImages>> images_;
  std::vector<std::unique_ptr<RecorderImpl>> recorders_;
  std::unique_ptr<Commands> commands_;
  std::unique_ptr<Stopwatch> stopwatch_;
};

}  // namespace mollify::vulkan
