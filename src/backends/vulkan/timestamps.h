// Time on the device alone, images resident, by its own clock: what an engine sees of a blur.
#pragma once

#include <memory>
#include <vector>

#include "backends/vulkan/executor.h"

namespace mollify::vulkan {

/// Nanoseconds of each run. They took turns, so that a disturbance hits all alike.
struct DeviceSamples {
  std::vector<double> blur;
  std::vector<double> driver_copy;  ///< vkCmdCopyBuffer of half of the plan's min_bytes
  std::vector<double> kernel_copy;  ///< the same bytes by a shader
  std::vector<double> nothing;      ///< between two timestamps with a barrier between them
};

/// Images and buffers to time an executable on, several sets in turn so that no cache holds the next one.
class DeviceTimer {
 public:
  /// `noise` fills the sources; it has the shape of the plan's source.
  static Result<std::unique_ptr<DeviceTimer>> create(std::shared_ptr<const Prepared> prepared, const ConstImageView& noise);
  ~DeviceTimer();
  DeviceTimer(const DeviceTimer&) = delete;
  DeviceTimer& operator=(const DeviceTimer&) = delete;

  /// One submission; `runs` times a blur, both copies and nothing. At most kMaxRuns.
  [[nodiscard]] Result<DeviceSamples> measure(int runs);
  static constexpr int kMaxRuns = 64;

 private:
  struct Set;
  explicit DeviceTimer(std::shared_ptr<const Prepared> prepared);
  [[nodiscard]] Status make_sets(const ConstImageView& noise);
  [[nodiscard]] Status make_copy_plan();
  [[nodiscard]] Status fill(Set& set, const ConstImageView& noise);

  std::shared_ptr<const Prepared> prepared_;
  std::shared_ptr<const Prepared> copy_;  ///< the copy kernel, on buffers
  std::vector<std::unique_ptr<Set>> sets_;
  std::unique_ptr<Commands> commands_;
  VkQueryPool queries_ = VK_NULL_HANDLE;
  std::int64_t copy_bytes_ = 0;
  std::size_t next_ = 0;
};

}  // namespace mollify::vulkan
