// --device auto: the device on which a blur should end first.
#pragma once

#include <map>
#include <span>
#include <string>

#include "args.h"
#include "mollify/experimental/auto_device.h"

namespace mollify::cli {

/// The devices of this process from which it takes its choice.
class AutoDevice {
 public:
  explicit AutoDevice(DeviceArgs args);
  AutoDevice(const AutoDevice&) = delete;
  AutoDevice& operator=(const AutoDevice&) = delete;

  /// `cpu_seconds` is what plans predict for the CPU with all threads. With `--probe off` it is the CPU, whatever they predict.
  [[nodiscard]] DeviceChoice choose(double cpu_seconds, const DeviceChooser::OnGpu& on_gpu);
  /// The device of this name, which is opened once.
  [[nodiscard]] Result<Device> open(const std::string& name);

 private:
  [[nodiscard]] bool has_open_gpu() const;

  DeviceArgs args_;
  std::map<std::string, Device> open_;
  DeviceChooser chooser_;
};

[[nodiscard]] AutoOptions auto_options();
/// Whether the device is chosen, and may be a GPU: with `--probe off` nothing is measured, and `auto` is the CPU.
[[nodiscard]] bool may_choose_gpu(const DeviceArgs& args);
/// The choice where it may not.
[[nodiscard]] DeviceChoice choice_without_probe();

/// Runs one after the other.
[[nodiscard]] double expected_seconds(std::span<const Plan> plans);
[[nodiscard]] GpuWork gpu_work(std::span<const Plan> plans);

}  // namespace mollify::cli
